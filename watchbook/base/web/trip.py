"""One call from its first address to its answer: pace, exchange, redirects by hand, status."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from watchbook.base import pulse
from watchbook.base.web import counting, pace
from watchbook.base.web.address import SafeUrl, follow_url, is_trusted
from watchbook.base.web.answer import Answer
from watchbook.base.web.body import Body, into_file, into_memory
from watchbook.base.web.decode import decoded, encodings
from watchbook.base.web.errors import (
    BadAnswer,
    Refused,
    TooLarge,
    TooManyRedirects,
    Unreachable,
    WebError,
    gettext_noop,
)
from watchbook.base.web.exchange import Deadline, Exchange, taking_part
from watchbook.base.web.request import Request
from watchbook.base.web.status import REDIRECTS, check_sane, error_for, is_failure, wanted_pause

if TYPE_CHECKING:
    from watchbook.base.web.transport import Opened, Transport

MAX_ERROR_BODY = 64 * 1024
WIRE_SLACK = 1024 * 1024
LEASE_MARGIN_SECONDS = 10.0
DOWNGRADE = gettext_noop("The site leads from a safe connection to an open one.")

log = logging.getLogger("watchbook.web")


class Trip:
    def __init__(self, transport: Transport, request: Request, url: SafeUrl, *, is_paced: bool) -> None:
        self._transport = transport
        self._request = request
        self._url = url
        self._is_paced = is_paced
        self._is_home = True
        self._deadline = Deadline(request.deadline_seconds)
        self._started = time.monotonic()
        self._requests = 0
        self._redirects: list[str] = []
        self._seen = {url.url}

    def go(self) -> Answer:
        try:
            answer = self._walk()
        except WebError as error:
            self._log(f"{error.code} {error.detail}")
            raise
        self._log(f"{answer.status} {answer.size} bytes {answer.elapsed_ms} ms")
        return answer

    def _walk(self) -> Answer:
        while True:
            with pace.turn(self._wish()) if self._is_paced else nullcontext(0.0) as waited:
                self._deadline.extend(waited)
                self._started += waited
                with self._exchange() as opened:
                    if opened.status not in REDIRECTS or not self._request.follow:
                        return self._arrive(opened)
                    location = opened.headers.all("location")
                    is_news = self._keep_cookies(opened)
            self._turn_to(location, is_news=is_news)

    def _wish(self) -> pace.Wish:
        return pace.Wish(
            site=self._url.site,
            account=self._request.account,
            spacing_seconds=self._request.spacing_seconds,
            wait_seconds=self._request.wait_seconds,
            lease_seconds=self._deadline.left() + LEASE_MARGIN_SECONDS,
            is_trusted=is_trusted(self._url.host, self._url.port),
        )

    @contextmanager
    def _exchange(self) -> Iterator[Opened]:
        """Send one request and hold its answer open; the rules of this exchange hold inside."""
        try:
            exchange, opened = self._open()
        except Unreachable as error:
            # A kept connection may die just when it is used again. Nothing came back, so asking once more is safe.
            if not error.is_stale or self._request.method != "GET":
                raise
            exchange, opened = self._open()
        try:
            with taking_part(exchange):
                try:
                    check_sane(opened.status, has_validators=bool(self._request.validators))
                    yield opened
                finally:
                    opened.close()
        finally:
            counting.add(bytes=exchange.received)

    def _open(self) -> tuple[Exchange, Opened]:
        exchange = Exchange(self._deadline, self._count)
        headers = self._request.wire_headers(self._url, is_home=self._is_home)
        with taking_part(exchange):
            try:
                opened = self._transport.open(self._request.method, self._url, headers, self._request.body)
            except Unreachable as error:
                error.is_stale = exchange.is_reused and exchange.received == 0
                raise
        pulse.beat()
        return exchange, opened

    def _count(self) -> None:
        self._requests += 1
        counting.add(requests=1)

    def _keep_cookies(self, opened: Opened) -> bool:
        jar = self._request.jar
        return jar.read(self._url, opened.headers.all("set-cookie")) if jar is not None else False

    def _turn_to(self, location: list[str], *, is_news: bool) -> None:
        """Go to the next address, through the gate. Credentials stay where they belong."""
        if len(location) != 1:
            raise BadAnswer("a redirect to nowhere", code="bad_redirect")
        url = follow_url(self._url, location[0])
        is_downgrade = self._url.scheme == "https" and url.scheme == "http"
        if is_downgrade and (not self._request.allow_downgrade or self._request.carries_secrets()):
            raise Refused(code="downgrade", message=DOWNGRADE)
        self._redirects.append(self._url.url)
        # With a new cookie the same address may well answer otherwise; without one it is a loop.
        if len(self._redirects) > self._request.follow or (url.url in self._seen and not is_news):
            raise TooManyRedirects(f"{len(self._redirects)} redirects")
        self._seen.add(url.url)
        self._is_home = self._is_home and url.origin == self._url.origin
        self._url = url

    def _arrive(self, opened: Opened) -> Answer:
        self._keep_cookies(opened)
        seconds = wanted_pause(opened.status, opened.headers)
        if seconds is not None and self._is_paced:
            pace.pause(self._url.site, seconds, self._request.account)
        failed = is_failure(opened.status, keeps_redirect=self._request.keeps_redirect)
        if failed and self._request.raise_for_status:
            raise error_for(self._answer(opened, self._read_excuse(opened)))
        return self._answer(opened, self._read(opened))

    def _read(self, opened: Opened) -> Body:
        wish = self._request
        media_type = opened.headers.get("content-type", "").partition(";")[0].strip().lower()
        if opened.status < 300 and not wish.wants_type(media_type):
            raise BadAnswer(f"Content-Type {media_type[:60]}", code="wrong_type")
        if not wish.may_cut and (opened.announced_length or 0) > wish.max_bytes:
            raise TooLarge(f"announced {opened.announced_length} bytes")
        pieces = self._unpacked(opened)
        if wish.to_file is None:
            return into_memory(pieces, wish.max_bytes, may_cut=wish.may_cut)
        if opened.status < 300:
            return into_file(pieces, wish.max_bytes, wish.to_file)
        return into_memory(pieces, MAX_ERROR_BODY, may_cut=True)

    def _read_excuse(self, opened: Opened) -> Body:
        """The beginning of an error page, as far as it can be read: sites put their reasons there."""
        try:
            return into_memory(self._unpacked(opened), MAX_ERROR_BODY, may_cut=True)
        except WebError:
            return Body()

    def _unpacked(self, opened: Opened) -> Iterator[bytes]:
        layers = encodings(opened.headers.get("content-encoding", ""))
        return decoded(self._from_wire(opened), layers)

    def _from_wire(self, opened: Opened) -> Iterator[bytes]:
        left = self._request.max_bytes + WIRE_SLACK
        for piece in opened.pieces():
            self._deadline.left()
            left -= len(piece)
            if left < 0:
                raise TooLarge("on the wire")
            yield piece

    def _answer(self, opened: Opened, body: Body) -> Answer:
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
            is_complete=opened.has_known_end or _is_packed(opened),
            file_sha256=body.sha256,
        )

    def _log(self, outcome: str) -> None:
        # A webhook's path is its password, so only what is read is named in full.
        name = self._url.shown if self._request.method == "GET" else self._url.authority
        log.info("%s %s %s", self._request.method, name, outcome)


def _is_packed(opened: Opened) -> bool:
    """A compressed stream knows its own end."""
    return any(name in opened.headers.get("content-encoding", "").lower() for name in ("gzip", "deflate"))
