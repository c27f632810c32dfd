"""What the scripts of the pages do beside htmx: the history follows a save, copying, tabs on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser import findings
from tests.browser.driver import Visitor
from tests.browser.library_desk import ADA, LibraryDesk
from tests.browser.test_library import make

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]


def test_history_panel_updates_after_a_save(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(shelf.places["empty"])
    make(ada, "New page", "Lamp log")
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


def test_secret_shown_once_has_a_copy_button(shelf: LibraryDesk, ada: Visitor) -> None:
    ada.go(f"{shelf.places['file']}share/")
    ada.press("Create link")
    assert "/library/shared/" in copied(ada, ada.page.locator("#address").input_value())
    ada.go("/account/tokens/")
    ada.page.get_by_label("Name").fill("n8n")
    ada.page.get_by_label("Read data (read)").check()
    ada.press("Create token")
    copied(ada, ada.page.locator("#token").inner_text())
    assert list(findings.sideways(ada.page)) == []
    ada.go("/stream/feeds/")
    ada.page.get_by_label("Name").fill("Reader")
    ada.press("Create feed")
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


def test_selected_tab_is_visible_on_a_phone(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> None:
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
