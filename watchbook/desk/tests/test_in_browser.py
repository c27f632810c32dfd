"""The shared pages in a real Chromium: widths, themes, keys, and that the policy has nothing to complain about."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client

from watchbook.base import clock
from watchbook.base.testing import pages
from watchbook.core import registry
from watchbook.core.alerts.models import Alert
from watchbook.core.stream.models import StreamEntry

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pages.needs_chromium,
]


@pytest.fixture(scope="module")
def chromium():
    with pages.started() as found:
        yield found


@pytest.fixture
def filled(db):
    now = clock.now()
    StreamEntry.objects.bulk_create(
        StreamEntry(
            source="tides",
            kind="new",
            title="[攻略] 新手渔夫 " + "verylongwordwithoutanyblank" * 4,
            summary="run 4182",
            url_path="/alerts/",
            scope="members",
            object_id=str(number),
            occurred_at=now - timedelta(hours=7 * number),
            created_at=now,
        )
        for number in range(60)
    )
    Alert.objects.create(key="a", live_slot="a", level="P1", title="x" * 200, message="A message " * 30)


@pytest.fixture
def visit(chromium, live_server, operator, systems, filled):
    """Opens a page as the operator and returns it; what the console said is in `page.said`."""
    client = Client()
    client.force_login(operator)
    opened = []

    def open_page(path, *, width=1280, language="en-GB", signed_in=True, **options):
        context = chromium.new_context(viewport={"width": width, "height": 800}, locale=language, **options)
        opened.append(context)
        if signed_in:
            pages.sign_in(context, client, live_server.url)
        page = context.new_page()
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(live_server.url + path)
        return page

    yield open_page
    for context in opened:
        context.close()


@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
def test_no_page_scrolls_sideways_or_offends_the_policy(visit, language):
    for path, signed_in in (("/", True), ("/keys/", True), ("/accounts/login/", False)):
        page = visit(path, language=language, signed_in=signed_in)
        for width in (320, 390, 768, 1024, 1152, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wider <= 0, (path, width)
        assert page.said == []


def test_exactly_one_drawing_of_a_chart_is_shown(visit):
    page = visit("/")
    for width, size in ((390, "d-s"), (768, "d-m"), (1280, "d-l")):
        page.set_viewport_size({"width": width, "height": 800})
        drawings = page.locator(".chart > svg").all()
        assert [one.get_attribute("class") for one in drawings if one.is_visible()] == [size]


DOTS = """() => [...document.querySelectorAll(".evidence > :not(.icon)")].map((item) => {
  const dot = getComputedStyle(item, "::before");
  const after = getComputedStyle(item, "::after").content;
  const line = item.parentElement.getBoundingClientRect();
  const edge = line.left + parseFloat(getComputedStyle(item.parentElement).paddingLeft);
  const starts = item.getBoundingClientRect().left - edge < 1;
  const clip = getComputedStyle(item.parentElement).clipPath;
  const hidden = dot.content === "none" || (parseFloat(dot.left) + parseFloat(dot.width) < -4 && clip !== "none");
  return {after, starts, hidden, drawn: dot.content !== "none"};
})"""


def test_no_line_of_evidence_begins_or_ends_with_a_dot(visit):
    page = visit("/", width=390)
    items = page.evaluate(DOTS)
    assert {item["after"] for item in items} == {"none"}
    assert all(item["hidden"] for item in items if item["starts"])
    assert any(item["starts"] and item["drawn"] for item in items), "a line must break for this test to see it"
    assert any(item["drawn"] and not item["starts"] for item in items)


def test_six_cards_show_the_icon_of_each_source_in_one_line(visit, systems, monkeypatch):
    names = ("Forum", "Websites", "Web pages", "Reddit", "Notes", "Library")
    six = tuple(replace(systems[0], slug=f"s{place}", title=name) for place, name in enumerate(names))
    monkeypatch.setattr(registry, "sources", lambda: six)
    page = visit("/")
    for width in (390, 1024, 1100, 1247, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        heads = page.locator(".desk-name").all()
        assert len(heads) == 6
        assert all(head.locator("span .icon").first.is_visible() for head in heads), width
        assert {head.bounding_box()["height"] < 30 for head in heads} == {True}, width


def test_keys_open_the_list_the_search_and_a_place(visit):
    page = visit("/")
    page.keyboard.press("?")
    assert page.locator("dialog#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog#keys").is_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.locator(".log-item.is-marked").count() == 1
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("gh?")
    assert page.locator("dialog#keys").is_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/alerts/")


def test_theme_changes_immediately_and_is_kept(visit, operator):
    page = visit("/keys/", color_scheme="light")
    with page.expect_response("**/theme/"):
        page.get_by_role("button", name="Dark theme").first.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    operator.refresh_from_db()
    assert operator.theme == "dark"


def test_switches_work_without_any_script(visit, operator):
    page = visit("/keys/", java_script_enabled=False)
    page.get_by_role("button", name="中文").first.click()
    assert page.locator("h1").inner_text() == "键盘"
    page.get_by_role("button", name="深色主题").first.click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.get_by_role("link", name="键盘").click()
    assert page.url.endswith("/keys/")


def test_toast_shows_text_never_markup(visit):
    page = visit("/keys/")
    page.evaluate("document.dispatchEvent(new CustomEvent('toast', {detail: {text: '<img src=x onerror=alert(1)>'}}))")
    assert page.locator(".toast span").inner_text() == "<img src=x onerror=alert(1)>"
    assert page.locator(".toast img").count() == 0


def test_menu_of_a_phone_opens_and_closes(visit):
    page = visit("/keys/", width=390)
    assert page.locator(".topbar > .nav").is_hidden()
    page.get_by_label("Menu").click()
    assert page.locator(".menu-panel").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".menu-panel").is_hidden()


def test_failure_of_a_part_is_said_in_the_page(visit):
    page = visit("/keys/")
    page.evaluate("htmx.ajax('GET', '/nothing/here/', {target: '#main'}).catch(() => {})")
    page.locator("#failure").wait_for(state="visible")
    assert page.locator("#failure code").inner_text() != "–"
    assert page.locator("h1").inner_text() == "Keyboard"
