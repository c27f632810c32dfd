"""Opens and resolves alerts. Both functions may be called at every check of the condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import Sentence, clean_text, cut, in_english, kept, short_id
from watchbook.core import registry
from watchbook.core.accounts.access import MEMBERS
from watchbook.core.alerts.models import Alert
from watchbook.core.notify import outbox
from watchbook.core.notify.models import Delivery, Level, NotificationChannel
from watchbook.kit.formatting import moment_text, span_text
from watchbook.kit.letter import Letter, Link

Words = str | Sentence


def open_alert(
    key: str,
    *,
    level: str,
    source: str,
    title: Words,
    message: Words,
    remedy: Sentence | None = None,
    link: str = "",
    scope: str = MEMBERS,
) -> bool:
    """Open an alert and notify operators once; refresh it if it is open. True when it was not open before.

    `remedy` says what to do, or that nothing needs to be done. `scope` says who may see it beside operators, as in
    search and stream: an alert that names something of one user has `user:ID`. When the level rises, channels that the
    former level did not reach are notified.
    """
    if level not in Level.values:
        raise ValueError(f"an alert has level P0, P1 or P2, not {level!r}")
    key, now = short_id(key), clock.now()
    words: dict[str, Any] = {
        "english_title": cut(in_english(title), 300),
        "english_message": clean_text(in_english(message)),
        "sentences": kept(title=title, message=message, remedy=remedy or ""),
        "link": cut(link, 2048),
        "scope": scope,
    }
    try:
        with transaction.atomic():
            alert = Alert.objects.create(
                key=key, live_slot=key, level=level, source=cut(source, 40), opened_at=now, seen_at=now, **words
            )
            _notify(alert)
        return True
    except IntegrityError:  # it is open already, and its notification was sent
        _refresh(key, level, seen_at=now, **words)
        return False


def resolve_alert(key: str, note: Words = "") -> bool:
    """Resolve an open alert. True when it was open."""
    open_ = Alert.objects.filter(live_slot=short_id(key))
    said = {"english_note": cut(in_english(note), 500), "note_sentence": kept(note=note)}
    with transaction.atomic():
        alert = open_.first()
        # Of several processes that find it over, the one whose update counts notifies.
        if alert is None or not open_.update(live_slot=None, closed_at=clock.now(), **said):
            return False
        alert.refresh_from_db()
        _notify_resolved(alert)
    return True


@transaction.atomic
def _refresh(key: str, level: str, **columns: object) -> None:
    open_ = Alert.objects.filter(live_slot=key)
    open_.update(**columns)
    # P0 is the highest level. A condition that eases keeps the level of its notification.
    if open_.filter(level__gt=level).update(level=level):
        alert = open_.first()
        if alert is not None:
            _notify(alert)


def _notify(alert: Alert) -> None:
    _send(NotificationChannel.objects.admitting(alert.level), partial(_notification, alert))


def _notify_resolved(alert: Alert) -> None:
    """Notify the channels that received the alert and would still receive it, and no others."""
    received = Delivery.objects.filter(event_id=f"alert:{alert.pk}").values("channel_id")
    _send(NotificationChannel.objects.admitting(alert.level).filter(pk__in=received), partial(_resolved, alert))


def _send(channels: QuerySet[NotificationChannel], word: Callable[[], outbox.Notification]) -> None:
    """Notify each user in the language of the account."""
    by_language: dict[str, list[NotificationChannel]] = {}
    for channel in channels.select_related("user"):
        by_language.setdefault(channel.user.language or settings.LANGUAGE_CODE, []).append(channel)
    for language, found in by_language.items():
        with translation.override(language):
            outbox.notify(found, word())


def _notification(alert: Alert) -> outbox.Notification:
    return outbox.Notification(
        event_id=f"alert:{alert.pk}",
        source="alerts",
        kind="alert",
        subject=f"[{alert.level}] {alert.title}",
        letter=_letter(alert),
        payload=_payload(alert),
        link=alert.link or "/alerts/",
        thread=f"alert:{alert.key}",
        urgent=True,
    )


def _resolved(alert: Alert) -> outbox.Notification:
    span = span_text((alert.closed_at - alert.opened_at).total_seconds()) if alert.closed_at else ""
    words = _("Resolved after %(span)s: %(title)s") % {"span": span, "title": alert.title}
    return outbox.Notification(
        event_id=f"alert-resolved:{alert.pk}",
        source="alerts",
        kind="resolved",
        subject=f"[{alert.level}] {words}",
        letter=replace(
            _letter(alert),
            title=words,
            badge=_("%(level)s Resolved") % {"level": alert.level},
            is_good=True,
            lead=(alert.note,) if alert.note else (),
            paragraphs=(),
            after=(Link(_("All alerts"), "/alerts/"),),
        ),
        payload=_payload(alert),
        link=alert.link or "/alerts/",
        thread=f"alert:{alert.key}",
        urgent=True,
    )


def _payload(alert: Alert) -> dict[str, Any]:
    """For programs: the same words in every language."""
    return {
        "level": alert.level,
        "state": "open" if alert.live_slot else "resolved",
        "key": alert.key,
        "source": alert.source,
        "title": alert.english_title,
    }


def _letter(alert: Alert) -> Letter:
    link = alert.link or "/alerts/"
    return Letter(
        title=alert.title,
        name=alert.title,
        label=_("Alert"),
        badge=_("%(level)s Open alert") % {"level": alert.level},
        lead=tuple(line for line in alert.message.splitlines() if line.strip()),
        paragraphs=((_("What to do."), alert.remedy),) if alert.remedy else (),
        button=Link(_("Open in Watchbook"), link),
        facts=(
            (_("Opened"), moment_text(alert.opened_at), ""),
            *(((_("Resolved"), moment_text(alert.closed_at), ""),) if alert.closed_at else ()),
            (_("Source"), _source_title(alert.source), ""),
        ),
        after=(
            Link(_("You get one notification when the alert opens and one when it is resolved."), ""),
            Link(_("All alerts"), "/alerts/"),
        ),
    )


def _source_title(slug: str) -> str:
    return next((_(each.title) for each in registry.sources() if each.slug == slug), slug or _("This server"))
