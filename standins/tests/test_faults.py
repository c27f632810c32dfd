from __future__ import annotations

import gzip
import http.client
import re
import zlib
from pathlib import Path

import pytest

from standins.faults import INWARD_ADDRESSES, ConnectionRule, Rule, gzip_bomb
from standins.server import Answer, Site
from standins.tests.clients import ask, dial, raw, read_exactly, read_to_end

BODY = b"The quick brown fox jumps over the lazy dog. " * 20


@pytest.fixture
def site():
    with Site() as site:
        site.route("/page", lambda request: Answer(200, BODY, content_type="text/html"))
        yield site


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def head_of(answer: bytes) -> str:
    return answer.partition(b"\r\n\r\n")[0].decode("latin-1")


def test_only_the_nth_request_meets_the_fault(site):
    rule = site.faults.on("/page", nth=2).answer(503)
    assert [ask(site, "/page").status for _ in range(3)] == [200, 503, 200]
    assert (rule.seen, rule.hits) == (3, 1)


def test_first_from_and_several_can_be_chosen(site):
    site.faults.on("/page", first=2).fail(500)
    site.faults.on("/page", from_nth=5).fail(502)
    site.faults.on("/page", nth=(3, 4)).fail(501)
    assert [ask(site, "/page").status for _ in range(6)] == [500, 500, 501, 501, 502, 502]


def test_newest_rule_wins_and_lifting_brings_the_old_one_back(site):
    site.faults.on("/page").fail(500)
    with site.faults.on("/p*").forbid():
        assert ask(site, "/page").status == 403
    assert ask(site, "/page").status == 500
    site.faults.clear()
    assert ask(site, "/page").status == 200


def test_rule_can_match_method_query_and_other_properties(site):
    site.faults.on("/page", method="POST").fail(500)
    site.faults.on("/page?page=2").fail(502)
    site.faults.on(when=lambda request: "bearer" in request.headers.get("Authorization")).fail(401)
    assert ask(site, "/page").status == 200
    assert ask(site, "/page", "POST").status == 500
    assert ask(site, "/page?page=2").status == 502
    assert ask(site, "/page", headers={"Authorization": "bearer x"}).status == 401


@pytest.mark.parametrize("value", ["-1", "1e9", "Wed, 99 Foo", "Fri, 01 Jan 2099 00:00:00 GMT", "30"])
def test_throttling_carries_any_retry_after(site, value):
    site.faults.on("/page").throttle(value)
    reply = ask(site, "/page")
    assert (reply.status, reply.headers["Retry-After"]) == (429, value)


def test_drip_sends_the_body_piece_by_piece(site):
    site.faults.on("/page").drip(every=0.001, chunk=100)
    assert ask(site, "/page").body == BODY


def test_dripping_server_stops_when_the_client_leaves(site):
    site.faults.on("/page").drip(every=0.05)
    with dial(site) as client:
        client.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(10)
    site.log.wait_for(lambda log: log.count() == 1 and log.in_flight == 0)


def test_slow_headers_come_in_drops_and_whole_in_the_end(site):
    site.faults.on("/page").slow_headers(every=0.001, chunk=20)
    assert ask(site, "/page").body == BODY


def test_delay_answers_as_usual_afterwards(site):
    site.faults.on("/page").delay(0.01)
    assert ask(site, "/page").body == BODY


def test_hanging_server_sends_nothing(site):
    site.faults.on("/page").hang()
    with dial(site) as client:
        client.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        site.log.wait_for(lambda log: log.in_flight == 1)
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
    site.log.wait_for(lambda log: log.in_flight == 0)
    assert site.log.status_of(site.log.last()) is None


def test_hanging_after_the_headers_shows_the_headers(site):
    site.faults.on("/page").hang_after_headers()
    with dial(site) as client:
        client.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"


def test_cut_body_promises_more_than_it_brings(site):
    site.faults.on("/page", nth=1).cut(keep=0.5)
    site.faults.on("/page", nth=2).cut(after=7)
    with pytest.raises(http.client.IncompleteRead):
        ask(site, "/page")
    answer = raw(site, "/page")
    assert body_of(answer) == BODY[:7]
    assert f"Content-Length: {len(BODY)}" in head_of(answer)


