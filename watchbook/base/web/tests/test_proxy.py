"""The proxy of our own browser: what the HTTP client refuses, it refuses."""

from __future__ import annotations

import http.client
import socket

import pytest

from standins.server import Answer, Site
from watchbook.base.web.proxy import GuardedProxy


class Words(Site):
    def respond(self, request):
        return Answer(200, b"x" * 200_000 if request.path == "/large" else b"words", content_type="text/plain")


@pytest.fixture
def site(monkeypatch):
    with Words() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        yield made


def proxy(**more) -> GuardedProxy:
    return GuardedProxy(**{"seconds": 10, "max_bytes": 1_000_000, **more})


def get(where: str, url: str) -> tuple[int, bytes]:
    host, port = where.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    connection.request("GET", url)
    answer = connection.getresponse()
    return answer.status, answer.read()


def connect(where: str, target: str) -> bytes:
    host, port = where.split(":")
    with socket.create_connection((host, int(port)), 5) as sock:
        sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        answer = sock.recv(1000)
        if b" 200 " in answer:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while piece := sock.recv(1000):
                answer += piece
        return answer


def test_allowed_addresses_are_reached_in_both_ways(site):
    made = proxy()
    with made.running() as where:
        assert get(where, site.address("/a?b=c")) == (200, b"words")
        assert b"words" in connect(where, site.netloc)
    assert [request.target for request in site.log.all()] == ["/a?b=c", "/"]
    assert (made.requests, made.refused) == (2, 0)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:9/", "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://localhost/",
     "http://[::1]/", "http://0x7f000001/", "http://example.com:22/", "file:///etc/passwd", "http://user@example.com/"],
)  # fmt: skip
def test_private_addresses_and_ports_are_refused(url):
    made = proxy()
    with made.running() as where:
        assert get(where, url)[0] == 403
    assert (made.requests, made.refused) == (0, 1)


@pytest.mark.parametrize(
    "target", ["127.0.0.1:443", "10.0.0.1:443", "[::1]:443", "example.com:25", "metadata.internal:443"]
)
def test_tunnels_into_private_networks_are_refused(target):
    with proxy().running() as where:
        assert b" 403 " in connect(where, target)


def test_name_that_leads_into_a_private_network_is_refused():
    for addresses in (["10.0.0.1"], ["93.184.216.34", "127.0.0.1"]):
        made = proxy(resolver=lambda _host, _port, found=addresses: found)
        with made.running() as where:
            assert get(where, "http://harmless.example/")[0] == 403
            assert b" 403 " in connect(where, "harmless.example:443")
        assert made.requests == 0


def test_own_server_is_refused(site):
    with proxy(own_url=site.url).running() as where:
        assert get(where, site.address("/"))[0] == 403


def test_bytes_and_connections_end(site):
    made = proxy(max_bytes=50_000)
    with made.running() as where:
        with pytest.raises(http.client.HTTPException):
            get(where, site.address("/large"))
    with proxy(max_connections=1).running() as where:
        get(where, site.address("/"))
        with pytest.raises((OSError, http.client.HTTPException)):
            get(where, site.address("/"))
