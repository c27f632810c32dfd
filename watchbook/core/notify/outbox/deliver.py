"""Sending what is due: each channel by one sender at a time, several channels side by side.

The broad `except` here is the deliverer's: whatever a sender raises becomes a failed try of that one notice.
"""

from __future__ import annotations

import contextvars
import logging
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import connections

from watchbook.base import clock, pulse
from watchbook.base.crash import crash_point
from watchbook.core.notify import senders
from watchbook.core.notify.models import Delivery, NotificationChannel, State
from watchbook.core.notify.outbox import digest, ladder, verdict
from watchbook.core.notify.outbox.claim import claim, free_expired, waiting_channels
from watchbook.core.notify.senders.result import Result

log = logging.getLogger(__name__)

# A channel gives its place to another one after so many notices or seconds; it comes back for the rest.
TURN_NOTICES, TURN_SECONDS = 20, 15.0
# A run looks for new work while it waits for slow channels, but it ends: a run without end cannot be watched.
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
            pulse.beat()
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
                pulse.beat()
                if report:
                    report(**total.figures())


def _in_thread(channel_id: UUID) -> Tally | None:
    try:
        return _safely(channel_id)
    finally:
        connections.close_all()


def _safely(channel_id: UUID) -> Tally | None:
    """One turn that cannot stop the others. None when it broke: the channel is left out until the next run."""
    try:
        # The run renews its lease between turns: inside, a lost lease would cut off a send half way.
        with pulse.listening(lambda: None):
            return serve(channel_id)
    except Exception:
        log.exception("serving channel %s ended early", channel_id)
        return None


def serve(channel_id: UUID) -> Tally:
    """One turn of one channel: oldest first, until nothing is due or the turn is up."""
    tally = Tally()
    owner = f"deliver-{uuid4().hex[:12]}"
    end = time.monotonic() + TURN_SECONDS
    for _ in range(TURN_NOTICES):
        channel = NotificationChannel.objects.select_related("user").filter(pk=channel_id).first()
        if channel is None or time.monotonic() > end:
            break
        if reason := why_silent(channel):
            tally.skipped += verdict.skip(channel, reason)
            break
        delivery = _take(channel, owner)
        if delivery is None:
            break
        _count(tally, deliver(delivery))
    return tally


def why_silent(channel: NotificationChannel) -> str:
    """Why nothing may go out on this channel now; empty when it may."""
    if not channel.user.is_active:
        return "account_closed"
    if not channel.is_active:
        return channel.disabled_reason or "paused"
    return ""


def _take(channel: NotificationChannel, owner: str) -> Delivery | None:
    """Claim the next due notice; waiting notices of an ended window become one digest first."""
    while True:
        now = clock.now()
        if channel.blocked_until and channel.blocked_until > now:
            return None
        found = Delivery.objects.due(now).filter(channel=channel).order_by("next_at", "id").first()
        if found is None:
            return None
        if found.window_at is None:
            return claim(found, owner)
        made = digest.gather(channel, found.window_at)
        if made is not None:
            return claim(made, owner)


def deliver(delivery: Delivery) -> Delivery:
    """Try to send one claimed notice and mark it."""
    started_at, began = clock.now(), time.monotonic()
    result = _try(delivery)
    crash_point("outbox.sent")
    duration_ms = int((time.monotonic() - began) * 1000)
    if not verdict.mark(delivery, result, started_at=started_at, duration_ms=duration_ms):
        delivery.state = State.PENDING
    return delivery


def _try(delivery: Delivery) -> Result:
    if delivery.attempt > ladder.TRIES + ladder.CRASHES:
        return senders.failed("crashed", is_final=True)
    try:
        return senders.send(delivery.channel, senders.message_of(delivery))
    except Exception as error:
        # The text of the exception may hold an address or a token; its kind is enough to find the place.
        log.error("sending %s: unexpected %s", delivery, type(error).__name__, exc_info=log.isEnabledFor(logging.DEBUG))
        return senders.failed("unexpected")


def _count(tally: Tally, delivery: Delivery) -> None:
    field = {State.SENT: "sent", State.FAILED: "failed"}.get(State(delivery.state), "retried")
    setattr(tally, field, getattr(tally, field) + 1)