def test_truncated_body_has_a_length_that_fits(site):
    site.faults.on("/page").truncate(keep=0.25)
    assert ask(site, "/page").body == BODY[: len(BODY) // 4]


def test_resets_come_before_after_and_within(site):
    site.faults.on("/page", nth=1).reset_before_headers()
    site.faults.on("/page", nth=2).reset_after_headers()
    site.faults.on("/page", nth=3).reset_mid_body(after=10)
    for _ in range(3):
        with pytest.raises(ConnectionResetError):
            raw(site, "/page")
    site.faults.on("/page", nth=1).close_before_headers()
    assert raw(site, "/page") == b""


@pytest.mark.parametrize("lengths", [("99999",), ("3",), ("-5",), ("10", "20"), ("many",)])
def test_any_length_can_be_claimed(site, lengths):
    site.faults.on("/page").claim_length(*lengths)
    answer = raw(site, "/page")
    assert [line[16:] for line in head_of(answer).split("\r\n") if line.startswith("Content-Length")] == list(lengths)
    assert body_of(answer) == BODY


def test_huge_length_is_announced_and_the_line_stays_open(site):
    site.faults.on("/page").huge_length(gigabytes=10)
    with dial(site) as client:
        client.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        head = read_exactly(client, 200)
        assert b"Content-Length: 10737418240" in head


def test_endless_body_has_no_end(site):
    site.faults.on("/page").endless(chunk=1000)
    with dial(site) as client:
        client.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        assert len(read_exactly(client, 3_000_000)) == 3_000_000
    site.log.wait_for(lambda log: log.in_flight == 0)


@pytest.mark.parametrize("line", ["HTTP/1.1 000 Nothing", "HTTP/1.1 999 Too far", "ICY 200 OK", "\x00\x01garbage"])
def test_any_status_line_can_be_sent(site, line):
    site.faults.on("/page").status_line(line)
    assert raw(site, "/page").startswith(line.encode() + b"\r\n")


def test_http09_is_the_bare_body(site):
    site.faults.on("/page").http09()
    assert raw(site, "/page") == BODY


def test_flood_of_continues_precedes_the_answer(site):
    site.faults.on("/page").continue_flood(50)
    answer = raw(site, "/page")
    assert answer.count(b"HTTP/1.1 100 Continue\r\n\r\n") == 50
    assert answer.endswith(BODY)


def test_204_with_a_body_206_and_304_come_unasked(site):
    site.faults.on("/page", nth=1).no_content_with_body("surprise")
    site.faults.on("/page", nth=2).partial()
    site.faults.on("/page", nth=3).not_modified()
    assert raw(site, "/page").endswith(b"\r\n\r\nsurprise")
    partial = ask(site, "/page")
    assert (partial.status, partial.headers["Content-Range"]) == (206, "bytes 0-449/900")
    assert partial.body == BODY[:450]
    assert ask(site, "/page").status == 304


def test_bodies_can_be_empty(site):
    site.faults.on("/page", nth=1).empty()
    site.faults.on("/page", nth=2).whitespace()
    site.faults.on("/page", nth=3).only_comment()
    replies = [ask(site, "/page") for _ in range(3)]
    assert [reply.body.strip() for reply in replies] == [b"", b"", b"<!-- nothing today -->"]
    assert {reply.status for reply in replies} == {200}
    assert len(replies[1].body) > 0


def test_wall_is_a_web_page_with_status_200(site):
    site.faults.on("/page").wall()
    reply = ask(site, "/page")
    assert (reply.status, reply.headers.get_content_type()) == (200, "text/html")
    assert b"you are human" in reply.body


def test_bomb_is_small_and_unpacks_to_what_it_says(site):
    site.faults.on("/page").gzip_bomb(megabytes=300)
    reply = ask(site, "/page")
    assert reply.headers["Content-Encoding"] == "gzip"
    assert len(reply.body) < 400_000
    assert unpacked_size(reply.body) == 300 * 1024 * 1024


def test_bomb_in_two_layers_is_smaller_still():
    bomb = gzip_bomb(50, 2, b"<urlset>")
    assert len(bomb) < 1000
    inner = gzip.decompress(bomb)
    assert unpacked_size(inner) == 50 * 1024 * 1024 + 8
    assert zlib.decompressobj(31).decompress(inner, 10) == b"<urlset>  "


def test_two_layers_are_labelled_as_two(site):
    site.faults.on("/page").gzip_bomb(megabytes=1, layers=2)
    assert ask(site, "/page").headers["Content-Encoding"] == "gzip, gzip"


def test_fifty_encodings_are_real_and_said(site):
    site.faults.on("/page").encodings(50)
    reply = ask(site, "/page")
    assert reply.headers["Content-Encoding"].count("gzip") == 50
    body = reply.body
    for _ in range(50):
        body = gzip.decompress(body)
    assert body == BODY


def test_content_encoding_can_be_wrong(site):
    site.faults.on("/page").label_encoding("br")
    reply = ask(site, "/page")
    assert (reply.headers["Content-Encoding"], reply.body) == ("br", BODY)


def test_gzip_can_be_cut_corrupt_in_members_or_have_a_tail(site):
    site.faults.on("/page", nth=1).truncated_gzip()
    site.faults.on("/page", nth=2).corrupt_gzip()
    site.faults.on("/page", nth=3).multi_member_gzip()
    site.faults.on("/page", nth=4).gzip_with_tail("<!-- x -->")
    cut, corrupt, members, tail = (ask(site, "/page").body for _ in range(4))
    with pytest.raises(EOFError):
        gzip.decompress(cut)
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(corrupt)
    assert gzip.decompress(members) == BODY
    first = zlib.decompressobj(31)
    assert first.decompress(members) != BODY
    assert first.unused_data
    assert tail.endswith(b"<!-- x -->")


def test_cookies_come_in_thousands_and_in_megabytes(site):
    site.faults.on("/page", nth=1).cookies(1000)
    site.faults.on("/page", nth=2).big_cookie()
    site.faults.on("/page", nth=3).set_cookie("a=1; Domain=other.example", "b=2; Expires=Fri, 31 Dec 9999 23:59:59 GMT")
    assert head_of(raw(site, "/page")).count("Set-Cookie: ") == 1000
    assert len(head_of(raw(site, "/page"))) > 1024 * 1024
    assert "Domain=other.example" in head_of(raw(site, "/page"))


def test_charsets_and_types_can_be_wrong(site):
    site.faults.on("/page", nth=1).charset("utf-7", b"+ADw-script+AD4-")
    site.faults.on("/page", nth=2).content_type("image/png")
    lie, image = ask(site, "/page"), ask(site, "/page")
    assert (lie.headers["Content-Type"], lie.body) == ("text/html; charset=utf-7", b"+ADw-script+AD4-")
    assert (image.headers["Content-Type"], image.body) == ("image/png", BODY)


@pytest.mark.parametrize("to", [*INWARD_ADDRESSES, "", "/relative", "?x=1"])
def test_redirects_go_anywhere(site, to):
    site.faults.on("/page").redirect(to, 307)
    reply = ask(site, "/page")
    assert (reply.status, reply.headers["Location"]) == (307, to)


def test_redirects_can_smuggle_stretch_loop_and_lead_nowhere(site):
    site.faults.on("/page", nth=1).redirect_with_smuggled_header("/x", "X-Smuggled: yes")
    site.faults.on("/page", nth=2).redirect_far(10_000)
    site.faults.on("/page", nth=3).redirect_loop()
    site.faults.on("/page", nth=4).redirect_nowhere()
    smuggled, far, loop, nowhere = (ask(site, "/page") for _ in range(4))
    assert smuggled.headers["X-Smuggled"] == "yes"
    assert len(far.headers["Location"]) == 10_000
    assert loop.headers["Location"] == "/page"
    assert "Location" not in nowhere.headers


def test_hops_are_counted_and_end_at_the_page(site):
    site.faults.on("/page").redirect_hops(3)
    path, hops = "/page", 0
    while (reply := ask(site, path)).status == 302:
        path, hops = reply.headers["Location"], hops + 1
    assert (hops, reply.body) == (3, BODY)


def test_whole_connections_can_be_scripted(site):
    site.faults.on_connection(nth=1).reset()
    site.faults.on_connection(nth=2).say(b"SSH-2.0-x\r\n")
    site.faults.on_connection(nth=3).close()
    with pytest.raises(ConnectionError):
        raw(site, "/page")
    with dial(site) as client:
        assert read_to_end(client) == b"SSH-2.0-x\r\n"
    with dial(site) as client:
        assert read_to_end(client) == b""
    assert ask(site, "/page").status == 200


def test_many_hanging_connections_leave_room_for_others(site):
    site.faults.on_connection(first=50).hang()
    hanging = [dial(site) for _ in range(50)]
    assert ask(site, "/page").status == 200
    for client in hanging:
        client.close()


def test_any_bytes_can_be_said(site):
    site.faults.on("/page").say(b"HTTP/1.1 200 OK\r\nX: \xff\r\n\r\n")
    assert raw(site, "/page") == b"HTTP/1.1 200 OK\r\nX: \xff\r\n\r\n"


def unpacked_size(data: bytes) -> int:
    unpacker, size = zlib.decompressobj(31), 0
    while not unpacker.eof:
        size += len(unpacker.decompress(data, 1 << 22))
        data = unpacker.unconsumed_tail
    return size


def test_every_verb_is_named_in_the_readme():
    words = set(re.findall(r"`(\w+)", (Path(__file__).parents[1] / "README.md").read_text()))
    verbs = {name for kind in (Rule, ConnectionRule) for name in dir(kind) if not name.startswith("_")}
    assert verbs - words - {"is_due", "lift", "treat", "mood"} == set()
