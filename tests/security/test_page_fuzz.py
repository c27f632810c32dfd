"""Every page, asked with nonsense in its address, and searched for nonsense: never a server error, never slow."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from django.urls import reverse

from standins.sitemap_site import SitemapSite
from tests.security import nasty
from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.notify import actions as channels
from watchbook.core.search import index
from watchbook.core.stream import record as stream
from watchbook.sources.sitemaps.tests.conftest import Watch

pytestmark = pytest.mark.django_db

MOST_SECONDS = 2.0
# Page, and the parameters it reads.
PAGES: dict[str, tuple[str, ...]] = {
    "search": ("q", "source", "since", "before"),
    "stream": ("source", "kind", "day", "older", "newer"),
    "stream_feeds": ("source", "kind"),
    "audit_log": ("before", "event", "who"),
    "alerts": ("older", "newer"),
    "sitemaps:monitors": ("q", "show", "older", "newer", "deleted"),
    "sitemaps:add": ("url",),
    "account_login": ("next",),
}
MONITOR_PAGES: dict[str, tuple[str, ...]] = {
    "": ("change",),
    "changes/": ("older", "newer", "show"),
    "snapshots/": ("older", "newer", "day", "time"),
}


@pytest.fixture
def operator_browser(operator: Any) -> Client:
    browser = client_of(operator)
    browser.raise_request_exception = False
    return browser


def bears(browser: Client, path: str, names: tuple[str, ...]) -> list[str]:
    """What went wrong with each parameter and each odd value; empty when nothing did."""
    wrong = []
    for name in names:
        for value in nasty.FEW_CURSORS if name in {"older", "newer"} else nasty.FEW_TEXTS:
            asked = urlencode({name: value.encode("utf-8", "surrogatepass")})
            began = time.process_time()
            answer = browser.get(f"{path}?{asked}")
            seconds = time.process_time() - began
            if answer.status_code >= 500 or seconds > MOST_SECONDS:
                wrong.append(f"{path}?{name}={value[:60]!r}: {answer.status_code} in {seconds:.1f} s")
    return wrong


@pytest.mark.parametrize("name", PAGES)
def test_every_page_bears_odd_parameters(name: str, operator_browser: Client, operator: Any) -> None:
    moment = clock.now()
    entries = [
        stream.Entry(
            source="sitemaps", kind="changed", title=f"t{n}", summary="s", url_path="/", scope="members",
            object_kind="monitor", object_id=str(n), occurred_at=moment,
        )
        for n in range(3)
    ]  # fmt: skip
    stream.record(entries)
    browser = client_of() if name.startswith("account_") else operator_browser
    browser.raise_request_exception = False
    assert bears(browser, reverse(name), PAGES[name]) == []


def test_every_page_of_a_monitor_bears_odd_parameters(watch: Watch, site: SitemapSite, alice: Any) -> None:
    site.add("/new", lastmod="2026-02-02")
    watch.check()
    browser = client_of(alice)
    browser.raise_request_exception = False
    wrong: list[str] = []
    for name, parameters in MONITOR_PAGES.items():
        wrong += bears(browser, f"/sitemaps/{watch.monitor.pk}/{name}", parameters)
    wrong += bears(browser, f"/sitemaps/changes/{watch.newest.pk}/", ("kind", "q"))
    wrong += bears(browser, f"/sitemaps/snapshots/{watch.monitor.current_snapshot_id}/", ("q", "after"))
    channel = channels.create(alice, name="x", channel_type="webhook", given={"url": site.address("/")}).channel
    wrong += bears(browser, f"/channels/{channel.pk}/", ("older",))
    assert wrong == []


@pytest.mark.parametrize(
    "pattern",
    [
        "/deliveries/{}/", "/operations/runs/{}/", "/operations/jobs/{}/", "/operations/backups/{}",
        "/feeds/{}/stream.atom", "/unsubscribe/{}/", "/accounts/confirm-email/{}/", "/accounts/password/reset/key/{}-{}/",
        "/sitemaps/{}/",
        "/channels/{}/", "/channels/add/{}/", "/static/{}", "/{}", "/api/v1/{}", "/sitemaps/changes/{}/urls.{}",
    ],
)  # fmt: skip
def test_every_part_of_a_path_bears_odd_values(pattern: str, operator_browser: Client) -> None:
    parts = [
        "..",
        "../../../etc/passwd",
        "%2e%2e%2fsettings.py",
        "-1",
        "0",
        str(2**31),
        str(2**63),
        "9" * 400,
        *nasty.FEW_TEXTS,
    ]
    for value in parts:
        text = quote(value[:2000].encode("utf-8", "surrogatepass"), safe="")
        answer = operator_browser.get(pattern.replace("{}", text or "x"))
        assert answer.status_code < 500, f"{pattern} {value[:60]!r}"
        assert b"root:" not in b"".join(answer.streaming_content if answer.streaming else [answer.content])


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
def test_any_text_is_a_search(name: str, archive: None, alice: Any) -> None:
    browser = client_of(alice)
    raw = QUERIES[name].encode("utf-8", "surrogatepass")
    for path in (f"/search/?{urlencode({'q': raw})}", f"/api/v1/search?{urlencode({'q': raw})}"):
        began = time.process_time()
        answer = browser.get(path)
        assert answer.status_code == 200, path[:100]
        assert time.process_time() - began < MOST_SECONDS, path[:100]
    assert "<script>alert" not in answer.content.decode()
    body = json.dumps({"name": "x", "query": QUERIES[name]})
    kept = browser.post("/api/v1/saved-searches", body, content_type="application/json")
    assert kept.status_code in {201, 422}
