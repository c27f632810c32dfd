"""From an empty installation to a watched shop: one field, a preview that was really read, one button."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from standins.sitemap_site import SitemapSite
from tests.browser.driver import Visitor
from tests.browser.test_first_day import sign_up
from tests.browser.world import Desk, World

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

OLIVE = "olive@example.com"


@pytest.fixture(scope="module")
def shops() -> Iterator[dict[int, SitemapSite]]:
    """A shop for each width: nothing is watched before, and no other test fills them."""
    with SitemapSite() as wide, SitemapSite() as narrow:
        yield {1280: stocked(wide), 390: stocked(narrow)}


def stocked(site: SitemapSite) -> SitemapSite:
    site.add_many([f"/lanterns/{number:02}" for number in range(12)], lastmod="2026-11-10")
    site.add("/lanterns/paper", lastmod="2026-11-15T09:20:00Z")
    return site


@pytest.fixture(scope="module")
def empty_desk(world: World, shops: dict[int, SitemapSite], chromium: Any) -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="watchbook-add-") as folder:
        made = Desk(Path(folder), world)
        made.settings["WATCHBOOK_SIGNUP"] = "open"
        made.settings["WATCHBOOK_TRUSTED_HOSTS"] = ",".join((world.hosts, *(shop.netloc for shop in shops.values())))
        with made.running():
            first = Visitor(chromium, made.url)
            sign_up(first, OLIVE)
            first.arrives(made.url + "/")
            first.close()
            yield made


@pytest.mark.parametrize("width", [1280, 390])
def test_pasted_homepage_is_previewed_and_watched(
    empty_desk: Desk, shops: dict[int, SitemapSite], visitor: Callable[..., Visitor], width: int
) -> None:
    shop = shops[width]
    person = visitor(empty_desk, OLIVE, width=width)
    person.go("/")
    before = len(shop.log.all())
    person.page.locator("#main").get_by_label("Address or keyword").fill(shop.url)
    person.press("Check")
    person.sees("/lanterns/paper")
    person.sees("13 pages")
    assert person.path == "/add/"
    assert len(shop.log.all()) - before <= 12
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    person.page.get_by_text("6 h", exact=True).click()
    person.page.locator("#cost .total b").get_by_text("4", exact=True).wait_for()
    person.page.get_by_role("checkbox", name="Changed").uncheck()
    person.press("Start watching")
    person.sees("No changes since the baseline")
    person.go("/")
    person.page.keyboard.press("a")
    person.arrives(empty_desk.url + "/add/")
    person.page.get_by_label("Address or keyword").fill(shop.url)
    person.press("Check")
    person.sees("You already watch everything that was found here.")
    person.page.get_by_text("Not this?").click()
    person.page.get_by_role("button", name="Keyword: ").click()
    person.sees("A keyword sends no requests.")
