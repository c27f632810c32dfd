from __future__ import annotations

import socket
import socketserver
import threading

import pytest

from standins.control_server import ControlServer
from standins.fault_proxy import FaultProxy
from standins.tests.clients import ask, read_exactly, read_to_end


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        try:
            while data := self.request.recv(65536):
                self.request.sendall(data)
        except ConnectionError:
            pass


class EchoServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@pytest.fixture
def echo():
    with EchoServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address
        server.shutdown()


@pytest.fixture
def proxy(echo):
    with FaultProxy(echo) as proxy:
        yield proxy


def dial(proxy: FaultProxy) -> socket.socket:
    return socket.create_connection((proxy.host, proxy.port), timeout=5)


def say(client: socket.socket, words: bytes) -> bytes:
    client.sendall(words)
    return read_exactly(client, len(words))


def test_bytes_pass_unchanged_both_ways(proxy):
    words = bytes(range(256)) * 2000
    with dial(proxy) as client:
        threading.Thread(target=client.sendall, args=(words,)).start()
        assert read_exactly(client, len(words)) == words
    proxy.wait_for(lambda counts: counts.live == 0)
    assert proxy.counts.bytes == {"up": len(words), "down": len(words)}
    assert proxy.counts.connections == 1


def test_end_of_one_direction_is_passed_on(proxy):
    with dial(proxy) as client:
        client.sendall(b"last words")
        client.shutdown(socket.SHUT_WR)
        assert read_to_end(client) == b"last words"


def test_cutting_resets_what_is_open_and_welcomes_what_comes(proxy):
    with dial(proxy) as client:
        assert say(client, b"one") == b"one"
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with dial(proxy) as client:
        assert say(client, b"two") == b"two"


def test_refusing_proxy_accepts_no_connection_until_healed(proxy):
    with dial(proxy) as client:
        assert say(client, b"one") == b"one"
        proxy.refuse(cut=False)
        with pytest.raises(ConnectionRefusedError):
            dial(proxy)
        assert say(client, b"still here") == b"still here"
    proxy.refuse()
    proxy.heal()
    with dial(proxy) as client:
        assert say(client, b"two") == b"two"


def test_paused_connection_loses_nothing(proxy):
    with dial(proxy) as client:
        assert say(client, b"one") == b"one"
        proxy.freeze()
        client.sendall(b"two")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(5)
        proxy.heal()
        assert read_exactly(client, 3) == b"two"


def test_half_open_connection_drops_bytes_without_an_error(proxy):
    with dial(proxy) as client:
        assert say(client, b"one") == b"one"
        proxy.half_open()
        client.sendall(b"two")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(5)
        proxy.heal()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with dial(proxy) as client:
        assert say(client, b"three") == b"three"


def test_delay_holds_every_piece_back_until_healed(proxy):
    proxy.delay(0.01)
    with dial(proxy) as client:
        assert say(client, b"one") == b"one"
        proxy.delay(600)
        client.sendall(b"two")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
    proxy.heal()
    with dial(proxy) as client:
        assert say(client, b"three") == b"three"


def test_connection_can_be_cut_after_so_many_bytes(proxy):
    proxy.cut_after(4)
    with dial(proxy) as client:
        client.sendall(b"0123456789")
        assert read_exactly(client, 4) == b"0123"
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with dial(proxy) as client:
        assert say(client, b"0123456789") == b"0123456789"


def test_nothing_behind_the_proxy_ends_the_connection(echo):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        free = nobody.getsockname()
    with FaultProxy(free) as proxy, dial(proxy) as client:
        assert read_to_end(client) == b""


def test_proxy_can_be_steered_from_another_process(proxy):
    with ControlServer(proxy) as desk, dial(proxy) as client:
        assert say(client, b"one") == b"one"
        assert ask(desk, "/_standin/ledger").json()["live"] == 1
        assert ask(desk, "/_standin/do/cut", "POST").json()["ok"]
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        assert "heal" in ask(desk, "/").json()["actions"]


def test_closing_leaves_no_thread_behind(echo):
    before = threading.active_count()
    proxy = FaultProxy(f"{echo[0]}:{echo[1]}").start()
    client = dial(proxy)
    assert say(client, b"one") == b"one"
    proxy.close()
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    client.close()
    assert threading.active_count() <= before + 1
