"""Configuration of a channel: checked, encrypted in the database, masked when displayed.

A configuration is one JSON document. `write` encrypts it into `secret` and puts the masked form into `config`; `read`
decrypts it. A value equal to the mask means "keep the current one"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from watchbook.base.crypto import DecryptionError, Writing, decrypt, encrypt, reencrypt
from watchbook.base.logs.redact import remember
from watchbook.core.notify.channels import MASK, BadConfig, ChannelKind, Config, Unreadable, kind_of
from watchbook.core.notify.message import Message, Result, failed
from watchbook.core.notify.models import NotificationChannel, PushKey
from watchbook.core.notify.push import BOUND_TO as PUSH_KEY

__all__ = ["MASK", "bound_to", "check", "masked", "read", "send", "write"]


def check(channel_type: str, given: Config, known: Config | None = None) -> dict[str, Any]:
    """Return a whole, clean configuration, or raise BadConfig with the field.

    `known` is the current configuration: it stays where `given` has no value or the mask.
    """
    return _kind(channel_type).check(given, known or {})


def bound_to(channel: NotificationChannel) -> str:
    return f"channel:{channel.pk}:config"


def write(channel: NotificationChannel, config: dict[str, Any]) -> None:
    """Set a checked configuration on the row; the caller saves it."""
    text = json.dumps(config, ensure_ascii=False)
    channel.secret = encrypt(text, bound_to=bound_to(channel))
    channel.config = masked(channel.channel_type, config)


def read(channel: NotificationChannel) -> dict[str, Any]:
    """Return the decrypted configuration. Logs mask its secrets from now on."""
    if channel.account_slot is not None:
        return {"email": channel.user.email}
    try:
        text = decrypt(channel.secret, bound_to=bound_to(channel))
    except DecryptionError:
        raise Unreadable(
            _("The secrets of this channel cannot be decrypted with the current key. Enter them again.")
        ) from None
    config: dict[str, Any] = json.loads(text)
    secrets = _kind(channel.channel_type).secrets(config)
    if secrets:
        remember(text)
    for secret in secrets:
        remember(secret)
    return config


def masked(channel_type: str, config: dict[str, Any]) -> dict[str, Any]:
    return _kind(channel_type).masked(config)


def send(channel: NotificationChannel, message: Message) -> Result:
    """Send one message through a channel."""
    if channel.kind is None:
        return failed("unknown_type", is_permanent=True)
    try:
        config = read(channel)
    except Unreadable:
        return failed("not_decrypted")
    return channel.kind.send(channel, config, message)


def _kind(name: str) -> ChannelKind:
    kind = kind_of(name)
    if kind is None:
        raise BadConfig("channel_type", _("Unknown channel type."))
    return kind


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from reencrypt(NotificationChannel.objects.all(), "secret", bound_to, writing)
    yield from reencrypt(PushKey.objects.all(), "secret", lambda _row: PUSH_KEY, writing)
