"""A board and a crawler that runs at the board's own time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from standins.nga_board import NgaBoard
from watchbook.systems.nga.tests.archive import Crawler, point_at


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[NgaBoard]:
    with NgaBoard() as made:
        point_at(monkeypatch, made)
        yield made


@pytest.fixture
def crawler(board: NgaBoard, db: Any) -> Crawler:
    return Crawler(board)
