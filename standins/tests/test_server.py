from __future__ import annotations

import http.client
import resource
import socket
import ssl
import threading

import pytest
import trustme

from standins.server import Answer, Request, Site
from standins.tests.clients import ask, dial, raw, read_exactly, read_to_end


@pytest.fixture
def site():
    with Site() as site:
        site.route("/hello", lambda request: Answer.text("hi"))
        yield site


def test_many_requests_share_one_connection(site):
    connection = http.client.HTTPConnection(site.host, site.port, timeout=5)
    for _ in range(3):
        connection.request("GET", "/hello")
        assert connection.getresponse().read() == b"hi"
    connection.close()
    assert {request.connection for request in site.log.all()} == {1}
    assert site.connection_count == 1


def test_request_is_on_record_with_everything_it_brought(site):
    ask(site, "/hello?a=1&b=%E4%BD%A0", "POST", b"x=%C4%E3", {"Cookie": "one=1; two=2", "X-Odd": "yes"})
    request = site.log.last()
    assert (request.method, request.path, request.query) == ("POST", "/hello", "a=1&b=%E4%BD%A0")
    assert request.params == {"a": "1", "b": "你"}
    assert request.form("gbk") == {"x": "你"}
    assert request.cookies == {"one": "1", "two": "2"}
    assert request.headers.get("x-odd") == "yes"
    assert request.host == site.netloc
    assert request.remote_port > 0
    assert request.monotonic > 0
    assert request.received_at.utcoffset() is not None
    assert site.log.status_of(request) == 200


def test_counts_are_kept_per_path_and_per_host(site):
    ask(site, "/hello")
    ask(site, "/hello", headers={"Host": "Other.example"})
    ask(site, "/nothing")
    assert site.log.counts() == {"/hello": 2, "/nothing": 1}
    assert site.log.count(host="other.example") == 1
    assert site.log.count() == 3
    assert site.log.status_of(site.log.last("/nothing")) == 404


def test_iterable_body_goes_out_in_chunks(site):
    site.route("/chunks", lambda request: Answer(200, (b"piece" for _ in range(3))))
    reply = ask(site, "/chunks")
    assert reply.body == b"piecepiecepiece"
    assert reply.headers["Transfer-Encoding"] == "chunked"


def test_chunked_request_is_read_whole(site):
    site.route("/echo", lambda request: Answer(200, request.body))
    with dial(site) as client:
        client.sendall(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n4;note=1\r\ndefg\r\n0\r\n\r\n"
        )
        assert read_to_end(client).endswith(b"\r\n\r\nabcdefg")


def test_head_gets_the_length_without_the_body(site):
    reply = ask(site, "/hello", "HEAD")
    assert (reply.headers["Content-Length"], reply.body) == ("2", b"")


def test_expect_continue_is_answered(site):
    site.route("/echo", lambda request: Answer(200, request.body))
    with dial(site) as client:
        client.sendall(b"POST /echo HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert read_exactly(client, 25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ok")
        assert read_to_end(client).endswith(b"ok")


def test_what_is_no_request_gets_a_400(site):
    with dial(site) as client:
        client.sendall(b"EHLO there\r\n\r\n")
        assert read_to_end(client).startswith(b"HTTP/1.1 400 ")
    assert site.log.count() == 0


def test_latest_fitting_route_wins(site):
    site.route("/wiki/*", lambda request: Answer.text(request.path))
    site.route("/wiki/new", lambda request: Answer.text("saved", 201), method="POST")
    assert ask(site, "/wiki/new").body == b"/wiki/new"
    assert ask(site, "/wiki/new", "POST").status == 201


