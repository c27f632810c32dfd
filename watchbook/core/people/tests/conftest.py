"""Users, a mail server that takes everything, and a workspace of the operator."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.hashers import BCryptSHA256PasswordHasher
from django.core import mail

from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import alice, bob, charlie, matrix, operator, signed_in


def shown(answer: Any) -> str:
    """The page of an answer without the whitespace of its layout."""
    return squeezed(answer.content.decode())


__all__ = ["alice", "bob", "charlie", "matrix", "operator", "signed_in"]


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BCryptSHA256PasswordHasher, "rounds", 4)


@pytest.fixture(autouse=True)
def closed_sign_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Invitations are the only way in."""
    monkeypatch.setenv("WATCHBOOK_SIGNUP", "closed")


@pytest.fixture
def mail_server(settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.com"


@pytest.fixture
def link_in_mail() -> Callable[[], str]:
    """The path of the link in the last mail."""

    def find() -> str:
        found = re.search(r"https?://\S+(/invite/\S+)", str(mail.outbox[-1].body))
        assert found, mail.outbox[-1].body
        return found.group(1)

    return find
