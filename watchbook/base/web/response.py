"""Responses: headers, validators, the complete answer, the error for a failed status, and cookies."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from watchbook.base.web.address import SafeUrl
from watchbook.base.web.body import to_text
from watchbook.base.web.errors import BadAnswer, Blocked, Gone, ServerTrouble, Throttled, TooManyRedirects, WebError

_MAX_VALIDATOR = 1000


class Validators(NamedTuple):
    """The values of the server for a conditional request."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


NO_VALIDATORS = Validators()


class Headers(Mapping[str, str]):
    """Header fields by name in any case. Repeated fields are joined with commas; `all` returns each."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = tuple((name.lower(), value) for name, value in fields)

    def __getitem__(self, name: str) -> str:
        values = self.all(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._fields))

    def __len__(self) -> int:
        return len(dict(self._fields))

    def all(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for field_name, value in self._fields if field_name == wanted]

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every field as it came, repeated ones each."""
        return self._fields

    def __repr__(self) -> str:
        return f"<Headers: {', '.join(self)}>"  # values may be secret


@dataclass(frozen=True)
class Exchange:
    """One request and its response as they went over the wire; the body before its content encoding was removed.

    Headers with credentials are not part of it.
    """

    url: str
    method: str
    request_headers: tuple[tuple[str, str], ...]
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Answer:
    """A complete response. The body is in memory, or in `path` if a file was requested."""

    url: str
    status: int
    headers: Headers
    body: bytes = field(default=b"", repr=False)
    path: Path | None = None
    size: int = 0
    elapsed_ms: int = 0
    request_count: int = 0
    redirects: tuple[str, ...] = ()
    # False if the server never said where the body ends: then a lost connection looks like the end.
    is_complete: bool = True
    file_sha256: str = field(default="", repr=False)

    @cached_property
    def sha256(self) -> str:
        return self.file_sha256 or hashlib.sha256(self.body).hexdigest()

    @property
    def is_not_modified(self) -> bool:
        return self.status == 304

    @property
    def content_type(self) -> str:
        """The media type without parameters, lower-case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def validators(self) -> Validators:
        etag, modified = self.headers.get("etag", ""), self.headers.get("last-modified", "")
        return Validators(*(value if 0 < len(value) <= _MAX_VALIDATOR else None for value in (etag, modified)))

    @property
    def text(self) -> str:
        return to_text(self.body, self.headers.get("content-type", ""))


REDIRECTS = frozenset({301, 302, 303, 307, 308})
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 86400.0
DEFAULT_PAUSE = 60.0


def retry_after(headers: Headers) -> float | None:
    """Return Retry-After in seconds, between 1 and 86,400; None if the header is missing or unreadable."""
    text = next(iter(headers.all("retry-after")), "").strip()[:100]
    if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?([eE][0-9]+)?", text):
        seconds = float(text)
    else:
        try:
            # Real time, even with a fixed test clock: the server does not know our clock.
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError, TypeError, IndexError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE)


def wanted_pause(status: int, headers: Headers) -> float | None:
    """Return the pause in seconds that the server asks for, or None."""
    if status == 429:
        return retry_after(headers) or DEFAULT_PAUSE
    return retry_after(headers) if status == 503 else None


def check_sane(status: int, *, has_validators: bool) -> None:
    """Raise BadAnswer for a status that does not fit the request."""
    if status < 200 or status > 599 or status == 206 or (status == 304 and not has_validators):
        raise BadAnswer(f"status {status}", code="bad_status")


def is_failure(status: int, *, keeps_redirect: bool) -> bool:
    return status >= 400 or (300 <= status != 304 and not keeps_redirect)


def error_for(answer: Answer) -> WebError:
    """Return the error for a failed status."""
    status = answer.status
    detail = f"status {status}"
    pause = wanted_pause(status, answer.headers)
    if status < 400:
        return TooManyRedirects(detail, answer=answer)
    if status == 429:
        return Throttled(detail, retry_after_seconds=pause, answer=answer)
    if status in {404, 410}:
        return Gone(detail, answer=answer)
    if status >= 500 or status in {408, 425}:
        return ServerTrouble(detail, retry_after_seconds=pause, answer=answer)
    return Blocked(detail, answer=answer)


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
    """Cookies of one account at one site, sent only to the host that set them, whatever their Domain says.

    Its size is limited, so that a site cannot fill memory or make requests grow.
    """

    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], Cookie] = {}

    def __len__(self) -> int:
        return len(self._cookies)

    def put(self, host: str, values: Mapping[str, str]) -> None:
        """Add known cookies, such as those of a stored login."""
        for name, value in values.items():
            self._keep(Cookie(host, name, value))

    def values(self, host: str) -> dict[str, str]:
        """Return the cookies of this host, to be stored again."""
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
        """Read Set-Cookie lines; return True if a cookie changed."""
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
    """Return the expiry in seconds since 1970, or None for a cookie without a valid one."""
    age = fields.get("max-age", "")
    if re.fullmatch(r"-?[0-9]{1,12}", age):
        return time.time() + int(age)
    try:
        return parsedate_to_datetime(fields["expires"]).timestamp()
    except (KeyError, ValueError, OverflowError, TypeError, IndexError):
        return None
