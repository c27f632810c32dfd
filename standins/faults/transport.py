"""Faults of the way: slow, cut, reset, silent, and lengths and status lines that lie."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Self

from standins.faults.treatment import Treatment, Verbs, as_bytes
from standins.messages import Answer
from standins.wire import Exchange, head_of

ENDLESS_SECONDS = 120.0


class TransportVerbs(Verbs):
    def delay(self, seconds: float) -> Self:
        """Think for a while, then answer as usual."""

        def treatment(exchange: Exchange) -> None:
            if exchange.connection.wait(seconds):
                exchange.send(exchange.ordinary())

        return self.treat(treatment)

    def hang(self) -> Self:
        """Take the request and never say a word."""
        return self.treat(_stay_until_left)

    def hang_after_headers(self) -> Self:
        return self._part_then(0, 0, _stay_until_left)

    def slow_headers(self, every: float = 0.5, chunk: int = 1) -> Self:
        """The status line and headers come a few bytes at a time."""

        def treatment(exchange: Exchange) -> None:
            answer = _whole(exchange)
            exchange.status = answer.status
            if _drip(exchange, head_of(answer), every, chunk):
                exchange.send_last(answer.whole_body())

        return self.treat(treatment)

    def drip(self, every: float = 0.5, chunk: int = 1) -> Self:
        """The headers come immediately, the body a few bytes at a time."""

        def treatment(exchange: Exchange) -> None:
            answer = _whole(exchange)
            exchange.status = answer.status
            exchange.connection.send(head_of(answer))
            _drip(exchange, answer.whole_body(), every, chunk)

        return self.treat(treatment)

    def cut(self, keep: float = 0.5, *, after: int | None = None) -> Self:
        """Promise the whole body, send a share of it (or `after` bytes), say goodbye."""
        return self._part_then(keep, after, Exchange.hang_up)

    def reset_before_headers(self) -> Self:
        return self.treat(Exchange.reset)

    def reset_after_headers(self) -> Self:
        return self._part_then(0, 0, Exchange.reset)

    def reset_mid_body(self, keep: float = 0.5, *, after: int | None = None) -> Self:
        return self._part_then(keep, after, Exchange.reset)

    def close_before_headers(self) -> Self:
        return self.treat(Exchange.hang_up)

    def claim_length(self, *lengths: int | str) -> Self:
        """The ordinary body under any Content-Length, or several; then goodbye."""
        claims = [("Content-Length", str(length)) for length in lengths]
        return self.treat(lambda exchange: _send_raw(exchange, claims))

    def huge_length(self, gigabytes: float = 10) -> Self:
        """Announce a huge body, send the ordinary one and stay on the line."""
        claims = [("Content-Length", str(int(gigabytes * 1024**3)))]

        def treatment(exchange: Exchange) -> None:
            _send_raw(exchange, claims, close=False)
            _stay_until_left(exchange)

        return self.treat(treatment)

    def endless(self, chunk: int = 65536, every: float = 0.0, body: bytes | str = b"x") -> Self:
        """A chunked body without an end, for as long as the client listens."""
        piece = (as_bytes(body) * (chunk // max(1, len(as_bytes(body))) + 1))[:chunk]

        def treatment(exchange: Exchange) -> None:
            exchange.status = 200
            exchange.connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            deadline = time.monotonic() + ENDLESS_SECONDS
            while time.monotonic() < deadline and (not every or exchange.connection.wait(every)):
                exchange.connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            exchange.hang_up()

        return self.treat(treatment)

    def status_line(self, line: str) -> Self:
        """Any first line in front of the ordinary headers and body: garbage, status 000, 999."""
        return self.treat(lambda exchange: _send_raw(exchange, [], status_line=line))

    def http09(self) -> Self:
        """The bare body, without status line or headers."""

        def treatment(exchange: Exchange) -> None:
            exchange.connection.send(exchange.ordinary().whole_body())
            exchange.hang_up()

        return self.treat(treatment)

    def continue_flood(self, count: int = 1000) -> Self:
        """So many `100 Continue` before the ordinary answer."""

        def treatment(exchange: Exchange) -> None:
            exchange.connection.send(b"HTTP/1.1 100 Continue\r\n\r\n" * count)
            exchange.send(exchange.ordinary())

        return self.treat(treatment)

    def say(self, words: bytes | str) -> Self:
        """Exactly these bytes, then goodbye."""

        def treatment(exchange: Exchange) -> None:
            exchange.connection.send(as_bytes(words))
            exchange.hang_up()

        return self.treat(treatment)

    def _part_then(self, keep: float, after: int | None, end: Treatment) -> Self:
        def treatment(exchange: Exchange) -> None:
            answer = _whole(exchange)
            body = answer.whole_body()
            size = int(len(body) * keep) if after is None else after
            exchange.status = answer.status
            exchange.connection.send(head_of(answer))
            exchange.connection.send(memoryview(body)[:size])
            end(exchange)

        return self.treat(treatment)


def _whole(exchange: Exchange) -> Answer:
    """The ordinary answer with its body in one piece, so that a share of it can be taken."""
    answer = exchange.ordinary()
    return replace(answer, body=answer.whole_body())


def _stay_until_left(exchange: Exchange) -> None:
    exchange.connection.wait_until_left()
    exchange.hang_up()


def _drip(exchange: Exchange, data: bytes, every: float, chunk: int) -> bool:
    """False when the client left before the end."""
    for start in range(0, len(data), chunk):
        if not exchange.connection.wait(every):
            exchange.hang_up()
            return False
        exchange.connection.send(data[start : start + chunk])
    return True


def _send_raw(
    exchange: Exchange, claims: list[tuple[str, str]], *, status_line: str | None = None, close: bool = True
) -> None:
    answer = _whole(exchange)
    exchange.status = answer.status
    answer = answer.with_headers(claims)
    exchange.connection.send(head_of(answer, status_line=status_line) + answer.whole_body())
    if close:
        exchange.hang_up()
