"""Screenshots: taken after a new version by a browser behind the guarded proxy, compared with the one before."""

from __future__ import annotations

from datetime import timedelta
from io import BytesIO

import pytest
from PIL import Image

from standins.messages import Answer
from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.store.models import BlobReference
from watchbook.base.testing import servers
from watchbook.base.testing.pages import needs_chromium
from watchbook.base.testing.people import client_of
from watchbook.core.jobs import runner
from watchbook.core.jobs.models import JobRun, State
from watchbook.systems.pages import actions, options
from watchbook.systems.pages.models import PageShot, SiteDay
from watchbook.systems.pages.parse.pictures import difference_task

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
API = "/api/v1/pages"
JOB = "pages.screenshot"


def plain(words: str, more: str = "") -> Answer:
    """A page without noise, so that two screenshots differ only where the words do."""
    return Answer.html(
        f"<html><head><title>Pier 4</title></head><body style='font: 40px sans-serif'><h1>Pier 4</h1><p>{words}</p>"
        f"<p>The harbour office keeps this page up to date and answers questions by letter.</p>{more}</body></html>"
    )


@pytest.fixture
def page(desk, monkeypatch):
    monkeypatch.setenv("SITES_CHROMIUM", servers.chromium() or "/nowhere/chromium")
    page = desk.watch("/piers/4")
    desk.site.texts.files["/piers/4"] = plain("The lift is out of service.")
    with clock.set_to(desk.now):
        actions.change_site(page.site, {"takes_screenshots": True})
    desk.read()
    return page


def shoot(desk) -> list[JobRun]:
    """Run what is queued."""
    done = []
    for run in JobRun.objects.filter(name=JOB, state=State.QUEUED).order_by("pk"):
        with clock.set_to(desk.now):
            done.append(runner.run_now(JOB, run.args))
        run.delete()
    return done


@needs_chromium
def test_every_version_gets_a_screenshot_and_its_difference(desk, page, bob):
    desk.site.log.clear()
    shoot(desk)
    assert desk.site.log.count("/piers/4") == 1
    desk.site.texts.files["/piers/4"] = plain("The lift works again.")
    desk.read()
    shoot(desk)
    first, second = PageShot.objects.order_by("number")
    assert (first.number, first.width, first.changed_percent, first.difference) == (1, 1280, None, "")
    assert 0 < second.changed_percent < 20
    client = client_of(desk.user)
    for show in ("picture", "difference"):
        answer = client.get(f"/pages/{page.pk}/screenshots/2-{show}.png")
        assert Image.open(BytesIO(b"".join(answer.streaming_content))).size[0] == 1280
        assert client_of(bob).get(f"/pages/{page.pk}/screenshots/2-{show}.png").status_code == 404
    shown = client.get(f"/pages/{page.pk}/").content.decode()
    assert shown.count("-picture.png") == 4
    assert "of the pixels differ" in shown
    assert client.get(f"/pages/{page.pk}/screenshots/1-difference.png").status_code == 404
    listed = client.get(f"{API}/{page.pk}/screenshots").json()["items"]
    assert [(row["number"], row["changed_percent"]) for row in listed] == [(2, second.changed_percent), (1, None)]
    assert client.get(f"{API}/{page.pk}/screenshots/2?show=difference").status_code == 200
    assert client.get(f"{API}/{page.pk}/screenshots/2?show=all").status_code == 422


@needs_chromium
def test_browser_reaches_no_private_address_and_its_requests_count(desk, page, monkeypatch):
    from standins.sitemap_site import SitemapSite

    with SitemapSite() as inner:  # not among the trusted hosts
        inner.texts.files["/secret.png"] = Answer(200, b"x", content_type="image/png")
        more = "".join(
            f"<{tag} src='{inner.address('/secret.png')}'></{tag}>" for tag in ("img", "iframe", "script", "embed")
        )
        more += f"<script>fetch('{inner.address('/fetched')}'); new WebSocket('ws://{inner.netloc}/socket')</script>"
        more += f"<img src='{desk.site.address('/allowed.png')}'>"
        desk.site.texts.files["/piers/4"] = plain("The lift works again.", more)
        desk.read()
        before = SiteDay.objects.get().requests
        (_first, last) = shoot(desk)
        assert last.state == State.DONE
        assert inner.log.count() == 0
    assert desk.site.log.count("/allowed.png") == 1
    assert SiteDay.objects.get().requests >= before + 2


