"""Fixtures for every room."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.utils import translation

from watchbook.base import clock


def pytest_configure() -> None:
    # The real hasher with fewer rounds: a test that makes a user must not wait a second for it.
    from django.contrib.auth.hashers import BCryptSHA256PasswordHasher

    BCryptSHA256PasswordHasher.rounds = 4


@pytest.fixture(autouse=True)
def language_is_put_back() -> Iterator[None]:
    """A test that switched the language leaves the next one as it would be alone."""
    yield
    translation.deactivate()


@pytest.fixture
def noon() -> Iterator[datetime]:
    """The clock held at a made-up noon."""
    moment = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
    with clock.set_to(moment):
        yield moment
