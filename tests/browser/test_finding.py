"""Finding a change again: by search, in the stream, in a feed reader."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Route

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
    member.arrives("**/search/**")
    hit = member.page.locator(".hits > li").first
    assert NAMES[expected] in hit.inner_text()
    assert hit.locator("mark").count() > 0
    hit.locator("a").click()
    member.sees("Deliveries of this change")


def test_search_without_a_match_says_so(member: Visitor) -> None:
    member.go("/search/?q=dromedary")
    member.sees("No matches")


def test_stream_shows_the_change_and_leads_to_it(member: Visitor) -> None:
    member.go("/stream/")
    entry = member.page.locator(".mail", has_text=NAMES["shop"]).first
    assert "Sitemap changed" in entry.inner_text()
    entry.locator(".mail-line a").click()
    member.page.locator("#read").get_by_text(NAMES["shop"]).first.wait_for()
    member.page.locator("#read").get_by_role("link", name="Open page").click()
    member.sees("Deliveries of this change")


def test_entry_opened_by_the_page_does_not_replace_a_clicked_one(member: Visitor) -> None:
    late: list[Route] = []
    member.page.route("**/stream/*/", lambda route: late.append(route) if not late else route.continue_())
    member.go("/stream/")
    member.page.wait_for_function("document.querySelectorAll('.mail').length > 1")
    wanted = member.page.locator(".mail").nth(1).locator(".mail-line a")
    title = wanted.inner_text()
    wanted.click()
    heading = member.page.locator("#read-title").get_by_text(title, exact=True)
    heading.wait_for()
    with member.page.expect_response("**/stream/*/"):
        late[0].continue_()
    member.page.wait_for_timeout(200)
    assert heading.is_visible()


def test_feed_needs_only_its_token_until_it_is_revoked(member: Visitor) -> None:
    member.go("/stream/")
    member.follow("Feed")
    member.page.get_by_label("Name").fill("Reader in the kitchen")
    member.press("Create feed")
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
    member.sees("Its address no longer works.")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address, timeout=20)
