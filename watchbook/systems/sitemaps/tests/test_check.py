from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base.invalid import InvalidInput
from watchbook.systems.sitemaps.models import Health, SitemapCheck, SitemapSnapshot, Status

pytestmark = pytest.mark.django_db


def urls(items):
    return sorted(item["url"] for item in items)


def test_first_check_is_baseline_without_notification(site, watch):
    site.add_many(["/a", "/b", "/c"], lastmod="2026-01-01")
    w = watch()
    assert w.check()["checked"] == 1
    record = w.newest
    assert (record.change_type, record.old_snapshot_id, record.added_count) == ("initial", None, 0)
    assert w.monitor.current_snapshot.url_count == 3
    assert urls(w.monitor.current_snapshot.urls) == sorted(site.page_url(page) for page in ("/a", "/b", "/c"))


def test_added_removed_and_modified_are_exactly_what_the_site_did(site, watch):
    site.add_many(["/a", "/b", "/c"], lastmod="2026-01-01")
    w = watch()
    w.check()
    site.add("/d", lastmod="2026-02-02")
    site.remove("/b")
    site.edit("/c", lastmod="2026-02-03")
    assert w.check()["changed"] == 1
    record = w.newest
    assert record.changes == {
        "added": [{"url": site.page_url("/d"), "lastmod": "2026-02-02"}],
        "removed": [{"url": site.page_url("/b")}],
        "modified": [{"url": site.page_url("/c"), "old_lastmod": "2026-01-01", "new_lastmod": "2026-02-03"}],
    }
    assert (record.added_count, record.removed_count, record.modified_count) == (1, 1, 1)


def test_unchanged_check_costs_one_request_and_no_snapshot(site, watch):
    site.add_many([f"/{n}" for n in range(50)], lastmod="2026-01-01")
    site.validate(etag="strong")
    w = watch()
    w.check()
    tally = w.check()
    assert (tally["unchanged"], tally["http_request_count"]) == (1, 1)
    assert SitemapSnapshot.objects.count() == 1
    assert (w.newest.change_type, w.newest.new_snapshot_id) == ("no_change", w.monitor.current_snapshot_id)


def test_order_and_sharding_are_no_change(site, watch):
    site.add_many([f"/{n}" for n in range(60)], lastmod="2026-01-01")
    w = watch()
    w.check()
    site.shuffle(3)
    assert w.check()["unchanged"] == 1
    site.split(4)
    assert w.check()["unchanged"] == 1
    site.deal(3)
    assert w.check()["unchanged"] == 1
    assert w.monitor.current_snapshot.url_count == 60
    site.remove("/7")
    w.check()
    assert urls(w.newest.changes["removed"]) == [site.page_url("/7")]


def test_failed_child_sitemap_reports_no_removals(site, watch):
    site.add_many([f"/{n}" for n in range(40)], lastmod="2026-01-01")
    site.split(4)
    w = watch()
    w.check()
    fault = site.fail_child(2)
    site.add("/new", lastmod="2026-02-02")
    assert w.check()["degraded"] == 1
    assert w.monitor.health == Health.DEGRADED
    assert w.newest.removed_count == 0
    fault.lift()
    w.check()
    assert w.monitor.health == Health.OK
    assert w.monitor.current_snapshot.url_count == 41
    added = [item for record in w.monitor.change_records.all() for item in record.changes["added"]]
    assert urls(added) == [site.page_url("/new")]


def test_removal_in_incomplete_check_waits_for_complete_one(site, watch):
    site.add_many([f"/{n:02}" for n in range(40)], lastmod="2026-01-01")
    site.split(4)
    w = watch()
    w.check()
    with site.fail_child(1):
        site.remove("/39")
        w.check()
        assert w.newest.removed_count == 0
        assert w.monitor.current_snapshot.url_count == 40
    w.check()
    assert urls(w.newest.changes["removed"]) == [site.page_url("/39")]
    assert w.monitor.current_snapshot.url_count == 39


def test_what_the_first_check_could_not_read_is_no_addition_later(site, watch):
    site.add_many([f"/{n:02}" for n in range(40)], lastmod="2026-01-01")
    site.split(4)
    fault = site.fail_child(3)
    w = watch()
    w.check()
    assert w.monitor.current_snapshot.url_count == 30
    fault.lift()
    site.add("/really-new", lastmod="2026-02-02")
    w.check()
    assert w.monitor.current_snapshot.url_count == 41
    assert [item for item in w.newest.changes["added"] if "really-new" not in item["url"]] == []


