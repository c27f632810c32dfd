"""Smilies by name: `[s:ac:喷]`, and `[s:1]` of the oldest set."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FOLDER = "https://img4.nga.cn/ngabbs/post/smile/"


@cache
def _table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "data" / "smilies.json").read_text("utf-8"))
    return table


def smiley_url(name: str) -> str | None:
    """The picture of `set:name`, or of a number in the oldest set; None when it is not known."""
    group, _, own = name.rpartition(":")
    file = _table().get(group or "0", {}).get(own)
    return f"{FOLDER}{file}" if file else None
