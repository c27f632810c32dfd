"""A small cookie jar for one account at one site, used only when a caller hands one in.

Cookies go back to the very host that set them and nowhere else, whatever their Domain says. The jar is capped, so a
site cannot fill memory or make our requests grow.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from watchbook.base.web.address import SafeUrl

MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096
MAX_HEADER_BYTES = 8192

_PAIR = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([\x21-\x3a\x3c-\x7e ]*)")


@dataclass(frozen=True)
class Cookie:
    host: str
    name: str
    value: str
    path: str = "/"
    is_secure: bool = False
    expires: float | None = None

    def fits(self, url: SafeUrl, now: float) -> bool:
        if self.host != url.host or (self.is_secure and url.scheme != "https"):
            return False
        if self.expires is not None and self.expires <= now:
            return False
        path = url.target.partition("?")[0]
        return path == self.path or path.startswith(self.path.rstrip("/") + "/")


class CookieJar:
    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], Cookie] = {}

    def __len__(self) -> int:
        return len(self._cookies)

    def put(self, host: str, values: Mapping[str, str]) -> None:
        """Cookies that we already have, such as those of a stored login."""
        for name, value in values.items():
            self._keep(Cookie(host, name, value))

    def values(self, host: str) -> dict[str, str]:
        """What the site set for this host, to be stored again."""
        return {cookie.name: cookie.value for cookie in self._cookies.values() if cookie.host == host}

    def header(self, url: SafeUrl) -> str:
        now = time.time()
        pairs = [f"{c.name}={c.value}" for c in self._cookies.values() if c.fits(url, now)]
        text = "; ".join(pairs)
        while len(text) > MAX_HEADER_BYTES:
            pairs.pop(0)
            text = "; ".join(pairs)
        return text

    def read(self, url: SafeUrl, lines: Iterable[str]) -> bool:
        """Take in Set-Cookie lines; True if that changed anything."""
        before = dict(self._cookies)
        for line in lines:
            cookie = _parse(url, line)
            if cookie is not None:
                self._keep(cookie)
        return self._cookies != before

    def _keep(self, cookie: Cookie) -> None:
        key = (cookie.host, cookie.name, cookie.path)
        self._cookies.pop(key, None)
        if cookie.expires is not None and cookie.expires <= time.time():
            return
        self._cookies[key] = cookie
        while len(self._cookies) > MAX_COOKIES:
            del self._cookies[next(iter(self._cookies))]


def _parse(url: SafeUrl, line: str) -> Cookie | None:
    pair, *rest = line[: MAX_COOKIE_BYTES + 1].split(";")
    match = _PAIR.fullmatch(pair.strip())
    if len(line) > MAX_COOKIE_BYTES or not match:
        return None
    fields = dict(_attribute(part) for part in rest)
    domain = fields.get("domain", "").lstrip(".").lower()
    if domain and url.host != domain and not url.host.endswith("." + domain):
        return None
    path = fields.get("path", "")
    return Cookie(
        host=url.host,
        name=match.group(1),
        value=match.group(2),
        path=path if path.startswith("/") else "/",
        is_secure="secure" in fields,
        expires=_expiry(fields),
    )


def _attribute(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name.strip().lower(), value.strip()


def _expiry(fields: Mapping[str, str]) -> float | None:
    """Seconds since 1970, or None for a cookie without an end that makes sense."""
    age = fields.get("max-age", "")
    if re.fullmatch(r"-?[0-9]{1,12}", age):
        return time.time() + int(age)
    try:
        return parsedate_to_datetime(fields["expires"]).timestamp()
    except (KeyError, ValueError, OverflowError, TypeError, IndexError):
        return None
