"""The inbox in a real Chromium: read by keyboard, mark, save, live count, at two widths and in both languages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from django.urls import get_resolver

from watchbook.base import clock
from watchbook.base.testing import pages
from watchbook.core import registry
from watchbook.core.registry import SearchKind, Source
from watchbook.core.stream import reading
from watchbook.core.stream.entries import Entry, record

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pages.needs_chromium]


@pytest.fixture(scope="module")
def chromium():
    with pages.started() as found:
        yield found


def add(number, title, **given):
    fields = {"summary": "Some words", "kind": "new", "data": {}, **given}
    now = clock.now() - timedelta(minutes=number)
    record([Entry("tides", fields["kind"], title, fields["summary"], "/alerts/", "members", "tide", str(number), now,
                  fields["data"])])  # fmt: skip


@pytest.fixture
def visit(chromium, live_server, operator, monkeypatch):
    """Opens the inbox as the operator; what the console said is in `page.said`."""
    made = (
        Source("tides", "Tides", "stream", home_url="alerts", stream_kinds=(("new", "New tide"),),
               search_kinds=(SearchKind("tide", "Tides"),), clip="watchbook.desk.tests.conftest:full_card"),
        Source("library", "Library", "library", clip_page="library:clip"),
    )  # fmt: skip
    assert get_resolver().url_patterns  # of the real systems
    assert registry.jobs()
    monkeypatch.setattr(registry, "sources", lambda: made)
    for number in range(3):
        add(number, f"Tide {number}")
    for number in range(10, 14):
        add(number, "Spring tide", data={"added": 2})
    client, opened = Client(), []
    client.force_login(operator)

    def open_page(path="/stream/", *, width=1280, language="en-GB", **options):
        context = chromium.new_context(viewport={"width": width, "height": 800}, locale=language, **options)
        opened.append(context)
        pages.sign_in(context, client, live_server.url)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(live_server.url + path)
        return page

    yield open_page
    for context in opened:
        context.close()


def unread(operator):
    return str(reading.count_unread(reading.reader_of(operator)))


def test_keys_read_mark_select_save_and_filter(visit, operator):
    page = visit()
    page.locator("#read-title", has_text="Tide 0").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.locator("#read-title", has_text="Tide 1").wait_for()
    with page.expect_response("**/stream/mark/"):
        page.keyboard.press("e")
    page.locator(".toast", has_text="1 entry marked as read.").wait_for()
    assert unread(operator) == "6"
    assert page.locator(".nav [data-unread-count]").inner_text() == "6"
    assert page.locator(".mail--new").count() == 3
    page.keyboard.press("k")
    page.locator("#read-title", has_text="Tide 0").wait_for()
    page.keyboard.press("x")
    assert page.locator("[data-selected]").inner_text() == "1 selected"
    page.locator(".mail", has_text="Spring tide").get_by_role("checkbox").check()
    with page.expect_response("**/stream/mark/"):
        page.keyboard.press("e")
    page.locator(".toast", has_text="5 entries marked as read.").wait_for()
    assert unread(operator) == "1"
    page.keyboard.press("u")
    page.wait_for_url("**/stream/?show=unread")
    assert page.locator(".mail").count() == 1
    page.locator("#read-title", has_text="Tide 2").wait_for()
    page.keyboard.press("s")
    page.wait_for_url("**/library/clip/?kind=tide&id=2")


def test_new_entries_are_counted_and_no_row_moves(visit):
    page = visit()
    page.locator("#read-title").wait_for()
    before = page.locator(".mail-line > a").all_inner_texts()
    add(-1, "Storm tide")
    page.evaluate("htmx.ajax('GET', live.getAttribute('hx-get'), {target: live, swap: 'outerHTML'})")
    page.get_by_text("New: 1").wait_for()
    assert page.locator(".mail-line > a").all_inner_texts() == before
    page.get_by_text("New: 1").click()
    page.locator(".mail", has_text="Storm tide").wait_for()


def test_phone_shows_the_list_or_the_entry(visit):
    page = visit(width=390, has_touch=True)
    assert page.locator(".mail").first.is_visible()
    assert page.locator(".mail").first.bounding_box()["y"] < 500
    page.locator(".mail-line > a").first.click()
    page.locator("#read-title", has_text="Tide 0").wait_for()
    assert not page.locator(".panes-list").is_visible()
    page.get_by_role("link", name="Inbox", exact=True).locator("visible=true").last.click()
    page.locator(".mail").first.wait_for()


@pytest.mark.parametrize(("language", "theme"), [("en-GB", "light"), ("zh-CN", "dark")])
def test_pages_have_no_faults_of_access(visit, language, theme):
    for width in (1280, 390):
        page = visit(width=width, language=language, color_scheme=theme)
        page.locator(".mail").first.wait_for()
        if width == 1280:
            page.locator("#read-title").wait_for()
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        for narrow in (320, width):
            page.set_viewport_size({"width": narrow, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert page.said == []
    assert ("收件箱" in page.inner_text("h1")) == (language == "zh-CN")
