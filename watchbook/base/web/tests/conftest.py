"""Loopback sites that the operator trusts, and a client that is not paced."""

from __future__ import annotations

import os
import ssl
import uuid
from collections.abc import Callable, Iterator

import pytest
import trustme

from watchbook.base.testing import servers
from watchbook.base.web.client import Client
from watchbook.base.web.tests.servers import Handler, RawServer


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRUSTED_HOSTS", "TRUSTED_NETWORKS", "EXTRA_PORTS", "CA_FILE", "PACE", "USER_AGENT"):
        monkeypatch.delenv(f"WATCHBOOK_{name}", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def add(door: str) -> None:
        known = os.environ.get("WATCHBOOK_TRUSTED_HOSTS", "")
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", f"{known},{door}")

    return add


@pytest.fixture
def serve(trust: Callable[[str], None]) -> Iterator[Callable[..., RawServer]]:
    """Start a server; it is trusted unless a test says otherwise."""
    started: list[RawServer] = []

    def start(
        handler: Handler, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, trusted: bool = True
    ) -> RawServer:
        server = RawServer(handler, host=host, tls=tls)
        started.append(server)
        if trusted:
            trust(server.door)
        return server

    yield start
    for server in started:
        server.close()


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client(is_paced=False)
    yield client
    client.close()


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def https(authority: trustme.CA, tmp_path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ssl.SSLContext]:
    """Server contexts with certificates of an authority that the client trusts."""
    bundle = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("WATCHBOOK_CA_FILE", str(bundle))

    def make(*names: str, by: trustme.CA = authority, **facts: object) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        by.issue_cert(*(names or ("127.0.0.1",)), **facts).configure_cert(context)
        return context

    return make


@pytest.fixture
def site() -> str:
    return f"{uuid.uuid4().hex}.example"


@pytest.fixture(params=["database", "redis"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same rules, wherever the state is."""
    if request.param == "redis":
        monkeypatch.setenv("REDIS_URL", servers.redis_url())
    return str(request.param)
