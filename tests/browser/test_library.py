"""The library in a real browser: a tree by keyboard and by drag, two people on one page, trash, files, a migration."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.driver import Visitor
from tests.browser.library_desk import ADA, MOSS, OLD_FILES, LibraryDesk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]


@pytest.fixture
def moss(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(shelf, MOSS)


def row(person: Visitor, title: str):
    return person.page.locator("#tree .tree-row", has_text=title).first


def titles(person: Visitor) -> list[str]:
    """The tree as it is shown, each title behind as many dots as it is deep."""
    script = """rows => rows.filter(row => row.checkVisibility()).map(row => {
        let depth = -1;
        for (let at = row.closest("ul"); at; at = at.parentElement.closest("ul")) depth += 1;
        return ".".repeat(depth) + row.textContent.trim();
    })"""
    found: list[str] = person.page.locator("#tree li[data-page] > .tree-row").evaluate_all(script)
    return found


def make(person: Visitor, button: str, title: str) -> None:
    """By keyboard alone: the button, the title, Enter."""
    person.page.locator("#space").get_by_role("button", name=button, exact=True).first.focus()
    person.page.keyboard.press("Enter")
    person.page.locator("#new-page[open]").wait_for()
    person.page.keyboard.type(title)
    person.page.keyboard.press("Enter")
    expect(person.page.locator("#space h1, #space .title-input").first).to_be_visible()
    person.arrives("**/library/pages/**")


def test_tree_is_built_by_keyboard_and_moved_by_drag(ada: Visitor) -> None:
    ada.go("/library/")
    ada.press("New workspace")
    ada.page.get_by_label("Workspace name").fill("Quay works")
    ada.press("Create workspace")
    ada.sees("This space is empty")
    space = ada.path
    make(ada, "New folder", "North")
    north = ada.path
    ada.sees("This folder is empty")
    make(ada, "New page", "Lamp list")
    ada.go(north)
    make(ada, "New folder", "Quay 7")
    ada.go(space)
    make(ada, "New folder", "South")
    ada.go(space)
    assert titles(ada) == ["North", "South"]

    # Keys: down to the first row, open it, walk into it, and back.
    row(ada, "North").focus()
    ada.page.keyboard.press("ArrowRight")
    expect(row(ada, "Lamp list")).to_be_visible()
    ada.page.keyboard.press("ArrowDown")
    ada.page.keyboard.press("ArrowDown")
    expect(row(ada, "Quay 7")).to_be_focused()
    ada.page.keyboard.press("F2")
    ada.page.locator("#rename-page[open]").wait_for()
    ada.page.keyboard.type("Quay 8")
    ada.page.keyboard.press("Enter")
    ada.sees("Renamed.")
    ada.go(space)
    row(ada, "North").focus()
    ada.page.keyboard.press("ArrowRight")
    expect(row(ada, "Quay 8")).to_be_visible()

    # Drag: a folder into another one; the tree and the list follow without a new page.
    row(ada, "Quay 8").drag_to(row(ada, "South"))
    ada.page.locator(".toast", has_text="Quay 8 was moved").wait_for()
    assert titles(ada) == ["North", ".Lamp list", "South", ".Quay 8"]
    with ada.page.expect_event("load"):
        ada.page.locator(".toast").get_by_role("button", name="Undo").click()
    ada.go(north)
    assert titles(ada) == ["North", ".Lamp list", ".Quay 8", "South"]

    # A file is not taken by the top level: there is no mark, and nothing moves.
    row(ada, "Lamp list").drag_to(row(ada, "South"), target_position={"x": 60, "y": 1})
    ada.go(north)
    assert titles(ada) == ["North", ".Lamp list", ".Quay 8", "South"]


def test_two_editors_at_the_same_time_lose_nothing(shelf: LibraryDesk, ada: Visitor, moss: Visitor) -> None:
    path = shelf.places["nested"]
    for person in (ada, moss):
        person.go(path)
    ada.page.locator("#text p").first.click()
    ada.page.keyboard.press("Control+End")
    ada.page.keyboard.press("Enter")
    ada.page.keyboard.type("Ada wrote this.")
    expect(ada.page.locator("[data-state]")).to_contain_text("Saved")
    expect(ada.page.locator("[data-version-shown]")).to_have_text("2")

    # Different words: both are kept, and the text of the other writer appears beside the own one.
    moss.page.locator("#text p").first.click()
    moss.page.keyboard.press("Control+Home")
    moss.page.keyboard.type("Moss says: ")
    expect(moss.page.locator("[data-version-shown]")).to_have_text("3")
    expect(moss.page.locator("#text")).to_contain_text("Ada wrote this.")
    moss.page.keyboard.type("on Monday ")
    expect(moss.page.locator("[data-version-shown]")).to_have_text("4")
    expect(moss.page.locator("#text p").first).to_have_text("Moss says: on Monday Every 20 minutes.")

    # The same words: a choice.
    change = "([from, to]) => { const editor = document.getElementById('text').editor;"
    change += " editor.commands.setContent(editor.getHTML().replace(from, to), {emitUpdate: true}); }"
    ada.page.evaluate(change, ["20 minutes", "30 minutes"])
    expect(ada.page.locator("[data-version-shown]")).to_have_text("5")
    expect(ada.page.locator("#text p").first).to_have_text("Moss says: on Monday Every 30 minutes.")
    moss.page.evaluate(change, ["20 minutes", "40 minutes"])
    moss.page.locator("#conflict").wait_for(state="visible")
    moss.sees(f"{ADA} saved this page while you were editing")
    expect(moss.page.locator("[data-state]")).to_contain_text("Not saved yet")
    moss.press("Merge")
    moss.page.locator("[data-side]").first.wait_for()
    expect(moss.page.locator("[data-side=theirs]")).to_contain_text("30 minutes")
    moss.page.get_by_label("Keep mine").check()
    moss.press("Save selection")
    moss.page.locator("#editor[data-ready]").wait_for()
    assert moss.page.locator("#text p").all_inner_texts()[:2] == [
        "Moss says: on Monday Every 40 minutes.",
        "Ada wrote this.",
    ]

    moss.go(f"{path}history/")
    expect(moss.page.locator(".diff ins").first).to_contain_text("40")
    moss.go(f"{path}history/?new=1")
    moss.press("Restore this version")
    moss.sees("Version 1 restored.")
    assert moss.page.locator("#text").inner_text().strip() == "Every 20 minutes."


def test_editor_keeps_the_markup_of_its_toolbar(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["empty"])
    make(ada, "New page", "Pier notes")
    page = ada.page
    page.locator("#text").click()
    page.keyboard.type("Times")
    page.get_by_label("Paragraph style").select_option("h2")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.get_by_label("List", exact=True).click()
    page.keyboard.type("one")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    page.get_by_label("Table", exact=True).click()
    page.keyboard.type("Line")
    page.locator("#text").press("Control+s")
    expect(page.locator("[data-version-shown]")).not_to_have_text("1")
    expect(page.locator("[data-state]")).to_contain_text("Saved")

    page.reload()
    text = page.locator("#text")
    assert text.locator("h2").all_inner_texts() == ["Times"]
    assert text.locator(":scope > ul > li").all_inner_texts() == ["one", "two"]
    assert text.locator("table th").first.inner_text().strip() == "Line"
    assert text.locator("p:empty").count() == 0
    ada.page.locator("details.menu-box summary").click()
    ada.follow("History")
    ada.sees("Line")


def test_automatic_saves_share_a_version_manual_saves_do_not(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["empty"])
    make(ada, "New page", "Tide log")
    page, version = ada.page, ada.page.locator("[data-version-shown]")
    page.locator("#text").click()
    for number, words in enumerate(("High at six. ", "Low at noon. ", "High again. "), start=2):
        page.keyboard.type(words)
        expect(version).to_have_text(str(number))
    page.locator("#text").press("Control+s")
    page.wait_for_load_state("networkidle")
    page.keyboard.type("And fog.")
    expect(version).to_have_text("5")
    page.keyboard.type(" Much fog.")
    ada.press("Save")
    expect(version).to_have_text("6")
    expect(page.locator("#text")).to_be_focused()
    # An input clips what is taller than its line; g, p and y need more than the tight line of a heading.
    line = "style => parseFloat(style.lineHeight) / parseFloat(style.fontSize)"
    assert page.locator(".title-input").evaluate(f"input => ({line})(getComputedStyle(input))") > 1.35
    page.locator(".title-input").press_sequentially("s")
    page.locator(".title-input").press("Control+s")
    expect(version).to_have_text("7")
    page.locator("details.menu-box summary").click()
    ada.follow("History")
    ada.sees("5 versions")
    shown = page.locator(".version-table tbody tr").all_inner_texts()
    said = ["saved", "saved", "autosaved", "saved", "created"]
    assert [line.rsplit(" · ", 1)[1].strip() for line in shown] == said
    assert [line.split("Version ")[1].split()[0] for line in shown] == ["7", "6", "5", "4", "1"]


def test_space_is_archived_unarchived_and_deleted_by_name(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go("/library/")
    ada.page.locator("details.fold summary", has_text="Add space").first.click()
    ada.page.get_by_label("Space name").first.fill("Lamps")
    ada.press("Add")
    ada.follow("Members and files")
    ada.press("Archive")
    ada.sees("Everything here is read-only.")
    ada.press("Unarchive")
    ada.sees("Lamps is no longer archived.")
    ada.page.get_by_label("Name: Lamps").fill("Lamps")
    ada.press("Delete")
    ada.sees("Lamps moved to trash.")
    ada.page.locator("summary", has_text="Archived and deleted").click()
    ada.page.get_by_role("button", name="Restore Lamps").click()
    ada.sees("Lamps was restored.")


def test_pin_trash_restore_and_move_by_dialog(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["folder"])
    select(ada, "Interview notes, pier 4")
    ada.page.locator(".bulk").get_by_role("button", name="Pin", exact=True).click()
    ada.sees("Pinned for all members")
    expect(ada.page.locator(".pin", has_text="Interview notes")).to_be_visible()

    select(ada, "Interview notes, pier 4")
    ada.page.locator(".bulk").get_by_role("button", name="Move to…").click()
    ada.page.locator("#move-dialog[open]").wait_for()
    ada.page.keyboard.type("Autumn")
    target = ada.page.locator("#move-dialog .tree-row", has_text="Autumn")
    expect(ada.page.locator("#move-dialog .tree-row")).to_have_count(1)
    target.click()
    ada.press("Move to Autumn")
    ada.sees("1 page was moved.")
    ada.follow("Interview notes, pier 4")
    ada.page.locator("#text").wait_for()
    ada.page.locator("details.menu-box summary").click()
    ada.press("Move to trash")
    ada.sees("Interview notes, pier 4 moved to trash")
    ada.follow("Trash")
    ada.sees("A page that nobody needs any more")
    ada.press("Restore Interview notes, pier 4")
    ada.sees("Interview notes, pier 4 was restored.")
    assert ada.page.locator(".title-input").input_value() == "Interview notes, pier 4"


def select(person: Visitor, title: str) -> None:
    person.page.get_by_role("checkbox", name=f"Select {title}", exact=True).check()


def test_exported_pages_can_be_imported(shelf: LibraryDesk, ada: Visitor, tmp_path: Path) -> None:
    ada.go(f"{shelf.places['space']}settings/")
    with ada.page.expect_download() as coming:
        ada.follow("Export")
    file = tmp_path / coming.value.suggested_filename
    coming.value.save_as(file)
    names = zipfile.ZipFile(file).namelist()
    assert "Reports/2026/Winter timetable/冬季航线说明.md" in names

    ada.go(shelf.places["workspace"])
    ada.page.get_by_label("Space name").fill("Second")
    ada.press("Add space")
    ada.sees("This space is empty")
    ada.follow("Import")
    ada.page.get_by_label("Zip, Markdown, HTML or Word file").set_input_files(file)
    ada.press("Check file")
    ada.sees("pages can be imported. Nothing was written.")
    # The file is still chosen.
    ada.press("Import")
    ada.sees("pages were imported.")
    ada.follow("Second")
    ada.follow("Reports")
    ada.follow("2026")
    ada.follow("Winter timetable")
    ada.follow("Harbour timetable, winter")
    assert "theatre ends later" in ada.page.locator("#text").inner_text()


def test_migration_shows_progress_and_is_rolled_back(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(f"{shelf.places['old']}migrations/")
    ada.sees(f"{OLD_FILES} pages to move")
    ada.press(f"Move {OLD_FILES} pages")
    ada.sees("Moving top-level pages into a folder")
    # The page asks by itself until the job is over.
    expect(ada.page.locator("#work .badge")).to_have_text("Done", timeout=60_000)
    expect(ada.page.locator("#work")).to_contain_text(f"{OLD_FILES:,} of {OLD_FILES:,}")
    ada.sees("Every page can be reached from the top level")
    assert ada.page.get_by_text("Not passed").count() == 0
    ada.go(shelf.places["old"])
    assert titles(ada) == ["Unsorted pages"]
    ada.go(f"{shelf.places['old']}migrations/")
    ada.page.locator("tbody th a").first.click()
    ada.press("Roll back")
    expect(ada.page.locator("#work .badge")).to_have_text("Rolled back", timeout=60_000)
    ada.go(shelf.places["old"])
    ada.sees("Note 0001")
