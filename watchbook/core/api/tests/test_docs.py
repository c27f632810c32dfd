"""The page of the API: signed in only, in the reader's language and theme, and nothing of it from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from watchbook.base.testing import servers
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User

pytestmark = pytest.mark.django_db


def page(person: User, **headers: str) -> str:
    answer = client_of(person).get("/api/docs", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_is_for_people_who_are_signed_in(alice: User) -> None:
    assert Client().get("/api/docs").status_code == 302
    shown = page(alice)
    assert "http://" not in shown
    assert "https://" not in shown
    assert "/static/ninja/swagger-ui-bundle.js" in shown


def test_our_words_are_in_the_readers_language(alice: User) -> None:
    assert "接口说明为英文" in page(alice, accept_language="zh-CN")
    shown = page(alice, accept_language="en")
    assert "with a form to try it" in shown
    assert "are in English" not in shown


def test_the_theme_of_the_account_is_kept(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(theme="dark")
    assert '<html lang="en" data-theme="dark">' in page(alice)


@pytest.fixture
def opened(alice: User, live_server: Any) -> Iterator[Any]:
    """The page in a dark browser, and what the browser complained about."""
    from playwright.sync_api import sync_playwright  # heavy, and only here

    cookie = client_of(alice).cookies[settings.SESSION_COOKIE_NAME].value
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as play:
        # The driver keeps an event loop in this thread; Django would take our own queries for a mistake.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = play.chromium.launch(executable_path=servers.chromium(), args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(color_scheme="dark")
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
        window, said = context.new_page(), []
        window.on("console", lambda line: said.append(line.text) if line.type in ("error", "warning") else None)
        window.goto(f"{live_server.url}/api/docs")
        window.locator(".opblock").first.wait_for()
        yield window, said
        browser.close()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not servers.chromium(), reason="no Chromium on this machine")
def test_it_follows_the_browser_and_the_switch(opened: Any) -> None:
    window, said = opened

    def seen(dark: bool) -> None:
        window.wait_for_function("dark => document.documentElement.classList.contains('dark-mode') === dark", arg=dark)
        ground = window.evaluate("getComputedStyle(document.body).backgroundColor")
        words = window.evaluate("getComputedStyle(document.querySelector('.opblock-summary-path')).color")
        assert _bright(words) > _bright(ground) if dark else _bright(words) < _bright(ground)

    seen(dark=True)
    window.get_by_role("button", name="Light theme").first.click()
    seen(dark=False)
    assert said == []


def _bright(colour: str) -> int:
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")[:3])
