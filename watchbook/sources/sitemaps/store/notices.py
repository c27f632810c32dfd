"""What is told about a monitor: outbox, notification logs, stream and search, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.models import State as DeliveryState
from watchbook.core.notify.outbox import Notice, tell
from watchbook.core.search import index
from watchbook.core.stream import record as stream
from watchbook.sources.sitemaps.compare import Difference
from watchbook.sources.sitemaps.compare.difference import ADDED, REMOVED
from watchbook.sources.sitemaps.models import ChangeRecord, LogStatus, MonitorTask, NotificationLog
from watchbook.sources.sitemaps.sentences import error_text
from watchbook.sources.sitemaps.store.noise import Noise

SOURCE = "sitemaps"
CHANGED, ERROR, RECOVERED = "changed", "error", "recovered"
PAYLOAD_URLS = 100
TEXT_URLS = 20
SEARCH_URLS = 200


def tell_change(
    monitor: MonitorTask, record: ChangeRecord, difference: Difference, noise: Noise, now: datetime
) -> None:
    """Everything a change sets in motion. Noise and pages that roll off a news sitemap are listed but not told."""
    _log_change(monitor, record, difference, now)
    removed = difference.counts[REMOVED] if monitor.tell_removals else 0
    if not (difference.counts[ADDED] or removed or noise.told_count or (record.minor_count and monitor.tell_minor)):
        return
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        notice = Notice(
            event_id=f"sitemaps.change:{record.pk}",
            source=SOURCE,
            kind=CHANGED,
            subject=f"{monitor.name}: {_counts(difference.counts[ADDED], removed, noise.told_count)}",
            lines=list(_lines(monitor, record, difference, noise)),
            payload=_payload(monitor, record, difference, noise),
            link=_change_path(record),
            thread=f"sitemaps.monitor:{monitor.pk}",
        )
    _tell(monitor, record, notice, now)


def tell_minor(monitor: MonitorTask, record: ChangeRecord, now: datetime) -> None:
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        count = record.minor_count
        words = ngettext("%(count)d minor change", "%(count)d minor changes", count) % {"count": count}
        notice = Notice(
            event_id=f"sitemaps.change:{record.pk}",
            source=SOURCE,
            kind=CHANGED,
            subject=f"{monitor.name}: {words}",
            lines=[_("Only changefreq or priority is different.")],
            payload={"type": "sitemap.minor", "monitor": _monitor(monitor), "minor_count": count},
            link=_change_path(record),
            thread=f"sitemaps.monitor:{monitor.pk}",
        )
    _tell(monitor, record, notice, now)


def tell_error(monitor: MonitorTask, now: datetime) -> None:
    """Once, when the monitor enters the error state."""
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        lines = [
            _("The last %(count)d checks failed: %(error)s")
            % {"count": monitor.error_count, "error": error_text(monitor.last_error)},
            _("Nothing was stored, and nothing is taken for deleted. Watchbook keeps trying."),
            monitor.sitemap_url,
        ]
        subject = _("%(name)s cannot be read") % {"name": monitor.name}
    _tell_state(monitor, ERROR, subject, lines, now)


def tell_recovery(monitor: MonitorTask, now: datetime) -> None:
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        subject = _("%(name)s can be read again") % {"name": monitor.name}
        lines = [_("The check succeeded. The monitor is active."), monitor.sitemap_url]
    _tell_state(monitor, RECOVERED, subject, lines, now)


def delivery_changed(delivery: Delivery) -> None:
    """Keep the notification log of a change in step with its delivery; called in the transaction that moves it."""
    prefix, _colon, record_id = delivery.event_id.partition(":")
    if prefix != "sitemaps.change":
        return
    status = {DeliveryState.PENDING: LogStatus.PENDING, DeliveryState.SENT: LogStatus.SENT}
    NotificationLog.objects.filter(channel_id=delivery.channel_id, change_record_id=UUID(record_id)).update(
        status=status.get(DeliveryState(delivery.state), LogStatus.FAILED),
        error_message=delivery.last_error or None,
        response_code=delivery.last_status,
        retry_count=max(delivery.attempt - 1, 0),
        **({"sent_at": delivery.sent_at} if delivery.sent_at else {}),
    )


def _tell(monitor: MonitorTask, record: ChangeRecord, notice: Notice, now: datetime) -> None:
    channels = _channels(monitor)
    NotificationLog.objects.bulk_create(
        [NotificationLog(channel=channel, change_record=record, sent_at=now) for channel in channels],
        ignore_conflicts=True,
    )
    tell(channels, notice)


def _tell_state(monitor: MonitorTask, kind: str, subject: str, lines: list[str], now: datetime) -> None:
    event = f"sitemaps.{kind}:{monitor.pk}:{now:%Y%m%dT%H%M%S}"
    path = reverse("sitemaps:monitor", args=[monitor.pk])
    tell(
        _channels(monitor),
        Notice(
            event_id=event,
            source=SOURCE,
            kind=kind,
            subject=subject,
            lines=lines,
            payload={"type": f"sitemap.{kind}", "monitor": _monitor(monitor), "error": monitor.last_error},
            link=path,
            thread=f"sitemaps.monitor:{monitor.pk}",
            urgent=True,
        ),
    )
    what = ("monitor", str(monitor.pk))
    _stream(monitor, kind, subject, "", path, now, what=what, event_key=f"{now:%Y%m%dT%H%M%S}")


def _channels(monitor: MonitorTask) -> list[NotificationChannel]:
    return list(monitor.channels.filter(user_id=monitor.user_id, is_active=True))


def _counts(added: int, removed: int, modified: int) -> str:
    parts = [f"{sign}{count:,}" for sign, count in (("+", added), ("−", removed), ("~", modified)) if count]
    return " ".join(parts)


def _lines(monitor: MonitorTask, record: ChangeRecord, difference: Difference, noise: Noise) -> Iterator[str]:
    yield monitor.sitemap_url
    yield ""
    if any(note["code"] == "confirmed_in_2_checks" for note in record.notes):
        yield _("Confirmed in 2 checks.")
    if noise.restamp:
        yield ngettext(
            "%(count)d page re-stamped to %(lastmod)s", "%(count)d pages re-stamped to %(lastmod)s", noise.restamp.count
        ) % {"count": noise.restamp.count, "lastmod": noise.restamp.lastmod}
    sections: list[tuple[str, str, int, Iterator[Any]]] = [
        (_("Added"), "+", difference.counts[ADDED], difference.items(ADDED)),
        (_("Removed"), "−", difference.counts[REMOVED] if monitor.tell_removals else 0, difference.items(REMOVED)),
        (_("Modified"), "~", noise.told_count, iter(noise.told)),
    ]
    for title, sign, count, items in sections:
        if not count:
            continue
        yield f"{title}: {count:,}"
        yield from (f"{sign} {item['url']}" for item in islice(items, TEXT_URLS))
        if count > TEXT_URLS:
            yield _("… and %(count)d more") % {"count": count - TEXT_URLS}
        yield ""
    if noise.noisy_count:
        yield ngettext(
            "%(count)d page changes at nearly every check and is not listed here.",
            "%(count)d pages change at nearly every check and are not listed here.",
            noise.noisy_count,
        ) % {"count": noise.noisy_count}


def _payload(monitor: MonitorTask, record: ChangeRecord, difference: Difference, noise: Noise) -> dict[str, Any]:
    return {
        "type": "sitemap.changed",
        "monitor": _monitor(monitor),
        "change": {
            "id": str(record.pk),
            "created_at": record.created_at.isoformat(),
            "added_count": record.added_count,
            "removed_count": record.removed_count,
            "modified_count": record.modified_count,
            "noisy_count": record.noisy_count,
            "added": list(islice(difference.items(ADDED), PAYLOAD_URLS)),
            "removed": list(islice(difference.items(REMOVED), PAYLOAD_URLS)) if monitor.tell_removals else [],
            "modified": noise.told[:PAYLOAD_URLS],
            "notes": record.notes[:20],
        },
    }


def _monitor(monitor: MonitorTask) -> dict[str, str]:
    return {"id": str(monitor.pk), "name": monitor.name, "sitemap_url": monitor.sitemap_url}


def _change_path(record: ChangeRecord) -> str:
    return reverse("sitemaps:change", args=[record.pk])


def _log_change(monitor: MonitorTask, record: ChangeRecord, difference: Difference, now: datetime) -> None:
    counts = _counts(record.added_count, record.removed_count, record.modified_count)
    if not counts:
        return
    path = _change_path(record)
    figures = {"added": record.added_count, "removed": record.removed_count, "modified": record.modified_count}
    # What happened is the change, so that it can be filed from the stream.
    what = ("sitemap_change", str(record.pk))
    _stream(monitor, CHANGED, monitor.name, counts, path, now, what=what, event_key=str(record.pk), **figures)
    changed = (item for kind in (ADDED, REMOVED) for item in islice(difference.items(kind), SEARCH_URLS))
    # As people read them: nobody looks for %E7%81%AF.
    urls = [unquote(str(item["url"])) for item in changed]
    index.put(
        [
            index.Document(
                kind="sitemap_change",
                object_id=str(record.pk),
                scope=f"user:{monitor.user_id}",
                title=f"{monitor.name} {counts}",
                body="\n".join([monitor.sitemap_url, *urls]),
                url_path=path,
                occurred_at=now,
                source=SOURCE,
            )
        ]
    )


def _stream(
    monitor: MonitorTask,
    kind: str,
    title: str,
    summary: str,
    path: str,
    now: datetime,
    *,
    what: tuple[str, str],
    event_key: str,
    **data: int,
) -> None:
    stream.record(
        [
            stream.Entry(
                source=SOURCE,
                kind=kind,
                title=title,
                summary=summary,
                url_path=path,
                scope=f"user:{monitor.user_id}",
                object_kind=what[0],
                object_id=what[1],
                occurred_at=now,
                data=data,
                event_key=event_key,
            )
        ]
    )
