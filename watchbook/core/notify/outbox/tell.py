"""Putting notices into the outbox, inside the transaction of what they tell of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchbook.base import clock
from watchbook.base.crash import crash_point
from watchbook.core.notify.models import ChannelType, Delivery, NotificationChannel
from watchbook.core.notify.outbox import digest
from watchbook.core.notify.outbox.notice import Notice, short_id


def tell(channels: Iterable[NotificationChannel], notice: Notice) -> list[Delivery]:
    """One row for each active channel that was not told of this event yet. Returns the rows made now.

    If the caller's transaction rolls back, nothing is told; once it commits, nothing is lost.
    """
    now = clock.now()
    wanted = {channel.pk: channel for channel in channels if channel.is_active}
    told = Delivery.objects.filter(event_id=short_id(notice.event_id), channel__in=wanted)
    before = set(told.values_list("channel_id", flat=True))
    columns = notice.columns()
    rows = []
    for pk, channel in wanted.items():
        if pk not in before:
            window = None if notice.urgent else digest.window_end(channel, now)
            rows.append(Delivery(channel=channel, created_at=now, window_at=window, next_at=window or now, **columns))
    # Two tellers of one event at the same moment: the second insert is no row, not an error.
    Delivery.objects.bulk_create(rows, ignore_conflicts=True, batch_size=200)
    crash_point("outbox.inserted")
    if not rows:
        return []
    return list(told.exclude(channel__in=before).select_related("channel").order_by("id"))


def tell_owner(user: Any, notice: Notice) -> list[Delivery]:
    """By the house's own line to the person: a mail to the account's address."""
    return tell([house_line(user)], notice)


def house_line(user: Any) -> NotificationChannel:
    line, _ = NotificationChannel.objects.get_or_create(
        house_slot=user.pk,
        defaults={"user": user, "name": "account", "channel_type": ChannelType.EMAIL},
    )
    return line
