"""Steps of a person in the editor of a page, shared by the tests of the editor."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.driver import Visitor
from tests.browser.library_desk import LibraryDesk

NEW_PAGE = """async ([space, parent, title, content]) => {
    const send = (address, fields) => {
        const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
        const body = new URLSearchParams({...fields, csrfmiddlewaretoken: token});
        const headers = {Accept: "application/json"};
        return fetch(address, {method: "POST", body, headers}).then((answer) => answer.json());
    };
    const made = await send(`${space}new/`, {title, node_type: "file", parent});
    if (content) await send(`${made.url}save/`, {version: 1, title, content});
    return made.url;
}"""


def open_new(person: Visitor, shelf: LibraryDesk, title: str, content: str = "") -> str:
    """Make a page and open it in the editor."""
    person.go(shelf.places["empty"])
    parent = shelf.places["empty"].split("/")[3]
    path: str = person.page.evaluate(NEW_PAGE, [shelf.places["space"], parent, title, content])
    person.go(path)
    ready(person)
    return path


def ready(person: Visitor) -> Any:
    person.page.locator("#editor[data-ready]").wait_for()
    return person.page


def stored(person: Visitor) -> str:
    found: str = person.page.evaluate("document.getElementById('text').stored()")
    return found


def emptied(person: Visitor) -> None:
    person.page.evaluate("document.getElementById('text').editor.chain().clearContent().focus().run()")
    expect(person.page.locator("#text")).to_be_focused()


def put_cursor(person: Visitor, words: str) -> None:
    """Click on the block with these words; the editor learns of it a moment later."""
    person.page.locator("#text").get_by_text(words, exact=True).first.click()
    script = "words => document.getElementById('text').editor.state.selection.$from.parent.textContent === words"
    person.page.wait_for_function(script, arg=words)


def pressed(person: Visitor, *keys: str) -> None:
    for key in keys:
        person.page.keyboard.press(key)
