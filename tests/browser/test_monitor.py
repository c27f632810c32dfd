"""One monitor's whole life, from an empty account to its second beginning."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from standins.sitemap_site import SitemapSite
from tests.browser.driver import Visitor
from tests.browser.steps import add_mail, add_webhook
from tests.browser.world import NEWCOMERS, Desk, World

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

NAME, MAIL, HOOK = "Lamp Works", "lamps@example.com", "/lamps"
LAMP, LANTERN = "/spring/paper-lamp", "/新品/灯笼"


@pytest.fixture(scope="module")
def site(world: World) -> SitemapSite:
    works = world.sites["fresh"]
    works.add_many([f"/lamps/{number:02}" for number in range(30)], lastmod="2026-10-01")
    return works


@pytest.fixture
def person(desk: Desk, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(desk, NEWCOMERS["watch"])


def add_monitor(person: Visitor, site: SitemapSite) -> str:
    """Check, look at what was found, save, and wait for the baseline. Gives the page's path."""
    person.go("/sitemaps/add/")
    person.page.get_by_label("Address").fill(site.sitemap)
    person.press("Check address")
    person.sees("Found: ")
    person.page.get_by_label("Name").fill(NAME)
    for channel in ("Mail", "Hook"):
        person.page.get_by_role("checkbox", name=channel).check()
    person.press("Save")
    # The page asks again by itself while the first check goes on.
    person.sees("No changes since the baseline")
    return person.path


def test_change_is_found_notified_read_and_deleted(
    person: Visitor, site: SitemapSite, world: World, tmp_path: Path
) -> None:
    person.go("/sitemaps/")
    person.sees("No websites yet")
    add_mail(person, "Mail", MAIL)
    add_webhook(person, "Hook", world.hooks.address(HOOK))
    monitor = add_monitor(person, site)
    change_the_site(site)
    person.press("Check now")
    person.sees("Change of")
    assert world.mail.wait_for(lambda mails: [mail for mail in mails if MAIL in mail.recipients], 30)
    (told,) = world.hooks.wait_for(1, HOOK, 30)
    assert told.json()["data"]["change"]["added_count"] == 2
    (mail,) = world.mail.messages(to=MAIL)
    assert NAME in mail.subject
    assert "paper-lamp" in mail.text

    person.page.locator("#change-title a").click()
    assert len(shown(person)) == 4
    person.follow("Added 2")
    assert len(shown(person)) == 2
    person.page.get_by_label("Find in these URLs").fill("灯笼")
    person.page.keyboard.press("Enter")
    person.arrives("**q=*")
    assert len(shown(person)) == 1

    person.go(person.path)
    assert downloaded(person, "CSV", tmp_path) == downloaded(person, "JSON", tmp_path) == 4
    person.sees("Deliveries of this change")
    person.go(monitor)
    pause_and_resume(person)
    delete_and_take_back(person, monitor)
    delete_and_add_again(person, site, monitor)


def change_the_site(site: SitemapSite) -> None:
    site.add(LAMP, "2026-11-01")
    site.add(LANTERN, "2026-11-01")
    site.remove("/lamps/07")
    site.edit("/lamps/11", lastmod="2026-11-02")


def shown(person: Visitor) -> list[str]:
    return person.page.locator(".diff-list > li").all_inner_texts()


def downloaded(person: Visitor, kind: str, folder: Path) -> int:
    """How many entries the file has."""
    person.page.locator("details.drop > summary").first.click()
    with person.page.expect_download() as coming:
        person.follow(kind)
    person.page.locator("details.drop > summary").first.click()
    file = folder / coming.value.suggested_filename
    coming.value.save_as(file)
    text = file.read_text("utf-8-sig")
    if kind == "CSV":
        return len(list(csv.DictReader(io.StringIO(text))))
    return sum(len(entries) for entries in json.loads(text)["changes"].values())


def state(person: Visitor) -> str:
    return person.page.locator(".page-head .badge").first.inner_text()


def pause_and_resume(person: Visitor) -> None:
    assert state(person) == "Active"
    person.press("Pause")
    person.page.get_by_role("button", name="Resume").wait_for()
    assert state(person) == "Paused"
    person.press("Resume")
    person.page.get_by_role("button", name="Pause").wait_for()
    assert state(person) == "Active"


def delete_and_take_back(person: Visitor, monitor: str) -> None:
    person.press("Delete")
    person.sees(f"{NAME} was deleted")
    assert person.page.locator("tbody tr").count() == 0
    person.press("Undo")
    person.arrives(f"**{monitor}")
    assert state(person) == "Active"


def delete_and_add_again(person: Visitor, site: SitemapSite, monitor: str) -> None:
    person.press("Delete")
    person.sees(f"{NAME} was deleted")
    assert add_monitor(person, site) != monitor
    person.go("/sitemaps/")
    assert person.page.locator("tbody tr").count() == 1


def test_page_of_a_site_offers_its_sitemaps(person: Visitor, world: World) -> None:
    person.go("/sitemaps/add/")
    person.page.get_by_label("Address").fill(world.sites["atlas"].url)
    person.press("Check address")
    person.sees("This is a web page, not a sitemap")
    person.press("Check selected")
    person.sees("Found: ")


def test_address_that_cannot_be_watched_shows_the_reason(person: Visitor, site: SitemapSite) -> None:
    site.faults.on("/nowhere.xml").answer(404)
    person.go("/sitemaps/add/")
    person.page.get_by_label("Address").fill(site.address("/nowhere.xml"))
    person.press("Check address")
    person.page.locator("#add .field-error").wait_for()
    assert person.page.get_by_label("Address").input_value() == site.address("/nowhere.xml")
    assert person.page.get_by_role("button", name="Save").count() == 0
