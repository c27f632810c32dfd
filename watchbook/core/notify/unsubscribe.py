"""The link in every mail that ends it, without signing in: signed, bound to one channel and one address."""

from __future__ import annotations

import hashlib
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.core.notify.models import ChannelType, NotificationChannel

# Without a time in it: the same mail sent again is the same byte by byte.
_signer = signing.Signer(sep="~", salt="notify.unsubscribe")
REASON = "unsubscribed"


def short_hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:32]


def token(channel: NotificationChannel, address: str) -> str:
    return _signer.sign(f"{channel.pk.hex}.{short_hash(address)[:12]}")


def link(channel: NotificationChannel, address: str) -> str:
    return settings.PUBLIC_URL + reverse("unsubscribe", args=[token(channel, address)])


def find(given: str) -> NotificationChannel | None:
    """The channel a link belongs to; None for a forged link or one for an address the channel no longer has."""
    try:
        channel_id, _dot, address = _signer.unsign(given).partition(".")
    except signing.BadSignature:
        return None
    mails = NotificationChannel.objects.filter(channel_type=ChannelType.EMAIL, house_slot=None)
    channel = mails.select_related("user").filter(pk=UUID(channel_id)).first()
    if channel is None or short_hash(channel.config.get("email", ""))[:12] != address:
        return None
    return channel


@transaction.atomic
def stop(channel: NotificationChannel) -> None:
    changed = NotificationChannel.objects.filter(pk=channel.pk).exclude(disabled_reason=REASON)
    if changed.update(is_active=False, disabled_reason=REASON, updated_at=clock.now()):
        audit.record("channel.unsubscribed", subject=channel.name, id=channel.pk)


@transaction.atomic
def resume(channel: NotificationChannel) -> None:
    stopped = NotificationChannel.objects.filter(pk=channel.pk, disabled_reason=REASON)
    if stopped.update(is_active=True, disabled_reason="", updated_at=clock.now()):
        audit.record("channel.resubscribed", subject=channel.name, id=channel.pk)
