"""The result of an attempt: one transaction that changes the delivery, its channel and the members of a digest.

A failed delivery is retried at growing intervals; a channel that keeps failing is paused, then disabled, and its owner
gets one e-mail per outage.
"""

from __future__ import annotations

import logging
import random
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core import registry
from watchbook.core.notify.http import REFUSED
from watchbook.core.notify.message import Notification, Result, explain_delivery
from watchbook.core.notify.models import Attempt, Delivery, NotificationChannel, State
from watchbook.core.notify.outbox.enqueue import notify_owner

# Seconds after the first, second, ... failure. After the last one it is given up.
STEPS = (5, 300, 1800, 7200, 18000, 36000, 36000)
MAX_ATTEMPTS = len(STEPS) + 1
JITTER = 0.2
# A process that stops uses up an attempt; beyond these the delivery itself is the likely cause.
MAX_CRASHES = 3

LEAST_PAUSE, LONGEST_PAUSE = 1.0, 86400.0

# Failures in a row, over all deliveries of a channel, before it is paused.
BREAK_AFTER = 3
FIRST_BREAK, LONGEST_BREAK = 300.0, 21600.0
# A channel without a success in this time is disabled.
FAILING_FOR = timedelta(days=5)


def next_attempt(attempt: int, now: datetime, asked_pause: float | None = None) -> datetime:
    """Return the time of the next attempt. A pause that the endpoint asked for wins over our steps."""
    if asked_pause is not None:
        return now + timedelta(seconds=min(max(asked_pause, LEAST_PAUSE), LONGEST_PAUSE))
    step = STEPS[min(attempt, len(STEPS)) - 1]
    return now + timedelta(seconds=step * random.uniform(1 - JITTER, 1 + JITTER))


def paused_until(failures: int, now: datetime) -> datetime | None:
    """Return until when a channel is paused after this many failures in a row."""
    if failures < BREAK_AFTER:
        return None
    beyond = min(failures - BREAK_AFTER, 20)
    return now + timedelta(seconds=min(FIRST_BREAK * 2**beyond, LONGEST_BREAK))


log = logging.getLogger(__name__)

SKIPPED_PER_TURN = 500

# A digest's members get these with it.
SHARED = ("state", "attempt", "last_status", "error_code", "last_error", "sent_at")


def mark(delivery: Delivery, result: Result, *, started_at: datetime, duration_ms: int) -> bool:
    """Store the result of an attempt. False if the lease was lost: then nothing is stored."""
    now = clock.now()
    if result.is_busy:
        return _release(delivery, next_attempt(1, now, result.retry_after_seconds))
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
        _update_channel(delivery, result, now, duration_ms)
        _share(delivery)
        announce(delivery)
        crash_point("outbox.marking")
    crash_point("outbox.marked")
    return True


def _release(delivery: Delivery, next_at: datetime) -> bool:
    """Nothing was sent: the attempt does not count."""
    mine = Delivery.objects.filter(pk=delivery.pk, fence=delivery.fence, state=State.PENDING)
    return bool(mine.update(next_at=next_at, attempt=F("attempt") - 1, owner="", lease_until=None, live_slot=None))


def skip(channel: NotificationChannel, reason: str) -> int:
    """Skip what is due on a disabled channel; the log shows the reason."""
    count = 0
    for delivery in list(Delivery.objects.due(clock.now()).filter(channel=channel).order_by("id")[:SKIPPED_PER_TURN]):
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
    """Call the hook of the system that sent it, in the same transaction."""
    try:
        hook = registry.source(delivery.source).delivery_changed
    except LookupError:  # sent by core, not by a system
        return
    if not hook:
        return
    try:
        with transaction.atomic():
            registry.load(hook)(delivery)
    except Exception:
        # An error in a system's hook must not undo the result: the delivery would be sent again and again.
        log.exception("%s could not process %s", delivery.source, delivery)


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
        "next_at": next_attempt(delivery.attempt, now, result.retry_after_seconds),
    }


def _is_over(delivery: Delivery, result: Result) -> bool:
    if result.is_final or result.is_gone or delivery.attempt >= MAX_ATTEMPTS:
        return True
    if not result.is_permanent or delivery.attempt < 2:
        return False
    previous = delivery.attempts.order_by("-id").first()
    return previous is not None and previous.is_permanent


