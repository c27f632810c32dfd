"""Pages behind a list of another system: in step with it, in the order of value, and what became of URLs that left."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from standins.sitemap_site import SitemapSite
from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core import url_lists
from watchbook.core.jobs import runner
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.pages import actions
from watchbook.systems.pages.filters import completeness
from watchbook.systems.pages.jobs.read import run_due_now
from watchbook.systems.pages.models import Page, PageEvent, Site, SiteDay
from watchbook.systems.pages.tests.conftest import Desk, trust

pytestmark = pytest.mark.django_db


def publish(desk: Desk, *paths: str, lastmod: str = "2026-01-01", **content: object) -> None:
    """Add pages with a text of their own."""
    for path in paths:
        given = {"title": f"About {path}", "paragraphs": [f"This is the page {path} of the harbour, in its own words."]}
        desk.site.write(path, **{**given, **content})
        desk.site.add(path, lastmod=lastmod)


def test_all_pages_of_a_list_are_read_and_counted(desk: Desk) -> None:
    publish(desk, "/a", "/news/b", "/news/c")
    site = desk.website()
    desk.cycle()
    counts = completeness(site, desk.now)
    assert (counts["known"], counts["read"], counts["never_read"], counts["due"]) == (3, 3, 0, 0)
    assert SiteDay.objects.get().requests == 7 == desk.site.log.count() - desk.site.log.count("/sitemap.xml")


def test_mode_new_reads_only_what_the_list_adds_or_changes(desk: Desk) -> None:
    publish(desk, "/a", "/b", "/c")
    desk.website("new")
    desk.cycle()
    assert desk.site.log.count("/a") == 0
    publish(desk, "/d")
    desk.site.edit("/a", lastmod="2026-02-02")
    desk.cycle()
    read = Page.objects.exclude(last_read_at=None).order_by("url").values_list("url", flat=True)
    assert [url.rpartition("/")[2] for url in read] == ["a", "d"]


def test_mode_none_asks_only_urls_that_left(desk: Desk) -> None:
    publish(desk, "/a", "/b")
    desk.website("none")
    desk.cycle()
    desk.site.remove("/b")
    desk.cycle()
    assert (desk.site.log.count("/a"), desk.site.log.count("/b")) == (0, 1)
    assert desk.page("/b").fate == "delisted"


def test_page_that_is_listed_beyond_the_limit_has_not_left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGES_MAX_URLS", "2")
    publish(desk, "/m", "/n")
    site = desk.website("none")
    desk.cycle()
    publish(desk, "/a")
    desk.cycle()
    site.refresh_from_db()
    assert (desk.page("/n").is_listed, desk.page("/a").is_listed, site.left_out_count) == (True, True, 1)
    desk.site.remove("/n")
    desk.cycle()
    assert not desk.page("/n").is_listed


def test_new_lastmod_and_new_pages_are_read_before_all_others(desk: Desk) -> None:
    publish(desk, *(f"/p/{n}" for n in range(5)))
    site = desk.website()
    desk.cycle()
    publish(desk, "/p/new")
    desk.site.edit("/p/3", lastmod="2026-02-02")
    Page.objects.update(next_at=desk.now)
    with clock.set_to(desk.now):
        actions.change_site(site, {"daily_requests": SiteDay.objects.get().requests + 3})
    before = desk.site.log.count()
    desk.cycle()
    asked = [request.path for request in desk.site.log.all()[before:] if request.path.startswith("/p/")]
    assert set(asked[:3]) == {"/p/new", "/p/3"}


def test_urls_that_left_are_moved_gone_or_delisted_as_the_ledger_says(desk: Desk) -> None:
    publish(desk, "/redirected", "/renamed", "/gone", "/listed-no-more", "/broken", "/stays", "/walled", "/soft")
    desk.website()
    desk.cycle()
    desk.site.rename("/redirected", "/target")
    desk.site.texts.pages["/target"] = desk.site.texts.pages.pop("/redirected")
    desk.site.texts.pages["/other-name"] = desk.site.texts.pages.pop("/renamed")
    desk.site.remove("/renamed")
    desk.site.add("/other-name")
    for path, mood in (("/gone", "gone"), ("/broken", "trouble"), ("/walled", "wall"), ("/soft", "soft_404")):
        desk.site.write(path, mood=mood)
        desk.site.remove(path)
    desk.site.remove("/listed-no-more")
    desk.cycle()
    fates = {page.path: page.fate for page in Page.objects.filter(is_listed=False)}
    assert fates == {
        "/redirected": "moved", "/renamed": "moved", "/gone": "gone", "/listed-no-more": "delisted",
        "/broken": "asking", "/walled": "asking", "/soft": "asking",
    }  # fmt: skip
    assert desk.page("/redirected").moved_to.endswith("/target")
    assert desk.page("/renamed").moved_to.endswith("/other-name")
    kinds = StreamEntry.objects.filter(source="pages").values_list("kind", flat=True)
    assert sorted(kinds) == ["delisted", "gone", "moved", "moved"]
    desk.site.write("/broken", mood="gone")
    desk.cycle()
    assert desk.page("/broken").fate == "gone"


def test_url_that_returns_to_the_list_is_a_page_again(desk: Desk) -> None:
    publish(desk, "/a", "/b")
    desk.website()
    desk.cycle()
    desk.site.remove("/b")
    desk.cycle()
    desk.site.add("/b", lastmod="2026-02-02")
    desk.cycle()
    page = desk.page("/b")
    assert (page.is_listed, page.fate, page.version_count) == (True, "", 1)


def test_changes_of_a_run_are_one_notification(desk: Desk) -> None:
    channel = NotificationChannel.objects.create(user=desk.user, name="Mail", channel_type="email")
    publish(desk, "/a", "/b", "/c")
    site = desk.website()
    actions.set_channels(site, [channel.pk])
    desk.cycle()
    for path in ("/a", "/b"):
        desk.site.write(path, paragraphs=["The words of this page are other ones now."])
    desk.site.remove("/c")
    Page.objects.update(next_at=desk.now)
    desk.cycle()
    (delivery,) = Delivery.objects.filter(source="pages")
    assert "3 pages changed" in delivery.subject
    assert "/c" in delivery.text
    assert PageEvent.objects.filter(is_notified=False).count() == 0
    desk.cycle()
    assert Delivery.objects.filter(source="pages").count() == 1


def test_deleted_list_pauses_the_website_and_says_so(desk: Desk) -> None:
    publish(desk, "/a")
    site = desk.website()
    desk.cycle()
    site.refresh_from_db()
    site.list_name = "sitemaps:00000000-0000-0000-0000-000000000000"
    site.save()
    Page.objects.update(next_at=desk.now)
    desk.read()
    site.refresh_from_db()
    assert (site.is_paused, site.last_error) == (True, "The list of this website was deleted.")


def test_menu_has_one_entry_and_both_first_pages_have_tabs(desk: Desk) -> None:
    from watchbook.base.testing.people import client_of

    html = client_of(desk.user).get("/pages/").text
    assert html.count('href="/sitemaps/"') >= 2
    assert 'href="/pages/" aria-current="page"' in html


def test_several_lists_of_one_website_share_pages_budget_and_removals(desk: Desk) -> None:
    """A feed beside the sitemap: its pages are no news at first, and a URL has left when no list names it."""
    publish(desk, "/a", "/b")
    site = desk.website()
    desk.cycle()
    with SitemapSite() as second, pytest.MonkeyPatch.context() as patch:
        trust(patch, desk.site.netloc, second.netloc)
        second.base = desk.site.base
        desk.site.write("/c", title="About /c", paragraphs=["This is the page /c of the harbour."])
        second.add("/b", lastmod="2020-01-01")
        second.add("/c")
        with clock.set_to(desk.now):
            added = desk.add_list(second.sitemap)
            api, body = f"/api/v1/pages/sites/{site.pk}", {"more_lists": [added]}
            assert client_of(desk.user).patch(api, body, "application/json").json()["more_lists"] == [added]
        read_all(desk)
        assert Page.objects.filter(site=site, is_listed=True).count() == 3
        assert SiteDay.objects.filter(new__gt=0).count() == 0
        assert desk.page("/b").lastmod == "2026-01-01"
        desk.site.remove("/b")
        read_all(desk)
        assert desk.page("/b").is_listed
        second.remove("/b")
        read_all(desk)
        assert (desk.page("/b").is_listed, desk.page("/b").fate) == (False, "delisted")
        client_of(desk.user).delete(f"/api/v1/sitemaps/monitors/{added.partition(':')[2]}")
        desk.site.remove("/a")
        read_all(desk)
        assert desk.page("/a").is_listed  # a list that is gone proves nothing about its URLs


def read_all(desk: Desk) -> None:
    """Check every list, then read what is due."""
    desk.now += timedelta(hours=2)
    with clock.set_to(desk.now):
        for listed in url_lists.lists_of(desk.user):
            runner.run_now(f"{listed.source}.check", {"monitor_id": listed.key})
        Site.objects.update(next_at=desk.now)
        run_due_now()


def test_lists_of_one_host_are_offered_together_and_become_one_website(desk: Desk) -> None:
    publish(desk, "/a", "/b")
    desk.site.split(2)
    with SitemapSite() as other, pytest.MonkeyPatch.context() as patch, clock.set_to(desk.now):
        trust(patch, desk.site.netloc, other.netloc)
        other.add("/x")
        first, foreign = desk.add_list(desk.site.sitemap), desk.add_list(other.sitemap)
        second = desk.add_list(desk.site.page_url("/sitemap-1.xml"))
        browser = client_of(desk.user)
        form = browser.get(f"/pages/add/?list={first}").text
        chosen = [each for each in (foreign, second) if re.search(rf'value="{each}"[^>]*checked', form)]
        assert chosen == [second]
        given = {"list_name": first, "more_lists": [first, second], "mode": "all", "daily_requests": "100"}
        assert browser.post("/pages/add/", {**given, "more_lists": ["sitemaps:none"]}).status_code == 422
        assert not Site.objects.exists()
        assert browser.post("/pages/add/", given).status_code == 302
        site = Site.objects.get()
        assert (site.list_name, site.more_lists) == (first, [second])
        body = {"list_name": foreign, "more_lists": [second]}
        made = browser.post("/api/v1/pages/sites", body, "application/json").json()
        assert made["more_lists"] == [second]


def test_changed_robots_txt_is_a_version_without_a_request_of_its_own(desk: Desk) -> None:
    publish(desk, "/a")
    site = desk.website()
    desk.cycle()
    desk.site.robots_body = b"User-agent: *\nDisallow: /private/\nDisallow: /basket/\n"
    desk.cycle(after=timedelta(days=2))
    assert desk.site.log.count("/robots.txt") == 2
    page = Page.objects.get(site=site, title="robots.txt")
    assert [("/basket/" in text) for text in desk.texts(page)] == [False, True]
    (event,) = PageEvent.objects.filter(page=page)
    assert (event.kind, event.fields) == ("changed", ",text,")
    assert completeness(site, desk.now)["known"] == 1