def test_parallel_requests_raise_the_high_water_mark(site):
    gate = threading.Barrier(5)

    def slow(request: Request) -> Answer:
        gate.wait(5)
        return Answer.text("done")

    site.route("/slow", slow)
    threads = [threading.Thread(target=ask, args=(site, "/slow")) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert site.log.high_water == 5
    assert site.log.high_water_of(site.netloc) == 5
    assert site.log.in_flight == 0


def test_sequential_requests_never_count_as_parallel(site):
    for _ in range(150):
        ask(site, "/hello")
    assert site.log.high_water == 1


def test_waiting_ends_when_the_request_comes_or_the_time_is_up(site):
    threading.Timer(0.05, ask, (site, "/hello")).start()
    site.log.wait_for(lambda log: log.count("/hello") == 1 and not log.in_flight, timeout=5)
    with pytest.raises(TimeoutError):
        site.log.wait_for(lambda log: log.count("/hello") == 2, timeout=0.05)


@pytest.fixture
def many_files():
    """Both ends of two thousand connections live in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4500:
        pytest.skip("this machine does not allow 4,500 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_two_thousand_parallel_connections_are_all_served(site, many_files):
    clients = [dial(site) for _ in range(2000)]
    try:
        for client in clients:
            client.sendall(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        heads = [client.recv(15) for client in clients]
    finally:
        for client in clients:
            client.close()
    assert set(heads) == {b"HTTP/1.1 200 OK"}
    assert site.log.count("/hello") == 2000
    site.log.wait_for(lambda log: log.in_flight == 0)


def test_stopped_site_refuses_and_comes_back_on_the_same_port(site):
    port = site.port
    site.stop()
    with pytest.raises(ConnectionRefusedError):
        dial(site)
    site.start()
    assert ask(site, "/hello").status == 200
    assert site.port == port


def test_port_in_use_is_not_shared(site):
    with pytest.raises(OSError, match="in use"):
        Site(port=site.port)


def test_stopping_ends_idle_connections(site):
    connection = http.client.HTTPConnection(site.host, site.port, timeout=5)
    connection.request("GET", "/hello")
    assert connection.getresponse().read() == b"hi"
    assert site.open_connections == 1
    site.stop()
    assert read_to_end(connection.sock) == b""
    assert site.open_connections == 0
    connection.close()


def test_headers_and_status_may_be_anything(site):
    site.route("/odd", lambda request: Answer(461, b"", (("Verifytype", "102"), ("Set-Cookie", "a=1")), "Puzzle"))
    answer = raw(site, "/odd")
    assert answer.startswith(b"HTTP/1.1 461 Puzzle\r\nVerifytype: 102\r\nSet-Cookie: a=1\r\n")


@pytest.fixture
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client


def test_tls_and_plain_can_live_on_one_port(contexts):
    server, client = contexts
    with Site(tls=server, also_plain=True) as site:
        site.route("/hello", lambda request: Answer.text("hi"))
        connection = http.client.HTTPSConnection(site.host, site.port, timeout=5, context=client)
        connection.request("GET", "/hello")
        assert connection.getresponse().read() == b"hi"
        connection.close()
        site.faults.on("*", encrypted=False).answer(426)
        assert site.url.startswith("https://")
        assert ask(site, "/hello").status == 426
        assert [request.is_encrypted for request in site.log.all()] == [True, False]


def test_client_that_distrusts_the_certificate_does_not_harm_the_site(contexts):
    server, _ = contexts
    with Site(tls=server) as site:
        with pytest.raises(ssl.SSLCertVerificationError):
            http.client.HTTPSConnection(site.host, site.port, timeout=5).request("GET", "/")
        site.faults.on_connection(nth=1).hang()
        with dial(site) as sock:
            sock.settimeout(0.1)
            with pytest.raises(TimeoutError):
                ssl.create_default_context().wrap_socket(sock, server_hostname="127.0.0.1")
        assert site.log.count() == 0


def test_large_body_arrives_whole(site):
    body = bytes(range(256)) * 40_000
    site.route("/big", lambda request: Answer(200, body))
    assert ask(site, "/big").body == body


def test_other_side_may_leave_at_any_time(site):
    site.route("/big", lambda request: Answer(200, b"x" * 20_000_000))
    for _ in range(5):
        client = dial(site)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(10)
        client.close()
    site.log.wait_for(lambda log: log.count() == 5 and log.in_flight == 0)
    assert ask(site, "/hello").status == 200
