"""A stand-in platform, a pool with made-up cookies, and a program with a token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from standins.note_platform import NotePlatform
from watchbook.base.testing.people import alice, bob, charlie, matrix, operator  # noqa: F401 - fixtures
from watchbook.core.accounts import tokens
from watchbook.core.api import auth
from watchbook.systems.notes import actions
from watchbook.systems.notes.api.schemas import NoteRefusal
from watchbook.systems.notes.tests.data import KEY


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the machine's own environment, and full hands at the API's pace."""
    for name in ("NOTES_ADAPTER", "NOTES_RUNNER", "COOKIE_MASTER_KEYS", "NOTES_TERMS_CONFIRMED", "NOTES_COOKIE_CIPHER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COOKIE_MASTER_KEY", KEY)
    auth.forget_all()
    yield
    auth.forget_all()


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[NotePlatform]:
    with NotePlatform() as site:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", site.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        monkeypatch.setenv("NOTES_ADAPTER", "standin")
        monkeypatch.setenv("NOTES_STANDIN_URL", site.url)
        monkeypatch.setenv("NOTES_PAGE_URL", site.url)
        monkeypatch.setenv("NOTES_REMOTE_URL", site.remote)
        yield site


@pytest.fixture
def pool(db: Any, platform: NotePlatform) -> Callable[..., str]:
    """Adds an account to the platform and its cookie to the pool; gives the cookie's name."""

    def add(name: str = "account_01", **values: Any) -> str:
        line = platform.add_account(f"made-up-session-of-{name}-7731")
        actions.add_cookie(name, line, **values)
        return name

    return add


class Program:
    """A program that carries a token and speaks JSON."""

    def __init__(self, person: Any, *scopes: str) -> None:
        _token, plain = tokens.make(person, scopes or ("notes",))
        self.client = Client(HTTP_AUTHORIZATION=f"Bearer {plain}", enforce_csrf_checks=True)
        self.status = 0

    def post(self, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
        text = body if isinstance(body, str) else json.dumps(body or {})
        answer = self.client.post(f"/api/v1/notes/{path}", text, content_type="application/json", headers=headers)
        return self._read(answer)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._read(self.client.get(f"/api/v1/notes/{path}", query))

    def _read(self, answer: Any) -> dict[str, Any]:
        self.status = answer.status_code
        if self.status >= 400:  # ninja looks at the good ones
            NoteRefusal.model_validate_json(answer.content, strict=True)
        read: dict[str, Any] = answer.json()
        return read


@pytest.fixture
def n8n(alice: Any) -> Program:  # noqa: F811 - the fixture
    """The program that runs workflows, of a user whom an operator has allowed."""
    actions.allow_user(alice)
    return Program(alice, "notes")
