"""Servers that lie, stall, flood or break off: a typed error each, never half a page."""

from __future__ import annotations

import gzip
import os
import socket
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from watchbook.base.web import body as limits
from watchbook.base.web.client import Client
from watchbook.base.web.errors import BadAnswer, Refused, TimedOut, TooLarge, Unreachable, WebError
from watchbook.base.web.response import CookieJar
from watchbook.base.web.tests.servers import Act, RawServer, page, raw, reset

Serve = Callable[..., RawServer]
HEAD = b"HTTP/1.1 200 OK\r\n"

BROKEN = [
    ("gzip", gzip.compress(b"x" * 1000)[:-9]),
    ("gzip", gzip.compress(b"x" * 1000)[:5]),
    ("gzip", gzip.compress(b"x" * 1000)[:12] + b"garbage" * 9),
    ("gzip", b"this is not gzip"),
    ("gzip", gzip.compress(b"x" * 1000) + gzip.compress(b"y" * 1000)[:-4]),
    ("gzip", gzip.compress(b"x")[:-8] + b"\0" * 8),
    ("gzip", gzip.compress(b"") * 2000),
    ("gzip", gzip.compress(b"x") + b"\0" * 1_200_000),
    ("deflate", zlib.compress(b"x" * 1000)[:-5]),
    ("deflate", b"x"),
    ("br", b"\x0b\x02\x80hello\x03"),
    ("zstd", b"\x28\xb5\x2f\xfd\x04\x00"),
    ("compress", b"x"),
    ("gzip, br", b"x"),
    ("gzip, gzip, gzip", gzip.compress(gzip.compress(gzip.compress(b"x")))),
    (", ".join(["gzip"] * 50), b"x"),
    ("x" * 5000, b"x"),
]


def failure(client: Client, server: RawServer, **wishes: object) -> WebError:
    with pytest.raises(WebError) as caught:
        client.get(server.url(), **{"deadline_seconds": 5, **wishes})  # type: ignore[arg-type]
    return caught.value


def check(serve: Serve, client: Client, answer: bytes | Act, error: type[WebError], code: str = "") -> WebError:
    """Fetch once from a server that answers so; a second, honest server is fine afterwards."""
    caught = failure(client, serve(lambda request: answer))
    assert type(caught) is error, caught
    assert not code or caught.code == code, caught
    assert client.get(serve(lambda request: page(b"fine")).url()).body == b"fine"
    return caught


@pytest.mark.parametrize(
    ("encoding", "layers"),
    [
        ("gzip", [gzip.compress]),
        ("gzip, gzip", [gzip.compress] * 2),
        ("deflate, x-gzip", [zlib.compress, gzip.compress]),
    ],
)
def test_compressed_bodies_are_unpacked(serve: Serve, client: Client, encoding: str, layers: list) -> None:
    body = os.urandom(1000) * 300
    packed = body
    for layer in layers:
        packed = layer(packed)
    answer = client.get(serve(lambda request: page(packed, content_encoding=encoding)).url())
    assert answer.body == body
    assert answer.is_complete


def test_many_members_and_padding_are_accepted(serve: Serve, client: Client) -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two ") + gzip.compress(b"") + gzip.compress(b"three")
    for tail in (b"", b"\0" * 512, b"<!-- cached -->"):
        server = serve(lambda request, tail=tail: page(packed + tail, content_encoding="gzip"))
        assert client.get(server.url()).body == b"one two three"


@pytest.mark.parametrize("kind", ["zlib", "raw"])
def test_both_meanings_of_deflate_are_understood(serve: Serve, client: Client, kind: str) -> None:
    packer = zlib.compressobj(wbits=15 if kind == "zlib" else -15)
    packed = packer.compress(b"hello " * 100) + packer.flush()
    server = serve(lambda request: page(packed, content_encoding="deflate"))
    assert client.get(server.url()).body == b"hello " * 100


@pytest.mark.parametrize(("encoding", "body"), BROKEN, ids=range(len(BROKEN)))  # a gzip header holds the time
def test_broken_or_unasked_compression_is_a_bad_answer(
    serve: Serve, client: Client, encoding: str, body: bytes
) -> None:
    check(serve, client, page(body, content_encoding=encoding), BadAnswer, "bad_encoding")


def test_empty_body_may_be_labelled_as_compressed(serve: Serve, client: Client) -> None:
    assert client.get(serve(lambda request: page(b"", content_encoding="gzip")).url()).body == b""


def test_too_large_content_length_is_refused(serve: Serve, client: Client) -> None:
    check(serve, client, HEAD + b"Content-Length: 10737418240\r\n\r\n", TooLarge)


def test_endless_body_is_cut_at_the_cap(serve: Serve, client: Client) -> None:
    def endless(sock: socket.socket) -> None:
        sock.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            sock.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    server = serve(lambda request: endless)
    assert type(failure(client, server, max_bytes=1_000_000)) is TooLarge


