"""Digests: notices of one window and channel in one message.

When the window has ended, the waiting notices get a digest row of their own that carries them. It is sent, retried
and given up like any notice, with one stable id; its members share its fate.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.core.notify import options
from watchbook.core.notify.models import Delivery, Digest, NotificationChannel, State
from watchbook.core.notify.outbox.notice import LISTED, Notice

KIND = "digest"
SOURCE = "notify"


def zone_of(channel: NotificationChannel) -> ZoneInfo:
    try:
        return ZoneInfo(channel.user.time_zone or settings.TIME_ZONE)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo(settings.TIME_ZONE)


def window_end(channel: NotificationChannel, now: datetime) -> datetime | None:
    """When the present window of this channel ends, by its owner's clock. None: told at once."""
    if channel.digest == Digest.IMMEDIATE:
        return None
    local = now.astimezone(zone_of(channel))
    if channel.digest == Digest.HOURLY:
        # Subtracting from the instant, not from the wall clock: an hour that is repeated in autumn is two windows.
        into = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        return now - into + timedelta(hours=1)
    end = local.replace(hour=options.DIGEST_HOUR.value, minute=0, second=0, microsecond=0, fold=0)
    if end.astimezone(UTC) <= now:
        end = (end.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=local.tzinfo)
    return end.astimezone(UTC)


def reschedule(channel: NotificationChannel) -> int:
    """After the owner chose another rhythm: what waits now waits by the new one."""
    now = clock.now()
    window = window_end(channel, now)
    waiting = Delivery.objects.filter(channel=channel, state=State.PENDING, bundle=None, attempt=0, bypass_digest=False)
    return waiting.exclude(kind=KIND).update(window_at=window, next_at=window or now)


@transaction.atomic
def gather(channel: NotificationChannel, window_at: datetime) -> Delivery | None:
    """Make the digest of a window that has ended. None when it is there already: latecomers go into the next one."""
    waiting = Delivery.objects.filter(
        channel=channel, state=State.PENDING, bundle=None, window_at__lte=window_at, next_at__lte=clock.now()
    )
    members = list(waiting.order_by("id").only("event_id", "source", "kind", "subject", "link"))
    if not members:
        return None
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        notice = _worded(channel, members, window_at)
    digest, made = Delivery.objects.get_or_create(
        channel=channel, event_id=notice.event_id, defaults={**notice.columns(), "next_at": clock.now()}
    )
    ids = [member.pk for member in members]
    if not made:
        following = window_end(channel, clock.now()) or clock.now()
        _in_batches(ids, window_at=following, next_at=following)
        return None
    _in_batches(ids, bundle=digest, next_at=None)
    return digest


def _in_batches(ids: Sequence[int], **columns: object) -> None:
    for start in range(0, len(ids), 500):
        rows = Delivery.objects.filter(pk__in=ids[start : start + 500], state=State.PENDING, bundle=None)
        rows.update(**columns)


def _worded(channel: NotificationChannel, members: Sequence[Delivery], window_at: datetime) -> Notice:
    count = len(members)
    until = window_at.astimezone(zone_of(channel))
    lines = []
    for member in members[:LISTED]:
        lines += [f"• {member.subject}", *([f"  {member.link}"] if member.link else [])]
    if count > LISTED:
        lines.append(_("and %(count)s more") % {"count": count - LISTED})
    listed = [
        {"event_id": m.event_id, "type": f"{m.source}.{m.kind}", "subject": m.subject, "link": m.link} for m in members
    ]
    counts: dict[str, int] = {}
    for member in members:
        counts[f"{member.source}.{member.kind}"] = counts.get(f"{member.source}.{member.kind}", 0) + 1
    return Notice(
        event_id=f"digest:{channel.pk}:{window_at.astimezone(UTC):%Y-%m-%dT%H:%MZ}",
        source=SOURCE,
        kind=KIND,
        subject=ngettext("%(count)s notice until %(time)s", "%(count)s notices until %(time)s", count)
        % {"count": count, "time": f"{until:%m-%d %H:%M}"},
        lines=lines,
        payload={"count": count, "counts": counts, "until": until.isoformat(), "notices": listed},
        link=f"/channels/{channel.pk}/",
        thread=f"digest:{channel.pk}",
        urgent=True,
    )
