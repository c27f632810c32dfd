"""Canaries that must get no connection, scripted name lookups, and a watched site."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.core.cache import cache

from standins.sitemap_site import SitemapSite
from standins.tcp import Connection, TcpServer
from tests.security.witness import Witness, watching
from watchbook.base.web import client, rate_limit, transport
from watchbook.systems.sitemaps.tests.conftest import Watch

Trust = Callable[..., None]
INNER_HOSTS = ("127.0.0.1", "127.8.9.10", "::1")
# Servers of the run itself: a driver written in Python connects where the witness sees it.
HOUSE_PORTS = (3306, 5432, 6379)


class Listener(TcpServer):
    """Takes a connection, counts it and hangs up."""

    def serve(self, connection: Connection) -> None:
        connection.close()


class Canary:
    """One port on several inner addresses. Nobody may knock."""

    def __init__(self) -> None:
        first = Listener(host=INNER_HOSTS[0])
        self.port = first.port
        self.listeners = [first]
        for host in INNER_HOSTS[1:]:
            with contextlib.suppress(OSError):  # a machine without IPv6
                self.listeners.append(Listener(host=host, port=self.port))

    @property
    def at(self) -> str:
        return f":{self.port}"

    @property
    def knocks(self) -> int:
        return sum(listener.connection_count for listener in self.listeners)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("TRUSTED_HOSTS", "TRUSTED_NETWORKS", "EXTRA_PORTS", "CA_FILE", "PACE"):
        monkeypatch.delenv(f"WATCHBOOK_{name}", raising=False)
    # Names that are refused are asked for one after the other, as politely as any other; here they need not wait.
    monkeypatch.setattr(rate_limit, "DEFAULT_SPACING", 0.0)
    # A connection that an earlier test left open would answer for a server that is gone.
    client._shared.close()
    yield
    client._shared.close()


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    """Its port is allowed, so that only the address can be the reason to refuse."""
    made = Canary()
    monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", str(made.port))
    with contextlib.ExitStack() as stack:
        for listener in made.listeners:
            stack.enter_context(listener)
        yield made


@pytest.fixture
def witness() -> Iterator[Witness]:
    with watching() as found:
        yield found


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch) -> Trust:
    """The operator names these doors; asked without delay."""

    def add(*doors: str) -> None:
        known = [door for door in os.environ.get("WATCHBOOK_TRUSTED_HOSTS", "").split(",") if door]
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", ",".join([*known, *doors]))
        monkeypatch.setenv("WATCHBOOK_PACE", "off")

    return add


class Names:
    """The name service of a test. A name nobody gave an address is unknown; none is ever asked outside."""

    def __init__(self) -> None:
        self.book: dict[str, list[Iterable[str]]] = {}
        self.asked: list[str] = []
        self.on_ask: Callable[[str], None] = lambda host: None

    def say(self, host: str, *answers: Iterable[str]) -> None:
        """One list of addresses for each time the name is asked for; the last one stays."""
        self.book[host] = list(answers)

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        self.on_ask(host)
        answers = self.book.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return list(answers.pop(0) if len(answers) > 1 else answers[0])


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """For every test of this folder: a typo must not become a question to the outside."""
    book = Names()
    monkeypatch.setattr(transport, "system_resolver", book)
    return book


@pytest.fixture
def site(trust: Trust) -> Iterator[SitemapSite]:
    with SitemapSite() as made:
        made.add_many(["/a", "/b", "/c"], lastmod="2026-01-01")
        trust(made.netloc)
        yield made


@pytest.fixture
def watch(alice: Any, site: SitemapSite) -> Watch:
    """A monitor of the site that has its baseline."""
    cache.clear()
    made = Watch(alice, site)
    made.check()
    return made
