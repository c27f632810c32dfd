"""Finding a change again: by search, in the stream, in a feed reader."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from tests.browser.driver import Visitor
from tests.browser.fill import NAMES
from tests.browser.world import MEMBER, Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def member(desk: Desk, visitor: Callable[..., Visitor]) -> Visitor:
    """Somebody with the history of `fill`."""
    person = visitor(desk, MEMBER)
    person.go("/")
    return person


@pytest.mark.parametrize(("words", "expected"), [("news shop", "shop"), ("元宵 特刊", "paper")])
def test_search_finds_a_change_by_the_words_of_its_urls(member: Visitor, words: str, expected: str) -> None:
    member.page.get_by_label("Search everything").first.fill(words)
    member.page.keyboard.press("Enter")
    member.page.wait_for_url("**/search/**")
    hit = member.page.locator(".hits > li").first
    assert NAMES[expected] in hit.inner_text()
    assert hit.locator("mark").count() > 0
    hit.locator("a").click()
    member.sees("Deliveries of this change")


def test_search_without_a_match_says_so(member: Visitor) -> None:
    member.go("/search/?q=dromedary")
    member.sees("Nothing matches")


def test_stream_shows_the_change_and_leads_to_it(member: Visitor) -> None:
    member.go("/stream/")
    entry = member.page.locator(".log-item", has_text=NAMES["shop"]).first
    assert "Sitemap changed" in entry.inner_text()
    entry.locator(".log-what a").click()
    member.sees("Deliveries of this change")


def test_feed_is_read_by_its_token_alone_until_it_is_revoked(member: Visitor) -> None:
    member.go("/stream/")
    member.follow("Feed")
    member.page.get_by_label("Name").fill("Reader in the kitchen")
    member.press("Make the feed")
    member.sees("Reader in the kitchen is ready")
    address = member.page.locator(".notice--ok code").first.inner_text()
    with urllib.request.urlopen(address, timeout=20) as answer:
        assert answer.headers["Content-Type"].startswith("application/atom+xml")
        feed = ElementTree.fromstring(answer.read())
    titles = [title.text or "" for title in feed.iter(f"{ATOM}title")]
    assert any(NAMES["shop"] in title for title in titles)
    assert any(NAMES["paper"] in title for title in titles)

    row = member.page.locator("tr", has_text="Reader in the kitchen")
    row.get_by_role("button", name="Revoke").click()
    member.sees("Its address answers nothing any more.")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address, timeout=20)
