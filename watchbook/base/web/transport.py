"""The network layer: resolve once, check every address, connect to what was checked, speak HTTP through httpcore.

Only httpcore's connection pool is used: no cookies, no redirects, no proxies from the environment, no second parsing
of an address. TLS keeps the host name, so connecting to a checked address costs no verification. A pooled connection
is reused without a new lookup, because its address was checked. The module is imported with the first request: httpcore
takes a quarter of a second to load.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import certifi
import httpcore

from watchbook.base.web.address import IPAddress, SafeUrl, is_trusted, may_connect, refuse
from watchbook.base.web.body import Deadline, Transfer, current_transfer
from watchbook.base.web.errors import BadAnswer, Refused, TimedOut, Unreachable, gettext_noop
from watchbook.base.web.options import CA_FILE
from watchbook.base.web.response import Headers

Resolver = Callable[[str, int], Iterable[str]]

CONNECT_SECONDS = 10.0
DNS_SECONDS = 10.0
MAX_LOOKUPS = 64
TLS_MESSAGE = gettext_noop("No safe connection to the site: its certificate or encryption is not in order.")

# A lookup that hangs cannot be cancelled, only abandoned; this limits how many may hang at the same time.
_lookups = threading.BoundedSemaphore(MAX_LOOKUPS)


def _reset_lookups() -> None:
    """Start with free slots after a fork: the parent's threads, which would release theirs, do not exist here."""
    global _lookups
    _lookups = threading.BoundedSemaphore(MAX_LOOKUPS)


os.register_at_fork(after_in_child=_reset_lookups)


