"""What the scripts of the pages do beside htmx: the history follows a save, copying, tabs on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser import findings
from tests.browser.driver import Visitor
from tests.browser.library_desk import ADA, LibraryDesk
from tests.browser.test_library import ada, make, shelf

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

__all__ = ["ada", "shelf"]


def test_the_history_beside_the_text_follows_a_save(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["empty"])
    make(ada, "New file", "Lamp log")
    versions = ada.page.locator("[data-history] b")
    expect(versions).to_have_text(["Version 1"])
    ada.page.locator("#text").click()
    ada.page.keyboard.type("Lit at six.")
    ada.press("Save")
    expect(versions).to_have_text(["Version 2", "Version 1"])
    ada.page.keyboard.type(" Out at dawn.")
    expect(versions).to_have_text(["Version 3", "Version 2", "Version 1"])
    ada.page.locator("[data-history] a").first.click()
    ada.sees("Out at dawn.")


def test_what_is_shown_once_can_be_copied(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(f"{shelf.places['file']}share/")
    ada.press("Make a link")
    assert "/library/shared/" in copied(ada, ada.page.locator("#address").input_value())
    ada.go("/account/tokens/")
    ada.page.get_by_label("Name").fill("n8n")
    ada.page.get_by_label("read: see what you can see").check()
    ada.press("Make the token")
    copied(ada, ada.page.locator("#token").inner_text())
    assert list(findings.sideways(ada.page)) == []
    ada.go("/stream/feeds/")
    ada.page.get_by_label("Name").fill("Reader")
    ada.press("Make the feed")
    assert copied(ada, ada.page.locator("main [role=status] code").first.inner_text()).endswith("/stream.atom")
    assert list(findings.sideways(ada.page)) == []


def copied(person: Visitor, shown: str) -> str:
    """Copies by the button and pastes into the search field."""
    person.page.get_by_role("button", name="Copy", exact=True).first.click()
    expect(person.page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    field = person.page.locator("[data-key-search]").first
    field.fill("")
    field.press("Control+v")
    assert field.input_value() == shown
    return shown


def test_on_a_phone_the_tab_one_is_on_is_in_sight(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> None:
    phone = visitor(shelf, ADA, width=390)
    for path in ("/account/", "/account/tokens/"):
        phone.go(path)
        bar = phone.page.locator(".tabs")
        assert bar.evaluate("bar => bar.scrollWidth > bar.clientWidth"), "all tabs fit; this proves nothing"
        edges = bar.evaluate(
            """bar => [bar, bar.querySelector("[aria-current]")].map((node) => node.getBoundingClientRect())
                .map(({ left, right }) => [Math.floor(left), Math.ceil(right)])"""
        )
        (left, right), (tab_left, tab_right) = edges
        assert left - 1 <= tab_left < tab_right <= right + 1, path
