"""Names: what they resolve to is what counts, once, all of it, and nothing else is dialled."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpcore
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.base.web import transport
from watchbook.base.web.address import check_url
from watchbook.base.web.body import Deadline, Transfer, active_transfer
from watchbook.base.web.client import Client
from watchbook.base.web.errors import BadAnswer, Refused, TimedOut, Unreachable
from watchbook.base.web.tests.servers import RawServer, page
from watchbook.base.web.tests.test_address import BAD_HOST, OTHER, PRIVATE
from watchbook.base.web.transport import CheckedBackend, CheckedStream, Transport, system_resolver
from watchbook.base.work import counted

Names = dict[str, list[list[str]]]


class StubResolver:
    """Answers from a script; the last answer of a name is repeated."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self._names.get(host)
        if answers is None:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture
def site(serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch) -> RawServer:
    """A site at 127.0.0.2, which stands for the public Internet in these tests."""
    server = serve(lambda request: page(b"public"), host="127.0.0.2", trusted=False)
    monkeypatch.setenv("WATCHBOOK_TRUSTED_NETWORKS", "127.0.0.2/32")
    monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", str(server.port))
    return server


@pytest.fixture
def named(site: RawServer) -> Iterator[Callable[[Names], Client]]:
    clients: list[Client] = []

    def make(names: Names) -> Client:
        clients.append(Client(resolver=StubResolver(names), is_paced=False))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def test_guard_replaces_the_connection_layer_of_the_library() -> None:
    own = Transport(system_resolver, idle_connections=1)
    assert isinstance(own._pool._network_backend, CheckedBackend)
    own.close()


def test_name_with_public_addresses_is_fetched(site: RawServer, named: Callable[[Names], Client]) -> None:
    answer = named({"a.example": [["127.0.0.2"]]}).get(f"http://a.example:{site.port}/")
    assert answer.body == b"public"
    assert site.seen[0].headers["host"] == f"a.example:{site.port}"


def test_rebound_name_is_connected_at_the_checked_address(site: RawServer, named: Callable[[Names], Client]) -> None:
    client = named({"a.example": [["127.0.0.2"], ["127.0.0.1"]]})
    assert client.get(f"http://a.example:{site.port}/").body == b"public"
    client.close()
    with pytest.raises(Refused):
        client.get(f"http://a.example:{site.port}/")
    assert client._resolver.asked == ["a.example", "a.example"]


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.2", "127.0.0.1"],
        ["127.0.0.2", "::1"],
        ["127.0.0.1", "127.0.0.2"],
        ["93.184.216.34", "10.0.0.1"],
        ["93.184.216.34", "fd00::1"],
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["fe80::1%lo"],
    ],
)
def test_one_bad_address_refuses_the_name(
    addresses: list[str], site: RawServer, named: Callable[[Names], Client]
) -> None:
    with counted() as count, pytest.raises(Refused) as caught:
        named({"a.example": [addresses]}).get(f"http://a.example:{site.port}/")
    assert caught.value.code == "private_address"
    assert (site.connections, count.requests) == (0, 0)


def test_alias_of_a_local_name_is_refused(site: RawServer) -> None:
    aliases = {"a.example": "b.example", "b.example": "localhost"}

    def resolver(host: str, port: int) -> list[str]:
        return resolver(aliases[host], port) if host in aliases else ["127.0.0.1"]

    with pytest.raises(Refused):
        Client(resolver=resolver, is_paced=False).get(f"http://a.example:{site.port}/")
    assert site.connections == 0


def test_allowed_network_works_and_its_neighbour_does_not(site: RawServer, named: Callable[[Names], Client]) -> None:
    client = named({"in.example": [["127.0.0.2"]], "next.example": [["127.0.0.3"]]})
    assert client.get(f"http://127.0.0.2:{site.port}/").status == 200
    assert client.get(f"http://in.example:{site.port}/").status == 200
    for host in ("127.0.0.3", "127.0.0.1", "next.example"):
        with pytest.raises(Refused):
            client.get(f"http://{host}:{site.port}/")


def test_trusted_name_may_lead_anywhere(
    serve: Callable[..., RawServer], trust: Callable[[str], None], named: Callable[[Names], Client]
) -> None:
    server = serve(lambda request: page(b"inside"), trusted=False)
    trust(f"intranet.example:{server.port}")
    client = named({"intranet.example": [["127.0.0.1"]]})
    assert client.get(f"http://intranet.example:{server.port}/").body == b"inside"
    with pytest.raises(Refused):
        client.get(f"http://127.0.0.1:{server.port}/")


def test_unknown_name_reads_like_a_closed_port(site: RawServer, named: Callable[[Names], Client]) -> None:
    client = named({"none.example": [[]], "closed.example": [["127.0.0.2"]]})
    site.close()
    said = set()
    for host in ("unknown.example", "none.example", "closed.example"):
        with pytest.raises(Unreachable) as caught:
            client.get(f"http://{host}:{site.port}/")
        said.add((caught.value.code, caught.value.message, caught.value.is_temporary))
    assert len(said) == 1