@needs_chromium
def test_endless_page_gives_no_screenshot_and_takes_only_its_time(desk, page, monkeypatch):
    monkeypatch.setattr("watchbook.systems.pages.jobs.shots.BROWSER_SECONDS", 1)
    desk.site.texts.files["/piers/4"] = plain("Words.", "<script>while (true) {}</script>")
    (run,) = shoot(desk)
    assert (run.state, PageShot.objects.count()) == (State.FAILED, 0)


def test_nothing_is_taken_without_chromium_or_for_an_older_version(desk, page, monkeypatch):
    (queued,) = JobRun.objects.filter(name=JOB)
    assert queued.args == {"page_id": page.pk, "number": 1}
    assert runner.run_now(JOB, {"page_id": page.pk, "number": 7}).progress == {}
    monkeypatch.setenv("SITES_CHROMIUM", "")
    assert runner.run_now(JOB, queued.args).progress == {}
    assert not PageShot.objects.exists()
    with pytest.raises(InvalidInput, match="SITES_CHROMIUM"):
        actions.change_site(page.site, {"takes_screenshots": True})
    assert "takes_screenshots" not in client_of(desk.user).get(f"/pages/sites/{page.site_id}/edit/").content.decode()


def test_broken_browser_is_a_failed_run_and_no_error_of_the_page(desk, page, monkeypatch):
    monkeypatch.setenv("SITES_CHROMIUM", "/nowhere/chromium")
    (run,) = shoot(desk)
    assert run.state == State.FAILED
    page.refresh_from_db()
    assert (page.error, PageShot.objects.count()) == ("", 0)


def references() -> int:
    return BlobReference.objects.filter(owner_kind="web_page_shot").count()


@needs_chromium
def test_screenshots_go_after_their_time_and_with_the_website(desk, page):
    shoot(desk)
    assert references() == 1
    with clock.set_to(desk.now + timedelta(days=options.SCREENSHOT_DAYS.value + 1)):
        assert runner.run_now("pages.forget").progress["screenshots"] == 1
    assert (PageShot.objects.count(), references()) == (0, 0)
    desk.site.texts.files["/piers/4"] = plain("The lift works again.")
    desk.read()
    shoot(desk)
    assert references() == 1
    actions.delete_site(page.site, desk.user)
    runner.run_now("pages.forget")
    assert (PageShot.objects.count(), references()) == (0, 0)


def test_difference_counts_pixels_and_takes_pictures_of_two_sizes(tmp_path):
    def picture(name: str, size: tuple[int, int], box: tuple[int, int, int, int] | None = None) -> str:
        made = Image.new("RGB", size, "white")
        if box:
            made.paste("black", box)
        made.save(tmp_path / name)
        return str(tmp_path / name)

    white, dot = picture("white.png", (100, 100)), picture("dot.png", (100, 100), (0, 0, 10, 10))
    tall = picture("tall.png", (100, 200), (0, 100, 100, 200))
    target = str(tmp_path / "out.png")
    assert difference_task({"input_path": white, "other": white, "output_path": target}) == {"percent": 0.0}
    assert difference_task({"input_path": dot, "other": white, "output_path": target}) == {"percent": 1.0}
    assert difference_task({"input_path": tall, "other": white, "output_path": target}) == {"percent": 50.0}
    assert Image.open(target).getpixel((50, 150)) == (200, 30, 60)
    (tmp_path / "no.png").write_bytes(b"no picture")
    assert difference_task({"input_path": str(tmp_path / "no.png"), "other": white, "output_path": target}) == {}
