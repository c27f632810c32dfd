"""The page of the API: signed in only, in the reader's language and theme, and nothing of it from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from watchbook.base.testing import pages
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
    assert "with a form to try them" in shown
    assert "are in English" not in shown


def test_theme_of_the_account_is_kept(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(theme="dark")
    assert '<html lang="en" data-theme="dark">' in page(alice)


@pytest.fixture
def opened(alice: User, live_server: Any) -> Iterator[Any]:
    """The page in a dark browser, and what the browser complained about."""
    with pages.started() as found:
        context = found.new_context(color_scheme="dark")
        pages.sign_in(context, client_of(alice), live_server.url)
        window, said = context.new_page(), []
        window.on("console", lambda line: said.append(line.text) if line.type in ("error", "warning") else None)
        window.goto(f"{live_server.url}/api/docs")
        window.locator(".opblock").first.wait_for()
        yield window, said


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pages.needs_chromium
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
