"""Taking a notice to send it: one conditional UPDATE, a lease by the database's clock, a fence that only grows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Min, Q
from django.db.models.functions import Now

from watchbook.base import clock
from watchbook.base.crash import crash_point
from watchbook.core.notify import options
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.models.delivery import DeliveryQuerySet

# Channels looked at in one go; the next look finds the rest.
WINDOW = 200


def free_expired() -> int:
    """Take back what a dead or sleeping sender held. The fence stays: who wakes before the next claim is in time."""
    expired = Delivery.objects.filter(live_slot__isnull=False, lease_until__lt=Now())
    return expired.update(live_slot=None, lease_until=None, owner="")


def _due(now: datetime) -> DeliveryQuerySet:
    """Due, on a channel that is neither held back nor being served."""
    served = Delivery.objects.filter(live_slot__isnull=False, lease_until__gte=Now()).values("live_slot")
    open_ = Q(channel__blocked_until=None) | Q(channel__blocked_until__lte=now)
    return Delivery.objects.due(now).filter(open_).exclude(channel__in=served)


def anything_waits(now: datetime) -> bool:
    return _due(now).exists()


def waiting_channels(now: datetime, *, besides: Collection[UUID] = ()) -> list[UUID]:
    """Channels with something due that nobody serves. Healthy and quick ones first: they must not wait for ill ones."""
    first = _due(now).exclude(channel__in=besides).values("channel_id").annotate(first=Min("next_at"))
    order = ("channel__failure_count", "channel__last_duration_ms", "first")
    return list(first.order_by(*order).values_list("channel_id", flat=True)[:WINDOW])


def claim(delivery: Delivery, owner: str) -> Delivery | None:
    """Hold this notice and its channel. None when somebody else was first."""
    lease = timedelta(seconds=options.LEASE_SECONDS.value)
    try:
        with transaction.atomic():
            taken = (
                Delivery.objects.due(clock.now())
                .filter(pk=delivery.pk)
                .update(
                    owner=owner,
                    fence=F("fence") + 1,
                    attempt=F("attempt") + 1,
                    lease_until=Now() + lease,
                    live_slot=delivery.channel_id,
                )
            )
            if not taken:
                return None
            if delivery.sequence is None:
                _number(delivery)
            claimed = Delivery.objects.select_related("channel__user").get(pk=delivery.pk)
    except IntegrityError:  # another notice of this channel is being sent
        return None
    crash_point("outbox.claimed")
    return claimed


def _number(delivery: Delivery) -> None:
    """The channel is ours now, so its count has one writer."""
    channel = NotificationChannel.objects.filter(pk=delivery.channel_id)
    channel.update(last_sequence=F("last_sequence") + 1)
    Delivery.objects.filter(pk=delivery.pk, sequence=None).update(
        sequence=channel.values_list("last_sequence", flat=True).get()
    )
