"""Language and theme: chosen once, kept on the account and in the browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.driver import Visitor
from tests.browser.world import NEWCOMERS, Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

LOOK = "[document.documentElement.lang, document.documentElement.dataset.theme || '']"


def look(person: Visitor, path: str) -> list[str]:
    """Language and theme of a page that is opened now."""
    person.go(path)
    found: list[str] = person.page.evaluate(LOOK)
    return found


def set_theme(person: Visitor, button: str) -> None:
    # The page changes at once; the server has heard of it when the answer is there.
    with person.page.expect_response("**/theme/"):
        person.press(button)


def test_language_and_theme_are_kept_until_changed(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    person = visitor(desk, color_scheme="light")
    person.sign_in(NEWCOMERS["switch"])
    assert look(person, "/") == ["en", ""]

    person.press("中文")
    person.page.get_by_role("link", name="网站").first.wait_for()
    set_theme(person, "深色主题")
    assert look(person, "/stream/") == ["zh-Hans", "dark"]

    elsewhere = visitor(desk, color_scheme="light")
    elsewhere.sign_in(NEWCOMERS["switch"])
    assert look(elsewhere, "/search/") == ["zh-Hans", "dark"], "another browser must find both on the account"

    elsewhere.press("English")
    elsewhere.page.get_by_role("link", name="Websites").first.wait_for()
    set_theme(elsewhere, "Light theme")
    assert look(elsewhere, "/") == ["en", "light"]
    assert look(person, "/") == ["en", "light"]


def test_sign_in_page_keeps_the_language_of_the_browser(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    person = visitor(desk)
    person.go("/accounts/login/")
    person.press("中文")
    assert look(person, "/accounts/login/") == ["zh-Hans", ""]
    assert person.page.get_by_role("button", name="登录").count() == 1
