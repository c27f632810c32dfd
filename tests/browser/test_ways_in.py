"""Ways in: an invitation by mail in both languages and at both widths, and a passkey."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driver import Visitor
from tests.browser.test_first_day import sign_up
from tests.browser.world import PASSWORD, Desk, World

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

OLIVE = "olive@example.com"
WORDS = {
    "en-GB": ("Invite people", "Send invitation", "Create account", "Password", "Password again", "invited you"),
    "zh-CN": ("邀请用户", "发送邀请", "创建账号", "密码", "再次输入密码", "邀请你使用"),
}


@pytest.fixture(scope="module")
def team(world: World, chromium: Any) -> Iterator[Desk]:
    """A server with its operator; sign-up is closed."""
    with tempfile.TemporaryDirectory(prefix="watchbook-invite-") as folder:
        made = Desk(Path(folder), world)
        with made.running():
            first = Visitor(chromium, made.url)
            sign_up(first, OLIVE)
            first.arrives(made.url + "/")
            first.close()
            yield made


def speak(person: Visitor, language: str) -> None:
    person.go("/account/")
    person.page.locator("select[name=language]").select_option(language)
    with person.page.expect_navigation():
        person.page.locator("form:has(select[name=language]) button").click()


def forget(person: Visitor) -> None:
    """Leave the page first: an answer to its own questions could bring the session back. A page of another site would
    take the virtual authenticator away."""
    person.go("/healthz")
    person.context.clear_cookies()


CASES = [
    (1280, "en-GB"),
    (390, "zh-CN"),
    pytest.param(390, "en-GB", marks=pytest.mark.nightly),
    pytest.param(1280, "zh-CN", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("width", "locale"), CASES)
def test_colleague_signs_up_with_the_mail(
    team: Desk, world: World, visitor: Callable[..., Visitor], width: int, locale: str
) -> None:
    title, send, create, password, again, words = WORDS[locale]
    email = f"nora{width}{locale[:2]}@example.com"
    operator = visitor(team, OLIVE, width=width, locale=locale)
    speak(operator, "zh-hans" if locale == "zh-CN" else "en")
    operator.go("/people/")
    operator.page.locator("#invite").get_by_text(title).first.wait_for()
    operator.page.locator('#invite [name="email"]').fill(email)
    operator.press(send)
    operator.sees(email)
    assert operator.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    link = world.link_for(email, f"{team.url}/invite/")

    nora = visitor(team, width=width, locale=locale)
    nora.go(link)
    nora.sees(words)
    assert nora.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    nora.page.get_by_label(password, exact=True).fill(PASSWORD)
    nora.page.get_by_label(again).fill(PASSWORD)
    nora.press(create)
    nora.arrives(team.url + "/")

    late = visitor(team, width=width)
    assert late.go(link).status == 410
    late.sees("This invitation was already used.")


def test_passkey_is_added_then_signs_in_alone(team: Desk, chromium: Any) -> None:
    """With Chromium's virtual authenticator. Passkeys need a host name: localhost, not 127.0.0.1."""
    person = Visitor(chromium, team.url.replace("127.0.0.1", "localhost"))
    devtools = person.context.new_cdp_session(person.page)
    devtools.send("WebAuthn.enable")
    kind = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": {**kind, "isUserVerified": True, "automaticPresenceSimulation": True}},
    )
    person.sign_in(OLIVE)
    speak(person, "en")
    person.go("/accounts/2fa/passkeys/add/")
    if person.path.endswith("/reauthenticate/"):
        person.page.get_by_label("Password").fill(PASSWORD)
        person.send("Continue")  # the script of the next page must be there before its button is pressed
    person.page.get_by_label("Name").fill("Laptop")
    person.page.get_by_text("Sign in with this passkey alone").click()
    person.press("Add passkey")
    person.arrives("**/2fa/recovery-codes/**")
    person.go("/accounts/2fa/passkeys/")
    person.sees("Laptop")

    forget(person)
    person.go("/accounts/login/")
    person.press("Use a passkey")
    person.arrives(person.url + "/")

    # As the second factor after the password.
    forget(person)
    person.go("/accounts/login/")
    person.page.get_by_label("E-mail").fill(OLIVE)
    person.page.get_by_label("Password", exact=True).fill(PASSWORD)
    person.press("Sign in")
    person.arrives("**/2fa/authenticate/")
    person.press("Use a passkey")
    person.arrives(person.url + "/")
    assert person.complaints == []
    person.close()
