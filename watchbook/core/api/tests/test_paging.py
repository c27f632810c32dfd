"""Lists by key: complete, stable, bounded; cursors that are not ours are refused."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.kit.paging import InvalidCursor

pytestmark = [pytest.mark.django_db, pytest.mark.sql, pytest.mark.urls("watchbook.core.api.tests.desk")]


@pytest.fixture
def program(alice: User, with_token: Any) -> Client:
    client: Client = with_token(alice)
    return client


@pytest.fixture
def history(noon: Any, alice: User) -> list[str]:
    """25 events, five at each of five moments, so that most have a neighbour of the same time."""
    for n in range(25):
        with clock.set_to(noon + timedelta(seconds=n // 5)):
            audit.record("logout", subject=str(n))
    return [str(n) for n in reversed(range(25))]


def walk(program: Client, path: str, limit: int) -> list[str]:
    found: list[str] = []
    cursor = ""
    for _ in range(50):
        page = program.get(path, {"limit": limit, "cursor": cursor}).json()
        assert len(page["items"]) <= limit
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("limit", [1, 3, 5, 24, 25, 26, 200])
@pytest.mark.parametrize("path", ["/api/v1/desk/events", "/api/v1/desk/by-id"])
def test_pages_hold_every_row_once(path: str, limit: int, history: list[str], program: Client) -> None:
    made_by_the_token = [row.subject for row in AuditEvent.objects.filter(event="token.made")]
    expected = [subject for subject in walk(program, path, limit) if subject not in made_by_the_token]
    assert expected == history


def test_ascending_by_text_with_uuid_keys(alice: User, program: Client) -> None:
    for n in range(12):
        User.objects.create_user(f"person{n:02}@例子.example" if n % 2 else f"person{n:02}@example.com", None)
    assert walk(program, "/api/v1/desk/people", 5) == list(
        User.objects.order_by("email", "id").values_list("email", flat=True)
    )


def test_row_that_comes_in_between_moves_nothing(history: list[str], program: Client) -> None:
    first = program.get("/api/v1/desk/events", {"limit": 10}).json()
    audit.record("logout", subject="new")
    second = program.get("/api/v1/desk/events", {"limit": 10, "cursor": first["next"]}).json()
    assert "new" not in second["items"]
    assert not set(first["items"]) & set(second["items"])


@pytest.mark.parametrize(("limit", "shown"), [("0", 1), ("-5", 1), ("7", 7), ("1000000000", 26), ("9" * 30, 26)])
def test_limit_is_drawn_in(limit: str, shown: int, history: list[str], program: Client) -> None:
    assert len(program.get("/api/v1/desk/events", {"limit": limit}).json()["items"]) == shown


@pytest.mark.parametrize("limit", ["", "many", "1.5", "NaN", "1e3", "9" * 5000])
def test_limit_that_is_no_number_is_422(limit: str, program: Client) -> None:
    assert program.get("/api/v1/desk/events", {"limit": limit}).status_code == 422


def forged(*place: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "x", "%%%", "é", "A" * 5000, "\0", forged("-happened_at"), forged("-happened_at", "yesterday", "1"),
        forged("-happened_at", "2026-01-01T00:00:00+00:00", "one"), forged("happened_at", "2026-01-01", "1"),
        forged("-id", "1", "1"), forged("-happened_at", 1, 2), forged("-happened_at", None, None), forged({}, [], 1),
        forged("-happened_at", "2026-01-01T00:00:00+00:00", "9" * 5000), forged("-happened_at", "9999-99-99", "1"),
        forged("-happened_at", "2026-01-01T00:00:00", "\0"), base64.urlsafe_b64encode(b"[" * 700).decode(),
    ],
)  # fmt: skip
def test_cursor_that_is_not_ours_is_422(cursor: str, program: Client) -> None:
    answer = program.get("/api/v1/desk/events", {"cursor": cursor})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_cursor")


def test_page_is_one_query(history: list[str], django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        page = keyset(AuditEvent.objects.all(), PageQuery(limit=3), by="-happened_at")
    with django_assert_num_queries(1):
        keyset(AuditEvent.objects.all(), PageQuery(limit=3, cursor=page["next"]), by="-happened_at")


def test_huge_key_in_a_cursor_is_no_server_error(history: list[str]) -> None:
    cursor = forged("-id", "9" * 30, "9" * 30)
    try:
        page = keyset(AuditEvent.objects.all(), PageQuery(cursor=cursor))
    except InvalidCursor:
        return
    assert page["items"]


def test_column_with_nulls_is_a_mistake_of_ours(alice: User) -> None:
    with pytest.raises(TypeError, match="last_login"):
        keyset(User.objects.all(), PageQuery(), by="-last_login")
