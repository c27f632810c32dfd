"""Addresses that may stand in a link: our own paths and http(s). Everything else becomes no link."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f\\\"<>^`{|}]")


def safe_link(address: str) -> str:
    """The address when it is a path of ours or an http(s) address, else nothing."""
    address = address.strip()
    if not address or _UNFIT.search(address):
        return ""
    if address.startswith("/"):
        return "" if address.startswith("//") else address
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return address if parts.scheme in {"http", "https"} and parts.hostname else ""
