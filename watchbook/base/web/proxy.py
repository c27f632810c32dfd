"""A proxy on loopback for a browser of ours: every connection passes the address checks of the HTTP client.

It knows HTTP requests with whole addresses and CONNECT. Names are looked up once, every address is checked, and the
connection goes to the checked one, so that a name that changes its mind leads nowhere else. It ends with its time, its
bytes or its connections, whichever is first.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from watchbook.base.web.address import SafeUrl, check_url
from watchbook.base.web.body import Deadline
from watchbook.base.web.errors import BadAnswer, Refused, WebError
from watchbook.base.web.transport import Resolver, open_checked, system_resolver

MAX_HEAD = 64 * 1024
PIECE = 64 * 1024
IDLE_SECONDS = 20.0
_DROPPED = {"proxy-connection", "proxy-authorization", "connection", "keep-alive"}


@dataclass
class GuardedProxy:
    """`requests` counts connections that were opened, `refused` those that were not allowed."""

    seconds: float
    max_bytes: int
    max_connections: int = 300
    own_url: str | None = None
    resolver: Resolver = system_resolver
    requests: int = 0
    refused: int = 0
    received: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: set[socket.socket] = field(default_factory=set)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Listen on a free port of loopback; yields host and port."""
        self._deadline = Deadline(self.seconds)
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._accept, args=(listener,), name="guarded-proxy", daemon=True).start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            with self._lock:
                for each in self._open:
                    with suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        for _connection in range(self.max_connections):
            try:
                client, _address = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), name="guarded-proxy", daemon=True).start()
        listener.close()

    def _serve(self, client: socket.socket) -> None:
        with client, self._known(client):
            try:
                client.settimeout(min(IDLE_SECONDS, self._deadline.left()))
                head, rest = _read_head(client)
                method, url, lines = self._checked(head)
                with open_checked(url.host, url.port, self._deadline, self.resolver) as server, self._known(server):
                    with self._lock:
                        self.requests += 1
                    if method == "CONNECT":
                        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    else:
                        server.sendall(_request(method, url, lines))
                    server.sendall(rest)
                    self._pump(client, server)
            except Refused:
                self.refused += 1
                _say(client, "403 Forbidden")
            except (WebError, OSError):
                _say(client, "502 Bad Gateway")

    @contextmanager
    def _known(self, sock: socket.socket) -> Iterator[None]:
        """Sockets that are closed when the proxy ends."""
        with self._lock:
            self._open.add(sock)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(sock)

    def _checked(self, head: bytes) -> tuple[str, SafeUrl, list[bytes]]:
        """Method, address and header lines of a request; raises Refused for an address that is not allowed."""
        first, *lines = head.split(b"\r\n")
        parts = first.decode("latin-1").split(" ")
        if len(parts) != 3:
            raise BadAnswer("no request line")
        method, target, _version = parts
        if method == "CONNECT":
            return method, check_url(f"https://{target}/", own_url=self.own_url), lines
        return method, check_url(target, own_url=self.own_url), lines

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        """Carry bytes in both directions until one side ends."""
        other = {client: server, server: client}
        while True:
            ready, _out, _bad = select.select([client, server], [], [], min(IDLE_SECONDS, self._deadline.left()))
            if not ready:
                return
            for source in ready:
                data = source.recv(PIECE)
                with self._lock:
                    self.received += len(data)
                if not data or self.received > self.max_bytes:
                    return
                other[source].sendall(data)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(PIECE)
        data += piece
        if not piece or len(data) > MAX_HEAD:
            raise BadAnswer("no head")
    head, _end, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _request(method: str, url: SafeUrl, lines: list[bytes]) -> bytes:
    """The request as the server gets it. One request for each connection: the next may go elsewhere."""
    kept = [line for line in lines if line.partition(b":")[0].strip().lower().decode("latin-1") not in _DROPPED]
    first = f"{method} {url.target} HTTP/1.1".encode("latin-1")
    return b"\r\n".join([first, *kept, b"Connection: close", b"", b""])


def _say(client: socket.socket, status: str) -> None:
    with suppress(OSError):
        client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
