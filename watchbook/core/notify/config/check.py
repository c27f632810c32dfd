"""Checking what somebody typed as a channel's configuration. Pages, API and import all come through here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import idna
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import Refused
from watchbook.core.accounts.addresses import normalise
from watchbook.core.notify import signing
from watchbook.core.notify.config.services import check_service
from watchbook.core.notify.errors import BadConfig
from watchbook.core.notify.models import ChannelType

MASK = "***"
METHODS = ("POST", "PUT", "PATCH")
MOST_HEADERS = 20
ROTATION = timedelta(hours=24)
LONGEST_VALUE = 4096
LONGEST_EMAIL = 254

# The connection and the signature are ours.
_OURS = {
    "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "accept-encoding",
    "te", "trailer", "upgrade", "expect", "keep-alive", "proxy-authorization", "proxy-connection", "range",
    "if-none-match", "if-modified-since",
}  # fmt: skip
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e\t]*")


Config = Mapping[str, Any]


def check(channel_type: str, given: Config, known: Config | None = None) -> dict[str, Any]:
    """A whole, clean configuration; raises BadConfig naming the field. Unknown keys are refused, not kept.

    `known` is what the channel has: it stays where `given` says nothing or sends the mask back.
    """
    if channel_type not in ChannelType.values:
        raise BadConfig("channel_type", _("This kind of channel is not known."))
    checks = {ChannelType.EMAIL: _email, ChannelType.WEBHOOK: _webhook, ChannelType.APPRISE: _apprise}
    return checks[ChannelType(channel_type)](given, known or {})


def _only(given: Config, *names: str) -> None:
    unknown = sorted(str(name) for name in given if name not in names)
    if unknown:
        raise BadConfig("config", _("Unknown setting: %(name)s") % {"name": unknown[0][:60]})


def _text(given: Config, known: Config, name: str) -> str:
    value = given.get(name)
    if value is None or (isinstance(value, str) and MASK in value):
        value = known.get(name, "")
    if not isinstance(value, str):
        raise BadConfig(name, _("This must be text."))
    return value.strip()


def _email(given: Config, known: Config) -> dict[str, Any]:
    _only(given, "email")
    address = _text(given, known, "email")
    if not address or len(address) > LONGEST_EMAIL or clean_text(address) != address:
        raise BadConfig("email", _("Enter one mail address."))
    address = normalise(address)
    try:
        name, _at, domain = address.rpartition("@")
        # As it will stand in the envelope: a host name in another script travels in its ASCII form.
        address = f"{name}@{domain if domain.isascii() else idna.encode(domain, uts46=True).decode()}"
        validate_email(address)
        address.encode("ascii")
    except (ValidationError, UnicodeError):
        raise BadConfig("email", _("Enter one mail address.")) from None
    return {"email": address}


def _webhook(given: Config, known: Config) -> dict[str, Any]:
    _only(given, "url", "method", "headers", "secret")
    method = (_text(given, known, "method") or "POST").upper()
    if method not in METHODS:
        raise BadConfig("method", _("The method must be POST, PUT or PATCH."))
    return {
        "url": _address(_text(given, known, "url")),
        "method": method,
        "headers": _headers(given.get("headers"), known.get("headers", {})),
        **_secrets(_text(given, {}, "secret"), known),
    }


def _address(url: str) -> str:
    try:
        return check_url(url, own_url=settings.PUBLIC_URL).url
    except Refused as refused:
        raise BadConfig("url", _(refused.message)) from None


def _headers(given: Any, known: Mapping[str, str]) -> dict[str, str]:
    if given is None:
        return dict(known)
    if not isinstance(given, Mapping) or len(given) > MOST_HEADERS:
        raise BadConfig("headers", _("Headers are at most %(n)s names with a value each.") % {"n": MOST_HEADERS})
    kept = {name.lower(): value for name, value in known.items()}
    headers: dict[str, str] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str) or not _NAME.fullmatch(name.strip()):
            raise BadConfig("headers", _("A header has a name of letters, digits and dashes, and a value."))
        name, value = name.strip(), value.strip()
        if name.lower() in _OURS or name.lower().startswith("webhook-"):
            raise BadConfig("headers", _("The header %(name)s is set by Watchbook.") % {"name": name})
        value = kept.get(name.lower(), value) if value == MASK else value
        if not _VALUE.fullmatch(value) or len(value) > LONGEST_VALUE:
            raise BadConfig("headers", _("The value of %(name)s must be one line of plain text.") % {"name": name})
        headers[name] = value
    return headers


def _secrets(fresh: str, known: Config) -> dict[str, Any]:
    """The signing secrets, newest first; one is made when there is none. A former one is used on for a day."""
    kept = list(known.get("secrets", ()))
    if not fresh or fresh in kept[:1]:
        return {"secrets": kept or [signing.new_secret()], "old_until": known.get("old_until", "")}
    try:
        signing.key_of(fresh)
    except ValueError:
        raise BadConfig("secret", _("A secret is whsec_ and 24 to 64 bytes in base64.")) from None
    return {"secrets": [fresh, *kept[:1]], "old_until": (clock.now() + ROTATION).isoformat() if kept else ""}


def _apprise(given: Config, known: Config) -> dict[str, Any]:
    _only(given, "url")
    return {"url": check_service(_text(given, known, "url"))}
