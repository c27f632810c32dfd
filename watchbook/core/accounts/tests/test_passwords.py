"""E1: long, short, odd passwords. Nothing is cut, nothing is stripped."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from watchbook.base.testing.people import PASSWORD, client_of
from watchbook.core.accounts import actions
from watchbook.core.accounts.models import ApiToken, AuditEvent, User
from watchbook.core.accounts.tokens import make

pytestmark = pytest.mark.django_db


def change(client: Client, old: str, new: str, **extra: str) -> Any:
    form = {"oldpassword": old, "password1": new, "password2": new, **extra}
    return client.post("/accounts/password/change/", form)


@pytest.mark.parametrize(
    "password",
    [
        "kw7-" + "x" * 60,
        "kw7-" + "x" * 68,
        "kw7-" + "x" * 69,
        "kw7-" + "y" * 124,
        "🦉🦉🦉🦉🦉🦉🦉🦉🦉🦉🦉",
        " led by a space ",
        "密码很长也可以的对吧真的",
    ],
)
def test_password_is_taken_as_it_is(password: str, alice: User, sign_in: Any) -> None:
    assert change(client_of(alice), PASSWORD, password).status_code == 302
    assert sign_in(Client(), alice.email, password).url == "/"
    assert "form" in sign_in(Client(), alice.email, password.strip() + "!").context


def test_passwords_that_differ_after_byte_72_are_different(alice: User, sign_in: Any) -> None:
    long = "k7" * 40
    change(client_of(alice), PASSWORD, long + "a")
    assert "form" in sign_in(Client(), alice.email, long + "b").context
    assert "form" in sign_in(Client(), alice.email, long[:72]).context
    assert sign_in(Client(), alice.email, long + "a").url == "/"


@pytest.mark.parametrize(
    "password", ["short", "password123456", "a\0bcdefghijkl", "k7" * 5000, "alice@example.com", "k" * 1025]
)
def test_password_that_cannot_be_used_is_refused_with_a_reason(password: str, alice: User) -> None:
    answer = change(client_of(alice), PASSWORD, password)
    assert answer.status_code == 200
    assert answer.context["form"].errors["password1"]
    with pytest.raises(ValidationError):
        actions.check_password(password, alice)


@pytest.mark.parametrize("password", ["\0", "k7" * 5000, "x" * 100_000])
def test_silly_password_at_sign_in_is_only_wrong(password: str, alice: User, sign_in: Any) -> None:
    answer = sign_in(Client(), alice.email, password)
    assert answer.status_code == 200
    assert answer.context["form"].errors


def test_change_ends_other_sessions_and_tokens_and_keeps_this_one(alice: User) -> None:
    here, elsewhere = client_of(alice), client_of(alice)
    make(alice, ["read"])
    change(here, PASSWORD, "another long secret")
    assert here.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302
    assert ApiToken.objects.get().revoked_at
    assert AuditEvent.objects.filter(event="password.changed", actor_id=alice.pk).count() == 1


def test_tokens_can_be_kept(alice: User) -> None:
    make(alice, ["read"])
    change(client_of(alice), PASSWORD, "another long secret", keep_tokens="on")
    assert ApiToken.objects.get().revoked_at is None


def test_change_needs_the_old_password(alice: User) -> None:
    answer = change(client_of(alice), "a wrong guess", "another long secret")
    assert answer.context["form"].errors["oldpassword"]
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_user_can_end_all_other_sessions(alice: User) -> None:
    here, elsewhere = client_of(alice), client_of(alice)
    assert here.post("/account/sessions/end/", {"password": "a wrong guess"}).status_code == 200
    assert elsewhere.get("/account/").status_code == 200
    here.post("/account/sessions/end/", {"password": PASSWORD})
    assert here.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302
    assert AuditEvent.objects.filter(event="sessions.ended").count() == 1
