"""A trusted proxy names the user; everyone else's header is not read."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User

pytestmark = pytest.mark.django_db
PROXY, STRANGER = "192.0.2.1", "192.0.2.9"


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.TRUSTED_PROXIES = (PROXY,)
    monkeypatch.setenv("WATCHBOOK_REMOTE_USER_HEADER", "Remote-Email")


def visit(client: Client, email: str = "", peer: str = PROXY) -> int:
    named = {"HTTP_REMOTE_EMAIL": email} if email else {}
    return client.get("/account/", REMOTE_ADDR=peer, **named).status_code


def test_named_user_is_signed_in_and_out(alice: Any) -> None:
    client = Client()
    assert visit(client) == 302
    assert visit(client, alice.email) == 200
    # The proxy now names another user, then no one.
    assert visit(client, "nora@example.com") == 200
    assert User.objects.get(email="nora@example.com").is_verified
    assert visit(client) == 302


def test_header_of_a_stranger_is_not_read(alice: Any) -> None:
    assert visit(Client(), alice.email, peer=STRANGER) == 302


def test_unconfirmed_and_disabled_accounts_are_not_opened(alice: Any, bob: Any) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    User.objects.create_user("carol@example.com")
    for email in (alice.email, "carol@example.com", "not an address"):
        assert visit(Client(), email) == 302
    assert User.objects.count() == 3


def test_session_with_a_password_is_not_ended_by_an_empty_header(alice: Any) -> None:
    assert visit(client_of(alice)) == 200
