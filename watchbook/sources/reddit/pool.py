"""Pool files: JSON or CSV in, checked rows out. Names of communities, the operator's wish, categories, a score."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).parent / "data" / "community_expansion_200.json"
LARGEST_BYTES = 20_000_000
MOST = 20_000
NAME = re.compile(r"(?:/?r/)?([A-Za-z0-9][A-Za-z0-9_]{1,49})/?")
TIERS = ("high", "medium", "low")


class WrongPool(ValueError):
    """The file cannot be used; the message says where and why."""


@dataclass(frozen=True)
class PoolEntry:
    name: str
    tier: str = "medium"
    categories: tuple[str, ...] = ()
    quality_score: float = 0.0
    is_active: bool = True


def read_pool(path: Path) -> list[PoolEntry]:
    """The entries of a file; of a name that is there twice the last counts, whatever its capitals."""
    if path.stat().st_size > LARGEST_BYTES:
        raise WrongPool("The file is larger than any pool.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise WrongPool("The file is not UTF-8.") from None
    rows = _csv_rows(text) if path.suffix.lower() == ".csv" else _json_rows(text)
    entries: dict[str, PoolEntry] = {}
    for number, row in enumerate(rows, 1):
        entry = _entry(row, number)
        entries[entry.name.lower()] = entry
        if len(entries) > MOST:
            raise WrongPool(f"A pool has at most {MOST} communities.")
    if not entries:
        raise WrongPool("The file names no community.")
    return list(entries.values())


def _csv_rows(text: str) -> Iterator[Mapping[str, Any]]:
    reader = csv.DictReader(io.StringIO(text))
    if "name" not in (reader.fieldnames or ()):
        raise WrongPool("The first line must name the columns, and one of them is name.")
    for row in reader:
        categories = [part.strip() for part in (row.get("categories") or "").split(";") if part.strip()]
        yield {**{key: value for key, value in row.items() if key and value}, "categories": categories}


def _json_rows(text: str) -> Iterator[Mapping[str, Any]]:
    """A list of entries, or an object that has one under `communities` (or `seed_communities`)."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise WrongPool("The file is not JSON.") from None
    if isinstance(data, dict):
        data = data.get("communities") or data.get("seed_communities")
    if not isinstance(data, list):
        raise WrongPool("The file holds no list of communities.")
    for row in data:
        yield row if isinstance(row, dict) else {"name": row}


def _entry(row: Mapping[str, Any], number: int) -> PoolEntry:
    name = NAME.fullmatch(str(row.get("name", "")).strip())
    if name is None:
        raise WrongPool(f"Entry {number}: {str(row.get('name', ''))[:60]!r} is not the name of a community.")
    tier = str(row.get("tier") or "medium").strip().lower()
    if tier not in TIERS:
        raise WrongPool(f"Entry {number}: tier is {tier[:20]!r}, expected high, medium or low.")
    categories = row.get("categories") or []
    if not isinstance(categories, list) or not all(isinstance(one, str) for one in categories):
        raise WrongPool(f"Entry {number}: categories is a list of words.")
    return PoolEntry(
        f"r/{name[1]}",
        tier,
        tuple(one.strip()[:60] for one in categories[:50]),
        _score(row, number),
        _switch(row, number),
    )


def _score(row: Mapping[str, Any], number: int) -> float:
    try:
        score = float(row.get("quality_score") or 0.0)
    except (TypeError, ValueError):
        score = float("nan")
    if not -1e6 < score < 1e6:
        raise WrongPool(f"Entry {number}: quality_score is not a number.")
    return score


def _switch(row: Mapping[str, Any], number: int) -> bool:
    given = row.get("is_active", True)
    if isinstance(given, bool):
        return given
    word = str(given).strip().lower()
    if word in {"true", "1", "yes", "on", ""}:
        return True
    if word in {"false", "0", "no", "off"}:
        return False
    raise WrongPool(f"Entry {number}: is_active is {word[:20]!r}, expected true or false.")
