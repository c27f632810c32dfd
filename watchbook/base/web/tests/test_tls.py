"""TLS faults have a cause, and a pinned address keeps the host's name."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import trustme

from watchbook.base.web.client import Client
from watchbook.base.web.errors import TimedOut, Unreachable
from watchbook.base.web.tests.servers import RawServer, page

Serve = Callable[..., RawServer]
MakeContext = Callable[..., ssl.SSLContext]


def cause(client: Client, url: str) -> str:
    with pytest.raises(Unreachable) as caught:
        client.get(url, deadline_seconds=5)
    assert caught.value.code == "tls"
    return caught.value.detail


def test_good_certificate_passes(serve: Serve, https: MakeContext, client: Client) -> None:
    server = serve(lambda request: page(b"safe"), tls=https())
    assert client.get(server.url()).body == b"safe"
    assert client.get(server.url()).body == b"safe"
    assert server.connections == 1


def test_name_is_checked_although_the_address_is_dialled(
    serve: Serve, https: MakeContext, trust: Callable[[str], None]
) -> None:
    names: list[str | None] = []
    context = https("good.example")
    context.sni_callback = lambda sock, name, _: names.append(name)
    server = serve(lambda request: page(b"safe"), tls=context)
    trust(f"good.example:{server.port}, bad.example:{server.port}")
    client = Client(resolver=lambda host, port: ["127.0.0.1"], is_paced=False)
    assert client.get(f"https://good.example:{server.port}/").body == b"safe"
    assert names == ["good.example"]
    assert "mismatch" in cause(client, f"https://bad.example:{server.port}/")


def test_wrong_name_is_refused(serve: Serve, https: MakeContext, client: Client) -> None:
    assert "mismatch" in cause(client, serve(lambda request: page(), tls=https("other.example")).url())


def test_expired_certificate_is_refused(serve: Serve, https: MakeContext, client: Client) -> None:
    context = https(not_after=datetime(2020, 1, 1, tzinfo=UTC), not_before=datetime(2019, 1, 1, tzinfo=UTC))
    assert "expired" in cause(client, serve(lambda request: page(), tls=context).url())


def test_unknown_authority_is_refused(serve: Serve, https: MakeContext, client: Client) -> None:
    context = https(by=trustme.CA())
    assert "certificate" in cause(client, serve(lambda request: page(), tls=context).url())


def test_outdated_protocol_is_refused(serve: Serve, https: MakeContext, client: Client) -> None:
    context = https()
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    assert cause(client, serve(lambda request: page(), tls=context).url())


def test_plain_http_where_tls_is_expected_is_refused(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page())
    # The server waits for a request line; the handshake gives it bytes without one.
    with pytest.raises((Unreachable, TimedOut)):
        client.get(f"https://{server.door}/", deadline_seconds=1)


def test_stalled_handshake_ends_at_the_deadline(client: Client, trust: Callable[[str], None]) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        trust(f"127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(TimedOut):
            client.get(f"https://127.0.0.1:{listener.getsockname()[1]}/", deadline_seconds=0.5)


def test_garbled_handshake_is_refused(client: Client, trust: Callable[[str], None]) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        trust(f"127.0.0.1:{port}")

        def garble() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(1000)
                sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=garble, daemon=True).start()
        assert cause(client, f"https://127.0.0.1:{port}/")
