"""Fixtures for every room."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from watchbook.base import clock


@pytest.fixture
def noon() -> Iterator[datetime]:
    """The clock held at a made-up noon."""
    moment = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
    with clock.set_to(moment):
        yield moment
