"""People, and a desk that already has its operator."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.hashers import BCryptSHA256PasswordHasher
from django.core import mail
from django.test import Client

from watchbook.base.testing.people import alice, bob, charlie, matrix, operator, signed_in

__all__ = ["alice", "bob", "charlie", "matrix", "operator", "signed_in"]


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed hundreds of times here; the real cost would be minutes."""
    monkeypatch.setattr(BCryptSHA256PasswordHasher, "rounds", 4)


@pytest.fixture(autouse=True)
def open_sign_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests here need a second account; what the default allows is tested by itself."""
    monkeypatch.setenv("WATCHBOOK_SIGNUP", "open")


@pytest.fixture
def link_in_mail() -> Callable[[], str]:
    """The path of the link in the last mail."""

    def find() -> str:
        found = re.search(r"https?://\S+/accounts/\S+", mail.outbox[-1].body)
        assert found, mail.outbox[-1].body
        return "/" + found.group().split("/", 3)[3]

    return find


@pytest.fixture
def sign_in() -> Callable[..., Any]:
    def send(client: Client, email: str, password: str, **extra: Any) -> Any:
        return client.post("/accounts/login/", {"login": email, "password": password}, **extra)

    return send
