"""Addresses in pages: safe links (own paths and http(s) only), and static files with a digest of their content."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from django.contrib.staticfiles import finders
from django.templatetags.static import static

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


def asset_url(path: str) -> str:
    mark = _mark(path)
    return f"{static(path)}?v={mark}" if mark else static(path)


@cache
def _mark(path: str) -> str:
    found = finders.find(path)
    if not found:
        return ""
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:8]