def test_slow_lookup_ends_at_the_deadline(site: RawServer) -> None:
    let_go = threading.Event()

    def resolver(host: str, port: int) -> list[str]:
        let_go.wait(20)
        return ["127.0.0.2"]

    with pytest.raises(TimedOut):
        Client(resolver=resolver, is_paced=False).get(f"http://a.example:{site.port}/", deadline_seconds=0.3)
    let_go.set()
    assert site.connections == 0


def test_second_address_is_tried_when_the_first_is_closed(
    site: RawServer, named: Callable[[Names], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHBOOK_TRUSTED_NETWORKS", "127.0.0.0/30")
    assert named({"a.example": [["127.0.0.3", "127.0.0.2"]]}).get(f"http://a.example:{site.port}/").status == 200


def test_connection_that_ended_elsewhere_is_refused(
    site: RawServer, named: Callable[[Names], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.create_connection
    port = site.port
    monkeypatch.setenv("WATCHBOOK_TRUSTED_NETWORKS", "127.0.0.3/32")
    monkeypatch.setattr(socket, "create_connection", lambda address, timeout: real(("127.0.0.2", port), timeout))
    with pytest.raises(Refused, match="another address"):
        named({"a.example": [["127.0.0.3"]]}).get(f"http://a.example:{port}/")
    assert site.seen == []


def test_proxies_of_the_environment_are_ignored(
    site: RawServer, serve: Callable[..., RawServer], named: Callable[[Names], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(lambda request: page(b"proxy"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy.url())
    assert named({"a.example": [["127.0.0.2"]]}).get(f"http://a.example:{site.port}/").body == b"public"
    assert proxy.connections == 0


def test_kept_connection_needs_no_second_lookup(site: RawServer, named: Callable[[Names], Client]) -> None:
    client = named({"a.example": [["127.0.0.2"]]})
    for _ in range(3):
        client.get(f"http://a.example:{site.port}/")
    assert (len(client._resolver.asked), site.connections) == (1, 1)


def test_refused_addresses_open_no_socket(serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Listeners on loopback and the port allowed: only the address can be the reason."""
    canaries = [serve(lambda request: page(b"leak"), host=host, trusted=False) for host in ("127.0.0.1", "::1")]
    client = Client(resolver=lambda host, port: ["127.0.0.1"], is_paced=False)
    for canary in canaries:
        monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", f"{canary.port}")
        for text in [*PRIVATE, *BAD_HOST, *(text for _, text in OTHER)]:
            for url in (text, _with_port(text, canary.port)):
                with pytest.raises(Refused):
                    client.get(url, deadline_seconds=2)
        for host in ("127.0.0.1.nip.example", "rebind.example", "a.example"):
            with pytest.raises(Refused):
                client.get(f"http://{host}:{canary.port}/", deadline_seconds=2)
    assert [canary.connections for canary in canaries] == [0, 0]


def _with_port(text: str, port: int) -> str:
    head, mark, rest = text.partition("://")
    for at, letter in enumerate(rest):
        if letter in "/?#\\":
            return f"{head}{mark}{rest[:at]}:{port}{rest[at:]}"
    return text


def test_unix_socket_is_never_opened() -> None:
    with pytest.raises(Refused):
        CheckedBackend().connect_unix_socket("/run/docker.sock")


def test_bytes_read_ahead_are_found_in_the_stream(
    serve: Callable[..., RawServer], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check for bytes after an answer looks into private places of the library."""
    seen = []
    real = transport._bytes_after

    def spy(response: httpcore.Response) -> bytes:
        seen.append(real(response))
        return seen[-1]

    monkeypatch.setattr(transport, "_bytes_after", spy)
    server = serve(lambda request: page(b"hello") + b"EXTRA")
    with pytest.raises(BadAnswer, match="more bytes"):
        client.get(server.url())
    assert b"EXTRA" in seen


@settings(max_examples=examples(300), deadline=None)
@given(
    st.one_of(
        st.text(max_size=80),
        st.builds("http://{}".format, st.text(max_size=60)),
        st.builds(
            "http://{}{}{}".format,
            st.text(alphabet="abc.0x1279[]:@%-_\\/?#①。ü", max_size=30),
            st.sampled_from(["", ":80", ":443", ":8080", "@a", "#", "?"]),
            st.text(alphabet="/?#@:%a \\", max_size=10),
        ),
    )
)
def test_what_passes_the_gate_reads_the_same_to_every_parser(text: str) -> None:
    try:
        url = check_url(text)
    except Refused:
        return
    assert urlsplit(url.url).hostname == httpx.URL(url.url).raw_host.decode() == url.host
    assert (urlsplit(url.url).port or url.port) == url.port
    assert httpx.URL(url.url).scheme == url.scheme
    assert url.url.isascii()
    assert check_url(url.url) == url


def test_streams_are_guarded(serve: Callable[..., RawServer], client: Client) -> None:
    server = serve(lambda request: page())
    with active_transfer(Transfer(Deadline(5), lambda: None)):
        opened = client._transport(1).open("GET", check_url(server.url()), [("host", server.door)], b"")
        assert isinstance(opened._response.extensions["network_stream"], CheckedStream)
        opened.close()
