"""The network layer under the HTTP client: resolve once, check every answer, dial what was checked.

TLS keeps the host name, so pinning the address costs no verification. A pooled connection is used again without a new
lookup, which is safe: its address was checked.
"""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any

import httpcore

from watchbook.base.web.address import is_trusted, may_dial, refuse
from watchbook.base.web.errors import TimedOut, Unreachable, gettext_noop
from watchbook.base.web.exchange import Exchange, current
from watchbook.base.web.networks import IPAddress

Resolver = Callable[[str, int], Iterable[str]]

CONNECT_SECONDS = 10.0
DNS_SECONDS = 10.0
MAX_LOOKUPS = 64
TLS_MESSAGE = gettext_noop("No safe connection to the site: its certificate or encryption is not in order.")

# A stuck lookup cannot be cancelled, only abandoned; this bounds how many may be stuck at once.
_lookups = threading.BoundedSemaphore(MAX_LOOKUPS)


def _forget_lookups() -> None:
    """A forked child has none of its parent's threads to give back a place."""
    global _lookups
    _lookups = threading.BoundedSemaphore(MAX_LOOKUPS)


os.register_at_fork(after_in_child=_forget_lookups)


def system_resolver(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardBackend(httpcore.NetworkBackend):
    """`trust` gives whom to believe in a handshake; asked late, because reading all certificates takes its time."""

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
        exchange = current()
        addresses = self._checked_addresses(host, port, exchange)
        exchange.leave()
        trouble = ""
        for address in addresses:
            try:
                return GuardedStream(_dial(address, port, exchange), self._trust)
            except (OSError, TimedOut) as error:  # a filtered port must not read otherwise than a closed one
                trouble = f"{type(error).__name__} {getattr(error, 'errno', '')}"
        raise Unreachable(trouble)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        raise refuse("bad_scheme")

    def _checked_addresses(self, host: str, port: int, exchange: Exchange) -> list[IPAddress]:
        """All addresses of a host. One bad address among good ones refuses them all."""
        try:
            addresses = [ipaddress.ip_address(host)]
        except ValueError:
            addresses = self._look_up(host, port, exchange)
        if not addresses:
            raise Unreachable("no address")
        if not is_trusted(host, port) and not all(map(may_dial, addresses)):
            raise refuse("private_address", "a resolved address is not public")
        return addresses

    def _look_up(self, host: str, port: int, exchange: Exchange) -> list[IPAddress]:
        try:
            found = _within(min(exchange.deadline.left(), DNS_SECONDS), self._resolver, host, port)
            return [ipaddress.ip_address(address) for address in found]
        except (OSError, UnicodeError, ValueError) as error:
            raise Unreachable(f"name lookup: {type(error).__name__}") from None


def _within(seconds: float, resolver: Resolver, host: str, port: int) -> list[str]:
    """Run a lookup in a thread of its own: getaddrinfo knows no timeout."""
    places = _lookups
    if not places.acquire(timeout=seconds):
        raise TimedOut("name lookup: too many are stuck")
    result: list[list[str]] = []
    trouble: list[Exception] = []
    done = threading.Event()

    def work() -> None:
        try:
            result.append(list(resolver(host, port)))
        except (OSError, UnicodeError, ValueError) as error:
            trouble.append(error)
        finally:
            places.release()
            done.set()

    threading.Thread(target=work, name="name-lookup", daemon=True).start()
    if not done.wait(seconds):
        raise TimedOut("name lookup")
    if trouble or not result:
        raise trouble[0] if trouble else OSError("lookup failed")
    return result[0]


def _dial(address: IPAddress, port: int, exchange: Exchange) -> socket.socket:
    sock = socket.create_connection((str(address), port), min(exchange.deadline.left(), CONNECT_SECONDS))
    try:
        if ipaddress.ip_address(sock.getpeername()[0]) != address:
            raise refuse("private_address", "connected to another address than the checked one")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


class GuardedStream(httpcore.NetworkStream):
    """A socket under the deadline and the byte count of whichever exchange is using it."""

    def __init__(self, sock: socket.socket, trust: Callable[[], ssl.SSLContext]) -> None:
        self._sock = sock
        self._trust = trust
        self._user: Exchange | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        exchange = current()
        try:
            self._sock.settimeout(exchange.patience())
            data = self._sock.recv(exchange.appetite(max_bytes))
        except TimeoutError:
            raise TimedOut("read") from None
        except OSError as error:
            raise Unreachable(f"read: {type(error).__name__}") from None
        if not data and exchange.received == 0:
            raise Unreachable("closed without an answer")
        exchange.took(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        exchange = current()
        if self._user is not exchange:
            exchange.is_reused = self._user is not None
            self._user = exchange
            exchange.leave()
        view = memoryview(buffer)
        try:
            while view:
                self._sock.settimeout(exchange.patience())
                view = view[self._sock.send(view) :]
        except TimeoutError:
            raise TimedOut("write") from None
        except OSError as error:
            # The pool swallows this one and reads on: servers may answer before they have read everything.
            raise httpcore.WriteError(str(error)) from None

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            self._sock.settimeout(min(current().deadline.left(), CONNECT_SECONDS))
            sock = self._trust().wrap_socket(self._sock, server_hostname=server_hostname)
            return GuardedStream(sock, self._trust)
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
            # An idle connection with news was closed, or was sent something nobody asked for: not to be used again.
            return self._sock.fileno() < 0 or bool(_poll(self._sock))
        return None


def _poll(sock: socket.socket) -> list[tuple[int, int]]:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return poll.poll(0)
