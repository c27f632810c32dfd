"""What a caller gets: answers, errors by status, counts, signs of life, and nothing secret in the log."""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from watchbook.base import work
from watchbook.base.web import client as shared
from watchbook.base.web import errors
from watchbook.base.web.client import Client
from watchbook.base.web.errors import (
    BadAnswer,
    Blocked,
    BudgetExceeded,
    Gone,
    Refused,
    ServerTrouble,
    Throttled,
    TooLarge,
    WebError,
)
from watchbook.base.web.response import CookieJar, Headers, Validators, retry_after
from watchbook.base.web.tests.servers import RawServer, page, reset
from watchbook.base.work import counted

Serve = Callable[..., RawServer]


def test_answer_has_what_was_received(serve: Serve, client: Client) -> None:
    def slowly(_request: object) -> object:
        time.sleep(0.05)
        return page("grüße".encode("latin-1"), content_type="text/html; charset=ISO-8859-1")

    server = serve(slowly)
    answer = client.get(server.url("/a?b=c#d"))
    assert (answer.url, answer.status, answer.size) == (server.url("/a?b=c"), 200, 5)
    assert answer.text == "grüße"
    assert answer.content_type == "text/html"
    assert answer.sha256 == hashlib.sha256(answer.body).hexdigest()
    assert (answer.redirects, answer.request_count, answer.is_complete) == ((), 1, True)
    # What the site took is in it; a clock's tick less is still that.
    assert answer.elapsed_ms >= 49


def test_request_has_our_user_agent(serve: Serve, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(lambda request: page())
    client.get(server.url())
    monkeypatch.setenv("WATCHBOOK_USER_AGENT", "desk:watchbook:1 (by /u/someone)")
    client.get(server.url(), accept="text/xml, */*;q=0.1")
    client.get(server.url(), headers={"user-agent": "Own"})
    assert "Watchbook" in server.seen[0].headers["user-agent"]
    assert server.seen[0].headers["accept-encoding"] == "gzip, deflate"
    assert server.seen[1].headers["user-agent"] == "desk:watchbook:1 (by /u/someone)"
    assert server.seen[2].headers["user-agent"] == "Own"
    assert "cookie" not in server.seen[0].headers


def test_target_is_sent_as_it_was_given(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page())
    for target in ("/a/../b//c?x=%2F&y=[1]|'", "/%zz?", "/*;a=b", "//double"):
        client.get(server.url(target))
        assert server.seen[-1].target == target


def test_large_body_goes_to_a_file(serve: Serve, client: Client, tmp_path: Path) -> None:
    body = os.urandom(3_000_000)
    answer = client.get(serve(lambda request: page(body)).url(), to_file=tmp_path / "part")
    assert answer.path == tmp_path / "part"
    assert answer.path.read_bytes() == body
    assert (answer.body, answer.size, answer.sha256) == (b"", 3_000_000, hashlib.sha256(body).hexdigest())


def test_body_as_large_as_the_cap_passes(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page(b"x" * 1000))
    assert client.get(server.url(), max_bytes=1000).size == 1000
    with pytest.raises(TooLarge):
        client.get(server.url(), max_bytes=999)


def test_unchanged_page_is_an_answer_only_if_we_asked(serve: Serve, client: Client) -> None:
    server = serve(lambda request: b'HTTP/1.1 304 Not Modified\r\nETag: "b"\r\n\r\n')
    answer = client.get(server.url(), validators=('"a"', "Mon, 02 Mar 2026 04:00:00 GMT"))
    assert answer.is_not_modified
    assert answer.validators == Validators('"b"', None)
    assert server.seen[0].headers["if-modified-since"] == "Mon, 02 Mar 2026 04:00:00 GMT"
    for nothing in (None, (None, None), Validators()):
        with pytest.raises(BadAnswer):
            client.get(server.url(), validators=nothing)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Blocked), (401, Blocked), (402, Blocked), (403, Blocked), (404, Gone), (405, Blocked),
        (408, ServerTrouble), (410, Gone), (418, Blocked), (425, ServerTrouble), (429, Throttled), (451, Blocked),
        (461, Blocked), (500, ServerTrouble), (502, ServerTrouble), (503, ServerTrouble), (520, ServerTrouble),
    ],
)  # fmt: skip
def test_status_is_an_error_with_the_sites_own_words(
    serve: Serve, client: Client, status: int, error: type[WebError]
) -> None:
    server = serve(lambda request: page(b'{"reason": "private"}', f"{status} X", content_type="application/json"))
    with pytest.raises(WebError) as caught:
        client.get(server.url())
    assert type(caught.value) is error
    assert caught.value.status == status
    assert caught.value.answer is not None
    assert caught.value.answer.body == b'{"reason": "private"}'
    assert client.get(server.url(), raise_for_status=False).status == status


