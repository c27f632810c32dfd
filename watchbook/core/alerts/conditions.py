"""Opening and closing alerts. Both may be called again and again by whoever notices or measures the condition."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import translation

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.core.alerts.models import Alert
from watchbook.core.alerts.sentences import Sentence, in_english, kept
from watchbook.core.notify import outbox
from watchbook.core.notify.models import Level, NotificationChannel
from watchbook.core.notify.outbox.notice import short_id

Words = str | Sentence


def open_alert(key: str, *, level: str, source: str, title: Words, message: Words, link: str = "") -> bool:
    """True when the condition was not open before: then operators are told, once.

    An open one is refreshed. If it has become worse, those are told whom its former level did not reach.
    """
    if level not in Level.values:
        raise ValueError(f"an alert has level P0, P1 or P2, not {level!r}")
    key, now = short_id(key), clock.now()
    words: dict[str, Any] = {
        "english_title": cut(in_english(title), 300),
        "english_message": clean_text(in_english(message)),
        "sentences": kept(title=title, message=message),
        "link": cut(link, 2048),
    }
    try:
        with transaction.atomic():
            alert = Alert.objects.create(
                key=key, live_slot=key, level=level, source=cut(source, 40), opened_at=now, seen_at=now, **words
            )
            _tell(alert)
        return True
    except IntegrityError:  # it is open already; whoever was first has told it
        _refresh(key, level, seen_at=now, **words)
        return False


def close_alert(key: str, note: Words = "") -> bool:
    """True when it was open."""
    open_ = Alert.objects.filter(live_slot=short_id(key))
    said = {"english_note": cut(in_english(note), 500), "note_sentence": kept(note=note)}
    return bool(open_.update(live_slot=None, closed_at=clock.now(), **said))


@transaction.atomic
def _refresh(key: str, level: str, **columns: object) -> None:
    open_ = Alert.objects.filter(live_slot=key)
    open_.update(**columns)
    # A smaller number is a graver level. A condition that eases keeps the level it was told with.
    if open_.filter(level__gt=level).update(level=level):
        alert = open_.first()
        if alert is not None:
            _tell(alert)


def _tell(alert: Alert) -> None:
    """Each in his own language."""
    by_language: dict[str, list[NotificationChannel]] = {}
    for channel in NotificationChannel.objects.admitting(alert.level).select_related("user"):
        by_language.setdefault(channel.user.language or settings.LANGUAGE_CODE, []).append(channel)
    for language, channels in by_language.items():
        with translation.override(language):
            outbox.tell(channels, _notice(alert))


def _notice(alert: Alert) -> outbox.Notice:
    return outbox.Notice(
        event_id=f"alert:{alert.pk}",
        source="alerts",
        kind="alert",
        subject=f"{alert.level}: {alert.title}",
        text=alert.message or alert.title,
        # For programs: the same words whoever is told.
        payload={"level": alert.level, "key": alert.key, "source": alert.source, "title": alert.english_title},
        link=alert.link or "/alerts/",
        thread=f"alert:{alert.key}",
        urgent=True,
    )
