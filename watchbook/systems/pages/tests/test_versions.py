"""Versions of single pages: kept when they differ, noise left out, failures never stored."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.core.jobs import runner
from watchbook.core.jobs.models import JobRun
from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.pages import actions, inbox
from watchbook.systems.pages.models import Page, Site, SiteDay
from watchbook.systems.pages.tests.conftest import Desk

pytestmark = pytest.mark.django_db

LONG = [
    f"Paragraph {n} of the page tells about pier {n} and its ferries, in a sentence of some length." for n in range(9)
]


def test_first_version_has_fields_and_text(desk: Desk) -> None:
    page = desk.watch("/fares", title="Fares", description="All fares", price="3.90", robots="noindex", paragraphs=LONG)
    desk.read()
    (version,) = desk.versions(page)
    page.refresh_from_db()
    assert version.fields["title"] == "Fares"
    assert (version.fields["price"], version.fields["currency"]) == ("3.90", "EUR")
    assert version.fields["description"] == "All fares"
    assert (page.is_noindex, page.status, page.result) == (True, 200, "ok")
    assert all(paragraph in desk.texts(page)[0] for paragraph in LONG)


def test_noise_alone_makes_no_version_after_two_looks(desk: Desk) -> None:
    page = desk.watch("/fares", paragraphs=LONG)
    for _ in range(5):
        desk.read()
    page.refresh_from_db()
    assert (page.looks, page.version_count) == (5, 1)
    assert page.mask["slots"] or page.mask["templates"]


def test_changed_sentence_beside_noise_is_one_version_with_counts(desk: Desk) -> None:
    page = desk.watch("/fares", title="Fares", price="3.90", paragraphs=LONG)
    desk.read()
    desk.site.write("/fares", paragraphs=[LONG[0], "The last ferry leaves at 22:40 now.", *LONG[2:]], price="4.20")
    desk.read()
    desk.read()
    first, second = desk.versions(page)
    assert second.changed_fields == ["price"]
    assert (second.words_added, second.words_removed) > (0, 0)
    assert "22:40" in desk.texts(page)[1]
    assert "22:40" not in desk.texts(page)[0]
    assert [entry.kind for entry in StreamEntry.objects.filter(source="pages")] == ["changed"]
    assert [hit.title for hit in find("22:40", scopes=[page.site.scope]).items] == ["Fares"]
    assert first.is_whole
    assert not second.is_whole


def test_inbox_shows_the_words_and_fields_of_a_change_to_its_owner(desk: Desk, bob: User) -> None:
    page = desk.watch("/fares", title="Fares", price="3.90", paragraphs=LONG)
    desk.read()
    desk.site.write("/fares", paragraphs=[LONG[0], "The last ferry leaves at 22:40 now.", *LONG[2:]], price="4.20")
    desk.read()
    desk.read()
    entry = StreamEntry.objects.get(source="pages", kind="changed")
    shown = inbox.detail(entry, desk.user)
    assert shown is not None
    assert shown.compared is not None
    assert (shown.compared.old, shown.compared.new) == ("Version 1", "Version 2")
    pieces = [piece for part in shown.compared.difference.paragraphs for piece in part.segments]
    assert any("22" in piece.text for piece in pieces if piece.kind == "ins")
    assert "<del>3.90</del>" in shown.html
    assert shown.history_url == f"/pages/{page.pk}/"
    assert inbox.detail(entry, bob) is None
    entry.event_key = "9"
    gone = inbox.detail(entry, desk.user)
    assert gone is not None
    assert gone.compared is None


def test_version_that_was_stored_by_difference_is_small(desk: Desk) -> None:
    page = desk.watch("/fares", paragraphs=LONG * 5)
    desk.read()
    for number in range(12):
        desk.site.write("/fares", paragraphs=[f"Edition {number} of the fares.", *LONG * 5])
        desk.read()
    versions, texts = desk.versions(page), desk.texts(page)
    assert [version.number for version in versions if version.is_whole] == [1, 11]
    assert all(f"Edition {number} " in texts[number + 1] for number in range(12))
    assert max(len(version.data) for version in versions if not version.is_whole) < 200


@pytest.mark.parametrize("mood", ["wall", "login", "soft_404", "trouble", "huge", "bomb", "broken", "empty"])
def test_page_that_cannot_be_read_keeps_its_versions_and_says_why(desk: Desk, mood: str) -> None:
    page = desk.watch("/fares", paragraphs=LONG)
    desk.read()
    desk.site.write("/fares", mood=mood)
    desk.read()
    page.refresh_from_db()
    assert page.version_count == 1
    assert page.error
    assert page.result in ("blocked", "failed")
    assert (page.fate, page.status) == ("", 200)
    desk.site.write("/fares", mood="plain")
    desk.read(after=timedelta(days=1))
    page.refresh_from_db()
    assert (page.result, page.error, page.version_count) == ("ok", "", 1)


def test_page_that_is_gone_is_a_version_with_its_status(desk: Desk) -> None:
    page = desk.watch("/fares", title="Fares", paragraphs=LONG)
    desk.read()
    desk.site.write("/fares", mood="gone")
    desk.read()
    page.refresh_from_db()
    assert (page.result, page.status, page.version_count, page.title) == ("missing", 410, 2, "Fares")
    assert "status" in desk.versions(page)[1].changed_fields


def test_redirect_is_a_version_with_its_target(desk: Desk) -> None:
    page = desk.watch("/old", paragraphs=LONG)
    desk.read()
    desk.site.write("/new", paragraphs=LONG)
    del desk.site.texts.pages["/old"]
    desk.site.redirect("/old", "/new")
    desk.read()
    page.refresh_from_db()
    assert (page.result, page.status) == ("redirect", 301)
    assert desk.versions(page)[1].fields["final_url"].endswith("/new")


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "windows-1251", "utf-8"])
def test_pages_in_other_encodings_are_read(desk: Desk, encoding: str) -> None:
    text = "Последний паром уходит в десять вечера." if encoding == "windows-1251" else "末班渡輪於晚上十時四十分開出。"
    page = desk.watch(
        "/zh", title="時刻表" if encoding != "windows-1251" else "Расписание", paragraphs=[text], encoding=encoding
    )
    desk.read()
    assert text in desk.texts(page)[0]


def test_robots_txt_is_obeyed_without_a_request_to_the_page(desk: Desk) -> None:
    desk.site.robots_body = b"User-agent: *\nDisallow: /private/\n"
    page = desk.watch("/private/fares", paragraphs=LONG)
    desk.read()
    page.refresh_from_db()
    assert (page.result, page.error) == ("blocked", "robots.txt does not allow this page.")
    assert desk.site.log.count("/private/fares") == 0


def test_budget_of_a_day_is_never_exceeded_and_all_requests_are_counted(desk: Desk) -> None:
    pages = [desk.watch(f"/p/{n}", title=f"Page {n}", paragraphs=LONG) for n in range(6)]
    with clock.set_to(desk.now):
        actions.change_site(pages[0].site, {"daily_requests": 5})
    for _ in range(4):
        desk.read(after=timedelta(minutes=10))
    day = SiteDay.objects.get()
    assert day.requests == 5 == desk.site.log.count()
    desk.read(after=timedelta(days=1))
    assert SiteDay.objects.filter(requests__lte=5).count() == 2
    assert Page.objects.exclude(last_read_at=None).count() >= 4


def test_outage_stops_after_three_requests_and_blames_no_page(desk: Desk) -> None:
    pages = [desk.watch(f"/p/{n}", paragraphs=LONG) for n in range(6)]
    desk.read()
    for n in range(6):
        desk.site.write(f"/p/{n}", mood="trouble")
    before = desk.site.log.count()
    desk.read()
    assert desk.site.log.count() - before == 3
    assert Page.objects.filter(failures__gt=0).count() == 0
    assert Page.objects.filter(version_count=1).count() == len(pages)


@pytest.mark.parametrize(
    "text",
    ["末班渡轮于晚上十时四十分开出。", "Последний паром уходит в десять вечера.", "Fähre über den Fluß: ä ö ü Ä Ö Ü"],
)
def test_one_broken_byte_leaves_all_other_characters_as_they_are(desk: Desk, text: str) -> None:
    page = desk.watch("/fares", title=text, paragraphs=[text, *LONG])
    desk.read()
    desk.site.write("/fares", has_stray_byte=True)
    desk.read()
    assert len(desk.versions(page)) == 1
    assert text in desk.texts(page)[0]
    assert desk.versions(page)[0].fields["title"] == text


def test_garbled_robots_txt_is_an_outage_and_no_rule(desk: Desk) -> None:
    """A text with a null character cannot be stored on PostgreSQL, and says nothing about what the site allows."""
    page = desk.watch("/a", title="A", paragraphs=["Words."])
    desk.site.faults.on("*").answer(200, b"\x00\xff\xfe{garbled")
    desk.read(timedelta(hours=1))
    page.refresh_from_db()
    assert (page.failures, page.last_read_at) == (0, None)
    assert page.site.robots == ""
    assert "cannot be read" in page.site.last_error
    desk.site.faults.clear()
    desk.read(timedelta(hours=2))
    page.refresh_from_db()
    assert page.last_read_at is not None


def test_website_whose_run_broke_off_is_read_again(desk: Desk) -> None:
    page = desk.watch("/a", title="A", paragraphs=["Words."])
    with clock.set_to(desk.now):
        runner.run_now("pages.due")
        JobRun.objects.filter(name="pages.read").update(state="failed", error="crashed", error_code="crashed")
        runner.run_now("pages.due")
    site = Site.objects.get()
    assert (site.failures, site.last_error) == (1, "The last reading broke off.")
    assert site.next_at > desk.now
    desk.read(timedelta(hours=1))
    page.refresh_from_db()
    assert page.last_read_at is not None
    assert Site.objects.get().last_error == ""
