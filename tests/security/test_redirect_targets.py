"""The parameter `next` of every page that redirects: R1 to R10 lead only to pages of this site."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from tests.security.attempts import each
from watchbook.base.testing.people import PASSWORD, client_of

pytestmark = pytest.mark.django_db

TARGETS = {
    "R1": "//evil.example",
    "R2": "///evil.example",
    "R3": "/\\evil.example",
    "R4": "\\\\evil.example",
    "R5": "https:/evil.example",
    "R6": "javascript:alert(1)",
    "R7": "/\t/evil.example",
    "R8": "https://testserver.evil.example",
    "R9": "\x08//evil.example",
    "R10": "http://testserver/account/",
}
# Read once these are paths of this site; read twice they would not be.
READ_ONCE = {"encoded": "/%2f%2fevil.example", "inner": "/account/?next=//evil.example"}
HOME = "/account/"

Door = Callable[[Any, str], Any]
DOORS: dict[str, Door] = {
    "sign in": lambda alice, target: Client().post(
        "/accounts/login/", {"login": alice.email, "password": PASSWORD, "next": target}
    ),
    "sign in, by the address": lambda alice, target: Client().post(
        "/accounts/login/", {"login": alice.email, "password": PASSWORD}, query_params={"next": target}
    ),
    "sign in again": lambda alice, target: client_of(alice).get("/accounts/login/", {"next": target}),
    "sign up again": lambda alice, target: client_of(alice).get("/accounts/signup/", {"next": target}),
    "sign out": lambda alice, target: client_of(alice).post("/accounts/logout/", {"next": target}),
    "say who you are": lambda alice, target: client_of(alice).post(
        "/accounts/reauthenticate/", {"password": PASSWORD, "next": target}
    ),
    "language": lambda alice, target: client_of(alice).post("/language/", {"language": "en", "next": target}),
    "theme": lambda alice, target: client_of(alice).post("/theme/", {"theme": "dark", "next": target}),
}


def sent_to(door: str, alice: Any, target: str) -> str:
    cache.clear()  # tries are counted
    answer = DOORS[door](alice, target)
    assert answer.status_code == 302, f"{door}: {answer.status_code}"
    return str(answer["Location"])


@pytest.mark.parametrize("door", DOORS)
def test_redirect_parameter_never_leaves_the_site(door: str, alice: Any) -> None:
    usual = sent_to(door, alice, "")

    def attempt(target: str) -> str | None:
        place = sent_to(door, alice, target)
        return None if place == usual else f"leads to {place!r}"

    assert usual.startswith("/")
    assert not usual.startswith("//")
    each(TARGETS, attempt)


@pytest.mark.parametrize("door", DOORS)
def test_redirect_to_a_path_of_the_site_is_kept(door: str, alice: Any) -> None:
    assert sent_to(door, alice, HOME) == HOME
    for target in READ_ONCE.values():
        assert sent_to(door, alice, target) == target
    answer = client_of(alice).get(READ_ONCE["inner"])
    assert answer.status_code == 200, "a page that does not send on reads no next"
