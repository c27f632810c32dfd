"""The people of every permission test: Alice owns it, Bob is her teammate, Charlie is a stranger, and the operator.

    def test_only_the_owner_reads_it(alice, matrix):
        thing = make_thing(owner=alice)
        assert matrix.statuses("GET", thing.url) == {"anonymous": 302, "alice": 200, "bob": 404, "charlie": 404, ...}

Bob is a plain account; a room that knows teams adds Bob to Alice's. Import the fixtures into a conftest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import get_hasher
from django.test import Client

PASSWORD = "correct horse battery staple"  # noqa: S105 - of people who do not exist
NAMES = ("alice", "bob", "charlie", "operator")


@cache
def _hashed() -> str:
    """One cheap hash for all: bcrypt is slow on purpose, the suite should not be."""
    hasher: Any = type(get_hasher())()  # not the one that everybody shares
    hasher.rounds = 4
    return str(hasher.encode(PASSWORD, hasher.salt()))


def make_person(name: str, **fields: Any) -> Any:
    """An account that is verified and can sign in with PASSWORD."""
    people = get_user_model().objects
    person = people.create_user(f"{name}@example.com", None, is_verified=True, **fields)
    person.password = _hashed()
    person.save(update_fields=["password"])
    return person


@pytest.fixture
def alice(db: None) -> Any:
    return make_person("alice")


@pytest.fixture
def bob(db: None) -> Any:
    return make_person("bob")


@pytest.fixture
def charlie(db: None) -> Any:
    return make_person("charlie")


@pytest.fixture
def operator(db: None) -> Any:
    return make_person("operator", is_staff=True)


def client_of(person: Any = None, *, csrf: bool = False) -> Client:
    """A browser that is signed in as this person; with `csrf` it is refused without the token, like a real one."""
    client = Client(enforce_csrf_checks=csrf)
    if person is not None:
        client.force_login(person)
    return client


@pytest.fixture
def signed_in() -> Callable[[Any], Client]:
    return client_of


@dataclass(frozen=True)
class Matrix:
    """Asks the same of everybody."""

    people: dict[str, Any]

    def statuses(self, method: str, url: str, data: Any = None, **extra: Any) -> dict[str, int]:
        """Status by name, the anonymous visitor first. JSON when `data` is given for an /api/ address."""
        found = {}
        for name, person in self.people.items():
            client = client_of(person)
            if data is not None and url.startswith("/api/"):
                extra["content_type"] = "application/json"
            found[name] = getattr(client, method.lower())(url, data, **extra).status_code
        return found


@pytest.fixture
def matrix(alice: Any, bob: Any, charlie: Any, operator: Any) -> Matrix:
    people = dict(zip(NAMES, (alice, bob, charlie, operator), strict=True))
    return Matrix({"anonymous": None, **people})
