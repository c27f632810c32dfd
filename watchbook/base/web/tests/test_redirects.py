"""Redirects are followed by hand: every hop through the gate, credentials only at home."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest

from watchbook.base.web.client import Client
from watchbook.base.web.errors import BadAnswer, Refused, TooManyRedirects
from watchbook.base.web.response import CookieJar, Validators
from watchbook.base.web.tests.servers import RawServer, Seen, page, raw, redirect
from watchbook.base.work import counted

Serve = Callable[..., RawServer]
MakeContext = Callable[..., ssl.SSLContext]


def hops(count: int) -> Callable[[Seen], bytes]:
    def handler(request: Seen) -> bytes:
        number = int(request.target.strip("/") or 0)
        return page(b"arrived") if number == count else redirect(f"/{number + 1}")

    return handler


def test_five_redirects_are_followed_and_listed(serve: Serve, client: Client) -> None:
    server = serve(hops(5))
    with counted() as count:
        answer = client.get(server.url("/0"))
    assert (answer.body, answer.url) == (b"arrived", server.url("/5"))
    assert answer.redirects == tuple(server.url(f"/{n}") for n in range(5))
    assert answer.request_count == count.requests == len(server.seen) == 6


def test_sixth_redirect_is_refused(serve: Serve, client: Client) -> None:
    server = serve(hops(6))
    with pytest.raises(TooManyRedirects):
        client.get(server.url("/0"))
    assert len(server.seen) == 6


@pytest.mark.parametrize("location", ["/loop", "", "#top", "/loop#again"])
def test_redirect_loop_is_found_immediately(serve: Serve, client: Client, location: str) -> None:
    server = serve(lambda request: redirect(location))
    with pytest.raises(TooManyRedirects):
        client.get(server.url("/loop"))
    assert len(server.seen) == 1


def test_loop_of_two_redirects_is_found(serve: Serve, client: Client) -> None:
    server = serve(lambda request: redirect("/b" if request.target == "/a" else "/a"))
    with pytest.raises(TooManyRedirects):
        client.get(server.url("/a"))
    assert len(server.seen) == 2


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_every_kind_of_redirect_is_followed_within_the_host(serve: Serve, client: Client, status: str) -> None:
    server = serve(lambda request: page() if request.target == "/b" else redirect("b", status))
    assert client.get(server.url("/a")).url == server.url("/b")


@pytest.mark.parametrize(
    "location",
    ["//127.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]/", "http://localhost/", "file:///etc/passwd",
     "gopher://127.0.0.1:6379/_X", "data:text/html,x", "http://user@example.com/", "http://2130706433/",
     "/a\\b", "http://example.com:22/", "/" + "x" * 10_000, "http://metadata.google.internal/"],
)  # fmt: skip
def test_redirect_to_a_refused_address_is_refused(serve: Serve, client: Client, location: str) -> None:
    server = serve(lambda request: redirect(location))
    with counted() as count, pytest.raises(Refused):
        client.get(server.url())
    assert count.requests == 1


def test_hop_to_another_port_of_loopback_opens_no_socket(
    serve: Serve, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = serve(lambda request: page(b"leak"), trusted=False)
    monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", str(canary.port))
    server = serve(lambda request: redirect(canary.url()))
    with pytest.raises(Refused):
        client.get(server.url())
    assert canary.connections == 0


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /a\rSet-Cookie: x=y\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_redirect_without_a_target_is_a_bad_response(serve: Serve, client: Client, answer: bytes) -> None:
    server = serve(lambda request: raw(answer))
    with pytest.raises(BadAnswer):
        client.get(server.url())


def test_line_break_in_a_location_ends_it(serve: Serve, client: Client) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: /b\r\nX-Evil: yes\r\nContent-Length: 0\r\n\r\n"
    server = serve(lambda request: page() if request.target == "/b" else answer)
    assert client.get(server.url("/a")).url == server.url("/b")


def test_credentials_and_own_headers_are_not_sent_to_another_host(serve: Serve, client: Client) -> None:
    other = serve(lambda request: redirect(home.url("/back")) if request.target == "/" else page())
    home = serve(lambda request: redirect(other.url()) if request.target == "/" else page())
    client.get(
        home.url(),
        headers={"X-Custom": "sentinel", "Cookie": "a=sentinel", "User-Agent": "Tester", "Accept-Language": "zh"},
        secrets={"Authorization": "Bearer sentinel"},
    )
    assert "sentinel" in home.seen[0].headers["authorization"]
    for away in (other.seen[0], home.seen[1]):
        assert "sentinel" not in str(away.headers)
        assert (away.headers["user-agent"], away.headers["accept-language"]) == ("Tester", "zh")


def test_credentials_are_sent_within_the_origin(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page() if request.target == "/b" else redirect("/b"))
    client.get(server.url("/a"), secrets={"Authorization": "Bearer x"}, headers={"X-Custom": "y"})
    assert server.seen[1].headers["authorization"] == "Bearer x"
    assert server.seen[1].headers["x-custom"] == "y"


def test_cookies_of_a_jar_go_only_to_the_host_that_set_them(serve: Serve, client: Client) -> None:
    other = serve(lambda request: page(), host="127.0.0.2")
    home = serve(lambda request: redirect(other.url(), set_cookie="sid=sentinel; Domain=127.0.0.2"))
    jar = CookieJar()
    jar.put("127.0.0.1", {"login": "sentinel"})
    client.get(home.url(), jar=jar)
    assert home.seen[0].headers["cookie"] == "login=sentinel"
    assert "cookie" not in other.seen[0].headers


def test_gate_that_sets_a_cookie_and_sends_us_back_is_passed_with_a_jar(serve: Serve, client: Client) -> None:
    def handler(request: Seen) -> bytes:
        return page(b"inside") if "pass=1" in request.headers.get("cookie", "") else redirect("/", set_cookie="pass=1")

    server = serve(handler)
    assert client.get(server.url("/"), jar=CookieJar()).body == b"inside"
    with pytest.raises(TooManyRedirects):
        client.get(server.url("/"))


@pytest.mark.parametrize(
    "wishes",
    [
        {"secrets": {"X-Session": "sentinel"}},
        {"headers": {"Cookie": "sid=sentinel"}},
        {"headers": {"authorization": "sentinel"}},
        {"allow_downgrade": False},
    ],
)
def test_downgrade_is_refused_when_something_is_at_stake(
    serve: Serve, https: MakeContext, wishes: dict, client: Client
) -> None:
    plain = serve(lambda request: page(b"open"))
    safe = serve(lambda request: redirect(plain.url()), tls=https())
    with pytest.raises(Refused) as caught:
        client.get(safe.url(), **wishes)
    assert caught.value.code == "downgrade"
    assert plain.connections == 0


def test_downgrade_with_a_filled_jar_is_refused(serve: Serve, https: MakeContext, client: Client) -> None:
    plain = serve(lambda request: page(b"open"))
    safe = serve(lambda request: redirect(plain.url()), tls=https())
    jar = CookieJar()
    jar.put("127.0.0.1", {"sid": "sentinel"})
    with pytest.raises(Refused):
        client.get(safe.url(), jar=jar)
    assert plain.connections == 0


def test_downgrade_of_a_public_page_is_followed(serve: Serve, https: MakeContext, client: Client) -> None:
    plain = serve(lambda request: page(b"open"))
    safe = serve(lambda request: redirect(plain.url()), tls=https())
    assert client.get(safe.url()).body == b"open"


def test_without_following_a_redirect_is_the_answer(serve: Serve, client: Client) -> None:
    server = serve(lambda request: redirect("/read.php?tid=1&page=7"))
    answer = client.get(server.url(), follow=0)
    assert (answer.status, answer.headers["location"]) == (302, "/read.php?tid=1&page=7")


def test_delivery_is_not_redirected(serve: Serve, client: Client) -> None:
    other = serve(lambda request: page())
    server = serve(lambda request: redirect(other.url(), "307 Temporary"))
    with pytest.raises(TooManyRedirects) as caught:
        client.send("POST", server.url(), b"{}")
    assert caught.value.status == 307
    assert other.connections == 0


def test_validators_are_asked_where_the_redirect_leads(serve: Serve, client: Client) -> None:
    def other_handler(request: Seen) -> bytes:
        return b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n' if "if-none-match" in request.headers else page()

    other = serve(other_handler)
    server = serve(lambda request: redirect(other.url()))
    answer = client.get(server.url(), validators=Validators(etag='"v1"'))
    assert answer.is_not_modified
    assert other.seen[0].headers["if-none-match"] == '"v1"'
