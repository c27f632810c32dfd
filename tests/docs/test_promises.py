"""Every test that docs/promises.md names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "promises.md").read_text("utf-8")


def existing() -> set[str]:
    """Names of all test functions, and of all test modules."""
    found: set[str] = set()
    for folder in ("watchbook", "tests", "standins"):
        for path in (ROOT / folder).rglob("test_*.py"):
            found |= {path.stem, *re.findall(r"def (test_\w+)", path.read_text("utf-8"))}
    return found


def test_named_tests_exist() -> None:
    named = set(re.findall(r"\btest_\w+", TEXT))
    assert len(named) > 100
    assert sorted(named - existing()) == []


def test_short_names_of_tests_exist() -> None:
    """In the older sections a test is named without its prefix, between backticks."""
    short = {f"test_{name}" for name in re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`", TEXT) if name[:5] != "test_"}
    assert short
    assert sorted(short - existing()) == []
