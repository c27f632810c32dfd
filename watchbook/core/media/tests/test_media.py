"""Kept files: fetched once, by content, with limits; outages cost nothing; seen by those who see the item."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from PIL import Image

from standins.server import Answer, Site
from watchbook.base import clock
from watchbook.base.env import Option, switch
from watchbook.base.store import blobs
from watchbook.base.store.models import BlobReference
from watchbook.base.testing.people import client_of
from watchbook.base.web.models import HostPace
from watchbook.core import registry
from watchbook.core.alerts.models import Alert, Outage
from watchbook.core.jobs.runner import run_now
from watchbook.core.media import jobs, options, store
from watchbook.core.media.models import ATTACHMENT, FileReference, FileState, FileThumbnail, KeptFile
from watchbook.core.media.store import Wanted, want

pytestmark = pytest.mark.django_db
SWITCH = Option("TIDES_MEDIA", switch, default=True, help="Keep the pictures of tides.")
VIDEO = b"\0\0\0\x18ftypmp42" + bytes(range(256)) * 3000


ASKED: list[str] = []


def visible(user, ids):
    """Item 7 is alice's."""
    ASKED.extend(ids)
    return [pk for pk in ids if pk != "7" or user.email.startswith("alice")]


def picture(side: int = 400, colour: str = "teal") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (side, side // 2), colour).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def site(monkeypatch):
    tides = registry.Source(
        slug="tides", title="Tides", icon="search", package="watchbook.core.media.tests",
        media=registry.Media(f"{__name__}:visible", f"{__name__}:SWITCH"),
    )  # fmt: skip
    found = (*registry.sources(), tides)
    monkeypatch.setattr(registry, "sources", lambda: found)
    with Site() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", f"127.0.0.1:{made.port}")
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        for name, body in {"a.png": picture(), "b.png": picture(colour="red"), "v.mp4": VIDEO}.items():
            made.route(f"/{name}", lambda _request, body=body: Answer(200, body, content_type="text/html"))
        yield made


def fetch(days: float = 0):
    with clock.set_to(clock.now() + timedelta(days=days)):
        run = run_now("media.fetch")
    assert run.state == "done", run.error
    return run.progress


def wish(site, name: str, object_id: str = "7", **more) -> KeptFile:
    want("tides", [Wanted(f"{site.url}/{name}", object_id, **more)])
    return KeptFile.objects.order_by("pk").last()


@pytest.mark.sql
def test_one_address_is_fetched_once_for_all_items_and_goes_with_the_last(site):
    wanted = [Wanted(f"{site.url}/a.png", pk, position=place) for place, pk in enumerate(["7", "8"])]
    assert (want("tides", wanted), want("tides", wanted)) == (1, 0)
    assert fetch() == {"kept": 1, "bytes": len(picture())}
    file = KeptFile.objects.get()
    assert (file.state, file.media_type, file.width, file.height) == (FileState.KEPT, "image/png", 400, 200)
    assert blobs.read(file.sha256, limit=10**6) == picture()
    assert (site.log.count("/a.png"), fetch()) == (1, {})
    assert {pk: rows[0].position for pk, rows in store.files_of("tides", [7, 8]).items()} == {"7": 0, "8": 1}
    assert store.release("tides", ["7"]) == 0
    assert BlobReference.objects.filter(owner_kind="media").count() == 1
    assert store.release("tides", [8]) == 1
    assert not KeptFile.objects.exists()
    assert not BlobReference.objects.filter(owner_kind="media").exists()


def test_only_those_who_see_the_item_get_the_file(site, alice, bob):
    file = wish(site, "a.png")
    assert client_of(alice).get(file.path).status_code == 404, "it is not there yet"
    fetch()
    got = client_of(alice).get(file.path)
    assert (got.status_code, got.headers["Content-Type"], got.getvalue()) == (200, "image/png", picture())
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert client_of(bob).get(file.path).status_code == 404
    assert client_of(None).get(file.path).status_code == 302
    want("tides", [Wanted(file.url, "8")])
    assert client_of(bob).get(file.path).status_code == 200
    api = client_of(bob).get(f"/api/v1{file.path}")
    assert (api.status_code, api.headers["Content-Type"]) == (200, "application/octet-stream")


def test_picture_of_many_items_is_found_without_reading_all_of_them(
    site, alice, bob, monkeypatch, django_assert_max_num_queries
):
    monkeypatch.setattr(store, "BATCH", 3)
    file = wish(site, "a.png", "7")
    want("tides", [Wanted(file.url, f"{number}") for number in range(20, 40)])
    fetch()
    ASKED.clear()
    with django_assert_max_num_queries(2):
        assert store.visible_file(alice, file.pk) == file
    assert len(ASKED) == 3
    FileReference.objects.exclude(object_id="7").update(system="gone")
    assert store.visible_file(bob, file.pk) is None


def test_thumbnail_is_made_once_and_goes_with_the_file(site, alice):
    file = wish(site, "a.png")
    fetch()
    for _ in range(2):
        small = client_of(alice).get(f"{file.path}?size=320")
        assert Image.open(io.BytesIO(small.getvalue())).size == (320, 160)
    assert client_of(alice).get(f"{file.path}?size=9000").status_code == 404
    assert FileThumbnail.objects.count() == 1
    assert BlobReference.objects.filter(owner_kind="media").count() == 2
    store.release("tides", [7])
    assert not BlobReference.objects.filter(owner_kind="media").exists()


@pytest.mark.parametrize(
    ("wanted", "status", "start", "stop"),
    [("bytes=0-9", 206, 0, 10), ("bytes=600000-", 206, 600_000, None), ("bytes=-5", 206, -5, None),
     ("bytes=9999999-", 416, 0, 0), ("bytes=x", 200, 0, None)],
)  # fmt: skip
@pytest.mark.parametrize("place", ["files", "database"])
def test_video_is_sent_in_parts(site, alice, settings, place, wanted, status, start, stop):
    settings.BLOBS = place
    file = wish(site, "v.mp4", role="video")
    fetch()
    got = client_of(alice).get(file.path, headers={"Range": wanted})
    part = VIDEO[start:stop]
    assert (got.status_code, b"".join(got) if status != 416 else b"") == (status, part)
    if status == 206:
        first = start % len(VIDEO)
        assert got.headers["Content-Range"] == f"bytes {first}-{first + len(part) - 1}/{len(VIDEO)}"
        assert got.headers["Content-Length"] == str(len(part))


def test_markup_is_never_shown_inline_and_no_picture(site, alice):
    site.route("/x.png", lambda _request: Answer(200, b"<html><script>1</script>", content_type="image/png"))
    site.route("/y.svg", lambda _request: Answer(200, b"<svg xmlns='http://www.w3.org/2000/svg'/>"))
    page, drawing = wish(site, "x.png"), wish(site, "y.svg")
    attached = wish(site, "x.png?as=file", role=ATTACHMENT)
    fetch()
    page.refresh_from_db()
    assert (page.state, page.attempts, page.last_error) == (FileState.WAITING, 1, jobs.NOT_A_FILE)
    for file in (drawing, attached):
        got = client_of(alice).get(file.path)
        assert got.headers["Content-Disposition"].startswith("attachment")
        assert got.headers["Content-Type"] == "application/octet-stream"


def test_own_failures_wait_longer_and_end_and_a_new_address_begins_again(site):
    site.route("/x.png", lambda _request: Answer(403, b"no"))
    file = wish(site, "x.png", key="the picture")
    for days in (0, 0, 1, 2, 4, 8):
        fetch(days)
    file.refresh_from_db()
    assert (file.state, file.attempts, site.log.count("/x.png")) == (FileState.FAILED, 4, 4)
    want("tides", [Wanted(f"{site.url}/a.png", "7", key="the picture")])
    fetch()
    file.refresh_from_db()
    assert (file.state, file.url, KeptFile.objects.count()) == (FileState.KEPT, f"{site.url}/a.png", 1)


def test_gone_is_said_twice_and_another_address_is_tried_first(site):
    missing = wish(site, "missing.png")
    other = wish(site, "missing2.png", others=(f"{site.url}/b.png",))
    fetch()
    missing.refresh_from_db()
    other.refresh_from_db()
    assert (missing.state, other.state) == (FileState.WAITING, FileState.KEPT)
    fetch(days=2)
    missing.refresh_from_db()
    assert (missing.state, missing.attempts) == (FileState.GONE, 2)
    assert fetch(days=9) == {}


def test_too_large_is_a_state_until_the_limit_is_raised(site, monkeypatch):
    monkeypatch.setenv("MEDIA_FILE_MEGABYTES", "1")
    site.route("/large.mp4", lambda _request: Answer(200, VIDEO * 2, content_type="video/mp4"))
    file = wish(site, "large.mp4", role="video")
    fetch()
    file.refresh_from_db()
    assert (file.state, file.size) == (FileState.TOO_LARGE, 1_000_000)
    assert run_now("media.queue").outcome == "nothing_to_do"
    monkeypatch.setenv("MEDIA_FILE_MEGABYTES", "2")
    assert run_now("media.queue").progress == {"queued": 1}
    assert fetch()["kept"] == 1


@pytest.mark.parametrize("answer", [Answer(503), Answer(429), Answer(401)], ids=["5xx", "429", "login"])
def test_outage_costs_no_attempt_and_the_host_is_not_asked_again(site, answer):
    kept = wish(site, "a.png")
    fetch()
    site.route("/p*.png", lambda _request: answer)
    want("tides", [Wanted(f"{site.url}/p{number}.png", "7") for number in range(20)])
    for minutes in range(6):
        fetch(days=minutes / 1440)
    asked = [entry for entry in site.log.all() if entry.path.startswith("/p")]
    assert len(asked) <= 5
    waiting = KeptFile.objects.exclude(pk=kept.pk)
    assert set(waiting.values_list("state", "attempts")) == {(FileState.WAITING, 0)}
    assert Alert.objects.get().level == "P2"
    site.route("/p*.png", lambda _request: Answer(200, picture()))
    HostPace.objects.all().delete()  # the pause after 429 follows the real clock
    fetch(days=1)
    assert waiting.filter(state=FileState.KEPT).count() == 20
    assert not Outage.objects.exists()
    assert Alert.objects.get().live_slot is None


def test_host_that_never_gave_a_file_opens_no_alert_and_ends_after_two_weeks(site):
    want("tides", [Wanted(f"http://gone.invalid/{number}.png", "7") for number in range(3)])
    for days in (0, 0.01, 0.02, 0.03):
        fetch(days)
    assert set(KeptFile.objects.values_list("state", "attempts")) == {(FileState.WAITING, 0)}
    fetch(days=15)
    assert set(KeptFile.objects.values_list("state", "last_error")) == {(FileState.FAILED, jobs.HOST_AWAY)}
    assert not Alert.objects.exists()


def test_no_room_stops_fetching_and_is_reported_once(site, monkeypatch):
    monkeypatch.setenv("MEDIA_QUOTA_MEGABYTES", "1")
    KeptFile.objects.create(key="1", url="x", state=FileState.KEPT, size=1_000_000)
    wish(site, "a.png")
    for _ in range(2):
        assert "kept" not in fetch()
    assert (Alert.objects.get().key, site.log.count("/a.png")) == ("media:room", 0)
    monkeypatch.setenv("MEDIA_QUOTA_MEGABYTES", "0")
    assert fetch()["kept"] == 1
    assert Alert.objects.get().live_slot is None
    monkeypatch.setenv("MEDIA_FREE_MEGABYTES", str(options.FREE_MEGABYTES.maximum))
    wish(site, "b.png")
    assert "kept" not in fetch()


def test_expiring_addresses_come_first(site):
    for name, hours in (("a.png", None), ("b.png", 5), ("v.mp4", 1)):
        wish(site, name, use_before=clock.now() + timedelta(hours=hours) if hours else None)
    fetch()
    assert [entry.path for entry in site.log.all()] == ["/v.mp4", "/b.png", "/a.png"]


def test_disabled_switch_stores_the_address_and_fetches_nothing(site, monkeypatch):
    waiting = wish(site, "a.png")
    monkeypatch.setenv("TIDES_MEDIA", "off")
    off = wish(site, "b.png")
    fetch()
    assert set(KeptFile.objects.values_list("state", flat=True)) == {FileState.OFF}
    assert site.log.count() == 0
    monkeypatch.setenv("TIDES_MEDIA", "on")
    want("tides", [Wanted(off.url, "7")])
    assert fetch()["kept"] == 1
    assert run_now("media.queue").progress == {"queued": 1}
    assert fetch()["kept"] == 1
    waiting.refresh_from_db()
    assert waiting.is_kept
    assert FileReference.objects.count() == 2