def test_file_that_is_too_large_is_not_left_behind(serve: Serve, client: Client, tmp_path: Path) -> None:
    target = tmp_path / "part.xml"
    server = serve(lambda request: page(gzip.compress(b"\0" * 3_000_000), content_encoding="gzip"))
    assert type(failure(client, server, max_bytes=1_000_000, to_file=target)) is TooLarge
    assert not target.exists()


def test_broken_file_is_not_left_behind(serve: Serve, client: Client, tmp_path: Path) -> None:
    target = tmp_path / "part.xml"
    server = serve(lambda request: raw(HEAD + b"Content-Length: 100\r\n\r\nshort"))
    assert type(failure(client, server, to_file=target)) is BadAnswer
    assert not target.exists()


def drip(head: bytes) -> Act:
    def act(sock: socket.socket) -> None:
        sock.sendall(head)
        for _ in range(200):
            sock.sendall(b"x")
            time.sleep(0.05)

    return act


@pytest.mark.parametrize("head", [HEAD + b"Content-Length: 200\r\n\r\n", HEAD + b"X-Slow: ", b""])
def test_slow_response_ends_at_the_deadline(serve: Serve, client: Client, head: bytes) -> None:
    server = serve(lambda request: drip(head))
    assert type(failure(client, server, deadline_seconds=0.5)) is TimedOut


