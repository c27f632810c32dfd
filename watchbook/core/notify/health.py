"""Health of channels, from the deliveries that were really sent or failed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Max, Min, Q
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.core import health as states
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem
from watchbook.core.notify.channels import kind_of
from watchbook.core.notify.message import explain
from watchbook.core.notify.models import Attempt, NotificationChannel, State

# Failed deliveries in a row after which a channel is in error.
ERROR_AFTER = 3


def items(user: User) -> list[HealthItem]:
    """Return the health of each channel of this user, in two queries. Channels of others are private."""
    waiting = Q(deliveries__state=State.PENDING)
    rows = NotificationChannel.objects.of(user).annotate(
        last_sent_at=Max("deliveries__sent_at"), next_at=Min("deliveries__next_at", filter=waiting)
    )
    channels = list(rows.order_by("name", "pk"))
    failed = _last_failures([channel.pk for channel in channels])
    return [
        HealthItem(
            channel.name,
            str(kind.label) if (kind := kind_of(channel.channel_type)) else channel.channel_type,
            channel_health(channel, failed.get(channel.pk)),
            owner_id=user.pk,
            try_url=reverse("channel_test", args=[channel.pk]),
        )
        for channel in channels
    ]


def _last_failures(channels: list[UUID]) -> dict[UUID, Attempt]:
    failed = Attempt.objects.filter(delivery__channel__in=channels, succeeded=False)
    newest = failed.order_by().values("delivery__channel").annotate(last=Max("pk")).values("last")
    rows = Attempt.objects.filter(pk__in=newest).select_related("delivery")
    return {attempt.delivery.channel_id: attempt for attempt in rows}


def channel_health(channel: NotificationChannel, failed: Attempt | None) -> Health:
    """Return the health of one channel; `last_sent_at` and `next_at` come from the query of `items`."""
    sent_at = getattr(channel, "last_sent_at", None)
    tested_at = channel.last_test_at if channel.last_test_success else None
    known: dict[str, Any] = {
        "last_success_at": max((at for at in (sent_at, tested_at) if at), default=None),
        "url": reverse("channel", args=[channel.pk]),
    }
    if failed is not None:
        cause = explain(failed.error_code, failed.status, failed.error)
        known |= {"last_failure_at": failed.at, "last_failure": cause}
    if not channel.is_active:
        text = _("This channel is disabled. Pending notifications are kept in the delivery log.")
        return Health(states.PAUSED if known["last_success_at"] else states.NEVER, remedy=text, **known)
    if channel.failure_count:
        reason = known.get("last_failure") or _("The last delivery failed.")
        remedy = _("Check the settings of the channel, then select Send test. No notification is lost.")
        state = states.ERROR if channel.failure_count >= ERROR_AFTER else states.FAILING
        next_at = channel.blocked_until or getattr(channel, "next_at", None)
        return Health(state, reason=reason, remedy=remedy, next_try_at=next_at, **known)
    state = states.HEALTHY if known["last_success_at"] else states.NEVER
    return Health(state, next_try_at=getattr(channel, "next_at", None), **known)
