"""A loopback server that answers with exactly the bytes a test wants."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = field(repr=False)
    connection: int


Act = Callable[[socket.socket], None]
Handler = Callable[[Seen], bytes | Act]


class RawServer:
    """Bytes are sent and the connection is kept; a function gets the socket, and it is closed afterwards."""

    def __init__(self, handler: Handler, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((host, 0))
        self._listener.listen(200)
        self.host, self.port = host, self._listener.getsockname()[1]
        self.connections = 0
        self.seen: list[Seen] = []
        self.stopped = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def door(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def url(self, target: str = "/") -> str:
        return f"{'https' if self._tls else 'http'}://{self.door}{target}"

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError), contextlib.closing(sock):
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pending = b""
            while True:
                request, pending = _read_request(sock, pending, number)
                if request is None:
                    return
                self.seen.append(request)
                answer = self._handler(request)
                if callable(answer):
                    answer(sock)
                    return
                sock.sendall(answer)

    def close(self) -> None:
        self.stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not wake the thread that accepts
        self._listener.close()


def _read_request(sock: socket.socket, pending: bytes, number: int) -> tuple[Seen | None, bytes]:
    while b"\r\n\r\n" not in pending:
        piece = sock.recv(65536)
        if not piece:
            return None, b""
        pending += piece
    head, _, rest = pending.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    length = int(headers.get("content-length", 0))
    while len(rest) < length:
        rest += sock.recv(65536)
    return Seen(method, target, headers, rest[:length], number), rest[length:]


def page(body: bytes = b"hello", status: str = "200 OK", **headers: str | int) -> bytes:
    """A well-formed answer; header names are written with underscores."""
    fields: dict[str, str | int] = {"Content-Length": len(body), "Content-Type": "text/html"}
    fields.update({name.replace("_", "-").title(): value for name, value in headers.items()})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


def redirect(location: str, status: str = "302 Found", **headers: str | int) -> bytes:
    return page(b"", status, location=location, **headers)


def raw(data: bytes) -> Act:
    """Exactly these bytes, then the end of the connection."""
    return lambda sock: sock.sendall(data)


def reset(data: bytes = b"") -> Act:
    """These bytes, then a reset."""

    def act(sock: socket.socket) -> None:
        if data:
            sock.sendall(data)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")

    return act
