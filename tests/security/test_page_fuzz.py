"""Every page with hostile parameters and paths, and hostile searches: no server error, never slow."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from standins.sitemap_site import SitemapSite
from tests.security import hostile_values
from tests.security.addresses import SAMPLES, Address, every_address
from tests.security.parameter_names import names_read, read_before_any_view
from watchbook.base import clock
from watchbook.base.testing.environment import NIGHTLY
from watchbook.base.testing.people import client_of
from watchbook.core.notify import actions as channels
from watchbook.core.search import index
from watchbook.core.stream import entries as stream
from watchbook.systems.sitemaps.tests.conftest import Watch

pytestmark = pytest.mark.django_db

# What pages are known to read; the walk has to see at least these.
KNOWN = {"search": {"q", "cursor"}, "stream": {"day", "older"}, "audit": {"who"}, "sitemaps": {"show", "url"}}
CURSOR_NAMES = {"older", "newer", "cursor"}
SCRIPT = b"<script>alert(1)"
DIGITS = ("-1", "0", str(2**31), str(2**63), "9" * 400)
PARTS = ("..", "../../../etc/passwd", "%2e%2e%2fsettings.py", *DIGITS, *hostile_values.FEW_TEXTS)
# Parts that are found by an expression, by a middleware or by nobody.
OTHER_PATHS = (
    "/accounts/confirm-email/{}/", "/accounts/password/reset/key/{}-{}/", "/static/{}", "/{}", "/api/v1/{}",
)  # fmt: skip


def room(address: Address) -> str:
    return address.path.split("/")[1] or "home"


@cache
def pages() -> list[Address]:
    return [address for address in every_address() if not address.is_api and address.name != "account_logout"]


ROOMS = sorted({room(address) for address in pages()})


@pytest.fixture
def operator_browser(operator: Any) -> Client:
    browser = client_of(operator)
    browser.raise_request_exception = False
    return browser


@pytest.fixture
def entries(db: None) -> None:
    """Something to page through."""
    moment = clock.now()
    stream.record(
        stream.Entry(
            source="sitemaps", kind="changed", title=f"t{n}", summary="s", url_path="/", scope="members",
            object_kind="monitor", object_id=str(n), occurred_at=moment,
        )
        for n in range(3)
    )  # fmt: skip


def complaints(browser: Client, path: str) -> Iterator[str]:
    """What is wrong with the answer at one address."""
    began = time.process_time()
    answer: Any = browser.get(path)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    seconds = time.process_time() - began
    # A probe may say that it is not ready.
    if answer.status_code >= 500 and answer.status_code != 503:
        yield f"{path[:200]}: {answer.status_code}"
    if seconds > hostile_values.MOST_SECONDS:
        yield f"{path[:200]}: {seconds:.1f} s"
    if SCRIPT in content or b"root:" in content:
        yield f"{path[:200]}: shows what it must not"


def bears(browser: Client, path: str, seen: set[str] | None = None) -> list[str]:
    """What went wrong with each parameter that the page reads and each odd value; empty when nothing did."""
    wrong: list[str] = []
    # The first page gets odd values of what the platform reads of every request.
    platform = read_before_any_view() if NIGHTLY or path == "/" else ()
    for name in sorted({*names_read(browser, path), *platform}):
        if seen is not None:
            seen.add(name)
        values = hostile_values.FEW_CURSORS if name in CURSOR_NAMES else hostile_values.FEW_TEXTS
        for value in hostile_values.some(values, f"{path}?{name}"):
            asked = urlencode({name: value.encode("utf-8", "surrogatepass")})
            wrong += complaints(browser, f"{path}?{asked}")
    return wrong


@pytest.mark.sql  # each database has its own limits for numbers, letters and moments
@pytest.mark.parametrize("name", ROOMS)
def test_pages_accept_unusual_parameters(name: str, operator_browser: Client, entries: None) -> None:
    wrong: list[str] = []
    seen: set[str] = set()
    for browser in (operator_browser, Client(raise_request_exception=False)):
        for address in pages():
            if room(address) == name:
                wrong += bears(browser, address.path, seen)
    assert wrong == []
    assert KNOWN.get(name, set()) <= seen


def test_monitor_pages_accept_unusual_parameters(watch: Watch, site: SitemapSite, alice: Any) -> None:
    site.add("/new", lastmod="2026-02-02")
    watch.check()
    browser = client_of(alice)
    browser.raise_request_exception = False
    channel = channels.create(alice, name="x", channel_type="webhook", given={"url": site.address("/")}).channel
    wrong: list[str] = []
    seen: set[str] = set()
    for path in (
        *(f"/sitemaps/{watch.monitor.pk}/{page}" for page in ("", "changes/", "snapshots/", "parts/", "edit/")),
        f"/sitemaps/changes/{watch.newest.pk}/",
        f"/sitemaps/snapshots/{watch.monitor.current_snapshot_id}/",
        f"/channels/{channel.pk}/",
    ):
        wrong += bears(browser, path, seen)
    assert wrong == []
    assert {"change", "show", "day", "time", "kind", "q", "after", "older"} <= seen


def odd_paths(address: Address) -> Iterator[str]:
    """The address with odd values for its parts. Numbers stay numbers, else the address is another one."""
    if SAMPLES["int"] in address.path:
        yield from (address.path.replace(SAMPLES["int"], value) for value in hostile_values.some(DIGITS, address.path))
    if SAMPLES["str"] in address.path:
        yield from (
            address.path.replace(SAMPLES["str"], quoted(value)) for value in hostile_values.some(PARTS, address.path)
        )


def quoted(value: str) -> str:
    return quote(value[:2000].encode("utf-8", "surrogatepass"), safe="")


@pytest.mark.parametrize("name", ROOMS)
def test_paths_accept_unusual_values(name: str, operator_browser: Client) -> None:
    paths = [path for address in pages() if room(address) == name for path in odd_paths(address)]
    assert [text for path in paths for text in complaints(operator_browser, path)] == []


@pytest.mark.parametrize("pattern", OTHER_PATHS)
def test_other_paths_accept_unusual_values(pattern: str, operator_browser: Client) -> None:
    paths = [pattern.replace("{}", quoted(value)) for value in PARTS]
    assert [text for path in paths for text in complaints(operator_browser, path)] == []


QUERIES = {
    "100 kB": "word " * 20_000,
    "one word of 100 kB": "w" * 100_000,
    "a quote": '"',
    "operators": "a & | ( ! <->",
    "like signs": "%" * 30_000,
    "underscores": "_" * 5000,
    "an open quote": '"unbalanced words',
    "near": "NEAR(a b, 5)",
    "columns": "title:a OR body:b NOT c",
    "a star": "*",
    "stars": "a* *b **",
    "NUL": "a\0b",
    "half a pair": "a\ud800b",
    "stop words": "the and of to",
    "10,000 words": " ".join(f"w{n}" for n in range(10_000)),
    "backslashes": "\\" * 2000,
    "brackets": "(" * 5000 + ")" * 5000,
    "a plus and a minus": "+a -b +(c) ~d <e >f",
    "marks": "é\u0301" * 500,
    "emoji": "😀" * 1000,
    "direction": "\u202eevil",
    "ideographs": "中文" * 5000,
    "a mixture": "中a文b" * 2000,
    "quotes in quotes": '""" "a" "" "b"' * 100,
    "regex": "(a+)+$ [z-a] \\1 (?P<x>",
    "html": "<mark><script>alert(1)</script>",
    "template": "{{ 7*7 }} {% load x %}",
}