def test_mass_removal_is_held_and_confirmed_five_minutes_later(site, watch):
    site.add_many([f"/{n:03}" for n in range(100)], lastmod="2026-01-01")
    w = watch()
    w.check()
    for n in range(40):
        site.remove(f"/{n:03}")
    assert w.check()["suspect"] == 1
    assert w.monitor.current_snapshot.url_count == 100
    assert w.check(after=timedelta(minutes=5))["changed"] == 1
    assert w.newest.removed_count == 40
    assert "confirmed_in_2_checks" in [note["code"] for note in w.newest.notes]


def test_reverted_mass_removal_is_not_notified(site, watch):
    site.add_many([f"/{n:03}" for n in range(100)], lastmod="2026-01-01")
    w = watch()
    w.check()
    for n in range(40):
        site.remove(f"/{n:03}")
    w.check()
    site.add_many([f"/{n:03}" for n in range(40)], lastmod="2026-01-01")
    w.check(after=timedelta(minutes=5))
    assert (w.monitor.health, w.newest.removed_count) == (Health.OK, 0)


def test_three_failures_are_an_error_until_the_next_success(site, watch):
    site.add_many(["/a", "/b"], lastmod="2026-01-01")
    w = watch()
    w.check()
    with site.faults.on("/sitemap.xml").answer(503):
        for expected in (Status.ACTIVE, Status.ACTIVE, Status.ERROR):
            assert w.check()["failed"] == 1
            assert w.monitor.status == expected
        waited = [w.monitor.next_check_at - w.now]
        w.check(after=timedelta(hours=25))
        waited.append(w.monitor.next_check_at - w.now)
        assert waited[1] > waited[0]
    assert w.monitor.current_snapshot.url_count == 2
    assert w.check(after=timedelta(hours=25))["unchanged"] == 1
    assert (w.monitor.status, w.monitor.error_count, w.monitor.last_error) == (Status.ACTIVE, 0, None)
    assert SitemapCheck.objects.filter(outcome=Health.FAILING).count() == 4


@pytest.mark.parametrize(
    "body", [b"", b"   ", b"<html><body>maintenance</body></html>", b"<error><code>wp_die</code></error>"]
)
def test_answer_that_is_no_sitemap_changes_nothing(site, watch, body):
    site.add_many(["/a", "/b"], lastmod="2026-01-01")
    w = watch()
    w.check()
    with site.faults.on("/sitemap.xml").answer(200, body=body):
        assert w.check()["failed"] == 1
    assert w.check()["unchanged"] == 1
    assert w.monitor.change_records.filter(change_type="changed").count() == 0


def test_page_that_changes_at_every_check_is_learned_as_noise(site, watch):
    site.add_many([f"/{n}" for n in range(10)], lastmod="2026-01-01")
    w = watch()
    w.check()
    for day in range(1, 8):
        site.edit("/0", lastmod=f"2026-02-{day:02}")
        w.check()
    assert (w.newest.modified_count, w.newest.noisy_count) == (1, 1)
    site.edit("/1", lastmod="2026-02-20")
    w.check()
    assert (w.newest.modified_count, w.newest.noisy_count) == (1, 0)


def test_more_than_a_thousand_urls_live_in_the_blob_store(site, watch):
    from watchbook.systems.sitemaps.store.lists import change_items, snapshot_urls

    site.add_many([f"/{n:05}" for n in range(1500)], lastmod="2026-01-01")
    w = watch()
    w.check()
    site.add_many([f"/x{n:05}" for n in range(1200)], lastmod="2026-01-01")
    w.check()
    assert "manifest" in w.monitor.current_snapshot.urls
    assert "manifest" in w.newest.changes
    assert len(list(change_items(w.newest, "added"))) == 1200
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        listed = [row["url"] for row in snapshot_urls(w.monitor.current_snapshot, pathlib.Path(folder))]
    assert listed == sorted(page.url for page in site.world_at(site.mark()))


def test_paused_monitor_is_not_checked_and_deleted_can_be_added(site, watch, alice):
    from watchbook.systems.sitemaps import actions

    site.add("/a")
    w = watch()
    w.check()
    actions.pause(w.monitor)
    assert w.check()["checked"] == 0
    with pytest.raises(InvalidInput, match="already"):
        actions.add_monitor(alice, {"name": "Again", "sitemap_url": site.sitemap})
    actions.delete(w.monitor)
    again, _check_address = actions.add_monitor(alice, {"name": "Again", "sitemap_url": site.sitemap})
    assert again.pk != w.monitor.pk
