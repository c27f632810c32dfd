"""The head of a file in a real Chromium: it tells who saved and when, also after a save without a new page."""

from __future__ import annotations

import pytest

from watchbook.base.testing import pages
from watchbook.base.testing.people import client_of
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pages.needs_chromium,
]


@pytest.fixture
def window(desk, live_server):
    """Wanda's browser."""
    with pages.started() as found:
        context = found.new_context(base_url=live_server.url)
        pages.sign_in(context, client_of(desk.wanda), live_server.url)
        yield context.new_page()


@pytest.mark.parametrize("by_itself", [True, False])
def test_head_follows_a_save(desk, window, by_itself):
    from playwright.sync_api import expect

    file = desk.file("Tides", desk.folder("Home"), "<p>One</p>")
    actions.save_page(desk.sven, file.pk, version=1, content="<p>Two</p>")
    said = []
    window.on("console", lambda line: said.append(line.text) if line.type in ("error", "warning") else None)
    window.goto(f"/library/pages/{file.pk}/")
    expect(window.locator("[data-by-shown]")).to_have_text(f"by {desk.sven.email}")
    before = window.locator("[data-saved-shown] time").get_attribute("datetime")
    window.locator("#text p").click()
    window.keyboard.type("More ")
    if not by_itself:
        window.keyboard.press("Control+s")
    expect(window.locator("[data-version-shown]")).to_have_text("3")
    expect(window.locator("[data-by-shown]")).to_have_text(f"by {desk.wanda.email}")
    assert window.locator("[data-saved-shown] time").get_attribute("datetime") >= before
    assert said == []


# In one task of the browser, as under load: the list on the screen is older than the text when Enter comes.
AT_ONCE = """(text, letters) => {
    const { view } = text.editor;
    for (const one of letters) view.dispatch(view.state.tr.insertText(one));
    view.dom.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
}"""


@pytest.mark.parametrize(
    ("first", "rest", "stored"),
    [
        ("/headi", "ng 2", "<h2>Tides</h2>"),
        ("[[Pi", "er 4", '<p><a href="/library/pages/{pier}/" data-page="{pier}">Pier 4</a>Tides</p>'),
        ("[[Pi", "er 5", '<p><a href="/library/pages/{made}/" data-page="{made}">Pier 5</a>Tides</p>'),
    ],
)
def test_menu_command_replaces_all_that_was_typed(desk, window, first, rest, stored):
    from playwright.sync_api import expect

    home = desk.folder("Home")
    pier = desk.file("Pier 4", home)
    desk.file("Pigeon", home)
    file = desk.file("Tides", home, "<p>Tides</p>")
    window.goto(f"/library/pages/{file.pk}/")
    window.locator("#text p").click()
    window.keyboard.press("Home")
    window.keyboard.type(first)
    expect(window.get_by_role("listbox")).to_be_visible()
    window.locator("#text").evaluate(AT_ONCE, list(rest))
    expect(window.get_by_role("listbox")).to_be_hidden()
    window.wait_for_function("() => !/[[/]/.test(document.querySelector('#text').textContent)")
    made = Page.objects.filter(title="Pier 5").first()
    assert window.locator("#text").evaluate("text => text.stored()") == stored.format(
        pier=pier.pk, made=made and made.pk
    )
