"""Clients that share no code with the stand-ins: http.client and bare sockets."""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

from standins.server import Site


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    site: Site, path: str, method: str = "GET", body: bytes | None = None, headers: dict[str, str] | None = None
) -> Reply:
    connection = http.client.HTTPConnection(site.host, site.port, timeout=5)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())
    finally:
        connection.close()


def dial(site: Site) -> socket.socket:
    return socket.create_connection((site.host, site.port), timeout=5)


def raw(site: Site, path: str = "/", *, lines: str = "") -> bytes:
    """Everything the server says to one request until it hangs up; a reset shows as ConnectionResetError."""
    with dial(site) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{lines}\r\n".encode())
        return read_to_end(client)


def read_to_end(client: socket.socket) -> bytes:
    pieces = []
    while piece := client.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def read_exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := client.recv(size - len(data))):
        data += piece
    return data
