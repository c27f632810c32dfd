"""Lists in a real browser: on a phone content comes first, filters are one button, and everything works by keyboard."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.driver import Visitor
from tests.browser.world import MEMBER, OPERATOR, Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
PHONE = {"width": 390, "height": 844}
LISTS = [
    ("/operations/runs/", OPERATOR),
    ("/audit/", OPERATOR),
    ("/nga/", OPERATOR),
    ("/reddit/", OPERATOR),
    ("/reddit/posts/", OPERATOR),
    ("/notes/", OPERATOR),
    ("/notes/notes/", OPERATOR),
    ("/sitemaps/", MEMBER),
    ("/deliveries/", MEMBER),
]
FIRST_ROW = "#main .rows > li, #main .gallery > li, #main tbody tr"


@pytest.mark.parametrize(("path", "who"), LISTS)
def test_list_on_a_phone_begins_with_content(desk: Desk, visitor: Callable[..., Visitor], path: str, who: str) -> None:
    person = visitor(desk, who)
    person.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    person.go(path)
    assert person.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    row = person.page.locator(FIRST_ROW).first.bounding_box()
    assert row is not None
    assert row["y"] < PHONE["height"]
    fields = person.page.locator(".filter-bar .select:visible, .filter-bar .input:visible")
    assert fields.count() <= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_list_has_no_accessibility_violations(desk: Desk, visitor: Callable[..., Visitor], scheme: str) -> None:
    # While the sheet fades in, its colours are mixed with those behind it.
    person = visitor(desk, OPERATOR, color_scheme=scheme, reduced_motion="reduce")
    person.go("/operations/runs/?state=done")
    assert Axe().run(person.page, "#main").violations_count == 0
    person.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    person.page.locator(".filter-sheet > summary").click()
    found = Axe().run(person.page, "#main")
    assert found.violations_count == 0, found.generate_report()


def test_filters_work_by_keyboard_on_a_phone(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    person = visitor(desk, OPERATOR)
    person.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    person.go("/operations/runs/")
    button = person.page.locator(".filter-sheet > summary")
    button.focus()
    person.page.keyboard.press("Enter")
    sheet = person.page.locator(".filter-form")
    sheet.wait_for()
    person.page.keyboard.press("Escape")
    sheet.wait_for(state="hidden")
    person.page.keyboard.press("Enter")
    person.page.get_by_label("State").select_option("done")
    person.page.get_by_role("button", name="Apply").focus()
    person.page.keyboard.press("Enter")
    person.arrives("**state=done**")
    assert button.inner_text().strip() == "Filters (1)"
    person.page.get_by_role("link", name="Remove filter Done").click()
    person.page.wait_for_url(lambda address: "state=" not in address)


def test_export_menu_says_how_many_rows_the_file_has(
    desk: Desk, visitor: Callable[..., Visitor], tmp_path: Path
) -> None:
    person = visitor(desk, MEMBER)
    person.go("/sitemaps/?show=attention")
    person.page.get_by_text("Export", exact=True).click()
    link = person.page.locator(".drop-panel a", has_text="CSV")
    said = int(link.locator("small").inner_text().split()[0])
    with person.page.expect_download() as download:
        link.click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert (file.name.partition("-")[0], file.suffix) == ("monitors", ".csv")
    rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8"))))
    assert len(rows) == said == person.page.locator("tbody tr").count() > 0


def test_selected_monitors_are_paused_together(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    person = visitor(desk, MEMBER)
    person.go("/sitemaps/?show=attention")
    actions = person.page.locator(".bulk .btn")
    assert not actions.first.is_visible()
    boxes = person.page.locator("tbody input[type=checkbox]")
    boxes.nth(0).check()
    person.page.get_by_text("1 selected").wait_for()
    boxes.nth(1).check()
    person.press("Pause")
    person.sees("Done for 2 monitors.")
    person.go("/sitemaps/?show=paused")
    assert person.page.locator("tbody tr").count() >= 2
    person.page.get_by_label("Select all").check()
    person.press("Resume")
    person.sees("Done for")


def test_rows_are_selected_by_keys_and_saved_together(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    person = visitor(desk, MEMBER)
    person.go("/reddit/posts/")
    page = person.page
    bar = page.locator("#main .bulk")
    assert bar.get_by_role("button", name="Save to library").is_hidden()
    titles = page.locator("#main .rows-title").all_inner_texts()[:2]
    for key in "jxjx":
        page.keyboard.press(key)
    assert bar.locator("[data-count]").inner_text() == "2 selected"
    found = Axe().run(page, "#main")
    assert found.violations_count == 0, found.generate_report()
    bar.get_by_role("button", name="Mark read").click()
    page.get_by_text("marked as read").or_(page.get_by_text("Nothing in the inbox was unread.")).first.wait_for()
    for key in "jxjx":
        page.keyboard.press(key)
    bar.get_by_role("button", name="Save to library").click()
    page.wait_for_url("**/library/clip/**")
    shown = page.locator("#main").inner_text()
    assert all(title.strip() in shown for title in titles)


@pytest.mark.parametrize("path", ["/nga/", "/notes/notes/", "/reddit/", "/operations/jobs/"])
def test_selected_rows_keep_their_bar_on_a_phone(desk: Desk, visitor: Callable[..., Visitor], path: str) -> None:
    person = visitor(desk, OPERATOR)
    person.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    person.go(path)
    boxes = person.page.locator("#main [data-bulk] [type=checkbox]:not([data-all])")
    boxes.first.check()
    bar = person.page.locator("#main .bulk")
    assert bar.locator("[data-count]").inner_text() == "1 selected"
    assert bar.locator(".btn:visible").count() >= 2
    assert person.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    bar.locator("[data-all]").check()
    assert boxes.count() == person.page.locator("#main [data-bulk] [type=checkbox]:checked:not([data-all])").count()
