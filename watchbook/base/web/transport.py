"""The HTTP library, reduced to one exchange at a time over the guarded network layer.

Only its pool of connections is used: no cookies, no redirects, no proxies from the environment, no second reading of an
address. This module is imported when the first request is made, because the library takes its time to load.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import certifi
import httpcore

from watchbook.base.web.address import SafeUrl
from watchbook.base.web.answer import Headers
from watchbook.base.web.errors import BadAnswer, Refused, Unreachable, gettext_noop
from watchbook.base.web.exchange import current
from watchbook.base.web.guard import GuardBackend, Resolver
from watchbook.base.web.options import CA_FILE

MAX_HEADERS = 2000
MAX_HEADER_BYTES = 128 * 1024
KEEP_IDLE_SECONDS = 15.0
BAD_HEADER = gettext_noop("A header of the request is not allowed.")

WITH_A_BODY = {"POST", "PUT", "PATCH"}

logging.getLogger("httpcore").setLevel(logging.WARNING)  # its debug lines hold addresses and headers


class Transport:
    """Shared by all threads of a process."""

    def __init__(self, resolver: Resolver, *, idle_connections: int) -> None:
        # No cap on connections: silent hosts must not take the places of others. Pace bounds them per host.
        self._pool = httpcore.ConnectionPool(
            # Trusts nobody; the guard takes the real one when a handshake comes.
            ssl_context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            max_connections=None,
            max_keepalive_connections=idle_connections,
            keepalive_expiry=KEEP_IDLE_SECONDS,
            network_backend=GuardBackend(resolver, trust=cache(_tls_context)),
        )

    def open(self, method: str, url: SafeUrl, headers: list[tuple[str, str]], body: bytes) -> Opened:
        """Send and read the head of the answer. The caller closes it."""
        fields = [(name.encode("ascii"), value.encode("utf-8")) for name, value in headers]
        if body or method in WITH_A_BODY:
            fields.append((b"content-length", b"%d" % len(body)))
        place = httpcore.URL(
            scheme=url.scheme.encode("ascii"),
            host=url.host.encode("ascii"),
            port=url.port,
            target=url.target.encode("ascii"),
        )
        with _translated():
            response = self._pool.handle_request(httpcore.Request(method, place, headers=fields, content=body))
        current().head_is_read()
        return Opened(response)

    def close(self) -> None:
        self._pool.close()


class Opened:
    """An answer whose head was read and whose body is still on the wire."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self.status = response.status
        raw = response.headers
        if len(raw) > MAX_HEADERS or sum(len(name) + len(value) for name, value in raw) > MAX_HEADER_BYTES:
            self.close()
            raise BadAnswer("too many headers", code="bad_headers")
        self.headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw])

    @property
    def announced_length(self) -> int | None:
        text = self.headers.get("content-length", "").partition(",")[0].strip()
        return int(text) if text.isdigit() and "transfer-encoding" not in self.headers else None

    @property
    def has_known_end(self) -> bool:
        return self.announced_length is not None or "transfer-encoding" in self.headers or self.status in {204, 304}

    def pieces(self) -> Iterator[bytes]:
        """The body as it is on the wire. Raises BadAnswer if it is shorter or longer than announced."""
        with _translated():
            yield from self._response.stream  # type: ignore[misc]
        if _bytes_after(self._response):
            raise BadAnswer("more bytes than announced", code="wrong_length")

    def close(self) -> None:
        if _bytes_after(self._response):
            # What is left would be taken for the beginning of the next answer.
            self._response.extensions["network_stream"].close()
        self._response.stream.close()  # type: ignore[union-attr]


def _bytes_after(response: httpcore.Response) -> bytes:
    """What the protocol reader holds beyond this answer. Looked up in private places; a test watches over them."""
    state = response.stream._stream._connection._h11_state  # type: ignore[union-attr]
    return state.trailing_data[0] if state.their_state.__name__ in {"DONE", "MUST_CLOSE"} else b""


@contextmanager
def _translated() -> Iterator[None]:
    """The library's errors as ours. The guard raises ours already; they pass."""
    try:
        yield
    except httpcore.LocalProtocolError as error:
        raise Refused(str(error)[:200], code="bad_header", message=BAD_HEADER) from None
    except httpcore.RemoteProtocolError as error:
        is_short = "complete message body" in str(error)
        raise BadAnswer(str(error)[:200], code="wrong_length" if is_short else "bad_http") from None
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ConnectionNotAvailable) as error:
        raise Unreachable(type(error).__name__) from None


def _tls_context() -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certifi.where())
    if CA_FILE.value:
        context.load_verify_locations(CA_FILE.value)
    context.set_alpn_protocols(["http/1.1"])
    return context