def test_long_error_page_is_cut(serve: Serve, client: Client) -> None:
    with pytest.raises(Gone) as caught:
        client.get(serve(lambda request: page(b"x" * 300_000, "404 Not Found")).url())
    assert caught.value.answer is not None
    assert caught.value.answer.size == 65536


def test_unreadable_error_page_does_not_hide_the_status(serve: Serve, client: Client) -> None:
    server = serve(lambda request: reset(b"HTTP/1.1 404 Not Found\r\nContent-Length: 50\r\n\r\nhalf"))
    with pytest.raises(Gone):
        client.get(server.url())
    server = serve(lambda request: page(b"x", "403 Forbidden", content_encoding="br"))
    with pytest.raises(Blocked):
        client.get(server.url())


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("120", 120, 120),
        ("1.5", 1.5, 1.5),
        ("0", 1, 1),
        ("-1", 1, 1),
        ("1e9", 86400, 86400),
        ("1000000000", 86400, 86400),
        ("9" * 90, 86400, 86400),
        (format_datetime(datetime(2099, 1, 1, tzinfo=UTC)), 86400, 86400),
        (format_datetime(datetime(2001, 1, 1, tzinfo=UTC)), 1, 1),
    ],
)
def test_pause_a_site_asks_for_is_between_a_second_and_a_day(header: str, least: float, most: float) -> None:
    seconds = retry_after(Headers([("Retry-After", header)]))
    assert seconds is not None
    assert least <= seconds <= most


def test_pause_may_be_a_date() -> None:
    seconds = retry_after(Headers([("Retry-After", format_datetime(datetime.now(UTC) + timedelta(hours=1)))]))
    assert seconds is not None
    assert 3000 < seconds <= 3600


@pytest.mark.parametrize(
    "header", ["Wed, 99 Foo", "soon", "", "nan", "inf", "١٢", "1 2", "Mon, 31 Feb 2026 00:00:00 GMT"]
)
def test_unreadable_pause_is_none(header: str) -> None:
    assert retry_after(Headers([("Retry-After", header)])) is None
    assert retry_after(Headers([])) is None


def test_throttled_error_says_how_long(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page(b"", "429 Slow", retry_after="7"))
    with pytest.raises(Throttled) as caught:
        client.get(server.url())
    assert caught.value.retry_after_seconds == 7
    server = serve(lambda request: page(b"", "429 Slow"))
    with pytest.raises(Throttled) as caught:
        client.get(server.url())
    assert caught.value.retry_after_seconds == 60


def test_delivery_arrives_whole_and_its_answer_is_cut(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page(b"x" * 100_000))
    answer = client.send("post", server.url("/hook"), b'{"a": 1}', {"Content-Type": "application/json"})
    seen = server.seen[0]
    assert (seen.method, seen.body, seen.headers["content-type"]) == ("POST", b'{"a": 1}', "application/json")
    assert len(answer.body) == 4096


def test_call_can_request_the_whole_response(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page(b"x" * 100_000))
    assert client.send("POST", server.url(), b"{}", max_bytes=200_000).size == 100_000
    with pytest.raises(TooLarge):
        client.send("POST", server.url(), b"{}", max_bytes=50_000)


def test_delivery_to_ourselves_or_inward_is_refused(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page())
    with pytest.raises(Refused):
        client.send("POST", server.url("/hook"), b"{}", own_url=f"http://127.0.0.1:{server.port}")
    with pytest.raises(Refused):
        client.send("POST", "http://169.254.169.254/", b"{}")
    assert server.connections == 0


@pytest.mark.parametrize(("status", "error"), [("410 Gone", Gone), ("500 X", ServerTrouble), ("429 X", Throttled)])
def test_refused_delivery_raises(serve: Serve, client: Client, status: str, error: type[WebError]) -> None:
    with pytest.raises(error):
        client.send("PUT", serve(lambda request: page(b"", status)).url(), b"{}")


