"""The settings page says of the adapter only what requests have shown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.systems.notes.health import last_request
from watchbook.systems.notes.models import Cookie, CookieLease

pytestmark = pytest.mark.django_db


def lease(cookie, at, **values):
    return CookieLease.objects.create(cookie=cookie, reserved_on=at.date(), leased_at=at, ended_at=at, **values)


def test_adapter_works_since_the_first_request_after_a_failure(monkeypatch):
    monkeypatch.setenv("NOTES_ADAPTER", "standin")
    now = clock.now()
    cookie = Cookie.objects.create(cookie_name="one")
    lease(cookie, now - timedelta(hours=4), failed=1, error_reason="unknown")
    use = last_request(None)
    assert (use.is_ok, bool(use.answer)) == (False, True)
    lease(cookie, now - timedelta(hours=3), succeeded=2)
    lease(cookie, now - timedelta(hours=2), succeeded=1)
    lease(cookie, now - timedelta(hours=1))
    use = last_request(None)
    assert (use.is_ok, use.since, use.at) == (True, now - timedelta(hours=3), now - timedelta(hours=2))
    assert last_request(now - timedelta(hours=2)) is None
    monkeypatch.setenv("NOTES_ADAPTER", "")
    assert last_request(None) is None
