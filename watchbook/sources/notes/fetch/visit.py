"""One question to the platform: with which cookie, how long, under which request id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from watchbook.base.logs import request_id
from watchbook.base.logs.known import remember
from watchbook.base.web import pace
from watchbook.base.web.address import check_url
from watchbook.base.web.cookies import CookieJar
from watchbook.sources.notes.parse.addresses import NoteAddress
from watchbook.sources.notes.parse.records import NoteRecord, SearchPage

# Waiting for a turn at the host and reading the answer share the time there is.
WAITING_SHARE = 0.6


@dataclass(frozen=True)
class SearchQuery:
    keyword: str
    page: int = 1
    page_size: int = 20


@dataclass
class Visit:
    """What one lease carries to the platform. The cookie shows itself to nobody."""

    account: str = ""
    cookie: str = field(default="", repr=False)
    user_agent: str = ""
    jar: CookieJar = field(default_factory=CookieJar, repr=False)

    def jar_for(self, base_url: str) -> CookieJar:
        """The cookie in a jar of this host: what the platform sets while it is asked is kept."""
        if not len(self.jar) and self.cookie:
            self.jar.put(check_url(base_url).host, dict(pairs_of(self.cookie)))
        return self.jar

    def refreshed(self, base_url: str) -> str:
        """The cookie as the platform left it; empty when it is as it was."""
        before = dict(pairs_of(self.cookie))
        after = self.jar.values(check_url(base_url).host)
        if not after or all(before.get(name) == value for name, value in after.items()):
            return ""
        return remember("; ".join(f"{name}={value}" for name, value in {**before, **after}.items()))

    def headers(self, **more: str) -> dict[str, str]:
        found = {"X-Request-ID": request_id.current(), **more}
        if self.user_agent:
            found["User-Agent"] = self.user_agent
        return {name: value for name, value in found.items() if value}


def pairs_of(cookie: str) -> Iterator[tuple[str, str]]:
    """`a=1; b=2` as pairs."""
    for part in cookie.split(";"):
        name, equals, value = part.strip().partition("=")
        if equals and name:
            yield name, value.strip()


@dataclass(frozen=True)
class Times:
    """How long to wait for a turn and for the answer, together never more than was given."""

    wait_seconds: float
    deadline_seconds: float

    @classmethod
    def within(cls, seconds: float, url: str) -> Times:
        seconds = max(seconds, 0.1)
        if pace.is_off(url):
            return cls(0.0, seconds)
        return cls(seconds * WAITING_SHARE, seconds * (1 - WAITING_SHARE))


class Adapter(Protocol):
    """A way to read the platform. Both raise Trouble."""

    name: str
    base_url: str

    def search(self, query: SearchQuery, visit: Visit, seconds: float) -> SearchPage: ...

    def detail(self, address: NoteAddress, visit: Visit, seconds: float) -> NoteRecord: ...
