"""Pages, API, exports, clip, Add source and commands of the pages system, from outside."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.sources import recognise
from watchbook.core.stream.clip import find_clip
from watchbook.kit import formatting
from watchbook.systems.pages.filters import PAGE_COLUMNS
from watchbook.systems.pages.models import Page, PageVersion, Site
from watchbook.systems.pages.store.pages import pack, text_of
from watchbook.systems.pages.tests.conftest import Desk
from watchbook.systems.pages.tests.simulation import simulate
from watchbook.systems.pages.tests.test_lists import publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def changed(desk: Desk) -> Page:
    """A page with two versions."""
    page = desk.watch(
        "/fares", title="Fares", paragraphs=["Day tickets cost 3.90 EUR.", "Ask at pier 2."], price="3.90"
    )
    desk.read()
    desk.site.write("/fares", paragraphs=["Day tickets cost 4.20 EUR.", "Ask here."], price="4.20")
    desk.read()
    page.refresh_from_db()
    return page


@pytest.mark.parametrize("view", ["side", "inline"])
def test_page_shows_words_and_fields_that_changed(changed: Page, alice: User, view: str) -> None:
    html = client_of(alice).get(f"/pages/{changed.pk}/?view={view}").text
    assert "<del>3.90</del>" in html
    assert "<ins>4.20</ins>" in html
    assert "Page called" not in html.split('id="noise"')[0]


def test_text_without_a_difference_has_no_count_of_words_and_the_theme_switch_no_words(desk: Desk, alice: User) -> None:
    page = desk.watch("/fares", title="Fares", paragraphs=["Day tickets."], price="3.90")
    desk.read()
    desk.site.write("/fares", title="Fares", paragraphs=["Day tickets."], price="4.20")
    desk.read()
    html = client_of(alice).get(f"/pages/{page.pk}/").text
    assert "No difference in the text." in html
    assert "+0 words" not in html
    assert html.count("Dark theme") == 3  # the label of the icon, and label and words in the menu of a phone


def test_website_shows_minutes_on_its_first_day_and_days_after_it(changed: Page, alice: User) -> None:
    site, address = changed.site, f"/pages/sites/{changed.site_id}/"
    Site.objects.filter(pk=site.pk).update(created_at=changed.changed_at)
    with clock.set_to(changed.changed_at + timedelta(minutes=5)):
        html = client_of(alice).get(address).text
        assert "Pages on the first day" in html
        assert "changed 1" in html
        assert "Pages per day" not in html
        Site.objects.filter(pk=site.pk).update(created_at=changed.changed_at - timedelta(days=2))
        html = client_of(alice).get(address).text
        assert "Pages per day" in html
        assert "Pages on the first day" not in html


def test_pages_are_exported_by_one_menu_that_says_how_many_rows(changed: Page, alice: User) -> None:
    html = client_of(alice).get(f"/pages/sites/{changed.site_id}/?q=fares").text
    menu = html.partition('class="drop-panel"')[2].partition("</details>")[0]
    assert menu.count("1 row<") == 3
    assert menu.count("q=fares") == 3
    for path in (f"/pages/{changed.pk}/timeline/", "/pages/compare/"):
        assert client_of(alice).get(path).text.count('<details class="drop') == 1, path


def test_page_shows_an_earlier_text_and_the_noise_when_asked(changed: Page, alice: User) -> None:
    html = client_of(alice).get(f"/pages/{changed.pk}/?to=1").text
    assert "Day tickets cost 3.90 EUR." in html
    assert "Page called" in client_of(alice).get(f"/pages/{changed.pk}/?view=text&noise=show").text


def test_price_is_shown_with_currency_and_percent_and_versions_with_their_time(changed: Page, alice: User) -> None:
    html = client_of(alice).get(f"/pages/{changed.pk}/").text
    assert "+7.7%" in html
    assert "3.90</del> EUR" in html
    assert "Version 1, 2 Mar" in html
    assert "1 of " in html


def test_page_with_hundreds_of_versions_shows_every_one(changed: Page, alice: User) -> None:
    """A year of changes: the list is cut into pages, and an old version is found by number and by day."""
    first = PageVersion.objects.get(page=changed, number=1)
    text = text_of(first)
    PageVersion.objects.filter(page=changed, number=2).delete()
    PageVersion.objects.bulk_create([
        PageVersion(page=changed, number=number, read_at=first.read_at + timedelta(days=number), status=200,
                    fields={"title": f"Edition {number}", "price": "3.90"}, data=pack(text, None))
        for number in range(2, 252)
    ])  # fmt: skip
    browser, path = client_of(alice), f"/pages/{changed.pk}/"
    newest, old = browser.get(path).text, browser.get(f"{path}?to=40").text
    assert "<ins>251</ins>" in newest
    assert "Version 151" not in newest
    assert "<ins>40</ins>" in old
    assert 'value="40" selected' in old
    assert old.count('aria-current="true"') >= 1
    day = formatting.local(first.read_at + timedelta(days=100)).date().isoformat()
    assert 'value="100" selected' in browser.get(f"{path}?at={day}").text
    assert "No version is that old." in browser.get(f"{path}?at=2020-01-01").text
    assert browser.get(f"{path}?at=2020-13-01&to=-1&from=999999").status_code == 200
    seen, address = set(), path
    while address:
        html = browser.get(address).text
        seen |= set(re.findall(r"<b>\s*Version (\d+)\s*</b>", html))
        found = re.search(r'rel="next"\s+href="([^"]+)"', html.partition("</ol>")[2])
        address = path + unescape(found.group(1)) if found else ""
    assert len(seen) == 251
    rows = list(csv.DictReader(io.StringIO(browser.get(f"{path}?format=csv").getvalue().decode("utf-8-sig"))))
    assert len(rows) == 251
    assert (rows[-1]["number"], rows[0]["title"], rows[0]["price"]) == ("1", "Edition 251", "3.90")
    assert "format=jsonl" in newest


@pytest.mark.parametrize(
    "asked", ["", "?q=fares", "?q=nowhere", "?state=ok", "?state=due", "?days=today", "?days=last_week"]
)
def test_export_and_api_have_exactly_the_pages_of_the_list(changed: Page, alice: User, asked: str) -> None:
    browser, join = client_of(alice), "&" if asked else "?"
    shown = [row.page.url for row in browser.get(f"/pages/sites/{changed.site_id}/{asked}").context["rows"]]
    lines = browser.get(f"/pages/sites/{changed.site_id}/{asked}{join}format=jsonl").getvalue().decode().splitlines()
    assert [json.loads(line)["url"] for line in lines] == shown
    api = f"/api/v1/pages/sites/{changed.site_id}/pages{asked}"
    assert [one["url"] for one in browser.get(api).json()["items"]] == shown
    assert len(browser.get(f"{api}{join}format=csv").getvalue().decode().splitlines()) == len(shown) + 1
    assert browser.get(f"/pages/sites/{changed.site_id}/pages.csv").status_code == 404


def test_list_names_a_filter_that_it_does_not_know(changed: Page, alice: User) -> None:
    browser = client_of(alice)
    page = browser.get(f"/pages/sites/{changed.site_id}/?state=unheard").text
    assert "Watchbook does not know the value of: state" in page
    assert browser.get(f"/api/v1/pages/sites/{changed.site_id}/pages?state=unheard").status_code == 422


def test_other_users_see_no_website_page_version_or_clip(changed: Page, bob: User) -> None:
    browser = client_of(bob)
    paths = (f"/pages/{changed.pk}/", f"/pages/sites/{changed.site_id}/", f"/pages/sites/{changed.site_id}/?format=csv")
    assert [browser.get(path).status_code for path in paths] == [404, 404, 404]
    own = f"/api/v1/pages/{changed.pk}"
    assert [browser.get(path).status_code for path in (own, f"{own}/versions", f"{own}/diff/1/2")] == [404, 404, 404]
    assert browser.get("/api/v1/pages/sites").json()["items"] == []
    assert find_clip("web_page", str(changed.pk), bob) is None


def test_api_returns_versions_texts_and_differences(changed: Page, alice: User) -> None:
    browser, own = client_of(alice), f"/api/v1/pages/{changed.pk}"
    assert [one["number"] for one in browser.get(f"{own}/versions").json()["items"]] == [2, 1]
    assert "3.90 EUR" in browser.get(f"{own}/versions/1").json()["text"]
    difference = browser.get(f"{own}/diff/1/2").json()
    assert difference["changed_fields"] == ["price"]
    pieces = [piece for paragraph in difference["paragraphs"] for piece in paragraph]
    assert {"kind": "ins", "text": "4.20"} in pieces


def test_export_has_what_the_filters_show(desk: Desk, alice: User) -> None:
    publish(desk, "/news/a", "/news/b", "/piers/1")
    site = desk.website()
    desk.cycle()
    path = f"/pages/sites/{site.pk}/?format"
    rows = list(
        csv.reader(io.StringIO(client_of(alice).get(f"{path}=csv&section=/news/").getvalue().decode("utf-8-sig")))
    )
    assert tuple(rows[0]) == PAGE_COLUMNS
    assert len(rows) == 3
    lines = client_of(alice).get(f"{path}=jsonl").getvalue().decode().splitlines()
    assert [json.loads(line)["status"] for line in lines] == [200, 200, 200]
    assert client_of(alice).get(f"{path}=xlsx").getvalue().startswith(b"PK")
    assert "does not know the value of: format" in client_of(alice).get(f"{path}=exe").text
    assert client_of(alice).get(f"/api/v1/pages/sites/{site.pk}/pages?state=nonsense").status_code == 422


def test_page_of_a_website_needs_no_more_queries_for_more_pages(desk: Desk, alice: User) -> None:
    publish(desk, "/a", "/b")
    site = desk.website()
    desk.cycle()
    browser, counts = client_of(alice), []
    for round_ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(f"/pages/sites/{site.pk}/").status_code == 200
        counts.append(len(queries))
        publish(desk, *(f"/more/{round_}/{number}" for number in range(20)))
        desk.cycle()
    assert counts[0] == counts[1] <= 19


def test_pasted_page_is_previewed_and_added_once(desk: Desk, alice: User) -> None:
    desk.site.write("/fares", title="Fares", paragraphs=["Day tickets cost 3.90 EUR."])
    recognised = recognise.recognise(desk.site.address("/fares"), "pages")
    found = recognised.found
    assert found is not None
    assert found.kind == "page"
    offer = recognise.make_offer(alice, found)
    assert "Day tickets cost 3.90 EUR." in [item.title for item in offer.items]
    recognise.add(alice, recognise.read_proof(alice, recognise.sign(alice, found, offer)))
    assert Page.objects.get().url == desk.site.address("/fares")
    assert recognise.make_offer(alice, found).code == "exists"


def test_pasted_page_notifies_the_chosen_channels(desk: Desk, alice: User) -> None:
    first, second = (NotificationChannel.objects.create(user=alice, name=name, channel_type="email") for name in "ab")
    chosen = (("/fares", ["changed"], [first]), ("/piers", ["removed"], [second]), ("/maps", [], [first]))
    notified = []
    for path, kinds, channels in chosen:
        desk.site.write(path, title="Fares", paragraphs=["Day tickets cost 3.90 EUR."])
        found = recognise.recognise(desk.site.address(path), "pages").found
        assert found is not None
        offer = recognise.make_offer(alice, found)
        assert offer.notify == ("changed", "removed")
        signed = recognise.read_proof(alice, recognise.sign(alice, found, offer))
        recognise.add(alice, signed, notify=kinds, channels=channels)
        site = Site.objects.get()
        notified.append((site.notifies_changed, site.notifies_removed, site.channels.count()))
    assert notified == [(True, False, 1), (True, True, 2), (True, True, 2)]


def test_clip_is_the_newest_text(changed: Page, alice: User) -> None:
    clip = find_clip("web_page", str(changed.pk), alice)
    assert clip is not None
    assert "4.20 EUR" in clip.text
    assert clip.version == "2"


def test_forms_add_change_pause_and_delete_a_website(desk: Desk, alice: User) -> None:
    publish(desk, "/a")
    site = desk.website("new")
    browser = client_of(alice)
    edited = {"name": "Harbour", "mode": "all", "daily_requests": "50", "masks_noise": "on"}
    assert browser.post(f"/pages/sites/{site.pk}/edit/", edited).status_code == 302
    site.refresh_from_db()
    assert (site.name, site.mode, site.daily_requests, site.notifies_changed) == ("Harbour", "all", 50, False)
    assert browser.post(f"/pages/sites/{site.pk}/edit/", {**edited, "daily_requests": "99999999"}).status_code == 422
    browser.post(f"/pages/sites/{site.pk}/pause/")
    assert Site.objects.get(pk=site.pk).is_paused
    browser.post(f"/pages/sites/{site.pk}/delete/")
    assert not Site.objects.of(alice).exists()
    with clock.set_to(desk.now):
        assert browser.get("/pages/").status_code == 200


def test_adaptive_order_keeps_more_copies_fresh_at_equal_requests() -> None:
    found = {order: simulate(order, count=120, daily=24, days=30) for order in ("round_robin", "lastmod", "adaptive")}
    assert found["adaptive"].looks <= found["round_robin"].looks
    assert found["adaptive"].fresh_share > max(found["round_robin"].fresh_share, found["lastmod"].fresh_share)
    assert found["adaptive"].hours_late < found["round_robin"].hours_late
