"""The library in a real browser: a tree by keyboard and by drag, two people on one page, trash, files, a migration."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.driver import Visitor
from tests.browser.library_desk import ADA, MOSS, OLD_FILES, LibraryDesk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def shelf() -> Iterator[LibraryDesk]:
    with tempfile.TemporaryDirectory(prefix="watchbook-library-") as folder:
        made = LibraryDesk(Path(folder))
        made.fill()
        with made.running():
            yield made


@pytest.fixture
def ada(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(shelf, ADA)


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
    person.page.wait_for_url("**/library/pages/**")


def test_a_tree_is_built_by_keyboard_and_arranged_by_drag(ada: Visitor) -> None:
    ada.go("/library/")
    ada.press("New workspace")
    ada.page.get_by_label("Name of the workspace").fill("Quay works")
    ada.press("Make the workspace")
    ada.sees("This space is empty")
    space = ada.path
    make(ada, "New folder", "North")
    north = ada.path
    ada.sees("This folder is empty")
    make(ada, "New file", "Lamp list")
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


def test_two_people_write_and_nothing_is_lost(shelf: LibraryDesk, ada: Visitor, moss: Visitor) -> None:
    path = shelf.places["nested"]
    for person in (ada, moss):
        person.go(path)
    ada.page.locator("#text p").first.click()
    ada.page.keyboard.press("Control+End")
    ada.page.keyboard.press("Enter")
    ada.page.keyboard.type("Ada wrote this.")
    expect(ada.page.locator("[data-state]")).to_contain_text("Saved")
    expect(ada.page.locator("[data-version-shown]")).to_have_text("2")

    moss.page.locator("#text p").first.click()
    moss.page.keyboard.press("Control+Home")
    moss.page.keyboard.type("Moss says: ")
    moss.page.locator("#conflict").wait_for(state="visible")
    moss.sees(f"{ADA} saved while you were writing")
    expect(moss.page.locator("[data-state]")).to_contain_text("Not saved yet")
    moss.press("Merge")
    moss.sees("Two people wrote")
    expect(moss.page.locator("[data-side=theirs]")).to_contain_text("Ada wrote this.")
    expect(moss.page.locator("[data-side=yours]")).to_contain_text("Moss says: Every 20 minutes.")
    moss.press("Save what is chosen")
    moss.page.locator("#text").wait_for()
    words = moss.page.locator("#text").inner_text()
    assert "Ada wrote this." in words
    assert "Moss says: Every 20 minutes." in words

    moss.go(f"{path}history/")
    expect(moss.page.locator(".diff ins").first).to_contain_text("Moss says:")
    moss.go(f"{path}history/?new=1")
    moss.press("Restore this version")
    moss.sees("Version 1 is the newest again.")
    assert moss.page.locator("#text").inner_text().strip() == "Every 20 minutes."


def test_the_editor_keeps_what_its_toolbar_makes(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["empty"])
    make(ada, "New file", "Pier notes")
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
    answers = iter(["https://example.org/map.png", "Map of the piers"])
    page.on("dialog", lambda dialog: dialog.accept(next(answers)))
    page.locator("#text > p").last.click()
    page.get_by_label("Picture", exact=True).click()
    page.locator("#text").press("Control+s")
    expect(page.locator("[data-version-shown]")).not_to_have_text("1")
    expect(page.locator("[data-state]")).to_contain_text("Saved")

    page.reload()
    text = page.locator("#text")
    assert text.locator("h2").all_inner_texts() == ["Times"]
    assert text.locator(":scope > ul > li").all_inner_texts() == ["one", "two"]
    assert text.locator("table thead th").first.inner_text().strip() == "Line"
    assert text.locator(".far-image").get_attribute("data-src") == "https://example.org/map.png"
    assert text.locator("p:empty").count() == 0
    ada.page.locator("details.menu-box summary").click()
    ada.follow("History")
    ada.sees("Map of the piers")


def test_what_saves_itself_is_one_version_and_what_is_asked_for_stays(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["empty"])
    make(ada, "New file", "Tide log")
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
    page.locator(".title-input").press_sequentially("s")
    page.locator(".title-input").press("Control+s")
    expect(version).to_have_text("7")
    page.locator("details.menu-box summary").click()
    ada.follow("History")
    ada.sees("5 versions")
    shown = page.locator(".version-table tbody tr").all_inner_texts()
    said = ["saved", "saved", "saved by itself", "saved", "made"]
    assert [line.rsplit(" · ", 1)[1].strip() for line in shown] == said
    assert [line.split("Version ")[1].split()[0] for line in shown] == ["7", "6", "5", "4", "1"]


def test_a_space_is_archived_brought_back_and_deleted_by_name(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go("/library/")
    ada.page.locator("details.fold summary", has_text="Add a space").first.click()
    ada.page.get_by_label("Name of the space").first.fill("Lamps")
    ada.press("Add")
    ada.follow("People and files")
    ada.press("Archive")
    ada.sees("This is archived")
    ada.press("Bring back")
    ada.sees("Lamps is back.")
    ada.page.get_by_label("Its name").fill("Lamps")
    ada.press("Delete")
    ada.sees("Lamps is in the trash.")
    ada.page.locator("summary", has_text="Archived and deleted").click()
    ada.page.get_by_role("button", name="Bring Lamps back").click()
    ada.sees("Lamps is back.")


def test_pin_trash_restore_and_move_by_dialog(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["folder"])
    select(ada, "Interview notes, pier 4")
    ada.page.locator(".bulk").get_by_role("button", name="Pin", exact=True).click()
    ada.sees("Pinned for everybody")
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
    ada.press("Move to the trash")
    ada.sees("Interview notes, pier 4 is in the trash")
    ada.follow("Trash")
    ada.sees("A page that nobody needs any more")
    ada.press("Restore Interview notes, pier 4")
    ada.sees("is back")
    assert ada.page.locator(".title-input").input_value() == "Interview notes, pier 4"


def select(person: Visitor, title: str) -> None:
    person.page.get_by_role("checkbox", name=f"Select {title}", exact=True).check()


def test_what_goes_out_comes_in_again(shelf: LibraryDesk, ada: Visitor, tmp_path: Path) -> None:
    ada.go(f"{shelf.places['space']}settings/")
    with ada.page.expect_download() as coming:
        ada.follow("Export")
    file = tmp_path / coming.value.suggested_filename
    coming.value.save_as(file)
    names = zipfile.ZipFile(file).namelist()
    assert "Reports/2026/Winter timetable/冬季航线说明.md" in names

    ada.go(shelf.places["workspace"])
    ada.page.get_by_label("Name of the space").fill("Second")
    ada.press("Add a space")
    ada.sees("This space is empty")
    ada.follow("Import")
    ada.page.get_by_label("Markdown file, or a zip of them").set_input_files(file)
    ada.press("Import")
    ada.sees("pages were imported.")
    ada.follow("2026")
    ada.follow("Winter timetable")
    ada.follow("Harbour timetable, winter")
    assert "theatre ends later" in ada.page.locator("#text").inner_text()


def test_a_migration_runs_before_our_eyes_and_is_taken_back(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(f"{shelf.places['old']}migrations/")
    ada.sees(f"{OLD_FILES} files would be moved")
    ada.press(f"Move {OLD_FILES} files")
    ada.sees("Files of the top level go into a folder")
    # The page asks by itself until the job is over.
    expect(ada.page.locator("#work .badge")).to_have_text("Done", timeout=60_000)
    expect(ada.page.locator("#work")).to_contain_text(f"{OLD_FILES:,} of {OLD_FILES:,}")
    ada.sees("Every live page can be reached from the top level")
    assert ada.page.get_by_text("Differs").count() == 0
    ada.go(shelf.places["old"])
    assert titles(ada) == ["Unfiled pages"]
    ada.go(f"{shelf.places['old']}migrations/")
    ada.page.locator("tbody th a").first.click()
    ada.press("Roll back")
    expect(ada.page.locator("#work .badge")).to_have_text("Rolled back", timeout=60_000)
    ada.go(shelf.places["old"])
    ada.sees("Note 0001")
