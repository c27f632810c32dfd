"""Sealing a configuration, opening it, and the part of it that may be shown."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _

from watchbook.base.crypto import CannotOpen, open_sealed, seal
from watchbook.base.logs.known import remember
from watchbook.core.notify.config.check import MASK
from watchbook.core.notify.errors import Unreadable
from watchbook.core.notify.models import ChannelType, NotificationChannel


def bound_to(channel: NotificationChannel) -> str:
    return f"channel:{channel.pk}:config"


def write(channel: NotificationChannel, config: dict[str, Any]) -> None:
    """Put a checked configuration on the row; the caller saves it."""
    text = json.dumps(config, ensure_ascii=False)
    channel.secret = seal(text, bound_to=bound_to(channel))
    channel.config = masked(channel.channel_type, config)


def read(channel: NotificationChannel) -> dict[str, Any]:
    """The whole configuration. Its secrets are masked in logs from here on."""
    if channel.house_slot is not None:
        return {"email": channel.user.email}
    try:
        text = open_sealed(channel.secret, bound_to=bound_to(channel))
    except CannotOpen:
        raise Unreadable(
            _("The secrets of this channel cannot be opened with the present key. Enter them again.")
        ) from None
    config: dict[str, Any] = json.loads(text)
    if channel.channel_type != ChannelType.EMAIL:
        remember(text)
        for secret in (*config.get("secrets", ()), *config.get("headers", {}).values(), config.get("url", "")):
            remember(secret)
    return config


def masked(channel_type: str, config: dict[str, Any]) -> dict[str, Any]:
    """The same shape with everything secret masked: of an address the scheme and the host stay."""
    if channel_type == ChannelType.EMAIL:
        return {"email": config["email"]}
    if channel_type == ChannelType.APPRISE:
        return {"url": f"{config['url'].partition('://')[0]}://{MASK}"}
    scheme, _mark, rest = config["url"].partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    return {
        "url": f"{scheme}://{host}/{MASK}",
        "method": config["method"],
        "headers": dict.fromkeys(config["headers"], MASK),
        "secret": MASK,
    }
