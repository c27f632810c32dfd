"""People and tokens for calls of the API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from watchbook.base.testing.people import alice, bob, charlie, matrix, operator, signed_in
from watchbook.core.accounts import tokens
from watchbook.core.api import auth

__all__ = ["alice", "bob", "charlie", "matrix", "operator", "signed_in"]


@pytest.fixture(autouse=True)
def empty_hands() -> Iterator[None]:
    auth.forget_all()
    yield
    auth.forget_all()


@pytest.fixture
def with_token() -> Callable[..., Client]:
    """A program that carries a token of this person."""

    def make(person: Any, *scopes: str) -> Client:
        _token, plain = tokens.make(person, scopes or ("read", "write"))
        return Client(HTTP_AUTHORIZATION=f"Bearer {plain}", enforce_csrf_checks=True)

    return make
