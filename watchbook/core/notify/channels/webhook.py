"""Webhooks (Standard Webhooks): a stable ID, a timestamp, and a signature over exactly the bytes that are sent."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.text import cut
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import Refused
from watchbook.core.notify.channels import (
    MASK,
    BadConfig,
    ChannelForm,
    ChannelKind,
    Config,
    keep_if_empty,
    only,
    text_of,
)
from watchbook.core.notify.http import judge, post
from watchbook.core.notify.message import Message, Result
from watchbook.core.notify.models import NotificationChannel

METHODS = ("POST", "PUT", "PATCH")
MOST_HEADERS = 20
ROTATION = timedelta(hours=24)
LONGEST_VALUE = 4096
HEADER_LINES = 8000
TEXT_LENGTH = 900
PREFIX = "whsec_"
SECRET_BYTES = 32
LEAST, MOST = 24, 64

# The connection and the signature are ours.
_OURS = {
    "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "accept-encoding",
    "te", "trailer", "upgrade", "expect", "keep-alive", "proxy-authorization", "proxy-connection", "range",
    "if-none-match", "if-modified-since",
}  # fmt: skip
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e\t]*")


class WebhookForm(ChannelForm):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=2048,
        help_text=gettext_lazy("Public addresses only. Watchbook does not follow redirects."),
    )
    method = forms.ChoiceField(label=gettext_lazy("Method"), choices=[(method, method) for method in METHODS])
    headers = forms.CharField(
        label=gettext_lazy("Headers"),
        required=False,
        max_length=HEADER_LINES,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "Authorization: Bearer …"}),
        help_text=gettext_lazy("One per line: name, colon, value. Values are encrypted."),
    )
    secret = forms.CharField(
        label=gettext_lazy("Signing secret"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("Your own whsec_… secret. Leave empty to create one; it is displayed once."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.channel is not None:
            keep_if_empty(self.fields["url"], self.channel.config.get("url", ""))
            del self.fields["secret"]

    def _initial(self, channel: NotificationChannel | None) -> dict[str, Any]:
        if channel is None:
            return super()._initial(channel)
        lines = [f"{name}: {value}" for name, value in channel.config.get("headers", {}).items()]
        return super()._initial(channel) | {"method": channel.config.get("method"), "headers": "\n".join(lines)}

    def clean_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for line in self.cleaned_data["headers"].splitlines():
            if line.strip():
                name, colon, value = line.partition(":")
                if not colon:
                    raise forms.ValidationError(_("Each line needs a name, a colon and a value."))
                headers[name.strip()] = value.strip()
        return headers

    def given(self) -> dict[str, Any]:
        given = {"method": self.cleaned_data["method"], "headers": self.cleaned_data["headers"]}
        return given | {name: self.cleaned_data[name] for name in ("url", "secret") if self.cleaned_data.get(name)}


class Webhook(ChannelKind):
    name = "webhook"
    label = gettext_lazy("Webhook")
    icon = "hook"
    lead = gettext_lazy("A signed JSON message to your URL (Standard Webhooks).")
    content = (
        gettext_lazy(
            "One JSON document per notification: type, id, sequence, subject, text, link and data with counts and "
            "the first 100 entries."
        ),
        gettext_lazy(
            "A 2xx response counts as sent. After any other response, Watchbook retries for about a day at growing "
            "intervals and respects Retry-After."
        ),
        gettext_lazy("HTTP 410 disables the channel."),
    )
    form = WebhookForm
    order = 90
    is_signed = True

    def check(self, given: Config, known: Config) -> dict[str, Any]:
        return check_webhook(given, known)

    def masked(self, config: dict[str, Any]) -> dict[str, Any]:
        """Mask all secrets; of the address only scheme and host stay."""
        scheme, _mark, rest = config["url"].partition("://")
        host = rest.partition("/")[0].partition("?")[0]
        return {
            "url": f"{scheme}://{host}/{MASK}",
            "method": config["method"],
            "headers": dict.fromkeys(config["headers"], MASK),
            "secret": MASK,
        }

    def secrets(self, config: Config) -> tuple[str, ...]:
        return (*config.get("secrets", ()), *config.get("headers", {}).values(), config.get("url", ""))

    def send(self, channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
        return send(channel, config, message)


KIND = Webhook()


def check_webhook(given: Config, known: Config) -> dict[str, Any]:
    only(given, "url", "method", "headers", "secret")
    method = (text_of(given, known, "method") or "POST").upper()
    if method not in METHODS:
        raise BadConfig("method", _("The method must be POST, PUT or PATCH."))
    return {
        "url": _address(text_of(given, known, "url")),
        "method": method,
        "headers": _checked_headers(given.get("headers"), known.get("headers", {})),
        **_secrets(text_of(given, {}, "secret"), known),
    }


def _address(url: str) -> str:
    try:
        return check_url(url, own_url=settings.PUBLIC_URL).url
    except Refused as refused:
        raise BadConfig("url", _(refused.message)) from None


def _checked_headers(given: Any, known: Mapping[str, str]) -> dict[str, str]:
    if given is None:
        return dict(known)
    if not isinstance(given, Mapping) or len(given) > MOST_HEADERS:
        raise BadConfig(
            "headers", _("Enter at most %(n)s headers, each with a name and a value.") % {"n": MOST_HEADERS}
        )
    kept = {name.lower(): value for name, value in known.items()}
    headers: dict[str, str] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str) or not _NAME.fullmatch(name.strip()):
            raise BadConfig("headers", _("A header needs a name (letters, digits and dashes) and a value."))
        name, value = name.strip(), value.strip()
        if name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise BadConfig("headers", _("Watchbook sets the header %(name)s.") % {"name": name})
        value = kept.get(name.lower(), value) if value == MASK else value
        if not _VALUE.fullmatch(value) or len(value) > LONGEST_VALUE:
            raise BadConfig("headers", _("The value of %(name)s must be one line of plain text.") % {"name": name})
        headers[name] = value
    return headers


def _secrets(fresh: str, known: Config) -> dict[str, Any]:
    """The signing secrets, newest first; one is made when there is none. A former one is used on for a day."""
    kept = list(known.get("secrets", ()))
    if not fresh or fresh in kept[:1]:
        return {"secrets": kept or [new_secret()], "old_until": known.get("old_until", "")}
    try:
        key_of(fresh)
    except ValueError:
        raise BadConfig("secret", _("A signing secret is whsec_ followed by 24 to 64 bytes in base64.")) from None
    return {"secrets": [fresh, *kept[:1]], "old_until": (clock.now() + ROTATION).isoformat() if kept else ""}


def send(channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
    body = body_of(message)
    headers = _headers(config, message, body)
    answer = post(channel, config["url"], body, headers, method=config["method"], secrets=config["headers"])
    return answer if isinstance(answer, Result) else judge(answer)


def body_of(message: Message) -> bytes:
    """The same bytes at every try. Not escaped to ASCII, so that Chinese text keeps its size."""
    content = {
        "type": message.type,
        "id": message.id,
        "event_id": message.event_id,
        "timestamp": message.created_at.isoformat(),
        "sequence": message.sequence,
        "subject": message.subject,
        "text": cut(message.text, TEXT_LENGTH),
        "link": message.link,
        "data": message.payload,
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(config: dict[str, Any], message: Message, body: bytes) -> dict[str, str]:
    timestamp = int(clock.now().timestamp())
    return {
        "content-type": "application/json; charset=utf-8",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(valid_secrets(config), message.id, timestamp, body),
    }


def valid_secrets(config: dict[str, Any]) -> list[str]:
    """The newest secret, and the one before it while a rotation lasts."""
    newest, *older = config["secrets"]
    until = config.get("old_until")
    return [newest, *older[:1]] if until and clock.now() < clock.parse(until) else [newest]


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """The bytes behind a secret; ValueError when it is not one."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("not base64") from None
    if not secret.startswith(PREFIX) or not LEAST <= len(key) <= MOST:
        raise ValueError("not a secret of 24 to 64 bytes")
    return key


def signature(secret_list: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """One signature per secret, separated by spaces: during a rotation the receiver may check with either."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(
        "v1," + base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()
        for secret in secret_list
    )