def system_resolver(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class CheckedBackend(httpcore.NetworkBackend):
    """`trust` returns the TLS context; called late, because loading all certificates is slow."""

    def __init__(
        self, resolver: Resolver = system_resolver, trust: Callable[[], ssl.SSLContext] = ssl.create_default_context
    ) -> None:
        self._resolver = resolver
        self._trust = trust

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        transfer = current_transfer()
        addresses = self._checked_addresses(host, port, transfer)
        transfer.mark_sent()
        trouble = ""
        for address in addresses:
            try:
                return CheckedStream(_connect(address, port, transfer), self._trust)
            except (OSError, TimedOut) as error:  # a filtered port must look like a closed one
                trouble = f"{type(error).__name__} {getattr(error, 'errno', '')}"
        raise Unreachable(trouble)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        raise refuse("bad_scheme")

    def _checked_addresses(self, host: str, port: int, transfer: Transfer) -> list[IPAddress]:
        """Return all addresses of a host. One private address among public ones refuses them all."""
        try:
            addresses = [ipaddress.ip_address(host)]
        except ValueError:
            addresses = self._look_up(host, port, transfer)
        if not addresses:
            raise Unreachable("no address")
        if not is_trusted(host, port) and not all(map(may_connect, addresses)):
            raise refuse("private_address", "a resolved address is not public")
        return addresses

    def _look_up(self, host: str, port: int, transfer: Transfer) -> list[IPAddress]:
        try:
            found = _look_up_in_thread(min(transfer.deadline.left(), DNS_SECONDS), self._resolver, host, port)
            return [ipaddress.ip_address(address) for address in found]
        except (OSError, UnicodeError, ValueError) as error:
            raise Unreachable(f"name lookup: {type(error).__name__}") from None


def open_checked(host: str, port: int, deadline: Deadline, resolver: Resolver = system_resolver) -> socket.socket:
    """Return a connection to a host all of whose addresses may be connected to; for the proxy of a browser."""
    transfer = Transfer(deadline, lambda: None)
    trouble = ""
    for address in CheckedBackend(resolver)._checked_addresses(host, port, transfer):
        try:
            return _connect(address, port, transfer)
        except (OSError, TimedOut) as error:
            trouble = type(error).__name__
    raise Unreachable(trouble)


def _look_up_in_thread(seconds: float, resolver: Resolver, host: str, port: int) -> list[str]:
    """Run a lookup in a thread of its own, because getaddrinfo has no timeout."""
    slots = _lookups
    if not slots.acquire(timeout=seconds):
        raise TimedOut("name lookup: too many hang")
    result: list[list[str]] = []
    trouble: list[Exception] = []
    done = threading.Event()

    def work() -> None:
        try:
            result.append(list(resolver(host, port)))
        except (OSError, UnicodeError, ValueError) as error:
            trouble.append(error)
        finally:
            slots.release()
            done.set()

    threading.Thread(target=work, name="name-lookup", daemon=True).start()
    if not done.wait(seconds):
        raise TimedOut("name lookup")
    if trouble or not result:
        raise trouble[0] if trouble else OSError("lookup failed")
    return result[0]


def _connect(address: IPAddress, port: int, transfer: Transfer) -> socket.socket:
    sock = socket.create_connection((str(address), port), min(transfer.deadline.left(), CONNECT_SECONDS))
    try:
        if ipaddress.ip_address(sock.getpeername()[0]) != address:
            raise refuse("private_address", "connected to another address than the checked one")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


class CheckedStream(httpcore.NetworkStream):
    """A socket under the deadline and the byte count of the transfer that uses it."""

    def __init__(self, sock: socket.socket, trust: Callable[[], ssl.SSLContext]) -> None:
        self._sock = sock
        self._trust = trust
        self._user: Transfer | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        transfer = current_transfer()
        try:
            self._sock.settimeout(transfer.timeout())
            data = self._sock.recv(transfer.read_size(max_bytes))
        except TimeoutError:
            raise TimedOut("read") from None
        except OSError as error:
            raise Unreachable(f"read: {type(error).__name__}") from None
        if not data and transfer.received == 0:
            raise Unreachable("closed without an answer")
        transfer.count_bytes(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        transfer = current_transfer()
        if self._user is not transfer:
            transfer.is_reused = self._user is not None
            self._user = transfer
            transfer.mark_sent()
        view = memoryview(buffer)
        try:
            while view:
                self._sock.settimeout(transfer.timeout())
                view = view[self._sock.send(view) :]
        except TimeoutError:
            raise TimedOut("write") from None
        except OSError as error:
            # The pool ignores this error and reads on: servers may respond before they have read everything.
            raise httpcore.WriteError(str(error)) from None

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            self._sock.settimeout(min(current_transfer().deadline.left(), CONNECT_SECONDS))
            sock = self._trust().wrap_socket(self._sock, server_hostname=server_hostname)
            return CheckedStream(sock, self._trust)
        except TimeoutError:
            self._sock.close()
            raise TimedOut("TLS handshake") from None
        except ssl.SSLError as error:
            self._sock.close()
            cause = getattr(error, "verify_message", "") or error.reason or "handshake failed"
            raise Unreachable(cause, code="tls", message=TLS_MESSAGE) from None
        except OSError as error:
            self._sock.close()
            raise Unreachable(f"TLS handshake: {type(error).__name__}") from None

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object" and isinstance(self._sock, ssl.SSLSocket):
            return self._sock
        if info == "is_readable":
            # An idle connection with readable bytes was closed or got unrequested data: it is not reused.
            return self._sock.fileno() < 0 or bool(_poll(self._sock))
        return None


def _poll(sock: socket.socket) -> list[tuple[int, int]]:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return poll.poll(0)


MAX_HEADERS = 2000
MAX_HEADER_BYTES = 128 * 1024
KEEP_IDLE_SECONDS = 15.0
BAD_HEADER = gettext_noop("A header of the request is not allowed.")

WITH_A_BODY = {"POST", "PUT", "PATCH"}

logging.getLogger("httpcore").setLevel(logging.WARNING)  # its debug lines hold addresses and headers


class Transport:
    """Shared by all threads of a process."""

    def __init__(self, resolver: Resolver, *, idle_connections: int) -> None:
        # No limit on connections: hosts that hang must not block others. The rate limit allows one per host.
        self._pool = httpcore.ConnectionPool(
            # Trusts no certificate; the backend uses the real context at the handshake.
            ssl_context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            max_connections=None,
            max_keepalive_connections=idle_connections,
            keepalive_expiry=KEEP_IDLE_SECONDS,
            network_backend=CheckedBackend(resolver, trust=cache(_tls_context)),
        )

    def open(self, method: str, url: SafeUrl, headers: list[tuple[str, str]], body: bytes) -> OpenResponse:
        """Send the request and read the head of the response. The caller closes it."""
        fields = [(name.encode("ascii"), value.encode("utf-8")) for name, value in headers]
        if body or method in WITH_A_BODY:
            fields.append((b"content-length", b"%d" % len(body)))
        target = httpcore.URL(
            scheme=url.scheme.encode("ascii"),
            host=url.host.encode("ascii"),
            port=url.port,
            target=url.target.encode("ascii"),
        )
        with _translate_errors():
            response = self._pool.handle_request(httpcore.Request(method, target, headers=fields, content=body))
        current_transfer().end_head()
        return OpenResponse(response)

    def close(self) -> None:
        self._pool.close()


class OpenResponse:
    """A response whose head was read and whose body is still to come."""

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
        """Yield the body as sent. Raise BadAnswer if it is shorter or longer than announced."""
        with _translate_errors():
            yield from self._response.stream  # type: ignore[misc]
        if _bytes_after(self._response):
            raise BadAnswer("more bytes than announced", code="wrong_length")

    def close(self) -> None:
        if _bytes_after(self._response):
            # The rest would be read as the beginning of the next response.
            self._response.extensions["network_stream"].close()
        self._response.stream.close()  # type: ignore[union-attr]


def _bytes_after(response: httpcore.Response) -> bytes:
    """Return what the protocol reader holds beyond this response. Reads private attributes; a test checks them."""
    state = response.stream._stream._connection._h11_state  # type: ignore[union-attr]
    return state.trailing_data[0] if state.their_state.__name__ in {"DONE", "MUST_CLOSE"} else b""


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn httpcore's errors into WebError. The backend raises WebError itself; those pass."""
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


def guard_urllib3() -> None:
    """Make urllib3 (used by Apprise) check every resolved address before it connects. A second call does nothing."""
    from urllib3.util import connection  # loaded with Apprise, which most servers never need

    connection.create_connection = checked_connection


def checked_connection(
    address: tuple[str, int],
    timeout: Any = None,
    source_address: tuple[str, int] | None = None,
    socket_options: Sequence[tuple[int, int, int | bytes]] | None = None,
) -> socket.socket:
    """Connect to a host whose addresses are all public, or which an operator trusts by name and port."""
    host, port = address[0].strip("[]"), address[1]
    found = _addresses_of(host, port)
    if not found or not (is_trusted(host, port) or all(map(may_connect, found))):
        raise OSError("the address is not allowed")
    seconds = timeout if isinstance(timeout, int | float) else CONNECT_SECONDS
    sock = socket.create_connection((str(found[0]), port), seconds)
    for option in socket_options or ():
        sock.setsockopt(*option)
    return sock


def _addresses_of(host: str, port: int) -> list[IPAddress]:
    try:
        return [ipaddress.ip_address(host)]
    except ValueError:
        return [ipaddress.ip_address(each) for each in system_resolver(host, port)]
