"""A reserved loopback port without a listener, for "connection refused"."""

from __future__ import annotations

import socket

BACKLOG = 4096


class LoopbackPort:
    """Port 0 picks a free one. A second, silent socket keeps the number reserved between two listeners."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        if port:
            # Shared binding below would let a second process steal half of the connections of the first.
            _bound(host, port, shared=False).close()
        self._keeper = _bound(host, port)
        self.port: int = self._keeper.getsockname()[1]

    def listen(self) -> socket.socket:
        listener = _bound(self.host, self.port)
        listener.listen(BACKLOG)
        return listener

    def release(self) -> None:
        self._keeper.close()


def _bound(host: str, port: int, *, shared: bool = True) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock
