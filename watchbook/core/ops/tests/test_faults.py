"""A database that somebody else holds for too long: a real lock on the real file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from watchbook.core.accounts import tokens

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def locked() -> Iterator[None]:
    """Nobody else can write. The wait, twenty seconds in use, is cut short."""
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite has one writer")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()
    connection.close()


@pytest.fixture
def pages(operator) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(operator)
    return client


@pytest.fixture
def headers(operator) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.make(operator, ['read', 'write'], 1)[1]}"}


def test_page_that_cannot_be_written_asks_to_come_back_and_others_are_read(pages, headers, locked):
    answer = pages.post("/theme/", {"theme": "dark"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert pages.get("/stream/").status_code == 200


def test_so_does_an_endpoint(pages, headers, locked):
    given = {"name": "Desk", "channel_type": "email", "config": {"email": "alice@example.com"}}
    answer = Client().post("/api/v1/channels", given, content_type="application/json", headers=headers)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json()["error"]["code"] == "unavailable"


def test_our_own_mistake_is_none_of_it(pages, monkeypatch):
    monkeypatch.setattr("watchbook.core.stream.inbox.by_day", lambda *_args, **_more: 1 / 0)
    answer = pages.get("/stream/")
    assert (answer.status_code, "Retry-After" in answer.headers) == (500, False)
