"""Host names: the resolved address is checked, and messages do not distinguish closed from hanging hosts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from standins.sitemap_site import SitemapSite
from tests.security import bad_addresses as bad
from tests.security.attempts import inward, known_ports, send
from tests.security.conftest import Canary, Names, Trust
from tests.security.witness import Witness
from watchbook.base.testing.people import client_of
from watchbook.base.web import client
from watchbook.core.notify import actions as channels
from watchbook.systems.sitemaps.tests.conftest import Watch

pytestmark = pytest.mark.django_db

__all__ = ["inward", "known_ports"]

MONITORS = "/api/v1/sitemaps/monitors"


def test_rebound_name_is_connected_at_the_checked_address(
    canary: Canary, names: Names, known_ports: list[int], alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U73: it is looked up once for a connection, that answer is checked, and that answer is dialled."""
    dialled: list[str] = []

    def refuse(place: Any, _port: int, _exchange: Any) -> Any:
        dialled.append(str(place))
        raise ConnectionRefusedError

    monkeypatch.setattr("watchbook.base.web.transport._connect", refuse)
    names.say("rebind.example", [bad.PUBLIC_4], ["127.0.0.1"])
    answer = send(
        client_of(alice), "post", MONITORS, {"name": "x", "sitemap_url": f"http://rebind.example{canary.at}/"}
    )
    assert answer.json()["error"]["code"] == "private_address"
    assert dialled == [bad.PUBLIC_4], "the first question was for robots.txt"
    assert names.asked == ["rebind.example"] * 3


def test_slow_name_lookup_ends_at_the_deadline(
    names: Names, alice: Any, monkeypatch: pytest.MonkeyPatch, trust: Trust
) -> None:
    release = threading.Event()
    monkeypatch.setenv("SITEMAPS_PART_DEADLINE_SECONDS", "1")
    trust("slow.example:80")
    names.on_ask = lambda host: release.wait(60) and None
    try:
        answer = send(client_of(alice), "post", MONITORS, {"name": "x", "sitemap_url": "http://slow.example/s.xml"})
    finally:
        release.set()
    assert answer.json()["error"]["code"] == "timed_out"


def test_invalid_host_names_are_refused_without_a_lookup(
    names: Names, witness: Witness, canary: Canary, alice: Any
) -> None:
    browser = client_of(alice)
    for url in bad.literal(canary.at).values():
        assert send(browser, "post", MONITORS, {"name": "x", "sitemap_url": url}).status_code == 422
    assert (names.asked, witness.lookups, witness.connects) == ([], [], [])


def test_witness_records_lookups_and_connections(witness: Witness, site: Any, alice: Any) -> None:
    """A witness that sees nothing would make every other test of it pass."""
    assert send(client_of(alice), "post", MONITORS, {"name": "x", "sitemap_url": site.sitemap}).status_code == 201
    assert ("127.0.0.1", site.port) in witness.connects
    socket.getaddrinfo("127.0.0.1", 80)
    assert "127.0.0.1" in witness.lookups


def test_look_alike_name_is_shown_as_punycode(names: Names, trust: Trust, site: Any, alice: Any) -> None:
    names.say("xn--exmple-4nf.com", ["127.0.0.1"])
    trust(f"xn--exmple-4nf.com:{site.port}")
    given = {"name": "x", "sitemap_url": f"http://ex\u0430mple.com:{site.port}/sitemap.xml"}
    answer = send(client_of(alice), "post", MONITORS, given)
    assert answer.json()["sitemap_url"] == f"http://xn--exmple-4nf.com:{site.port}/sitemap.xml"
    page = client_of(alice).get(f"/sitemaps/{answer.json()['id']}/").content.decode()
    assert "xn--exmple-4nf.com" in page
    assert "\u0430mple" not in page


def test_proxy_of_the_environment_is_not_used(
    canary: Canary, known_ports: list[int], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_ports.append(watch.site.port)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1{canary.at}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    client._shared.close()  # the next request is made by a client that sees this environment
    watch.site.add("/d", lastmod="2026-02-02")
    assert watch.check()["changed"] == 1


def test_trusted_network_is_allowed_and_its_neighbour_is_not(
    alice: Any, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    names.say("inside.example", ["127.0.0.2"])
    names.say("beside.example", ["127.0.0.3"])
    browser = client_of(alice)
    with SitemapSite(host="127.0.0.2") as inside, SitemapSite(host="127.0.0.3", port=0) as beside:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_NETWORKS", "127.0.0.2/32")
        monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", f"{inside.port},{beside.port}")
        wanted = {inside.sitemap: 201, f"http://inside.example:{inside.port}/sitemap.xml": 201, beside.sitemap: 422}
        wanted[f"http://beside.example:{beside.port}/sitemap.xml"] = 422
        for site in (inside, beside):
            site.add("/a")
        for url, status in wanted.items():
            assert send(browser, "post", MONITORS, {"name": "x", "sitemap_url": url}).status_code == status, url
        assert (inside.connection_count > 0, beside.connection_count) == (True, 0)


def test_closed_hanging_and_unknown_hosts_give_one_message(
    names: Names, trust: Trust, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks cannot tell a closed port from a filtered one or from a name that does not exist."""
    monkeypatch.setenv("SITEMAPS_PART_DEADLINE_SECONDS", "1")
    monkeypatch.setattr("watchbook.core.notify.http.DEADLINE_SECONDS", 1.0)
    names.say("closed.example", ["127.0.0.1"])
    names.say("filtered.example", ["127.0.0.1"])
    with closed_port() as closed, silent_port() as silent:
        doors = [f"closed.example:{closed}", f"filtered.example:{silent}", f"unknown.example:{closed}"]
        trust(*doors)
        said = [_notified(alice, door) for door in doors]
    assert said == [said[0]] * 3
    assert said[0][0] == ("unreachable", "The site could not be reached.")


def _notified(alice: Any, door: str) -> list[tuple[str, str]]:
    """What a monitor and what a channel's test say about a host."""
    browser = client_of(alice)
    error = send(browser, "post", MONITORS, {"name": "x", "sitemap_url": f"http://{door}/s.xml"}).json()["error"]
    channel = channels.create(alice, name="x", channel_type="webhook", given={"url": f"http://{door}/"}).channel
    tried = browser.post(f"/api/v1/channels/{channel.pk}/test").json()
    return [(error["code"], error["message"]), (tried["error_code"], tried["message"])]


@contextmanager
def closed_port() -> Iterator[int]:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


@contextmanager
def silent_port() -> Iterator[int]:
    """A queue that is full answers nobody: what a filter looks like from outside."""
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(sock.getsockname())
        yield sock.getsockname()[1]
        for filler in fillers:
            filler.close()
