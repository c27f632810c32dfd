"""Changes, snapshots and files as pages and as downloads."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base import clock
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.kit.lists.exports import safe_cell
from watchbook.systems.sitemaps import filters
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, MonitorTask, SitemapSnapshot
from watchbook.systems.sitemaps.tests.builders import (
    MOST_QUERIES,
    START,
    body,
    browser,
    get,
    make_change,
    make_monitor,
    make_snapshot,
)

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


class TestChange:
    def test_kinds_are_counted_and_filtered(self, desk, alice):
        _, record = desk
        client = browser(alice)
        page = get(client, "change", record.pk).text
        for text in ("All 4", "Added 2", "Removed 1", "Modified 1", "Frequently changing 1"):
            assert text in page
        assert "https://www.example.com/clock" not in page
        assert "https://www.example.com/clock" in get(client, "change", record.pk, kind="noise").text
        removed = get(client, "change", record.pk, kind="removed").text
        assert "/sale" in removed
        assert "lantern" not in removed

    def test_words_are_found_as_written_and_as_read(self, desk, alice):
        _, record = desk
        client = browser(alice)
        assert "products/lantern" in get(client, "change", record.pk, q="LANTERN products").text
        assert "%E7%81%AF" in get(client, "change", record.pk, q="灯").text
        assert "No matching URLs" in get(client, "change", record.pk, q="lantern sale").text

    def test_two_hundred_are_shown_and_the_rest_is_offered(self, alice):
        monitor = make_monitor(alice)
        record = make_change(monitor, START, added=[f"https://www.example.com/{n:04}" for n in range(450)])
        page = get(browser(alice), "change", record.pk).text
        assert page.count('class="is-add"') == 200
        assert "200 of 450 shown" in page
        assert "250 more are in the download" in page

    def test_search_reads_a_bounded_number_and_says_so(self, alice, monkeypatch):
        monkeypatch.setattr(filters, "SCANNED", 10)
        record = make_change(make_monitor(alice), START, added=[f"https://www.example.com/{n:04}" for n in range(50)])
        page = get(browser(alice), "change", record.pk, q="0049").text
        assert "Only the first 200,000 were searched" in page

    def test_deliveries_can_be_sent_again(self, desk, alice, bob):
        _, record = desk
        mine = NotificationChannel.objects.create(user=alice, name="Desk", channel_type="email")
        other = NotificationChannel.objects.create(user=bob, name="Bobs line", channel_type="email")
        event = {"event_id": f"sitemaps.change:{record.pk}", "source": "sitemaps", "kind": "changed", "subject": "x"}
        sent = Delivery.objects.create(channel=mine, state="sent", **event)
        Delivery.objects.create(channel=other, state="sent", **event)
        page = get(browser(alice), "change", record.pk).text
        assert reverse("delivery_replay", args=[sent.pk]) in page
        assert "Bobs line" not in page

    def test_pages_that_moved_are_paired(self, alice):
        record = make_change(
            make_monitor(alice),
            START,
            added=["https://www.example.com/shop/paper-lantern"],
            removed=["https://www.example.com/products/paper-lantern"],
        )
        assert "Possibly moved" in get(browser(alice), "change", record.pk).text

    def test_baseline_leads_to_what_it_listed(self, alice):
        monitor = make_monitor(alice)
        snapshot = make_snapshot(monitor, START)
        record = ChangeRecord.objects.create(
            monitor_task=monitor, new_snapshot=snapshot, change_type=ChangeType.INITIAL, changes={}, created_at=START
        )
        assert reverse("sitemaps:snapshot", args=[snapshot.pk]) in get(browser(alice), "change", record.pk).text


class TestDownloads:
    def test_csv_has_every_url_and_marks_noise(self, desk, alice):
        answer = get(browser(alice), "change_file", desk[1].pk, "csv")
        assert answer.headers["Content-Disposition"].startswith('attachment; filename="example-shop-changes-')
        rows = list(csv.DictReader(io.StringIO(body(answer))))
        assert [row["kind"] for row in rows] == ["added", "added", "removed", "modified", "noise"]
        assert rows[3]["old_lastmod"] == "2026-01-01"

    def test_json_has_the_shapes_of_the_record(self, desk, alice):
        _, record = desk
        assert json.loads(body(get(browser(alice), "change_file", record.pk, "json")))["changes"] == record.changes
        filtered = json.loads(body(get(browser(alice), "change_file", record.pk, "json", kind="added", q="lantern")))
        assert [item["url"] for item in filtered["changes"]["added"]] == ["https://www.example.com/products/lantern"]
        assert filtered["changes"]["removed"] == []

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
    def test_no_cell_is_a_formula(self, alice, start):
        evil = f"{start}cmd|' /C calc'!A0"
        assert safe_cell(evil) == f"'{evil}"
        record = make_change(make_monitor(alice), START)
        record.changes = {
            "added": [{"url": "https://www.example.com/", "lastmod": evil}],
            "removed": [],
            "modified": [],
        }
        record.added_count = 1
        record.save()
        text = body(get(browser(alice), "change_file", record.pk, "csv"))
        row = next(csv.DictReader(io.StringIO(text, newline="")))
        assert row["new_lastmod"] == f"'{evil}"

    def test_unknown_form_is_not_there(self, desk, alice):
        assert get(browser(alice), "change_file", desk[1].pk, "exe").status_code == 404

    def test_name_without_ascii_letters_still_makes_a_file_name(self, desk, alice):
        monitor, record = desk
        MonitorTask.objects.filter(pk=monitor.pk).update(name='商品"\r\nX-Evil: 1')
        header = get(browser(alice), "change_file", record.pk, "csv").headers["Content-Disposition"]
        assert re.fullmatch(r'attachment; filename="[\w-]+\.csv"', header)


class TestSnapshots:
    def test_snapshot_in_force_at_a_moment_is_found(self, desk, alice):
        monitor, record = desk
        before = monitor.snapshots.order_by("created_at").first()
        client = browser(alice)
        day = (START - timedelta(days=1)).date()
        page = get(client, "snapshots", monitor.pk, day=day.isoformat()).text
        assert "Open the snapshot of that date" in page
        assert page.index(str(before.pk)) < page.index("<tbody>")
        today = get(client, "snapshots", monitor.pk, day=START.date().isoformat(), time="11:00").text
        assert today.index(str(record.new_snapshot_id)) < today.index("<tbody>")
        assert "No snapshot for this date" in get(client, "snapshots", monitor.pk, day="2020-01-01").text

    @pytest.mark.parametrize("day", ["", "tomorrow", "2026-13-45", "0001-01-01", "9999-12-31"])
    def test_day_that_is_none_breaks_nothing(self, desk, alice, day):
        assert get(browser(alice), "snapshots", desk[0].pk, day=day).status_code == 200

    def test_urls_are_paged_by_key_and_searched(self, alice, monkeypatch):
        monkeypatch.setattr(filters, "SHOWN", 3)
        urls = [f"https://www.example.com/{n}" for n in range(8)]
        snapshot = make_snapshot(make_monitor(alice), START, urls)
        client = browser(alice)
        seen, address = [], reverse("sitemaps:snapshot", args=[snapshot.pk])
        while address:
            page = client.get(address).text
            seen += re.findall(r'<a class="url" href="([^"]+)"', page)
            more = re.search(r'rel="next" href="([^"]+)"', page)
            address = reverse("sitemaps:snapshot", args=[snapshot.pk]) + more[1].replace("&amp;", "&") if more else ""
        assert seen == urls
        assert "/7" in get(client, "snapshot", snapshot.pk, q="com/7").text

    def test_urls_are_sorted_and_chosen_by_their_dates(self, alice):
        days = {
            "/old": "2026-02-01",
            "/none": "",
            "/new": "2026-03-01T23:00:00Z",
            "/week": "2026-02-24",
            "/bad": "soon",
        }
        urls = [f"https://www.example.com{path}" for path in sorted(days)]
        snapshot = make_snapshot(make_monitor(alice), START, urls)
        listed = [{"url": url, "lastmod": days[url.partition(".com")[2]] or None} for url in urls]
        SitemapSnapshot.objects.filter(pk=snapshot.pk).update(
            urls=[{"changefreq": None, "priority": None, **row} for row in listed]
        )
        client = browser(alice)

        def shown(**asked):
            page = get(client, "snapshot", snapshot.pk, **asked).text
            found = re.findall(r'<a class="url" href="https://www.example.com([^"]+)"', page)
            lines = body(get(client, "snapshot_file", snapshot.pk, "jsonl", **asked)).splitlines()
            assert [json.loads(line)["url"].partition(".com")[2] for line in lines] == found
            return found

        assert shown() == sorted(days)
        assert shown(order="newest") == ["/new", "/week", "/old", "/bad", "/none"]
        assert shown(order="oldest") == ["/old", "/week", "/new", "/bad", "/none"]
        assert shown(since="2026-02-20", until="2026-02-24") == ["/week"]
        with clock.set_to(datetime(2026, 3, 4, 4, tzinfo=UTC)):  # a Wednesday
            assert shown(days="last_week", order="newest") == ["/week"]
        assert "Watchbook does not know the value of: days" in get(client, "snapshot", snapshot.pk, days="x").text

    def test_selected_urls_become_a_file(self, alice, bob):
        urls = [f"https://www.example.com/{n}" for n in range(5)]
        monitor = make_monitor(alice)
        snapshot, record = make_snapshot(monitor, START, urls), make_change(monitor, START, added=urls)
        for page, route, row in (("snapshot", "snapshot_file", snapshot), ("change", "change_file", record)):
            assert get(browser(alice), page, row.pk).text.count('name="url"') == 5
            address = reverse(f"sitemaps:{route}", args=[row.pk, "jsonl"])
            chosen = {"url": [urls[3], urls[1], "https://other.example/"]}
            lines = body(browser(alice).post(address, chosen)).splitlines()
            assert [json.loads(line)["url"] for line in lines] == [urls[1], urls[3]]
            assert browser(bob).post(address, chosen).status_code == 404
            none = browser(alice).post(address, follow=True)
            assert "Select at least one row." in none.text

    def test_urls_of_a_change_are_sorted_and_chosen_by_their_dates(self, alice):
        record = make_change(make_monitor(alice), START, added=["https://www.example.com/undated"])
        dated = {"/a": "2026-02-24", "/b": "2026-02-25"}
        added = [{"url": f"https://www.example.com{path}", "lastmod": day} for path, day in dated.items()]
        record.changes["added"] += added
        record.added_count = 3
        record.save()
        client = browser(alice)

        def shown(**asked):
            page = get(client, "change", record.pk, **asked).text
            lines = body(get(client, "change_file", record.pk, "jsonl", **asked)).splitlines()
            found = re.findall(r'<a class="url" href="https://www.example.com([^"]+)"', page)
            assert [json.loads(line)["url"].partition(".com")[2] for line in lines] == found
            return found

        assert shown() == ["/undated", "/a", "/b"]
        assert shown(order="newest") == ["/b", "/a", "/undated"]
        assert shown(since="2026-02-25", kind="added") == ["/b"]
        assert 'name="kind" value="added"' in get(client, "change", record.pk, kind="added").text

    def test_long_lists_are_read_from_the_blob_store_page_by_page(self, site, watch):
        site.add_many([f"/{n:05}" for n in range(1500)], lastmod="2026-01-01")
        site.split(3)
        w = watch()
        w.check()
        snapshot = w.monitor.current_snapshot
        client = browser(w.user)
        first = get(client, "snapshot", snapshot.pk).text
        assert first.count('<a class="url"') == 200
        last = get(client, "snapshot", snapshot.pk, after=site.page_url("/01497")).text
        assert re.findall(r'<a class="url" href="([^"]+)"', last) == [site.page_url("/01498"), site.page_url("/01499")]
        rows = list(csv.DictReader(io.StringIO(body(get(client, "snapshot_file", snapshot.pk, "csv")))))
        assert [row["url"] for row in rows] == [site.page_url(f"/{n:05}") for n in range(1500)]
        assert len(json.loads(body(get(client, "snapshot_file", snapshot.pk, "json", q="/0149")))) == 10

    def test_long_changes_are_filtered_in_one_reading(self, site, watch):
        site.add_many([f"/{n:05}" for n in range(50)], lastmod="2026-01-01")
        w = watch()
        w.check()
        site.add_many([f"/x{n:05}" for n in range(1200)], lastmod="2026-01-01")
        site.remove("/00007")
        w.check()
        client = browser(w.user)
        assert "manifest" in w.newest.changes
        assert get(client, "change", w.newest.pk).text.count('class="is-add"') == 200
        assert get(client, "change", w.newest.pk, kind="removed").text.count('class="is-del"') == 1
        assert get(client, "change", w.newest.pk, q="x00033").text.count('class="is-add"') == 1
        with CaptureQueriesContext(connection) as queries:
            get(client, "monitor", w.monitor.pk)
        assert len(queries) <= MOST_QUERIES


class TestParts:
    def test_files_problems_and_reliability_are_shown(self, site, watch):
        site.add_many([f"/{n}" for n in range(40)], lastmod="2026-01-01")
        site.split(4)
        w = watch()
        w.check()
        with site.fail_child(2):
            site.add("/new", lastmod="2026-02-02")
            w.check()
        page = get(browser(w.user), "parts", w.monitor.pk).text
        assert "sitemap-2.xml" in page
        assert "1 not read completely" in page
        assert "not read" in page
        assert "<small>/ 100</small>" in page


class TestTwoSnapshots:
    @pytest.fixture
    def ids(self, watch, site):
        """Three snapshots: pages come, change and go, and one goes and comes back."""
        site.add_many(["/a", "/b", "/c", "/d"], lastmod="2026-01-01")
        watched, ids = watch(), []
        for step in (
            lambda: None,
            lambda: [site.remove("/a"), site.remove("/d"), site.edit("/b", lastmod="2026-02-01")],
            lambda: [site.add("/d", lastmod="2026-01-01"), site.add("/e", lastmod="2026-03-01")],
        ):
            step()
            watched.check()
            ids.append(watched.monitor.current_snapshot_id)
        return ids

    def test_any_two_are_compared_as_the_site_was(self, ids, alice, site):
        answer = browser(alice).get(f"/api/v1/sitemaps/snapshots/{ids[0]}/compare/{ids[2]}").json()
        assert answer["counts"] == {"added": 1, "removed": 1, "modified": 1}
        assert {(item["kind"], item["url"]) for item in answer["items"]} == {
            ("added", site.page_url("/e")), ("removed", site.page_url("/a")), ("modified", site.page_url("/b")),
        }  # fmt: skip
        back = browser(alice).get(f"/api/v1/sitemaps/snapshots/{ids[2]}/compare/{ids[0]}?kind=added").json()
        assert [item["url"] for item in back["items"]] == [site.page_url("/a")]

    def test_page_and_files_have_the_same(self, ids, alice, bob, site):
        path = reverse("sitemaps:compare", args=[ids[0], ids[2]])
        page = browser(alice).get(path)
        assert site.page_url("/e").split("://")[1] in page.text
        lines = [json.loads(line) for line in body(browser(alice).get(f"{path}?format=jsonl")).splitlines()]
        assert [(line["kind"], line["new_lastmod"]) for line in lines] == [
            ("added", "2026-03-01"), ("removed", None), ("modified", "2026-02-01"),
        ]  # fmt: skip
        assert browser(bob).get(path).status_code == 404

    def test_lost_list_is_said_and_two_must_be_chosen(self, ids, alice):
        record = make_monitor(alice, sitemap_url="https://www.example.com/other.xml")
        lost = make_snapshot(record, START)
        assert browser(alice).get(reverse("sitemaps:compare", args=[lost.pk, ids[0]])).status_code == 302
        refused = browser(alice).get(f"/api/v1/sitemaps/snapshots/{lost.pk}/compare/{ids[0]}")
        assert (refused.status_code, "was lost" in refused.json()["error"]["message"]) == (409, True)
        assert browser(alice).get(reverse("sitemaps:choose", args=[record.pk])).status_code == 302
