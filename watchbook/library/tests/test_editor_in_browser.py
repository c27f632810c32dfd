"""The head of a file in a real Chromium: it tells who saved and when, also after a save without a new page."""

from __future__ import annotations

import pytest
from django.conf import settings

from watchbook.base.testing import servers
from watchbook.base.testing.people import client_of
from watchbook.library import actions

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not servers.chromium(), reason="no Chromium on this machine"),
]


@pytest.fixture
def window(desk, live_server):
    """Wanda's browser."""
    from playwright.sync_api import sync_playwright  # heavy, and only here

    cookie = client_of(desk.wanda).cookies[settings.SESSION_COOKIE_NAME].value
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as play:
        # The driver keeps an event loop in this thread; Django would take our own queries for a mistake.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = play.chromium.launch(executable_path=servers.chromium(), args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(base_url=live_server.url)
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
        yield context.new_page()
        browser.close()


@pytest.mark.parametrize("by_itself", [True, False])
def test_the_head_follows_a_save(desk, window, by_itself):
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
