"""One spelling per address: trimmed, completed, scheme and host in lower case; path and query are never touched."""

from __future__ import annotations

import re
from urllib.parse import urljoin

# White space of all kinds, and the invisible characters that editors and exporters leave at the ends.
TRIMMED = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u2060\ufeff"

_NORMAL_PATH = r"[!-\[\]-~]"
_HOST = r"[a-z0-9.\-]++(?::[0-9]{1,5}+)?+"
NORMAL = re.compile(rf"https?://{_HOST}(?:[/?#]{_NORMAL_PATH}{{0,1900}}+)?+".encode())
"""Addresses that need no work: already in their one spelling, short enough, nothing in them to escape."""

_ABSOLUTE = re.compile(r"(https?):(//)?([^/?#\\]*)(.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_BAD_AUTHORITY = re.compile(r"[\s<>\"^`{|}\x00-\x1f\x7f]")
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")


def normalise(raw: str, base_url: str, *, max_length: int = 2048) -> tuple[str | None, str | None]:
    """(URL, note): the URL is None when it cannot be listed; the note says why, or what was done."""
    text = raw.strip(TRIMMED)
    if not text:
        return None, "empty_locs"
    note = None
    match = _ABSOLUTE.fullmatch(text)
    if match is None:
        if _SCHEME.match(text):
            return None, "not_http_urls"
        note = "relative_urls"
        try:
            text = urljoin(base_url, text)
        except ValueError:
            return None, "bad_urls"
        match = _ABSOLUTE.fullmatch(text)
    if match is None or not match[2] or not _is_authority(match[3]):
        return None, "bad_urls"
    user, at, host = match[3].rpartition("@")
    url = f"{match[1].lower()}://{user}{at}{host.lower()}{match[4]}"
    return (url, note) if len(url) <= max_length else (None, "too_long_urls")


def _is_authority(authority: str) -> bool:
    host = authority.rpartition("@")[2]
    if not host or host.startswith(":") or _BAD_AUTHORITY.search(authority):
        return False
    return _IPV6.fullmatch(host) is not None if "[" in host or "]" in host else True
