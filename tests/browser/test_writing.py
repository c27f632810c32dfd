"""A page with every block, written without a mouse and on a phone, and the same after it is loaded again.

A visitor fails its test on any policy violation and on any request to another server.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.driver import Visitor
from tests.browser.editing import open_new, pressed, put_cursor, ready, stored
from tests.browser.library_desk import MOSS, LibraryDesk
from watchbook.systems.library.tests.pictures import picture

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

PNG = picture()


def walked_to(person: Visitor, name: str) -> None:
    """From the text to a button of the toolbar, with Alt+F10 and the arrows, and press it."""
    pressed(person, "Alt+F10")
    script = "() => document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"
    for _step in range(40):
        if person.page.evaluate(script) == name:
            pressed(person, "Enter")
            return
        pressed(person, "ArrowRight")
    raise AssertionError(f"the arrows do not reach {name}")


def chosen(person: Visitor, item: str) -> None:
    """In the open menu, by arrows and Enter."""
    for _step in range(20):
        if item in person.page.locator('.pop-item[aria-selected="true"]').inner_text():
            pressed(person, "Enter")
            return
        pressed(person, "ArrowDown")
    raise AssertionError(f"the menu has no {item}")


def typed_block(person: Visitor, words: str) -> None:
    """A block of the slash menu in a new line at the end."""
    pressed(person, "Control+End", "Enter")
    person.page.keyboard.type(words, delay=20)
    person.page.locator(".pop .pop-item").first.wait_for()
    pressed(person, "Enter")


def test_page_with_every_block_is_written_without_a_mouse(ada: Visitor, shelf: LibraryDesk) -> None:
    open_new(ada, shelf, "Keyboard")
    page, keyboard = ada.page, ada.page.keyboard
    page.locator(".title-input").focus()
    pressed(ada, "End")
    keyboard.type(" only")
    pressed(ada, "Enter")
    keyboard.type("## Piers\nWords of ")
    pressed(ada, "Control+k")
    keyboard.type("example.org/tide")
    pressed(ada, "Enter")
    assert stored(ada).endswith('Words of <a href="https://example.org/tide">example.org/tide</a></p>')
    typed_block(ada, "/bullet")
    keyboard.type("one\ninner")
    pressed(ada, "Tab", "Enter", "Shift+Tab")
    keyboard.type("two")
    assert "<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>" in stored(ada)
    pressed(ada, "Enter", "Enter")
    keyboard.type("[] open\ninner")
    pressed(ada, "Tab", "Control+Enter")
    task = '<li data-type="taskItem" data-checked="{}">{}'
    assert f'{task.format("false", "open")}<ul data-type="taskList">{task.format("true", "inner")}</li></ul>' in stored(
        ada
    )
    pressed(ada, "Enter", "Enter", "Enter")
    # Table: Tab walks and adds a row, the menus of rows and columns open from the toolbar.
    typed_block(ada, "/table")
    for words in ("Line", "2025", "2026", "Pier 4", "22:10", "22:40", "Pier 2", "23:00", "23:00"):
        keyboard.type(words)
        pressed(ada, "Tab")
    keyboard.type("Pier 9")
    walked_to(ada, "Row")
    chosen(ada, "Move up")
    walked_to(ada, "Column")
    chosen(ada, "Insert column after")
    assert stored(ada).count("<th>") == 4
    assert stored(ada).index("Pier 9") < stored(ada).index("Pier 2")
    typed_block(ada, "/warning")
    keyboard.type("Slippery")
    assert '<blockquote data-callout="warning"><p>Slippery</p></blockquote>' in stored(ada)
    pressed(ada, "Enter", "Enter")
    keyboard.type("```python ")
    keyboard.type("x = 1\n")
    keyboard.type("y = 2")
    pressed(ada, "ArrowDown")
    keyboard.type("See [[night b")
    page.locator(".pop-item", has_text="Night bus connections").first.wait_for()
    pressed(ada, "Enter")
    keyboard.type(" @mo")
    page.locator(".pop-item", has_text="moss@example.com").wait_for()
    pressed(ada, "Enter")
    assert '<pre><code class="language-python">x = 1\ny = 2</code></pre><p>See <a href="/library/pages/' in stored(ada)
    assert ">Night bus connections</a> <a data-person=" in stored(ada), "the blank is not part of the link"
    # A picture from the toolbar, its caption with the arrow keys.
    pressed(ada, "Enter")
    with page.expect_file_chooser() as chooser:
        walked_to(ada, "Upload picture or file")
    chooser.value.set_files({"name": "pier.png", "mimeType": "image/png", "buffer": PNG})
    expect(page.locator("#text figure img")).to_be_visible()
    page.locator("#text").focus()
    pressed(ada, "Control+End", "ArrowUp")
    keyboard.type("At night")
    assert stored(ada).endswith("<figcaption>At night</figcaption></figure>")
    pressed(ada, "Enter")
    keyboard.type("last")
    walked_to(ada, "Block")
    chosen(ada, "Move up")
    assert stored(ada).endswith("<p>last</p><figure>" + stored(ada).rpartition("<figure>")[2])
    pressed(ada, "Control+z")
    assert stored(ada).endswith("</figure><p>last</p>")
    pressed(ada, "Control+Shift+z", "Control+z", "Control+s")
    expect(page.locator("[data-state]")).to_contain_text("Saved")
    before = stored(ada)
    page.reload()
    ready(ada)
    assert stored(ada) == before
    # The outline leads to the heading.
    page.locator("[data-outline] a", has_text="Piers").focus()
    pressed(ada, "Enter")
    assert page.url.endswith("#h-piers")


def test_page_with_every_block_is_written_on_a_phone(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> None:
    phone = visitor(shelf, MOSS, width=390, has_touch=True, is_mobile=True)
    path = open_new(phone, shelf, "Pocket")
    page, keyboard = phone.page, phone.page.keyboard

    def tap(name: str) -> None:
        button = page.locator(".toolbar").get_by_label(name, exact=True)
        button.scroll_into_view_if_needed()
        button.tap()

    def insert(words: str, item: str) -> None:
        keyboard.press("Control+End")
        keyboard.press("Enter")
        keyboard.type(words, delay=20)
        row = page.locator(".pop-item", has_text=item).first
        row.wait_for()
        box = page.locator(".pop").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        row.tap()

    page.locator("#text").tap()
    keyboard.type("First")
    page.get_by_label("Paragraph style").select_option("h2")
    insert("/", "Task list")
    keyboard.type("tide")
    page.locator('#text input[type="checkbox"]').tap()
    insert("/tab", "Table")
    keyboard.type("Line")
    page.get_by_role("button", name="Row").scroll_into_view_if_needed()
    page.get_by_role("button", name="Row").tap()
    page.get_by_role("menuitem", name="Insert row below").tap()
    assert stored(phone).count("<tr>") == 4
    insert("/cod", "Code block")
    keyboard.type("x = 1")
    page.locator(".code select").select_option("python")
    for _line in range(3):
        keyboard.press("Enter")
    keyboard.type("After the code")
    insert("[[night b", "Night bus connections")
    insert("@ad", "ada@example.com")
    insert("/tip", "Tip")
    keyboard.type("Bring a lamp")
    keyboard.press("Enter")
    keyboard.press("Enter")
    with page.expect_file_chooser() as chooser:
        tap("Upload picture or file")
    chooser.value.set_files({"name": "pier.png", "mimeType": "image/png", "buffer": PNG})
    expect(page.locator("#text figure img")).to_be_visible()
    page.locator("#text figcaption").tap()
    keyboard.type("At night")
    # Blocks are moved from the toolbar: there is no room for grips beside the text.
    expect(page.get_by_label("Move block")).to_be_hidden()
    put_cursor(phone, "After the code")
    tap("Block")
    page.get_by_role("menuitem", name="Move up").tap()
    assert "<p>After the code</p><pre>" in stored(phone)
    tap("Undo")
    assert "</pre><p>After the code</p>" in stored(phone)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    keyboard.press("Control+s")
    expect(page.locator("[data-state]")).to_contain_text("Saved")
    before = stored(phone)
    assert '<li data-type="taskItem" data-checked="true">tide</li>' in before
    assert '<code class="language-python">x = 1</code>' in before
    assert before.count("<a ") == 2
    page.goto(path)
    ready(phone)
    assert stored(phone) == before
