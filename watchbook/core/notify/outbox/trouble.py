"""A channel in trouble: counted, held back, switched off, and its owner told by mail once per outage."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import F
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from watchbook.core.notify.models import Delivery, NotificationChannel, State
from watchbook.core.notify.outbox import ladder
from watchbook.core.notify.outbox.notice import Notice
from watchbook.core.notify.outbox.tell import tell_owner
from watchbook.core.notify.senders.result import Result

# A channel that works, or that its owner set up anew, starts with a clean sheet.
HEALED: dict[str, Any] = {"failure_count": 0, "failing_since": None, "blocked_until": None, "owner_told_at": None}

GONE, FAILING, UNSUBSCRIBED = "gone", "failing", "unsubscribed"


def note(delivery: Delivery, result: Result, now: datetime, duration_ms: int) -> None:
    """Called in the transaction that marks a failed try."""
    row = NotificationChannel.objects.filter(pk=delivery.channel_id)
    row.update(failure_count=F("failure_count") + 1, last_duration_ms=duration_ms)
    row.filter(failing_since=None).update(failing_since=now)
    channel = NotificationChannel.objects.select_related("user").get(pk=delivery.channel_id)
    held = ladder.held_until(channel.failure_count, now)
    # A pause that the receiver asked for is meant for all notices, not only for the one that was answered so.
    asked = ladder.next_try(1, now, result.retry_after_seconds) if result.retry_after_seconds else None
    if held or asked:
        row.update(blocked_until=max(moment for moment in (held, asked) if moment))
    reason = _reason_to_stop(channel, result, now)
    if reason:
        row.update(is_active=False, disabled_reason=reason, blocked_until=None, updated_at=now)
    if reason or held or delivery.state == State.FAILED:
        _tell_once(channel, delivery, reason, now)


def _reason_to_stop(channel: NotificationChannel, result: Result, now: datetime) -> str:
    if result.is_gone:
        return GONE
    long_ago = channel.failing_since is not None and now - channel.failing_since >= ladder.FAILING_FOR
    return FAILING if long_ago and channel.failure_count >= ladder.BREAK_AFTER else ""


def _tell_once(channel: NotificationChannel, delivery: Delivery, reason: str, now: datetime) -> None:
    """One mail per outage, however many notices fail in it."""
    if channel.house_slot is not None:
        return  # the line that would carry the mail is the one in trouble
    if not NotificationChannel.objects.filter(pk=channel.pk, owner_told_at=None).update(owner_told_at=now):
        return
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        tell_owner(channel.user, _worded(channel, delivery, reason, now))


def _worded(channel: NotificationChannel, delivery: Delivery, reason: str, now: datetime) -> Notice:
    name = {"name": channel.name}
    if reason == GONE:
        subject = _("Channel switched off: %(name)s") % name
        meaning = _("The receiver says that it no longer exists (410), so the channel was switched off.")
    elif reason:
        subject = _("Channel switched off: %(name)s") % name
        meaning = _("It took no notice for %(days)s days, so it was switched off.") % {"days": ladder.FAILING_FOR.days}
    elif delivery.state == State.FAILED:
        subject = _("A notice could not be delivered: %(name)s") % name
        meaning = _("It was given up. It stays in the delivery log and can be sent again from there.")
    else:
        subject = _("Channel in trouble: %(name)s") % name
        meaning = _("It failed %(count)s times in a row. Notices wait and are tried more slowly; after %(days)s days "
                    "without success the channel is switched off.")  # fmt: skip
        meaning %= {"count": channel.failure_count, "days": ladder.FAILING_FOR.days}
    lines = [
        _("Channel: %(name)s") % name,
        _("Notice: %(subject)s") % {"subject": delivery.subject},
        _("Last answer: %(error)s") % {"error": delivery.last_error or "–"},
        meaning,
        _("You are told once until the channel works again."),
    ]
    return Notice(
        event_id=f"channel-trouble:{channel.pk}:{now:%Y-%m-%dT%H:%M:%S.%fZ}",
        source="notify",
        kind="channel_trouble",
        subject=subject,
        lines=lines,
        payload={"channel_id": str(channel.pk), "reason": reason or delivery.error_code},
        link=reverse("channel", args=[channel.pk]),
        thread=f"channel:{channel.pk}",
        urgent=True,
    )