def test_server_without_response_fails_before_a_long_deadline(
    serve: Serve, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STALL_SECONDS", 0.3)
    server = serve(lambda request: lambda sock: server.stopped.wait(20))
    assert type(failure(client, server, deadline_seconds=20)) is TimedOut


def test_receiver_that_does_not_read_ends_at_the_deadline(client: Client, trust: Callable[[str], None]) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        trust(f"127.0.0.1:{port}")
        with pytest.raises(TimedOut):
            client.send("POST", f"http://127.0.0.1:{port}/", b"x" * 20_000_000, deadline_seconds=0.5)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (raw(HEAD + b"Content-Length: 100\r\n\r\nshort"), "wrong_length"),
        (HEAD + b"Content-Length: 3\r\n\r\nlonger", "wrong_length"),
        (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel"), "wrong_length"),
        (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), "wrong_length"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nmore", "wrong_length"),
        (raw(HEAD + b"Content-Length: -5\r\n\r\nhello"), "bad_http"),
        (raw(HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"), "bad_http"),
        (raw(HEAD + b"Content-Length: five\r\n\r\nhello"), "bad_http"),
        (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello"), "bad_http"),
        (raw(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n"), "bad_http"),
        (raw(b"<html>HTTP/0.9 here</html>"), "bad_http"),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "bad_http"),
        (raw(b"\x16\x03\x01\x02\x00\x01\r\n\r\n"), "bad_http"),
        (raw(b"HTTP/1.1 000 Zero\r\n\r\n"), "bad_http"),
        (raw(b"HTTP/1.1 99 Low\r\n\r\n"), "bad_http"),
        (raw(b"HTTP/1.1 abc Odd\r\n\r\n"), "bad_http"),
        (raw(HEAD + b"Bad Header\r\n\r\n"), "bad_http"),
        (raw(HEAD + b"X-Nul: a\x00b\r\n\r\n"), "bad_http"),
        (raw(HEAD + b"Set-Cookie: a=" + b"x" * 1_000_000 + b"\r\n\r\n"), "bad_http"),
        (HEAD + b"X: y\r\n" * 5000 + b"Content-Length: 0\r\n\r\n", "bad_headers"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "bad_http"),
        (page(b"", "999 Denied"), "bad_status"),
        (page(b"", "600 Odd"), "bad_status"),
        (page(b"part", "206 Partial Content", content_range="bytes 0-3/100"), "bad_status"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", "bad_status"),
        (b"HTTP/1.1 204 No Content\r\n\r\nbody", "wrong_length"),
    ],
)
def test_garbled_answers_are_bad_answers(serve: Serve, client: Client, answer: bytes | Act, code: str) -> None:
    assert check(serve, client, answer, BadAnswer, code).is_temporary


def test_many_interim_responses_are_refused(serve: Serve, client: Client) -> None:
    def flood(sock: socket.socket) -> None:
        while True:
            sock.sendall(b"HTTP/1.1 100 Continue\r\nX-Pad: 1\r\n\r\n" * 1000)

    check(serve, client, flood, BadAnswer)


def test_few_interim_responses_are_accepted(serve: Serve, client: Client) -> None:
    server = serve(lambda request: b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 3 + page())
    assert client.get(server.url()).body == b"hello"


@pytest.mark.parametrize("answer", [reset(), reset(HEAD), reset(HEAD + b"Content-Length: 100\r\n\r\nhalf"), raw(b"")])
def test_cut_line_is_unreachable(serve: Serve, client: Client, answer: Act) -> None:
    check(serve, client, answer, Unreachable, "unreachable")


def test_connection_closed_within_the_headers_is_a_bad_response(serve: Serve, client: Client) -> None:
    check(serve, client, raw(HEAD + b"Content-Le"), BadAnswer)


@pytest.mark.parametrize("body", [b"", b"  \n ", b"<!-- nothing -->"])
def test_empty_page_is_a_page_and_not_a_deletion(serve: Serve, client: Client, body: bytes) -> None:
    answer = client.get(serve(lambda request: page(body)).url())
    assert (answer.status, answer.body) == (200, body)


def test_body_that_ends_with_the_connection_is_not_known_to_be_whole(serve: Serve, client: Client) -> None:
    answer = client.get(serve(lambda request: raw(HEAD + b"\r\nhello")).url())
    assert (answer.body, answer.is_complete) == (b"hello", False)


@pytest.mark.parametrize("kind", ["image/png", "application/zip", "application/pdf"])
def test_another_media_type_than_asked_for_is_a_bad_answer(serve: Serve, client: Client, kind: str) -> None:
    server = serve(lambda request: page(content_type=kind))
    assert failure(client, server, accept="text/html, application/xml;q=0.9, text/*").code == "wrong_type"
    assert client.get(server.url(), accept="text/html, */*;q=0.1").status == 200
    assert client.get(server.url()).status == 200


def test_thousand_cookies_are_kept_only_in_a_given_jar(serve: Serve, client: Client) -> None:
    cookies = b"".join(b"Set-Cookie: c%d=v; Path=/\r\n" % n for n in range(1000))
    server = serve(lambda request: HEAD + cookies + b"Content-Length: 0\r\n\r\n")
    client.get(server.url())
    client.get(server.url())
    assert "cookie" not in server.seen[1].headers
    jar = CookieJar()
    client.get(server.url(), jar=jar)
    client.get(server.url(), jar=jar)
    assert len(jar) == 50
    assert len(server.seen[3].headers["cookie"]) < 1000


def test_hosts_without_response_do_not_delay_others(serve: Serve, client: Client) -> None:
    silent = serve(lambda request: lambda sock: silent.stopped.wait(30))
    wishes = {"deadline_seconds": 20}
    threads = [threading.Thread(target=failure, args=(client, silent), kwargs=wishes) for _ in range(120)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        if len(silent.seen) == 120:
            break
        time.sleep(0.05)
    good = serve(lambda request: page(b"good"))
    assert client.get(good.url()).body == b"good"
    assert all(thread.is_alive() for thread in threads)
    silent.stopped.set()
    for thread in threads:
        thread.join()


def test_bytes_after_an_answer_never_become_the_next_one(serve: Serve, client: Client) -> None:
    """A caller that does not read the body must not leave it to the next caller either."""
    forged = page(b"forged")
    server = serve(lambda request: page(b"honest", "200 OK") + (forged if request.target == "/first" else b""))
    with pytest.raises(BadAnswer):
        client.get(server.url("/first"))
    assert client.get(server.url("/second")).body == b"honest"


def test_connection_that_died_in_the_pool_is_replaced(serve: Serve, client: Client) -> None:
    def handler(request) -> bytes | Act:
        # The second request on a connection finds it dead only after it was sent.
        is_second = sum(seen.connection == request.connection for seen in server.seen) > 1
        return reset() if is_second else page(b"alive")

    server = serve(handler)
    assert client.get(server.url()).request_count == 1
    answer = client.get(server.url())
    assert (answer.body, answer.request_count) == (b"alive", 2)


def test_delivery_is_not_repeated_after_a_broken_connection(serve: Serve, client: Client) -> None:
    server = serve(lambda request: reset())
    with pytest.raises(Unreachable):
        client.send("POST", server.url(), b"{}")
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("Host", "x"), ("Content-Length", "5"), ("Transfer-Encoding", "chunked"), ("Accept-Encoding", "br"),
     ("X-Evil", "a\r\nX-More: b"), ("X Evil", "a"), ("X-Evil", "a\x00b"), ("", "a"), ("Connection", "close"),
     ("X-Long", "x" * 20_000)],
)  # fmt: skip
def test_headers_that_would_change_the_request_are_refused(serve: Serve, client: Client, name: str, value: str) -> None:
    server = serve(lambda request: page())
    for wishes in ({"headers": {name: value}}, {"secrets": {name: value}}):
        with pytest.raises(Refused) as caught:
            client.get(server.url(), **wishes)  # type: ignore[arg-type]
        assert caught.value.code == "bad_header"
    assert server.connections == 0
