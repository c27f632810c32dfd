"""A clip of a made-up system, for tests: kind `library_test`, item 1, seen by everybody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from watchbook.core.stream.clip import Clip

# What tests change to play a source that changes.
ITEM: dict[str, Any] = {
    "html": "<p>3 m<script>alert(1)</script></p>", "version": "7", "is_gone": False, "is_visible": True
}  # fmt: skip


def clip(kind: str, object_id: str, user: Any) -> Clip | None:
    if kind != "library_test" or object_id != "1" or ITEM["is_gone"]:
        return None
    return Clip(
        kind=kind, id=object_id, source="tides", title="High water", html=ITEM["html"],
        text="3 m", source_link="https://example.org/tide/1", source_at=datetime(2026, 3, 1, tzinfo=UTC),
        version=ITEM["version"],
    )  # fmt: skip


def visible(_user: Any, object_ids: list[str]) -> list[str]:
    return object_ids if ITEM["is_visible"] else []


def read(url: str, user: Any) -> Clip | None:
    """Read an address: the made-up system knows one."""
    return clip("library_test", "1", user) if url == "https://example.org/tide/1" else None