@pytest.fixture
def archive(alice: Any) -> None:
    """Texts that much would match, one of them longer than a database likes to index."""
    texts = ["the and of to words w1 w2 中文 emoji 😀 (a) title:a", "aaaa " * 300_000, "x\0y <mark> %% __ \\ \" '"]
    index.put(
        index.Document(
            kind="sitemap_change", object_id=str(n), scope="members", title=text[:200], body=text, url_path="/",
            occurred_at=clock.now(), source="sitemaps",
        )
        for n, text in enumerate(texts)
    )  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_any_text_can_be_searched(name: str, archive: None, alice: Any) -> None:
    browser = client_of(alice)
    raw = QUERIES[name].encode("utf-8", "surrogatepass")
    for path in (f"/search/?{urlencode({'q': raw})}", f"/api/v1/search?{urlencode({'q': raw})}"):
        began = time.process_time()
        answer = browser.get(path)
        assert answer.status_code == 200, path[:100]
        assert time.process_time() - began < hostile_values.MOST_SECONDS, path[:100]
    assert "<script>alert" not in answer.content.decode()
    body = json.dumps({"name": "x", "query": QUERIES[name]})
    kept = browser.post("/api/v1/saved-searches", body, content_type="application/json")
    assert kept.status_code in {201, 422}
