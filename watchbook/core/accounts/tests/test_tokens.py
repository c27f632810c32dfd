"""E10: tokens are shown once, kept as digests, scoped, expiring, revocable."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.people import client_of
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import ApiToken, AuditEvent, User

pytestmark = pytest.mark.django_db


def test_token_has_prefix_id_and_32_random_bytes(alice: User) -> None:
    token, plain = tokens.make(alice, ["read"], 30)
    assert plain.startswith(f"wb_{token.prefix}")
    assert len(plain) == 3 + 8 + 43
    assert tokens.find(plain) == token


def test_only_a_digest_is_kept(alice: User, capsys: Any) -> None:
    _token, plain = tokens.make(alice, ["read"], name="n8n")
    call_command("dumpdata", "accounts")
    dump = capsys.readouterr().out
    assert plain not in dump
    assert plain[11:] not in dump


@pytest.mark.parametrize(
    "plain",
    [
        "",
        "wb_",
        "Bearer",
        "wb_" + "a" * 51,
        "é" * 54,
        "wb_ａ" + "a" * 50,
        "x" * 1_000_000,
        "\ud800" * 54,
        "wb_\0" + "a" * 50,
    ],
)
def test_garbage_costs_no_query(plain: str, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1 if plain == "wb_" + "a" * 51 else 0):
        assert tokens.find(plain) is None


def test_changed_secret_is_refused(alice: User) -> None:
    _token, plain = tokens.make(alice, ["read"])
    other = plain[:-1] + ("a" if plain[-1] != "a" else "b")
    assert tokens.find(other) is None
    assert tokens.find(plain + "\n") is None


def test_expired_revoked_and_disabled_are_refused(alice: User, noon: Any) -> None:
    token, plain = tokens.make(alice, ["read"], 30)
    with clock.set_to(noon + timedelta(days=30)):
        assert tokens.find(plain) is None
    with clock.set_to(noon + timedelta(days=29)):
        assert tokens.find(plain)
    alice.is_active = False
    alice.save()
    assert tokens.find(plain) is None
    alice.is_active = True
    alice.save()
    assert tokens.revoke(token, actor=alice)
    assert not tokens.revoke(token, actor=alice)
    assert tokens.find(plain) is None
    assert AuditEvent.objects.filter(event="token.revoked").count() == 1


def test_feed_token_is_no_api_token(alice: User) -> None:
    _token, plain = tokens.make(alice, ["read"], None, purpose="feed")
    assert tokens.find(plain) is None
    assert tokens.find(plain, purpose="feed")


@pytest.mark.parametrize("scopes", [["read", "fly"], ["*"], [], ["read", "*"], ["staff"], ["READ"]])
def test_scopes_that_are_not_all_known_are_refused(scopes: list[str], alice: User) -> None:
    with pytest.raises(InvalidInput):
        tokens.make(alice, scopes)
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("days", [0, -1, 3651, 10**9])
def test_lifetimes_have_bounds(days: int, alice: User) -> None:
    with pytest.raises(InvalidInput):
        tokens.make(alice, ["read"], days)


def test_scopes_are_checked_all_together(alice: User) -> None:
    token, _plain = tokens.make(alice, ["read"])
    assert token.allows("read")
    assert not token.allows("read", "write")
    assert not token.allows()
    token.scopes = ["*"]
    assert not token.allows("read")


def test_use_is_written_once_a_minute(alice: User, noon: Any, django_assert_num_queries: Any) -> None:
    _token, plain = tokens.make(alice, ["read"])
    with django_assert_num_queries(2):
        tokens.find(plain)
    with django_assert_num_queries(1):
        tokens.find(plain)
    with clock.set_to(noon + timedelta(minutes=1)), django_assert_num_queries(2):
        tokens.find(plain)


def test_page_shows_the_token_once(alice: User) -> None:
    client = client_of(alice)
    answer = client.post("/account/tokens/", {"name": "n8n", "scopes": ["read", "write"], "days": "90"})
    plain = answer.context["plain"]
    assert plain in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    again = client.get("/account/tokens/").content.decode()
    assert plain not in again
    assert plain[:11] in again
    assert tokens.find(plain).scopes == ["read", "write"]


def test_member_cannot_choose_the_scope_of_operators(alice: User, operator: User) -> None:
    form = {"name": "x", "scopes": ["staff"], "days": "90"}
    assert client_of(alice).post("/account/tokens/", form).context["form"].errors["scopes"]
    assert not client_of(operator).post("/account/tokens/", form).context["form"].errors


def test_only_the_owner_revokes(matrix: Any) -> None:
    token, _plain = tokens.make(matrix.people["bob"], ["read"])
    url = f"/account/tokens/{token.pk}/revoke/"
    assert matrix.statuses("POST", url) == {
        "anonymous": 302, "alice": 404, "bob": 302, "charlie": 404, "operator": 404,
    }  # fmt: skip
    assert matrix.statuses("GET", url)["bob"] == 405
    token.refresh_from_db()
    assert token.revoked_at
