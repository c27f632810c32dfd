"""What a person does with channels and deliveries; pages and API call the same functions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import cut
from watchbook.core.accounts import audit, limits
from watchbook.core.accounts.models import User
from watchbook.core.notify import config, senders, signing, unsubscribe
from watchbook.core.notify.errors import BadConfig, NotReplayable, TooManyTests, Unreadable
from watchbook.core.notify.models import Attempt, ChannelType, Delivery, Digest, Level, NotificationChannel, State
from watchbook.core.notify.outbox import Notice, digest, trouble, verdict

NAME_LENGTH = 255
EDITED = ("name", "is_active", "digest", "alert_level", "disabled_reason", "config", "secret", "updated_at")
TESTS, TEST_SECONDS = 10, 600


@dataclass(frozen=True)
class Saved:
    """A saved channel; `secret` is the signing secret that was made just now and is shown this one time."""

    channel: NotificationChannel
    secret: str = ""


@transaction.atomic
def create(user: User, *, name: str, channel_type: str, given: Mapping[str, Any], **choices: Any) -> Saved:
    checked = config.check(channel_type, given)
    channel = NotificationChannel(user=user, channel_type=channel_type)
    _apply(channel, user, name=name, **choices)
    config.write(channel, checked)
    channel.save(force_insert=True)
    audit.record("channel.added", actor=user, subject=channel.name, type=channel_type, id=channel.pk)
    was_made = channel_type == ChannelType.WEBHOOK and not given.get("secret")
    return Saved(channel, checked["secrets"][0] if was_made else "")


@transaction.atomic
def update(channel: NotificationChannel, *, given: Mapping[str, Any] | None = None, **choices: Any) -> Saved:
    """Change what is given and leave the rest. A channel that was switched off by the house starts anew when set on."""
    _hold(channel)
    before = channel.digest
    was_off = not channel.is_active
    if given is not None:
        config.write(channel, config.check(channel.channel_type, given, _known(channel)))
        _forget_trouble(channel)
    _apply(channel, channel.user, **choices)
    if was_off and channel.is_active:
        _switch_on(channel)
    channel.updated_at = clock.now()
    channel.save(update_fields=[*EDITED, *trouble.HEALED])
    if channel.digest != before:
        digest.reschedule(channel)
    audit.record("channel.changed", actor=channel.user, subject=channel.name, id=channel.pk)
    return Saved(channel)


def _hold(channel: NotificationChannel) -> None:
    """The row as it is now, held until the transaction ends: neither an editor nor the sender is overwritten."""
    channel.refresh_from_db(from_queryset=NotificationChannel.objects.select_for_update())


def _known(channel: NotificationChannel) -> dict[str, Any]:
    try:
        return config.read(channel)
    except Unreadable:
        # The key is lost. What is given now has to be complete; nothing old is overwritten before that was checked.
        return {}


def _apply(channel: NotificationChannel, user: User, **choices: Any) -> None:
    if "name" in choices:
        channel.name = cut(" ".join(str(choices["name"]).split()), NAME_LENGTH)  # one line: it stands in mails
        if not channel.name:
            raise BadConfig("name", _("Give the channel a name."))
    if "is_active" in choices:
        channel.is_active = bool(choices["is_active"])
    if "digest" in choices:
        if choices["digest"] not in Digest.values:
            raise BadConfig("digest", _("Choose at once, every hour or every day."))
        channel.digest = choices["digest"]
    if "alert_level" in choices:
        level = choices["alert_level"] or ""
        if level and (level not in Level.values or not user.is_staff):
            raise BadConfig("alert_level", _("Alerts of the installation go to operators."))
        channel.alert_level = level


def _switch_on(channel: NotificationChannel) -> None:
    is_own = channel.config.get("email") == channel.user.email
    if channel.disabled_reason == unsubscribe.REASON and not is_own:
        raise BadConfig("is_active", _("The receiver unsubscribed. Only the link in his last mail can undo that."))
    channel.disabled_reason = ""
    _forget_trouble(channel)


def _forget_trouble(channel: NotificationChannel) -> None:
    for name, value in trouble.HEALED.items():
        setattr(channel, name, value)


@transaction.atomic
def delete(channel: NotificationChannel) -> None:
    audit.record("channel.removed", actor=channel.user, subject=channel.name, id=channel.pk)
    channel.delete()


@transaction.atomic
def rotate_secret(channel: NotificationChannel) -> str:
    """A new signing secret; for a day both are used, so that the receiver can change over without losing one."""
    if channel.channel_type != ChannelType.WEBHOOK:
        raise BadConfig("channel_type", _("Only webhooks are signed."))
    _hold(channel)
    fresh = signing.new_secret()
    config.write(channel, config.check(channel.channel_type, {"secret": fresh}, config.read(channel)))
    channel.updated_at = clock.now()
    channel.save(update_fields=["secret", "config", "updated_at"])
    audit.record("channel.secret_rotated", actor=channel.user, subject=channel.name, id=channel.pk)
    return fresh


def send_test(channel: NotificationChannel) -> Delivery:
    """Send a real notice now, once, and write down what happened."""
    if not limits.allow("channel-test", str(channel.user_id), most=TESTS, seconds=TEST_SECONDS):
        raise TooManyTests(_("Too many tests. Try again in ten minutes."))
    delivery = Delivery(
        channel=channel, state=State.PENDING, attempt=1, created_at=clock.now(), **_test_notice(channel)
    )
    began = time.monotonic()
    result = senders.send(channel, senders.message_of(delivery))
    duration_ms = int((time.monotonic() - began) * 1000)
    now = clock.now()
    delivery.state = State.SENT if result.ok else State.FAILED
    delivery.sent_at = now if result.ok else None
    delivery.last_status, delivery.last_body = result.status, result.body
    delivery.error_code, delivery.last_error = result.code, result.message
    with transaction.atomic():
        delivery.save(force_insert=True)
        Attempt.objects.create(
            delivery=delivery, number=1, at=delivery.created_at, duration_ms=duration_ms, succeeded=result.ok,
            status=result.status, error_code=result.code, error=result.message,
        )  # fmt: skip
        channel.last_test_at, channel.last_test_success = now, result.ok
        NotificationChannel.objects.filter(pk=channel.pk).update(last_test_at=now, last_test_success=result.ok)
    return delivery


def _test_notice(channel: NotificationChannel) -> dict[str, Any]:
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        text = _("This is a test of the channel %(name)s. If you can read it, the channel works.")
        notice = Notice(
            event_id=f"test:{uuid4()}",
            source="notify",
            kind="test",
            subject=_("Test from Watchbook"),
            text=text % {"name": channel.name},
            payload={"test": True},
            link=reverse("channel", args=[channel.pk]),
        )
    return notice.columns()


@transaction.atomic
def replay(delivery: Delivery) -> Delivery:
    """Send it again with the same id; the ladder starts anew. A member of a digest is then told by itself."""
    decided = Delivery.objects.filter(pk=delivery.pk).exclude(state=State.PENDING).exclude(kind="test")
    changed = decided.update(
        state=State.PENDING, attempt=0, next_at=clock.now(), window_at=None, bundle=None, sent_at=None,
        error_code="", last_error="", last_status=None,
    )  # fmt: skip
    if not changed:
        raise NotReplayable(_("Only a notice that was sent, given up or skipped can be sent again."))
    Delivery.objects.filter(bundle=delivery).exclude(state=State.PENDING).update(state=State.PENDING, sent_at=None)
    delivery.refresh_from_db()
    if not delivery.channel.is_active:
        raise NotReplayable(_("Switch the channel on first."))
    NotificationChannel.objects.filter(pk=delivery.channel_id).update(**trouble.HEALED)
    audit.record("delivery.replayed", actor=delivery.channel.user, subject=delivery.subject, id=delivery.pk)
    verdict.announce(delivery)
    return delivery
