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

from django.utils.translation import gettext as _

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
    """The entries of a file."""
    if path.stat().st_size > LARGEST_BYTES:
        raise WrongPool(_("The file is larger than any pool."))
    return read_entries(path.read_bytes(), path.name)


def read_entries(data: bytes, name: str) -> list[PoolEntry]:
    """What a file of this name holds; of a community that is there twice the last counts, whatever its capitals."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongPool(_("The file is not UTF-8.")) from None
    rows = _csv_rows(text) if name.lower().endswith(".csv") else _json_rows(text)
    entries: dict[str, PoolEntry] = {}
    for number, row in enumerate(rows, 1):
        entry = _entry(row, number)
        entries[entry.name.lower()] = entry
        if len(entries) > MOST:
            raise WrongPool(_("A pool has at most %(n)s communities.") % {"n": MOST})
    if not entries:
        raise WrongPool(_("The file names no community."))
    return list(entries.values())


def _csv_rows(text: str) -> Iterator[Mapping[str, Any]]:
    reader = csv.DictReader(io.StringIO(text))
    if "name" not in (reader.fieldnames or ()):
        raise WrongPool(_("The first line must name the columns, and one of them is name."))
    for row in reader:
        categories = [part.strip() for part in (row.get("categories") or "").split(";") if part.strip()]
        yield {**{key: value for key, value in row.items() if key and value}, "categories": categories}


def _json_rows(text: str) -> Iterator[Mapping[str, Any]]:
    """A list of entries, or an object that has one under `communities` (or `seed_communities`)."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise WrongPool(_("The file is not JSON.")) from None
    if isinstance(data, dict):
        data = data.get("communities") or data.get("seed_communities")
    if not isinstance(data, list):
        raise WrongPool(_("The file holds no list of communities."))
    for row in data:
        yield row if isinstance(row, dict) else {"name": row}


def _entry(row: Mapping[str, Any], number: int) -> PoolEntry:
    name = NAME.fullmatch(str(row.get("name", "")).strip())
    if name is None:
        shown = repr(str(row.get("name", ""))[:60])
        raise WrongPool(_("Entry %(n)s: %(name)s is not the name of a community.") % {"n": number, "name": shown})
    tier = str(row.get("tier") or "medium").strip().lower()
    if tier not in TIERS:
        shown = repr(tier[:20])
        raise WrongPool(
            _("Entry %(n)s: tier is %(tier)s, expected high, medium or low.") % {"n": number, "tier": shown}
        )
    categories = row.get("categories") or []
    if not isinstance(categories, list) or not all(isinstance(one, str) for one in categories):
        raise WrongPool(_("Entry %(n)s: categories is a list of words.") % {"n": number})
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
        raise WrongPool(_("Entry %(n)s: quality_score is not a number.") % {"n": number})
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
    shown = repr(word[:20])
    raise WrongPool(_("Entry %(n)s: is_active is %(word)s, expected true or false.") % {"n": number, "word": shown})
