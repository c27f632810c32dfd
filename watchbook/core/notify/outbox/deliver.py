"""Sends what is due: each channel by one sender at a time, several channels in parallel.

One conditional UPDATE claims a delivery, with a lease by the clock of the database and a fencing token. The broad
`except` turns whatever a channel raises into a failed attempt of that one delivery.
"""

from __future__ import annotations

import contextvars
import logging
import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import IntegrityError, connections, transaction
from django.db.models import F, Min, Q
from django.db.models.functions import Now

from watchbook.base import clock, work
from watchbook.base.work import crash_point
from watchbook.core.notify import channels, message, options
from watchbook.core.notify.message import Result
from watchbook.core.notify.models import Delivery, DeliveryQuerySet, NotificationChannel, State
from watchbook.core.notify.outbox import result
from watchbook.core.notify.outbox.enqueue import gather

# Channels per query; the next query finds the rest.
WINDOW = 200


def free_expired() -> int:
    """Release what a stopped sender held. The fence stays: until the next claim, its result still counts."""
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
    """Return channels with something due and no sender. Healthy and fast ones do not wait for failing ones."""
    first = _due(now).exclude(channel__in=besides).values("channel_id").annotate(first=Min("next_at"))
    order = ("channel__failure_count", "channel__last_duration_ms", "first")
    return list(first.order_by(*order).values_list("channel_id", flat=True)[:WINDOW])


def claim(delivery: Delivery, owner: str) -> Delivery | None:
    """Lease this delivery and its channel. None if another process was first."""
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
    except IntegrityError:  # another delivery of this channel is being sent
        return None
    crash_point("outbox.claimed")
    return claimed


def _number(delivery: Delivery) -> None:
    """The channel is leased, so its count has one writer."""
    channel = NotificationChannel.objects.filter(pk=delivery.channel_id)
    channel.update(last_sequence=F("last_sequence") + 1)
    Delivery.objects.filter(pk=delivery.pk, sequence=None).update(
        sequence=channel.values_list("last_sequence", flat=True).get()
    )


log = logging.getLogger(__name__)

# Deliveries and seconds after which a channel lets another one be served.
TURN_DELIVERIES, TURN_SECONDS = 20, 15.0
# A run asks for new work while it waits for slow channels, but it ends, so that runs can be monitored.
LOOK_SECONDS, RUN_SECONDS = 1.0, 240.0


@dataclass
class Tally:
    """What one round of delivery did."""

    sent: int = 0
    failed: int = 0
    retried: int = 0
    skipped: int = 0

    def add(self, other: Tally) -> None:
        self.sent += other.sent
        self.failed += other.failed
        self.retried += other.retried
        self.skipped += other.skipped

    def figures(self) -> dict[str, int]:
        return {"sent": self.sent, "failed": self.failed, "retried": self.retried, "skipped": self.skipped}


def deliver_due(now: datetime | None = None, *, width: int = 1, report: Callable[..., None] | None = None) -> Tally:
    """Send everything that is due. `now` holds the clock; `width` channels are served at the same time."""
    with clock.set_to(now) if now else nullcontext():
        free_expired()
        return _one_by_one() if width == 1 else _side_by_side(width, report)


def _one_by_one() -> Tally:
    total = Tally()
    broken: set[UUID] = set()
    while True:
        before = total.figures()
        for channel_id in waiting_channels(clock.now(), besides=broken):
            turn = _safely(channel_id)
            total.add(turn or Tally())
            if turn is None:
                broken.add(channel_id)
            work.beat()
        if total.figures() == before:  # nothing left, or held by others: they will do it
            return total


def _side_by_side(width: int, report: Callable[..., None] | None) -> Tally:
    total = Tally()
    broken: set[UUID] = set()
    running: dict[Future[Tally | None], UUID] = {}
    end = time.monotonic() + RUN_SECONDS
    with ThreadPoolExecutor(width, thread_name_prefix="deliver") as pool:
        while True:
            if time.monotonic() < end and len(running) < width:
                waiting = waiting_channels(clock.now(), besides={*running.values(), *broken})
                for channel_id in waiting[: width - len(running)]:
                    # The thread sees this run's clock, request id and request count.
                    context = contextvars.copy_context()
                    running[pool.submit(context.run, _in_thread, channel_id)] = channel_id
            if not running:
                return total
            done, _ = wait(running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                channel_id, turn = running.pop(future), future.result()
                total.add(turn or Tally())
                if turn is None:
                    broken.add(channel_id)
            if done:
                work.beat()
                if report:
                    report(**total.figures())


def _in_thread(channel_id: UUID) -> Tally | None:
    try:
        return _safely(channel_id)
    finally:
        connections.close_all()


def _safely(channel_id: UUID) -> Tally | None:
    """One turn that cannot stop the others. None if it raised: the channel is skipped until the next run."""
    try:
        # The run renews its lease between turns: inside, a lost lease would cut off a send half way.
        with work.listening(lambda: None):
            return serve(channel_id)
    except Exception:
        log.exception("serving channel %s ended early", channel_id)
        return None


def serve(channel_id: UUID) -> Tally:
    """One turn of one channel: oldest first, until nothing is due or the turn is up."""
    tally = Tally()
    owner = f"deliver-{uuid4().hex[:12]}"
    end = time.monotonic() + TURN_SECONDS
    for _ in range(TURN_DELIVERIES):
        channel = NotificationChannel.objects.select_related("user").filter(pk=channel_id).first()
        if channel is None or time.monotonic() > end:
            break
        if reason := skip_reason(channel):
            tally.skipped += result.skip(channel, reason)
            break
        delivery = _take(channel, owner)
        if delivery is None:
            break
        _count(tally, deliver(delivery))
    return tally


def skip_reason(channel: NotificationChannel) -> str:
    """Return why nothing is sent on this channel; empty if it is sent."""
    if not channel.user.is_active:
        return "account_closed"
    if not channel.is_active:
        return channel.disabled_reason or "paused"
    return ""


def _take(channel: NotificationChannel, owner: str) -> Delivery | None:
    """Claim the next due delivery; pending ones of an ended window become one digest first."""
    while True:
        now = clock.now()
        if channel.blocked_until and channel.blocked_until > now:
            return None
        found = Delivery.objects.due(now).filter(channel=channel).order_by("next_at", "id").first()
        if found is None:
            return None
        if found.window_at is None:
            return claim(found, owner)
        made = gather(channel, found.window_at)
        if made is not None:
            return claim(made, owner)


def deliver(delivery: Delivery) -> Delivery:
    """Send one claimed delivery and store the result."""
    started_at, began = clock.now(), time.monotonic()
    sent = _try(delivery)
    crash_point("outbox.sent")
    duration_ms = int((time.monotonic() - began) * 1000)
    if not result.mark(delivery, sent, started_at=started_at, duration_ms=duration_ms):
        delivery.state = State.PENDING
    return delivery


def _try(delivery: Delivery) -> Result:
    if delivery.attempt > result.MAX_ATTEMPTS + result.MAX_CRASHES:
        return message.failed("crashed", is_final=True)
    try:
        return channels.send(delivery.channel, message.message_of(delivery))
    except Exception as error:
        # The text of the exception may contain an address or a token; its class is enough to find the place.
        log.error("sending %s: unexpected %s", delivery, type(error).__name__, exc_info=log.isEnabledFor(logging.DEBUG))
        return message.failed("unexpected")


def _count(tally: Tally, delivery: Delivery) -> None:
    field = {State.SENT: "sent", State.FAILED: "failed"}.get(State(delivery.state), "retried")
    setattr(tally, field, getattr(tally, field) + 1)