def _apply(delivery: Delivery, columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        setattr(delivery, name, value)


def _update_channel(delivery: Delivery, result: Result, now: datetime, duration_ms: int) -> None:
    channel = NotificationChannel.objects.filter(pk=delivery.channel_id)
    if not result.ok:
        count_failure(delivery, result, now, duration_ms)
    elif channel.exclude(owner_notified_at=None).update(last_duration_ms=duration_ms, **RESET):
        _notify_owner_recovered(channel.select_related("user").get(), now)
    else:
        channel.update(last_duration_ms=duration_ms, **RESET)


def _share(delivery: Delivery) -> None:
    """Members get the state of their digest."""
    if delivery.kind != "digest":
        return
    columns = {name: getattr(delivery, name) for name in SHARED}
    members = Delivery.objects.filter(bundle=delivery, state=State.PENDING)
    touched = list(members.order_by("id"))
    members.update(**columns)
    for member in touched:
        _apply(member, columns)
        announce(member)


# Columns of a channel that works, or whose configuration was changed.
RESET: dict[str, Any] = {"failure_count": 0, "failing_since": None, "blocked_until": None, "owner_notified_at": None}

GONE, FAILING, UNSUBSCRIBED = "gone", "failing", "unsubscribed"


def count_failure(delivery: Delivery, result: Result, now: datetime, duration_ms: int) -> None:
    """Count a failed attempt, in the transaction that stores it."""
    row = NotificationChannel.objects.filter(pk=delivery.channel_id)
    row.update(failure_count=F("failure_count") + 1, last_duration_ms=duration_ms)
    row.filter(failing_since=None).update(failing_since=now)
    channel = NotificationChannel.objects.select_related("user").get(pk=delivery.channel_id)
    held = paused_until(channel.failure_count, now)
    # A pause that the endpoint asked for is meant for all deliveries of the channel.
    asked = next_attempt(1, now, result.retry_after_seconds) if result.retry_after_seconds else None
    if held or asked:
        row.update(blocked_until=max(moment for moment in (held, asked) if moment))
    reason = _reason_to_stop(channel, result, now)
    if reason:
        row.update(is_active=False, disabled_reason=reason, blocked_until=None, updated_at=now)
    is_refused = result.status in REFUSED and channel.failure_count > 1
    if reason or held or is_refused or delivery.state == State.FAILED:
        _notify_owner_once(channel, delivery, reason, now)


def _reason_to_stop(channel: NotificationChannel, result: Result, now: datetime) -> str:
    if result.is_gone:
        return GONE
    long_ago = channel.failing_since is not None and now - channel.failing_since >= FAILING_FOR
    return FAILING if long_ago and channel.failure_count >= BREAK_AFTER else ""


def _notify_owner_once(channel: NotificationChannel, delivery: Delivery, reason: str, now: datetime) -> None:
    """Send one mail per outage, however many deliveries fail in it, and one when the first of them is given up."""
    if channel.account_slot is not None:
        return  # this is the channel that would carry the mail
    is_first = NotificationChannel.objects.filter(pk=channel.pk, owner_notified_at=None).update(owner_notified_at=now)
    if not is_first and (reason or delivery.state != State.FAILED):
        return
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        notify_owner(channel.user, _worded(channel, delivery, reason, now))


def _notify_owner_recovered(channel: NotificationChannel, now: datetime) -> None:
    """Send one mail when a channel whose failures were announced works again."""
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        name = {"name": channel.name}
        notification = Notification(
            event_id=f"channel-recovered:{channel.pk}:{now:%Y-%m-%dT%H:%M:%S.%fZ}",
            source="notify",
            kind="channel_recovered",
            subject=_("Deliveries working again: %(name)s") % name,
            lines=[
                _("Channel: %(name)s") % name,
                _("The last delivery was accepted. Pending notifications are being sent."),
            ],
            payload={"channel_id": str(channel.pk)},
            link=reverse("channel", args=[channel.pk]),
            thread=f"channel:{channel.pk}",
            urgent=True,
        )
        notify_owner(channel.user, notification)


def _explained(delivery: Delivery) -> str:
    """In the language of the owner; the channel's state follows in a sentence of its own."""
    if delivery.error_code == "gone":
        return f"HTTP {delivery.last_status}"
    return explain_delivery(delivery) or "–"


def _worded(channel: NotificationChannel, delivery: Delivery, reason: str, now: datetime) -> Notification:
    name = {"name": channel.name}
    if reason == GONE:
        subject = _("Channel disabled: %(name)s") % name
        meaning = _("The endpoint no longer exists. The channel is now disabled.")
    elif reason:
        subject = _("Channel disabled: %(name)s") % name
        meaning = _("All deliveries failed for %(days)s days. The channel is now disabled.") % {
            "days": FAILING_FOR.days
        }
    elif delivery.state == State.FAILED:
        subject = _("Notification not delivered: %(name)s") % name
        meaning = _("Watchbook stopped retrying. You can resend it from the delivery log.")
    else:
        subject = _("Deliveries failing: %(name)s") % name
        meaning = _("%(count)s deliveries failed in a row. Notifications stay pending and are retried less often. "
                    "After %(days)s days without success, the channel is disabled.")  # fmt: skip
        meaning %= {"count": channel.failure_count, "days": FAILING_FOR.days}
    lines = [
        _("Channel: %(name)s") % name,
        _("Notification: %(subject)s") % {"subject": delivery.subject},
        _("Last response: %(error)s") % {"error": _explained(delivery)},
        meaning,
        _("You get one e-mail now and one when the channel works again."),
    ]
    # The same event is sent once.
    word, since = ("gave-up", channel.failing_since or now) if delivery.state == State.FAILED else ("failing", now)
    return Notification(
        event_id=f"channel-{word}:{channel.pk}:{since:%Y-%m-%dT%H:%M:%S.%fZ}",
        source="notify",
        kind="channel_failing",
        subject=subject,
        lines=lines,
        payload={"channel_id": str(channel.pk), "reason": reason or delivery.error_code},
        link=reverse("channel", args=[channel.pk]),
        thread=f"channel:{channel.pk}",
        urgent=True,
    )
