"""What a case is: files under a folder of its own, the one to begin with, and the outcome wanted.

Bodies, headers and wanted URLs may hold @ROOT@ (the server's address), @HERE@ (the case's folder on it) and
@SCHEME@; they are filled in when the server is known. Addresses under https://e.com stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

ANY_FAILURE = "any"
# Kinds of failure, in plain words; a test maps them to the codes of what it tests.
FAILURES = {
    "not_a_sitemap": "the answer is something else: a web page, an error document, prose",
    "empty": "the answer holds nothing, or white space only",
    "dangerous": "the answer declares entities",
    "blocked": "status 401, 402, 403 or 429",
    "gone": "status 404 or 410",
    "timeout": "no answer within the deadline",
    "redirects": "too many redirects, or a loop",
    ANY_FAILURE: "it must fail; how is not laid down",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a reader made of a case; `failure` is a kind out of FAILURES, `urls` None when it is unknown."""

    count: int = 0
    complete: bool = False
    noted: bool = False
    failure: str | None = None
    failed_parts: int = 0
    urls: Collection[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """`count` distinct URLs, None where it is not laid down. `failure` is a kind out of FAILURES, or None for a result;
    `or_failure` says that failing is as good. `complete` and `noted` None leave it open, but a result that claims to
    be complete must have the count and the URLs."""

    count: int | None = None
    listed: int | None = None
    complete: bool | None = True
    noted: bool | None = None
    failure: str | None = None
    or_failure: bool = False
    failed_parts: int = 0
    urls: tuple[str, ...] | None = None
    # ISO instants in UTC by URL; None is a lastmod that is no moment and is kept as text.
    instants: Mapping[str, str | None] = field(default_factory=dict)

    def at(self, root: str, name: str = "") -> Wanted:
        if self.urls is None:
            return self
        return replace(self, urls=tuple(fill(url, root, name) for url in self.urls))

    def complaints(self, outcome: Outcome) -> list[str]:
        """What is wrong with an outcome, in words; nothing when it is as wanted."""
        if outcome.failure is not None:
            return self._about_failure(outcome.failure)
        if self.failure is not None:
            return [f"a result instead of the failure {self.failure}"]
        found = []
        if self.complete not in (None, outcome.complete):
            found.append(f"complete is {outcome.complete}")
        if self.noted not in (None, outcome.noted):
            found.append(f"noted is {outcome.noted}")
        if self.complete is not None and outcome.failed_parts != self.failed_parts:
            found.append(f"{outcome.failed_parts} failed parts instead of {self.failed_parts}")
        return found + (self._about_urls(outcome) if outcome.complete or self.complete is False else [])

    def _about_failure(self, failure: str) -> list[str]:
        if self.or_failure or self.failure in (ANY_FAILURE, failure):
            return []
        return [f"failure {failure} instead of {self.failure or 'a result'}"]

    def _about_urls(self, outcome: Outcome) -> list[str]:
        found = []
        if self.count not in (None, outcome.count):
            found.append(f"{outcome.count} URLs instead of {self.count}")
        if self.urls is not None and outcome.urls is not None and set(outcome.urls) != set(self.urls):
            found.append(f"other URLs: {sorted(set(outcome.urls) ^ set(self.urls))[:5]}")
        return found


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One file of a case. `claimed_length` is announced and then the connection ends after the body; `hangs` is
    accepted and never answered."""

    path: str
    body: bytes | Callable[[], bytes] = b""
    status: int = 200
    content_type: str | None = "application/xml"
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed_length: int | None = None
    hangs: bool = False

    def bytes_at(self, root: str, name: str) -> bytes:
        if callable(self.body):
            return self.body()
        return self.body if self.body.startswith(b"\x1f\x8b") else fill_bytes(self.body, root, name)

    def headers_at(self, root: str, name: str) -> dict[str, str]:
        return {key: fill(value, root, name) for key, value in self.headers.items()}


@dataclass(frozen=True, kw_only=True)
class Case:
    """`is_slow` needs a deadline to end, `is_heavy` costs many requests or much memory at a careless reader."""

    name: str
    title: str
    resources: tuple[Resource, ...]
    wanted: Wanted
    is_slow: bool = False
    is_heavy: bool = False

    @property
    def entry(self) -> Resource:
        return self.resources[0]

    @property
    def path(self) -> str:
        """Where to begin."""
        return self.path_of(self.entry)

    def path_of(self, resource: Resource) -> str:
        return f"/{self.name}/{resource.path}"

    def body(self, root: str = "http://127.0.0.1:8000") -> bytes:
        """The bytes of the first file, as sent, for a test without a server."""
        return self.entry.bytes_at(root, self.name)

    def wanted_at(self, root: str) -> Wanted:
        return self.wanted.at(root, self.name)


def fill(text: str, root: str, name: str) -> str:
    scheme = root.partition(":")[0]
    return text.replace("@HERE@", f"{root}/{name}").replace("@ROOT@", root).replace("@SCHEME@", scheme)


def fill_bytes(body: bytes, root: str, name: str) -> bytes:
    scheme = root.partition(":")[0]
    filled = body.replace(b"@HERE@", f"{root}/{name}".encode()).replace(b"@ROOT@", root.encode())
    return filled.replace(b"@SCHEME@", scheme.encode())


def case(name: str, title: str, wanted: Wanted, *resources: Resource, slow: bool = False, heavy: bool = False) -> Case:
    return Case(name=name, title=title, resources=resources, wanted=wanted, is_slow=slow, is_heavy=heavy)
