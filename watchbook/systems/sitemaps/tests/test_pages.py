"""The pages of monitors: who sees what, what they say, how many queries they need, what hostile text does in them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base import clock
from watchbook.core.jobs.models import JobRun
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import Health, Status, url_digest
from watchbook.systems.sitemaps.tests.builders import (
    MOST_QUERIES,
    START,
    addresses,
    browser,
    check,
    get,
    make_change,
    make_monitor,
    make_snapshot,
)

HOSTILE = "<script>alert(1)</script>\"'&"
STEPS = ("check", "pause", "resume", "retry", "delete", "restore", "own_feed", "edit")

pytestmark = pytest.mark.django_db


class TestWhoSeesWhat:
    def test_owner_reads_every_page(self, desk, alice):
        client = browser(alice)
        for address in addresses(*desk):
            assert client.get(address).status_code in (200, 302), address

    @pytest.mark.parametrize("name", ["bob", "charlie", "operator"])
    def test_other_users_get_404(self, desk, name, request):
        monitor, record = desk
        client = browser(request.getfixturevalue(name))
        for address in addresses(monitor, record):
            assert client.get(address).status_code == 404, address
        for step in STEPS:
            assert client.post(reverse(f"sitemaps:{step}", args=[monitor.pk])).status_code == 404, step
        monitor.refresh_from_db()
        assert (monitor.status, monitor.deleted_at) == (Status.ACTIVE, None)

    def test_anonymous_user_is_redirected_to_sign_in_from_the_library(self, desk):
        for address in addresses(*desk):
            assert browser().get(address).status_code == 302

    def test_names_of_other_users_monitors_are_not_shown(self, desk, bob, operator):
        monitor, _record = desk
        for person in (bob, operator):
            client = browser(person)
            for address in (reverse("sitemaps:monitors"), f"/sitemaps/?deleted={monitor.pk}", "/sitemaps/?q=Shop"):
                assert "Example Shop" not in client.get(address).text
            answer = client.post(reverse("sitemaps:add"), {"sitemap_url": monitor.sitemap_url, "step": "check"})
            assert "Example Shop" not in answer.text

    def test_pages_of_a_deleted_monitor_are_deleted(self, desk, alice):
        actions.delete(desk[0])
        client = browser(alice)
        for address in addresses(*desk):
            assert client.get(address).status_code == 404, address

    def test_steps_want_a_post(self, desk, alice):
        for step in ("check", "pause", "resume", "retry", "delete", "restore"):
            assert browser(alice).get(reverse(f"sitemaps:{step}", args=[desk[0].pk])).status_code == 405


class TestList:
    def test_nothing_yet_says_what_to_do(self, alice):
        page = get(browser(alice), "monitors").text
        assert "No websites yet" in page
        assert reverse("add_source") in page

    def test_monitor_is_a_line_with_state_size_and_last_change(self, desk, alice):
        page = get(browser(alice), "monitors").text
        assert "Example Shop" in page
        assert "badge--ok" in page
        assert "+2" in page
        # noise is not counted as a change
        assert "~1<" in page
        assert 'class="spark sys-sitemaps"' in page

    def test_monitors_needing_attention_can_be_filtered(self, alice):
        make_monitor(alice, 1, name="Fine", health=Health.OK)
        make_monitor(alice, 2, name="Sick", status=Status.ERROR, health=Health.FAILING)
        make_monitor(alice, 3, name="ArchivedItem", status=Status.PAUSED, health=Health.FAILING)
        page = get(browser(alice), "monitors", show="attention").text
        assert "Sick" in page
        assert "Fine" not in page
        assert "ArchivedItem" not in page
        assert "ArchivedItem" in get(browser(alice), "monitors", show="paused").text
        assert "Sick" in get(browser(alice), "monitors", q="sick").text
        assert "No matches" in get(browser(alice), "monitors", q="zzz").text

    def test_queries_are_as_many_for_one_monitor_as_for_fifty(self, alice):
        def fill(numbers):
            for number in numbers:
                monitor = make_monitor(alice, number, last_check_at=clock.now())
                for hours in range(3):
                    make_change(monitor, clock.now() - timedelta(hours=hours), added=["https://www.example.com/x"])

        client = browser(alice)
        fill(range(1))
        with CaptureQueriesContext(
            connection,
        ) as few:
            get(client, "monitors")
        fill(range(1, 50))
        with CaptureQueriesContext(connection) as many:
            page = get(client, "monitors").text
        assert page.count('<th scope="row">') == 50
        assert len(many) == len(few) <= MOST_QUERIES


class TestMonitor:
    def test_head_figures_log_and_newest_change(self, desk, alice):
        page = get(browser(alice), "monitor", desk[0].pk).text
        for text in ("Example Shop", "Check now", "Changes, 7 days", "URLs per check", "Failed check"):
            assert text in page
        assert "lantern" in page
        assert 'aria-current="true"' in page

    def test_first_day_shows_one_mark_per_check_and_the_second_shows_days(self, alice):
        monitor = make_monitor(alice, last_check_at=START)
        make_snapshot(monitor, START, urls=[f"https://www.example.com/{n}" for n in range(3)])
        check(monitor, START, url_count=3)
        make_change(monitor, START + timedelta(minutes=20), added=["https://www.example.com/n"])
        check(monitor, START + timedelta(minutes=40), outcome=Health.FAILING)
        with clock.set_to(START + timedelta(hours=1)):
            page = get(browser(alice), "monitor", monitor.pk).text
        assert "URLs per check" in page
        assert "first check, 3 URLs" in page
        assert "the 3 URLs of the first check do not count as new" in page
        assert page.count("new 1\nchanged 0\nremoved 0") == 4  # in each of the four sizes
        assert page.count(": failed</title>") == 4
        check(monitor, START + timedelta(days=1), url_count=4)
        with clock.set_to(START + timedelta(days=1, hours=1)):
            page = get(browser(alice), "monitor", monitor.pk).text
        assert "URLs in the sitemap" in page
        assert "first check" not in page

    def test_export_menu_of_the_list_has_opml(self, desk, alice):
        menu = get(browser(alice), "monitors").text.partition('class="drop-panel"')[2].partition("</details>")[0]
        assert [name in menu for name in ("CSV", "JSON Lines", "Excel", reverse("sitemaps:opml"))] == [True] * 4

    def test_queries_are_bounded_with_five_hundred_checks(self, desk, alice):
        monitor, _ = desk
        for number in range(500):
            at = START - timedelta(hours=3 * number)
            if number % 5:
                check(monitor, at)
            else:
                make_change(monitor, at, added=["https://www.example.com/n"], removed=["https://www.example.com/o"])
        client = browser(alice)
        with CaptureQueriesContext(connection) as queries:
            assert get(client, "monitor", monitor.pk).status_code == 200
        assert len(queries) <= MOST_QUERIES

    def test_checks_that_found_nothing_are_one_line(self, alice):
        monitor = make_monitor(alice, last_check_at=START)
        make_snapshot(monitor, START - timedelta(days=9))
        for hours in range(30):
            check(monitor, START - timedelta(hours=hours))
        with clock.set_to(START):
            page = get(browser(alice), "monitor", monitor.pk).text
        assert page.count("<b>No change</b>") == 1
        assert "30 checks" in page
        assert "checks in 7 days, no changes." in page

    def test_held_removal_and_its_end_are_separate_entries(self, alice):
        monitor = make_monitor(alice, last_check_at=START, health=Health.OK)
        make_snapshot(monitor, START - timedelta(days=1))
        check(monitor, START - timedelta(minutes=5), outcome=Health.SUSPECT, url_count=60, removed_count=40)
        check(monitor, START, url_count=1000)
        with clock.set_to(START):
            page = get(browser(alice), "monitor", monitor.pk).text
        assert "unconfirmed: 40% missing, next check after 5 min" in page
        assert "Back to 1,000" in page

    def test_days_without_a_readable_check_are_hatched_and_said(self, alice):
        monitor = make_monitor(alice, last_check_at=START, created_at=START - timedelta(days=20))
        make_snapshot(monitor, START - timedelta(days=20))
        for days in range(20):
            sick = days in (5, 6)
            check(
                monitor,
                START - timedelta(days=days),
                outcome=Health.FAILING if sick else Health.OK,
                url_count=None if sick else 100 + days,
            )
        with clock.set_to(START):
            page = get(browser(alice), "monitor", monitor.pk).text
        assert "24 Feb to 25 Feb hatched: checks failed" in page
        assert "no data" in page

    @pytest.mark.parametrize(
        ("values", "notice", "button"),
        [
            ({"status": Status.ERROR, "health": Health.FAILING, "error_count": 4}, "The last 4 checks failed", "Retry"),
            ({"health": Health.BLOCKED, "error_count": 1}, "The last check failed", "Check now"),
            ({"health": Health.DEGRADED, "degraded_count": 1}, "Some files could not be read", "Check now"),
            ({"health": Health.SUSPECT}, "Many URLs disappeared", "Check now"),
            ({"status": Status.PAUSED}, "Paused", "Resume"),
        ],
    )
    def test_problem_is_shown_with_its_remedy(self, alice, values, notice, button):
        monitor = make_monitor(alice, last_error="The site has a problem of its own.", **values)
        with clock.set_to(START):
            page = get(browser(alice), "monitor", monitor.pk).text
        assert notice in page
        assert button in page

    def test_change_of_the_log_can_be_chosen(self, desk, alice):
        monitor, record = desk
        make_change(monitor, START - timedelta(minutes=5), added=["https://www.example.com/newest"])
        client = browser(alice)
        assert "newest" in get(client, "monitor", monitor.pk).text
        chosen = get(client, "monitor", monitor.pk, change=record.pk).text
        assert "lantern" in chosen
        assert "newest" not in chosen
        assert get(client, "monitor", monitor.pk, change="nonsense").status_code == 200

    def test_running_check_shows_its_counts(self, desk, alice):
        monitor, _ = desk
        client = browser(alice)
        client.post(reverse("sitemaps:check", args=[monitor.pk]))
        JobRun.objects.update(state="running", progress={"parts": 7, "urls": 318204})
        page = get(client, "monitor", monitor.pk).text
        assert "318,204" in page
        part = client.get(reverse("sitemaps:live", args=[monitor.pk]), headers={"HX-Request": "true"})
        assert "318,204" in part.text
        assert "HX-Refresh" not in part.headers
        JobRun.objects.update(state="done")
        part = client.get(reverse("sitemaps:live", args=[monitor.pk]), headers={"HX-Request": "true"})
        assert part.headers["HX-Refresh"] == "true"


class TestSteps:
    def test_pause_resume_and_check(self, desk, alice):
        monitor, _ = desk
        client = browser(alice)
        for step, status in (("pause", Status.PAUSED), ("check", Status.PAUSED), ("resume", Status.ACTIVE)):
            answer = client.post(reverse(f"sitemaps:{step}", args=[monitor.pk]), follow=True)
            monitor.refresh_from_db()
            assert monitor.status == status
            assert ("Resume it first" in answer.text) == (step == "check")
        assert JobRun.objects.filter(name="sitemaps.check").exists()

    def test_retry_makes_a_monitor_in_error_active(self, alice):
        monitor = make_monitor(alice, status=Status.ERROR, error_count=5)
        browser(alice).post(reverse("sitemaps:retry", args=[monitor.pk]))
        monitor.refresh_from_db()
        assert (monitor.status, monitor.error_count) == (Status.ACTIVE, 0)

    def test_deletion_can_be_undone(self, desk, alice):
        monitor, _ = desk
        client = browser(alice)
        page = client.post(reverse("sitemaps:delete", args=[monitor.pk]), follow=True).text
        assert "Example Shop was deleted" in page
        assert reverse("sitemaps:restore", args=[monitor.pk]) in page
        client.post(reverse("sitemaps:restore", args=[monitor.pk]))
        monitor.refresh_from_db()
        assert (monitor.deleted_at, monitor.live_url_digest) == (None, url_digest(monitor.sitemap_url))

    def test_deletion_stays_when_the_sitemap_was_added_again(self, desk, alice):
        monitor, _ = desk
        actions.delete(monitor)
        make_monitor(alice, name="Again", sitemap_url=monitor.sitemap_url)
        page = browser(alice).post(reverse("sitemaps:restore", args=[monitor.pk]), follow=True).text
        assert "You already monitor this sitemap." in page
        monitor.refresh_from_db()
        assert monitor.deleted_at is not None


class TestHostileText:
    def test_it_is_text_on_every_page(self, alice):
        monitor = make_monitor(alice, name=HOSTILE, last_check_at=START, last_error=HOSTILE, status=Status.ERROR)
        url = f"https://www.example.com/{HOSTILE}"
        note = {"code": HOSTILE, "count": 1, "message": HOSTILE, "part": HOSTILE}
        make_snapshot(monitor, START - timedelta(days=1), notes=[note])
        record = make_change(monitor, START, added=[url], removed=[url], modified=[url], notes=[note])
        minor = {"url": url, "changefreq": [HOSTILE, None], "priority": [None, None]}
        record.extras = {"restamp": {"lastmod": HOSTILE, "count": 30}, "minor": [minor]}
        record.save()
        check(monitor, START, outcome=Health.FAILING, url_count=None, message=HOSTILE)
        client = browser(alice)
        for address in [reverse("sitemaps:monitors"), *addresses(monitor, record)]:
            if not address.endswith((".csv", ".json")):
                assert "<script>alert" not in client.get(address, follow=True).text, address
        for address in (
            f"/sitemaps/?q={HOSTILE}",
            f"/sitemaps/changes/{record.pk}/?q={HOSTILE}",
            "/sitemaps/add/?url=" + HOSTILE,
        ):
            assert "<script>alert" not in client.get(address).text, address

    def test_list_of_a_script_address_is_not_run(self, alice):
        record = make_change(make_monitor(alice), START, added=["javascript:alert(1)"])
        assert 'href="javascript:' not in get(browser(alice), "change", record.pk).text


class TestChinese:
    def test_pages_speak_chinese(self, desk, alice):
        monitor, record = desk
        client = browser(alice, "zh-Hans")
        assert "网站" in get(client, "monitors").text.partition("<h1")[2].partition("</h1>")[0]
        page = get(client, "monitor", monitor.pk).text
        assert "立即检查" in page
        assert "检查失败" in page
        assert "变更" in get(client, "change", record.pk).text
