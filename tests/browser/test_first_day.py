"""An installation with nobody in it: from sign-up to a second factor."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.driver import Visitor, totp
from tests.browser.world import PASSWORD, Desk, World

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

OLIVE, ANNA = "olive@example.com", "anna@example.com"


@pytest.fixture
def empty_desk(world: World) -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="watchbook-empty-") as folder:
        made = Desk(Path(folder), world)
        made.settings["WATCHBOOK_SIGNUP"] = "open"  # the default closes it after the first account
        with made.running():
            yield made


def sign_up(person: Visitor, email: str) -> None:
    person.go("/accounts/signup/")
    person.page.get_by_label("E-mail").fill(email)
    person.page.get_by_label("Password", exact=True).fill(PASSWORD)
    person.page.get_by_label("Password again").fill(PASSWORD)
    person.send("Create account")


def confirm(person: Visitor, world: World, email: str) -> None:
    """Open the link that came by mail."""
    person.go(world.link_for(email, f"{person.url}/accounts/confirm"))
    person.send("Confirm")


def switch_on_second_step(person: Visitor) -> str:
    person.go("/account/")
    person.follow("Two-factor authentication")
    with person.page.expect_navigation():
        person.follow("Set up")
    if person.page.get_by_role("heading", name="Confirm your identity").count():
        person.page.get_by_label("Password").fill(PASSWORD)
        person.press("Continue")
    secret = person.page.locator("dd.mono").inner_text().strip()
    person.page.get_by_label("Code").fill(totp(secret))
    person.press("Enable")
    person.sees("Recovery codes")
    return secret


def test_first_account_becomes_the_operator(empty_desk: Desk, visitor: Callable[..., Visitor]) -> None:
    olive = visitor(empty_desk)
    olive.go("/")
    olive.page.get_by_role("heading", name="Create first account").wait_for()
    sign_up(olive, OLIVE)
    olive.arrives(empty_desk.url + "/")
    olive.follow("Operations")
    olive.sees("Workers")


def test_second_account_confirms_mail_and_uses_two_factor(
    empty_desk: Desk, world: World, visitor: Callable[..., Visitor]
) -> None:
    sign_up(visitor(empty_desk), OLIVE)
    anna = visitor(empty_desk)
    sign_up(anna, ANNA)
    anna.sees("Check your e-mail")
    confirm(anna, world, ANNA)
    anna.sign_in(ANNA)
    assert anna.path == "/"
    assert anna.page.get_by_role("link", name="Operations").count() == 0

    secret = switch_on_second_step(anna)
    anna.go("/account/")
    anna.press("Sign out")
    anna.page.get_by_role("heading", name="Sign in").wait_for()

    anna.sign_in(ANNA)
    assert anna.path != "/", "the password alone must not be enough"
    wrong = f"{(int(totp(secret)) + 1) % 1_000_000:06}"
    anna.page.get_by_label("Code").fill(wrong)
    anna.press("Sign in")
    anna.sees("The code is wrong.")
    anna.page.get_by_label("Code").fill(totp(secret))
    anna.press("Sign in")
    anna.arrives(empty_desk.url + "/")
