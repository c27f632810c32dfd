"""HTTP/1.1 as bytes: reads a request, writes a response, and lets faults change the bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus

from standins.messages import Answer, Headers, Request
from standins.request_log import RequestLog
from standins.tcp import Connection

BODILESS = {204, 304}


class BadRequest(Exception):
    """The client does not speak HTTP/1.x. It gets a 400 and the connection is closed."""


def read_request(connection: Connection, log: RequestLog) -> Request | None:
    """The next request, or None when the client is done."""
    line = connection.read_line()
    while line in (b"\r\n", b"\n"):
        line = connection.read_line()
    if not line:
        return None
    words = line.decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest(f"not a request line: {line[:80]!r}")
    headers = _read_headers(connection)
    if headers.get("Expect").lower() == "100-continue":
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = _read_body(connection, headers)
    return Request(
        number=log.next_number(),
        connection=connection.number,
        remote_port=connection.remote_port,
        monotonic=time.monotonic(),
        received_at=datetime.now(UTC),
        method=words[0].upper(),
        target=words[1],
        version=words[2],
        headers=headers,
        body=body,
        is_encrypted=connection.is_encrypted,
    )


def _read_headers(connection: Connection) -> Headers:
    pairs: list[tuple[str, str]] = []
    while (line := connection.read_line()) not in (b"\r\n", b"\n", b""):
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or len(pairs) > 1000:
            raise BadRequest(f"not a header line: {line[:80]!r}")
        pairs.append((name.strip(), value.strip()))
    return Headers(pairs)


def _read_body(connection: Connection, headers: Headers) -> bytes:
    if headers.get("Transfer-Encoding").lower() == "chunked":
        return _read_chunks(connection)
    length = headers.get("Content-Length", "0")
    if not length.isdigit():
        raise BadRequest(f"not a length: {length[:80]!r}")
    return connection.read_exactly(int(length))


def _read_chunks(connection: Connection) -> bytes:
    body = bytearray()
    while size := int(connection.read_line().partition(b";")[0].strip() or b"0", 16):
        body += connection.read_exactly(size)
        connection.read_line()
    while connection.read_line().strip():
        pass
    return bytes(body)


def head_of(answer: Answer, *, status_line: str | None = None, length: bool = True) -> bytes:
    """Status line and headers, as written. Header text is not checked: it may hold anything a fault wants."""
    pairs = list(answer.headers)
    names = {name.lower() for name, _ in pairs}
    if "date" not in names:
        pairs.append(("Date", format_datetime(datetime.now(UTC), usegmt=True)))
    if answer.content_type and "content-type" not in names:
        pairs.append(("Content-Type", answer.content_type))
    if length and not names & {"content-length", "transfer-encoding"} and answer.status not in BODILESS:
        body = answer.body
        pairs.append(
            ("Content-Length", str(len(body))) if isinstance(body, bytes) else ("Transfer-Encoding", "chunked")
        )
    first = status_line if status_line is not None else f"HTTP/1.1 {answer.status} {reason_of(answer)}"
    lines = [first, *(f"{name}: {value}" for name, value in pairs)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def reason_of(answer: Answer) -> str:
    if answer.reason is not None:
        return answer.reason
    known = answer.status in HTTPStatus._value2member_map_
    return HTTPStatus(answer.status).phrase if known else "Unknown"


class Exchange:
    """One request and the way to answer it: as the site would, or otherwise."""

    def __init__(
        self, request: Request, connection: Connection, log: RequestLog, respond: Callable[[Request], Answer]
    ) -> None:
        self.request = request
        self.connection = connection
        self.status: int | None = None
        self._log = log
        self._respond = respond

    def ordinary(self) -> Answer:
        """What the site would say if nothing went wrong."""
        return self._respond(self.request)

    def finish(self) -> None:
        """No longer in flight. Called before the last byte leaves, so that no client can be faster than the count."""
        self._log.finish(self.request, self.status)

    def send(self, answer: Answer) -> None:
        """The answer in good order."""
        self.status = answer.status
        head = head_of(answer)
        if self.request.method == "HEAD" or answer.status in BODILESS:
            self.send_last(head)
        elif isinstance(answer.body, bytes):
            self._send_whole(head, answer.body)
        else:
            self.connection.send(head)
            for piece in answer.body:
                if piece:
                    self.connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.send_last(b"0\r\n\r\n")
        if answer.status == 101 or ("Connection", "close") in answer.headers:
            self.connection.close()

    def send_last(self, data: bytes | memoryview) -> None:
        self.connection.send(data[:-1])
        self.finish()
        self.connection.send(data[-1:])

    def hang_up(self) -> None:
        self.finish()
        self.connection.close()

    def reset(self) -> None:
        self.finish()
        self.connection.reset()

    def _send_whole(self, head: bytes, body: bytes) -> None:
        if len(body) < 65536:
            self.send_last(head + body)
        else:
            self.connection.send(head)
            self.send_last(memoryview(body))
