"""A stored list that is lost, such as with the disk of a host, is named and stored again by the next check."""

from __future__ import annotations

import pytest
from django.urls import reverse

from watchbook.base.store import blobs
from watchbook.base.store import lists as sorted_lists
from watchbook.base.store.blobs import places
from watchbook.base.store.models import Blob
from watchbook.systems.sitemaps.models import ChangeType, Health
from watchbook.systems.sitemaps.store.lists import snapshot_urls
from watchbook.systems.sitemaps.tests.builders import browser


@pytest.fixture
def watched(site, watch, monkeypatch, settings, tmp_path):
    """A monitor whose list of 1,200 URLs lies in a blob, and the blob is lost."""
    settings.HOME = tmp_path
    monkeypatch.setattr(sorted_lists, "IN_ROW_BYTES", 100)
    site.add_many([f"/{n * 7919 % 100_003}" for n in range(1200)], lastmod="2026-01-01")
    watched = watch()
    watched.check()
    for blob in Blob.objects.all():
        places.Files().remove(blob.sha256)
    assert list(blobs.missing())
    return watched


def codes(watched):
    return [note["code"] for note in watched.newest.notes]


def test_lost_list_is_stored_again_and_no_change_is_reported(watched, tmp_path):
    watched.check()
    assert watched.newest.change_type == ChangeType.NO_CHANGE
    assert codes(watched) == ["list_repaired"]
    assert not list(blobs.missing())
    assert len(list(snapshot_urls(watched.monitor.current_snapshot, tmp_path))) == 1200
    watched.check()
    assert codes(watched) == []


def test_changes_while_the_list_was_lost_are_a_new_baseline_not_additions(watched, site):
    site.add_many([f"/new-{n}" for n in range(5)], lastmod="2026-01-02")
    watched.check()
    assert codes(watched) == ["list_lost"]
    assert (watched.newest.added_count, watched.newest.removed_count) == (0, 0)
    assert watched.monitor.current_snapshot.url_count == 1205
    site.add("/newest", lastmod="2026-01-03")
    watched.check()
    assert (codes(watched), watched.newest.added_count) == ([], 1)


def test_pages_and_api_say_that_the_content_is_missing(watched, alice):
    client = browser(alice)
    client.raise_request_exception = False
    snapshot = watched.monitor.current_snapshot_id
    answer = client.get(f"/api/v1/sitemaps/snapshots/{snapshot}/urls")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "content_missing")
    page = client.get(reverse("sitemaps:snapshot", args=[snapshot]))
    assert page.status_code == 503
    assert "Stored content is missing" in page.content.decode()


def test_list_that_stays_lost_while_the_site_fails_is_no_change(watched, site):
    site.faults.on("*").answer(503)
    watched.check()
    assert watched.monitor.health == Health.FAILING
    site.faults.clear()
    watched.check()
    assert codes(watched) == ["list_repaired"]