def test_every_request_that_leaves_is_counted(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page(b"x" * 1000))
    closed = serve(lambda request: page())
    closed.close()
    with counted() as outer:
        with counted() as inner:
            client.get(server.url())
            with pytest.raises(WebError):
                client.get(closed.url())
            with pytest.raises(Refused):
                client.get("http://127.0.0.1/")
        client.send("POST", server.url(), b"{}")
    assert (inner.requests, outer.requests) == (2, 3)
    assert inner.bytes > 1000
    client.get(server.url())
    assert outer.requests == 3


def test_request_beyond_the_budget_is_not_sent(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page())
    with counted(most=2), counted() as inner:
        client.get(server.url())
        client.get(server.url())
        with pytest.raises(BudgetExceeded):
            client.get(server.url())
    assert inner.requests == len(server.seen) == 2


def test_response_and_every_megabyte_renew_the_heartbeat(serve: Serve, client: Client) -> None:
    beats: list[int] = []
    server = serve(lambda request: page(b"x" * 5_000_000))
    with work.listening(lambda: beats.append(1)):
        client.get(server.url())
    assert len(beats) >= 5


def test_threads_share_one_client(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page(request.target.encode()))
    with ThreadPoolExecutor(16) as threads:
        bodies = list(threads.map(lambda n: client.get(server.url(f"/{n}")).body, range(200)))
    assert bodies == [f"/{n}".encode() for n in range(200)]


def _fetch_in_child(url: str, answers: multiprocessing.Queue) -> None:
    shared._shared._is_paced = False
    answers.put(shared.get(url).body)


def test_forked_child_makes_its_own_connections(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared._shared, "_is_paced", False)
    server = serve(lambda request: page(f"connection {request.connection}".encode()))
    assert shared.get(server.url()).body == b"connection 1"
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_fetch_in_child, args=(server.url(), answers))
    child.start()
    assert answers.get(timeout=20) == b"connection 2"
    child.join(20)
    assert shared.get(server.url()).body == b"connection 1"


def test_log_names_host_and_path_but_no_secret(serve: Serve, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(lambda request: page(set_cookie="sid=sentinel"))
    jar = CookieJar()
    wishes = {"secrets": {"Authorization": "Bearer sentinel"}, "jar": jar}
    client.get(server.url("/page?token=sentinel"), **wishes)
    client.get(server.url("/page?token=sentinel"), **wishes)
    client.send("POST", server.url("/services/sentinel"), b"sentinel")
    with pytest.raises(Refused):
        client.get("http://user:sentinel@example.com/")
    assert "sentinel" not in caplog.text
    assert f"{server.door}/page" in caplog.text


def test_records_do_not_print_secrets(serve: Serve, client: Client) -> None:
    server = serve(lambda request: page(b"sentinel", set_cookie="sid=sentinel"))
    answer = client.get(server.url())
    assert "sentinel" not in repr(answer)


def test_every_error_has_a_code_a_sentence_and_a_place_in_the_docstring() -> None:
    leaves = [error for error in WebError.__subclasses__() if error.__module__ == errors.__name__]
    assert len({error.code for error in leaves}) == len(leaves) == 13
    for error in leaves:
        assert error.message.endswith(".")
        assert f"-- {error.__name__} " in (errors.__doc__ or "")


def test_headers_of_an_answer_have_no_effect(serve: Serve, client: Client) -> None:
    """Response headers are data: nothing in them is ever imported, run or believed."""
    server = serve(lambda request: page(referrer_policy="sys.exit", refresh="0;url=http://127.0.0.1/", link="<x>"))
    assert client.get(server.url()).status == 200
    assert len(server.seen) == 1


def test_headers_are_read_in_any_case() -> None:
    headers = Headers([("Set-Cookie", "a=1"), ("set-cookie", "b=2"), ("ETag", '"x"')])
    assert headers["etag"] == headers["ETAG"] == '"x"'
    assert headers.all("Set-Cookie") == ["a=1", "b=2"]
    assert headers.get("missing") is None
    assert len(headers) == 2


def test_deadline_that_makes_no_sense_is_a_mistake(client: Client) -> None:
    for seconds in (0, -1, 100_000):
        with pytest.raises(ValueError, match="deadline"):
            client.get("http://example.com/", deadline_seconds=seconds)
