"""What becomes of a notice after a try: one fenced transaction that moves the row, its channel and its members."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from watchbook.base import clock
from watchbook.base.crash import crash_point
from watchbook.core import registry
from watchbook.core.notify.models import Attempt, Delivery, NotificationChannel, State
from watchbook.core.notify.outbox import ladder, trouble
from watchbook.core.notify.senders.result import Result

log = logging.getLogger(__name__)

SKIPPED_AT_ONCE = 500

# A digest's members get these with it.
SHARED = ("state", "attempt", "last_status", "error_code", "last_error", "sent_at")


def mark(delivery: Delivery, result: Result, *, started_at: datetime, duration_ms: int) -> bool:
    """Write down how a try ended. False when the lease was lost meanwhile: then nothing is written."""
    now = clock.now()
    if result.is_busy:
        return _hand_back(delivery, ladder.next_try(1, now, result.retry_after_seconds))
    columns = _columns(delivery, result, now)
    with transaction.atomic():
        mine = Delivery.objects.filter(pk=delivery.pk, fence=delivery.fence, state=State.PENDING)
        if not mine.update(**columns, owner="", lease_until=None, live_slot=None):
            log.warning("lost lease of %s", delivery)
            return False
        _apply(delivery, columns)
        Attempt.objects.create(
            delivery=delivery,
            number=delivery.attempt,
            at=started_at,
            duration_ms=duration_ms,
            succeeded=result.ok,
            is_permanent=result.is_permanent,
            status=result.status,
            error_code=result.code,
            error=result.message,
        )
        _judge_channel(delivery, result, now, duration_ms)
        _share(delivery)
        announce(delivery)
        crash_point("outbox.marking")
    crash_point("outbox.marked")
    return True


def _hand_back(delivery: Delivery, next_at: datetime) -> bool:
    """Nothing was sent: the try does not count."""
    mine = Delivery.objects.filter(pk=delivery.pk, fence=delivery.fence, state=State.PENDING)
    return bool(mine.update(next_at=next_at, attempt=F("attempt") - 1, owner="", lease_until=None, live_slot=None))


def skip(channel: NotificationChannel, reason: str) -> int:
    """The channel was switched off before these were sent: they are not sent, and the log says why."""
    count = 0
    for delivery in list(Delivery.objects.due(clock.now()).filter(channel=channel).order_by("id")[:SKIPPED_AT_ONCE]):
        columns = {"state": State.SKIPPED, "error_code": reason, "last_error": "", "next_at": None}
        with transaction.atomic():
            mine = Delivery.objects.due(clock.now()).filter(pk=delivery.pk, fence=delivery.fence)
            if mine.update(**columns, live_slot=None, lease_until=None):
                _apply(delivery, columns)
                _share(delivery)
                announce(delivery)
                count += 1
    return count


def announce(delivery: Delivery) -> None:
    """Let the system that told it keep its own log in step, in this very transaction."""
    try:
        hook = registry.source(delivery.source).delivery_changed
    except LookupError:  # a room of the house, not a system
        return
    if not hook:
        return
    try:
        with transaction.atomic():
            registry.load(hook)(delivery)
    except Exception:
        # A mistake in a system's log must not undo the mark: the notice would be sent again and again.
        log.exception("%s could not take note of %s", delivery.source, delivery)


def _columns(delivery: Delivery, result: Result, now: datetime) -> dict[str, Any]:
    seen = {
        "last_status": result.status,
        "error_code": result.code,
        "last_error": result.message,
        "last_body": result.body,
    }
    if result.ok:
        return {**seen, "state": State.SENT, "sent_at": now, "next_at": None}
    if _is_over(delivery, result):
        return {**seen, "state": State.FAILED, "next_at": None}
    return {
        **seen,
        "state": State.PENDING,
        "next_at": ladder.next_try(delivery.attempt, now, result.retry_after_seconds),
    }


def _is_over(delivery: Delivery, result: Result) -> bool:
    if result.is_final or result.is_gone or delivery.attempt >= ladder.TRIES:
        return True
    if not result.is_permanent or delivery.attempt < 2:
        return False
    previous = delivery.attempts.order_by("-id").first()
    return previous is not None and previous.is_permanent


def _apply(delivery: Delivery, columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        setattr(delivery, name, value)


def _judge_channel(delivery: Delivery, result: Result, now: datetime, duration_ms: int) -> None:
    channel = NotificationChannel.objects.filter(pk=delivery.channel_id)
    if result.ok:
        channel.update(last_duration_ms=duration_ms, **trouble.HEALED)
    else:
        trouble.note(delivery, result, now, duration_ms)


def _share(delivery: Delivery) -> None:
    """A digest's members are told when it is told, and given up when it is given up."""
    if delivery.kind != "digest":
        return
    columns = {name: getattr(delivery, name) for name in SHARED}
    members = Delivery.objects.filter(bundle=delivery, state=State.PENDING)
    touched = list(members.order_by("id"))
    members.update(**columns)
    for member in touched:
        _apply(member, columns)
        announce(member)
