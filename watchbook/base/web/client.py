"""The HTTP client: `get` reads, `send` delivers. Every request of the product goes through it.

The shared client is safe in threads and after a fork, and closed at exit. Tests create a `Client` of their own with
another resolver. A `Fetch` is one call: rate limit, transfer, redirects, status.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from watchbook.base import work
from watchbook.base.store.rows import release
from watchbook.base.web import options, rate_limit
from watchbook.base.web.address import SafeUrl, check_url, follow_url, is_trusted
from watchbook.base.web.body import (
    ACCEPT_ENCODING,
    Body,
    Deadline,
    Transfer,
    active_transfer,
    decoded,
    encodings,
    read_into_file,
    read_into_memory,
)
from watchbook.base.web.errors import (
    BadAnswer,
    BudgetExceeded,
    Refused,
    TooLarge,
    TooManyRedirects,
    Unreachable,
    WebError,
    gettext_noop,
)
from watchbook.base.web.rate_limit import DEFAULT_SPACING
from watchbook.base.web.response import (
    NO_VALIDATORS,
    REDIRECTS,
    Answer,
    CookieJar,
    Exchange,
    Validators,
    check_sane,
    error_for,
    is_failure,
    wanted_pause,
)

if TYPE_CHECKING:
    from watchbook.base.web.transport import OpenResponse, Resolver, Transport

METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}
MAX_DEADLINE = 1800.0
MAX_OWN_HEADERS = 50
MAX_OWN_HEADER_BYTES = 16 * 1024

# A caller's header must not change the framing, the host or the encoding.
_FORBIDDEN = {
    "host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "trailer", "upgrade",
    "expect", "keep-alive", "proxy-authorization", "proxy-connection", "if-none-match", "if-modified-since", "range",
}  # fmt: skip
_CREDENTIALS = {"authorization", "cookie", "x-api-key"}
_HARMLESS = {"user-agent", "accept", "accept-language"}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_MESSAGE = gettext_noop("A header of the request is not allowed.")


@dataclass(frozen=True)
class Request:
    """What a caller asks for, except the address; checked once."""

    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    accept: str = ""
    validators: Validators = NO_VALIDATORS
    jar: CookieJar | None = field(default=None, repr=False)
    max_bytes: int = 10 * 1024 * 1024
    may_cut: bool = False
    deadline_seconds: float = 30.0
    follow: int = 5
    keeps_redirect: bool = False
    allow_downgrade: bool = True
    to_file: Path | None = None
    raise_for_status: bool = True
    account: str = ""
    spacing_seconds: float = DEFAULT_SPACING
    wait_seconds: float = 30.0
    # Gets every exchange of the call, for callers that keep what was sent and received
    record: list[Exchange] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.method not in METHODS or not 0 < self.deadline_seconds <= MAX_DEADLINE:
            raise ValueError("no such method, or a deadline that is not between 0 and 1800 seconds")
        own = [*self.headers.items(), *self.secrets.items()]
        size = sum(len(name) + len(value) for name, value in own)
        if len(own) > MAX_OWN_HEADERS or size > MAX_OWN_HEADER_BYTES:
            raise Refused("too many headers", code="bad_header", message=_MESSAGE)
        for name, value in own:
            if name.lower() in _FORBIDDEN or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise Refused(f"header {name[:40]!r}", code="bad_header", message=_MESSAGE)

    def carries_secrets(self) -> bool:
        named = any(name.lower() in _CREDENTIALS for name in self.headers)
        return bool(self.secrets) or named or bool(self.jar)

    def wire_headers(self, url: SafeUrl, *, is_first_origin: bool) -> list[tuple[str, str]]:
        """Return the header fields for one hop. Another origin (scheme, host or port) gets only harmless ones."""
        fields = {"user-agent": options.USER_AGENT.value, "accept": self.accept or "*/*"}
        fields["accept-encoding"] = ACCEPT_ENCODING
        own = {name.lower(): value for name, value in {**self.headers, **self.secrets}.items()}
        fields.update({name: value for name, value in own.items() if is_first_origin or name in _HARMLESS})
        if self.jar is not None and "cookie" not in fields and (cookies := self.jar.header(url)):
            fields["cookie"] = cookies
        # Validators reveal nothing about us, and usually belong to the page behind the redirect.
        if self.validators.etag:
            fields["if-none-match"] = self.validators.etag
        if self.validators.last_modified:
            fields["if-modified-since"] = self.validators.last_modified
        return [("host", url.authority), *fields.items()]

    def wants_type(self, content_type: str) -> bool:
        """Return whether a media type matches one in Accept. A missing media type matches."""
        if not self.accept or not content_type:
            return True
        wanted = [kind.partition(";")[0].strip().lower() for kind in self.accept.split(",")]
        family = content_type.partition("/")[0] + "/*"
        return any(kind in {content_type, family, "*/*"} for kind in wanted)


MAX_ERROR_BODY = 64 * 1024
WIRE_SLACK = 1024 * 1024
LEASE_MARGIN_SECONDS = 10.0
DOWNGRADE = gettext_noop("The site leads from a safe connection to an open one.")

log = logging.getLogger("watchbook.web")


class Fetch:
    """One call of the client, including its redirects."""

    def __init__(self, transport: Transport, request: Request, url: SafeUrl, *, is_paced: bool) -> None:
        self._transport = transport
        self._request = request
        self._url = url
        self._is_paced = is_paced
        self._is_first_origin = True
        self._deadline = Deadline(request.deadline_seconds)
        self._started = time.monotonic()
        self._requests = 0
        self._redirects: list[str] = []
        self._seen = {url.url}
        self._wire: list[bytes] = []

    def run(self) -> Answer:
        try:
            answer = self._follow_redirects()
        except WebError as error:
            self._log(f"{error.code} {error.detail}")
            raise
        self._log(f"{answer.status} {answer.size} bytes {answer.elapsed_ms} ms")
        return answer

    def _follow_redirects(self) -> Answer:
        while True:
            with rate_limit.acquire(self._rate_request()) if self._is_paced else nullcontext(0.0) as waited:
                self._deadline.extend(waited)
                self._started += waited
                with self._transfer() as opened:
                    if opened.status not in REDIRECTS or not self._request.follow:
                        return self._finish(opened)
                    location = opened.headers.all("location")
                    has_new_cookies = self._keep_cookies(opened)
            self._redirect(location, has_new_cookies=has_new_cookies)

    def _rate_request(self) -> rate_limit.RateRequest:
        return rate_limit.RateRequest(
            site=self._url.site,
            account=self._request.account,
            spacing_seconds=self._request.spacing_seconds,
            wait_seconds=self._request.wait_seconds,
            lease_seconds=self._deadline.left() + LEASE_MARGIN_SECONDS,
            is_trusted=is_trusted(self._url.host, self._url.port),
        )

    @contextmanager
    def _transfer(self) -> Iterator[OpenResponse]:
        """Send one request and keep its response open; the limits of this transfer apply inside."""
        try:
            transfer, opened = self._open()
        except Unreachable as error:
            # A kept connection may die just when it is used again. No byte came back, so a second attempt is safe.
            if not error.is_stale or self._request.method != "GET":
                raise
            transfer, opened = self._open()
        try:
            with active_transfer(transfer):
                try:
                    check_sane(opened.status, has_validators=bool(self._request.validators))
                    yield opened
                finally:
                    opened.close()
        finally:
            work.add_to_count(bytes=transfer.received)

    def _open(self) -> tuple[Transfer, OpenResponse]:
        if work.is_budget_spent():
            raise BudgetExceeded
        transfer = Transfer(self._deadline, self._count)
        headers = self._request.wire_headers(self._url, is_first_origin=self._is_first_origin)
        release()
        with active_transfer(transfer):
            try:
                opened = self._transport.open(self._request.method, self._url, headers, self._request.body)
            except Unreachable as error:
                error.is_stale = transfer.is_reused and transfer.received == 0
                raise
        work.beat()
        return transfer, opened

    def _count(self) -> None:
        self._requests += 1
        work.add_to_count(requests=1)

    def _keep_cookies(self, opened: OpenResponse) -> bool:
        jar = self._request.jar
        return jar.read(self._url, opened.headers.all("set-cookie")) if jar is not None else False

    def _redirect(self, location: list[str], *, has_new_cookies: bool) -> None:
        """Continue at the next address after the same checks. Credentials stay with the first origin."""
        if len(location) != 1:
            raise BadAnswer("a redirect without one Location", code="bad_redirect")
        url = follow_url(self._url, location[0])
        is_downgrade = self._url.scheme == "https" and url.scheme == "http"
        if is_downgrade and (not self._request.allow_downgrade or self._request.carries_secrets()):
            raise Refused(code="downgrade", message=DOWNGRADE)
        self._redirects.append(self._url.url)
        # With a new cookie the same address may respond differently; without one it is a loop.
        if len(self._redirects) > self._request.follow or (url.url in self._seen and not has_new_cookies):
            raise TooManyRedirects(f"{len(self._redirects)} redirects")
        self._seen.add(url.url)
        self._is_first_origin = self._is_first_origin and url.origin == self._url.origin
        self._url = url

    def _finish(self, opened: OpenResponse) -> Answer:
        self._keep_cookies(opened)
        seconds = wanted_pause(opened.status, opened.headers)
        if seconds is not None and self._is_paced:
            rate_limit.pause(self._url.site, seconds, self._request.account)
        failed = is_failure(opened.status, keeps_redirect=self._request.keeps_redirect)
        if failed and self._request.raise_for_status:
            raise error_for(self._answer(opened, self._read_error_page(opened)))
        return self._answer(opened, self._read(opened))

    def _read(self, opened: OpenResponse) -> Body:
        request = self._request
        media_type = opened.headers.get("content-type", "").partition(";")[0].strip().lower()
        if opened.status < 300 and not request.wants_type(media_type):
            raise BadAnswer(f"Content-Type {media_type[:60]}", code="wrong_type")
        if not request.may_cut and (opened.announced_length or 0) > request.max_bytes:
            raise TooLarge(f"announced {opened.announced_length} bytes")
        pieces = self._decoded(opened)
        if request.to_file is None:
            return read_into_memory(pieces, request.max_bytes, may_cut=request.may_cut)
        if opened.status < 300:
            return read_into_file(pieces, request.max_bytes, request.to_file)
        return read_into_memory(pieces, MAX_ERROR_BODY, may_cut=True)

    def _read_error_page(self, opened: OpenResponse) -> Body:
        """Read the beginning of an error page, as far as possible: sites explain the error there."""
        try:
            return read_into_memory(self._decoded(opened), MAX_ERROR_BODY, may_cut=True)
        except WebError:
            return Body()

    def _decoded(self, opened: OpenResponse) -> Iterator[bytes]:
        layers = encodings(opened.headers.get("content-encoding", ""))
        return decoded(self._from_wire(opened), layers)

    def _from_wire(self, opened: OpenResponse) -> Iterator[bytes]:
        left = self._request.max_bytes + WIRE_SLACK
        for piece in opened.pieces():
            self._deadline.left()
            left -= len(piece)
            if left < 0:
                raise TooLarge("on the wire")
            if self._request.record is not None:
                self._wire.append(piece)
            yield piece

    def _keep_exchange(self, opened: OpenResponse) -> None:
        if self._request.record is None:
            return
        sent = self._request.wire_headers(self._url, is_first_origin=self._is_first_origin)
        secret = _CREDENTIALS | {name.lower() for name in self._request.secrets}
        harmless = tuple((name, value) for name, value in sent if name.lower() not in secret)
        wire = b"".join(self._wire)
        made = Exchange(self._url.url, self._request.method, harmless, opened.status, opened.headers.pairs(), wire)
        self._request.record.append(made)

    def _answer(self, opened: OpenResponse, body: Body) -> Answer:
        self._keep_exchange(opened)
        return Answer(
            url=self._url.url,
            status=opened.status,
            headers=opened.headers,
            body=body.data,
            path=body.path,
            size=body.size,
            elapsed_ms=round((time.monotonic() - self._started) * 1000),
            request_count=self._requests,
            redirects=tuple(self._redirects),
            is_complete=opened.has_known_end or _is_compressed(opened),
            file_sha256=body.sha256,
        )

    def _log(self, outcome: str) -> None:
        # A webhook's path is its password, so only GET requests are logged with their path.
        name = self._url.shown if self._request.method == "GET" else self._url.authority
        log.info("%s %s %s", self._request.method, name, outcome)


def _is_compressed(opened: OpenResponse) -> bool:
    """Return whether the body is compressed: then the stream marks its own end."""
    return any(name in opened.headers.get("content-encoding", "").lower() for name in ("gzip", "deflate"))


IDLE_CONNECTIONS = 20
SEND_MAX_BYTES = 4096


class Client:
    """`is_paced=False` is for measurements and tests: no rate limit, no database."""

    def __init__(self, *, resolver: Resolver | None = None, is_paced: bool = True) -> None:
        self._resolver = resolver
        self._is_paced = is_paced
        self._lock = threading.Lock()
        self._transports: dict[int, Transport] = {}

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        accept: str | None = None,
        validators: Validators | tuple[str | None, str | None] | None = None,
        jar: CookieJar | None = None,
        max_bytes: int = 10 * 1024 * 1024,
        deadline_seconds: float = 30.0,
        follow: int = 5,
        allow_downgrade: bool = True,
        to_file: Path | None = None,
        raise_for_status: bool = True,
        account: str = "",
        spacing_seconds: float | None = None,
        wait_seconds: float = 30.0,
        record: list[Exchange] | None = None,
    ) -> Answer:
        """Request a page; raise a WebError for everything but a usable response.

        `secrets` are headers that never leave the first origin; `headers` do not either, but are no reason to refuse
        a downgrade. With `follow=0` a redirect is itself the response. A response whose media type is not in
        `accept` raises BadAnswer, unless `accept` ends with */*. `account` keeps pauses apart. `record` gets the
        last exchange as it went over the wire; with `follow=0` that is every one.
        """
        request = Request(
            headers=headers or {},
            secrets=secrets or {},
            accept=accept or "",
            validators=Validators(*(validators or ())),
            jar=jar,
            max_bytes=max_bytes,
            deadline_seconds=deadline_seconds,
            follow=follow,
            allow_downgrade=allow_downgrade,
            to_file=to_file,
            keeps_redirect=follow == 0,
            raise_for_status=raise_for_status,
            account=account,
            spacing_seconds=rate_limit.DEFAULT_SPACING if spacing_seconds is None else spacing_seconds,
            wait_seconds=wait_seconds,
            record=record,
        )
        return self._fetch(request, url, IDLE_CONNECTIONS)

    def send(
        self,
        method: str,
        url: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        secrets: Mapping[str, str] | None = None,
        jar: CookieJar | None = None,
        max_bytes: int | None = None,
        deadline_seconds: float = 30.0,
        raise_for_status: bool = True,
        own_url: str | None = None,
        account: str = "",
        spacing_seconds: float = 0.0,
        wait_seconds: float = 10.0,
    ) -> Answer:
        """Send a body. Redirects are not followed; the first 4 kB of the response are kept.

        With `max_bytes` the whole response is read, and a longer one raises TooLarge. `own_url` is refused.
        """
        request = Request(
            method=method.upper(),
            headers=headers or {},
            secrets=secrets or {},
            body=body,
            jar=jar,
            max_bytes=SEND_MAX_BYTES if max_bytes is None else max_bytes,
            may_cut=max_bytes is None,
            deadline_seconds=deadline_seconds,
            follow=0,
            raise_for_status=raise_for_status,
            account=account,
            spacing_seconds=spacing_seconds,
            wait_seconds=wait_seconds,
        )
        # No idle connections: a delivery must not fail because a kept connection just died.
        return self._fetch(request, url, 0, own_url=own_url)

    def _fetch(self, request: Request, url: str, idle: int, *, own_url: str | None = None) -> Answer:
        try:
            target = check_url(url, own_url=own_url)
        except Refused as error:
            log.info("%s refused: %s", request.method, error.code)
            raise
        return Fetch(self._transport(idle), request, target, is_paced=self._is_paced).run()

    def _transport(self, idle: int) -> Transport:
        transport = self._transports.get(idle)
        if transport is None:
            # Imported late: httpcore takes a quarter of a second to load.
            from watchbook.base.web.transport import Transport, system_resolver

            with self._lock:
                transport = self._transports.get(idle) or Transport(
                    self._resolver or system_resolver, idle_connections=idle
                )
                self._transports[idle] = transport
        return transport

    def reset(self) -> None:
        """Drop all connections without closing them: after a fork they belong to the parent, locked or not."""
        self._lock = threading.Lock()
        self._transports = {}

    def close(self) -> None:
        while self._transports:
            self._transports.popitem()[1].close()


# One for the whole process. A forked child must not write into its parent's connections.
_shared = Client()
get = _shared.get
send = _shared.send
os.register_at_fork(after_in_child=_shared.reset)
atexit.register(_shared.close)
