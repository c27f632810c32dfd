"""`watchbook users` and `watchbook tokens`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from watchbook.core.accounts import tokens
from watchbook.core.accounts.cli import tokens as tokens_command
from watchbook.core.accounts.cli import users
from watchbook.core.accounts.models import AuditEvent, User

pytestmark = pytest.mark.django_db


def run(command: Any, *arguments: str, given: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(command, list(arguments), input=given)
    return result.exit_code, result.stdout


def test_user_is_added() -> None:
    code, out = run(
        users,
        "add",
        "Op@Example.com",
        "--operator",
        "--verified",
        "--password-stdin",
        "--json",
        given="a long enough secret\n",
    )
    user = User.objects.get()
    assert (code, json.loads(out)) == (0, {"id": str(user.pk), "email": "op@example.com"})
    assert (user.is_staff, user.is_verified, user.check_password("a long enough secret")) == (True, True, True)
    assert AuditEvent.objects.get().event == "account.added"


def test_added_user_can_sign_in(client: Any, sign_in: Any) -> None:
    run(users, "add", "op@example.com", "--verified", "--password-stdin", given="a long enough secret\n")
    assert sign_in(client, "op@example.com", "a long enough secret").url == "/"


def test_without_a_password_it_is_set_by_mail() -> None:
    assert run(users, "add", "op@example.com", "--json")[0] == 0
    assert not User.objects.get().has_usable_password()


@pytest.mark.parametrize(
    ("arguments", "given", "code"),
    [
        (["nonsense"], "", "invalid"),
        (["a" * 250 + "@example.com"], "", "invalid"),
        (["op@example.com", "--password-stdin"], "short\n", "invalid"),
        (["op@example.com", "--password-stdin"], "", "no_password"),
        (["taken@example.com"], "", "exists"),
        (["TAKEN@example.com"], "", "exists"),
    ],
)
def test_wrong_input_is_one_clear_error(arguments: list[str], given: str, code: str) -> None:
    User.objects.create_user("taken@example.com", None)
    status, out = run(users, "add", *arguments, "--json", given=given)
    assert status == 1
    assert json.loads(out)["error"]["code"] == code
    assert User.objects.count() == 1
    assert run(users, "add", *arguments, given=given)[0] == 1


def test_wrong_usage_is_2() -> None:
    assert run(users, "add")[0] == 2
    assert run(tokens_command, "add", "x", "--days", "many")[0] == 2


def test_users_are_listed() -> None:
    User.objects.create_user("op@example.com", None, is_staff=True)
    code, out = run(users, "list", "--json")
    assert code == 0
    assert json.loads(out)["users"][0] | {"id": ""} == {
        "id": "", "email": "op@example.com", "operator": True, "active": True, "verified": False, "last_login_at": None,
    }  # fmt: skip
    assert "op@example.com" in run(users, "list")[1]


def test_token_is_printed_once() -> None:
    user = User.objects.create_user("op@example.com", None, is_staff=True)
    code, out = run(tokens_command, "add", "OP@example.com", "--json")
    token = tokens.find(json.loads(out)["token"])
    assert code == 0
    assert token is not None
    assert (token.user, token.scopes) == (user, ["notes", "read", "staff", "write"])
    code, out = run(tokens_command, "add", "op@example.com", "--scope", "read", "--scope", "notes", "--days", "7")
    assert tokens.find(out.strip()).scopes == ["notes", "read"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nobody@example.com"], "not_found"),
        (["member@example.com", "--scope", "staff"], "invalid"),
        (["member@example.com", "--days", "0"], "invalid"),
    ],
)
def test_token_that_cannot_be_given(arguments: list[str], code: str) -> None:
    User.objects.create_user("member@example.com", None)
    status, out = run(tokens_command, "add", *arguments, "--json")
    assert (status, json.loads(out)["error"]["code"]) == (1, code)


def test_unknown_scope_is_a_usage_error() -> None:
    User.objects.create_user("member@example.com", None)
    assert run(tokens_command, "add", "member@example.com", "--scope", "*", "--json")[0] == 2
    assert not tokens.ApiToken.objects.exists()
