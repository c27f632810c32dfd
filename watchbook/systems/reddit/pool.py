"""Reads files with communities (JSON or CSV) and checks every entry.

Names of columns and values are trimmed and ignore case. What is not imported is reported with its line: unknown
columns, surplus fields and duplicates as notes, every other fault as an error that refuses the file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

SAMPLE = Path(__file__).parent / "data" / "community_expansion_200.json"
MAX_BYTES = 20_000_000
MAX_COMMUNITIES = 20_000
MAX_REPORTED = 20
MAX_TAGS = 50
MAX_TAG_LENGTH = 60
NAME = re.compile(r"(?:/?r/)?([A-Za-z0-9][A-Za-z0-9_]{1,49})/?", re.IGNORECASE)
ADDRESS = re.compile(
    r"(?:https?://)?(?:[a-z]+\.)?reddit\.com/r/([A-Za-z0-9][A-Za-z0-9_]{1,49})(?:[/?#].*)?", re.IGNORECASE
)
TIERS = ("high", "medium", "low")
COLUMNS = ("name", "tier", "categories", "quality_score", "is_active")
SEPARATORS = (",", ";", "\t")
_CATEGORY_SEPARATORS = re.compile(r"[;,|]")

DUPLICATE, UNKNOWN_COLUMN, SURPLUS_FIELD = "duplicates", "unknown_columns", "surplus_fields"


class InvalidPoolFile(ValueError):
    """Raised for a file that cannot be imported. The message names the lines and the reasons."""


@dataclass(frozen=True)
class PoolEntry:
    name: str
    tier: str = "medium"
    categories: tuple[str, ...] = ()
    quality_score: float = 0.0
    is_active: bool = True


@dataclass(frozen=True)
class Note:
    """Something that was not imported: its kind, its line and a sentence."""

    kind: str
    text: str


@dataclass
class PoolFile:
    """The entries of a file, and what was not imported."""

    entries: list[PoolEntry] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        """Return the counts by kind and the sentences; empty if everything was imported."""
        if not self.notes:
            return {}
        return {**Counter(note.kind for note in self.notes), "notes": [note.text for note in self.notes]}


def community_name(text: str) -> str:
    """Return r/name for `name`, `r/name`, `R/name`, `/r/name/` or a Reddit URL; empty if it is none of them."""
    found = NAME.fullmatch(text.strip()) or ADDRESS.fullmatch(text.strip())
    return f"r/{found[1]}" if found else ""


def read_pool(path: Path) -> PoolFile:
    """Return the content of a file."""
    if path.stat().st_size > MAX_BYTES:
        raise InvalidPoolFile(_("The file is larger than 20 MB."))
    return read_entries(path.read_bytes(), path.name)


def read_entries(data: bytes, name: str) -> PoolFile:
    """Return the content of a file. If a community appears twice, the last entry counts and the first is reported."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidPoolFile(_("The file is not UTF-8.")) from None
    found = PoolFile()
    rows = _csv_rows(text, found) if name.lower().endswith(".csv") else _json_rows(text, found)
    entries: dict[str, tuple[str, PoolEntry]] = {}
    errors: list[str] = []
    for where, row in rows:
        try:
            entry = _entry(row)
        except InvalidPoolFile as error:
            errors.append(f"{where}: {error}")
            continue
        if before := entries.get(entry.name.lower()):
            words = _("%(where)s: %(name)s appears again in %(later)s, which counts.")
            given = {"where": before[0], "name": entry.name, "later": where}
            found.notes.append(Note(DUPLICATE, words % given))
        entries[entry.name.lower()] = (where, entry)
        if len(entries) > MAX_COMMUNITIES:
            raise InvalidPoolFile(_("At most %(n)s communities are allowed.") % {"n": MAX_COMMUNITIES})
    if errors:
        raise InvalidPoolFile(_together(errors))
    if not entries:
        raise InvalidPoolFile(_("The file contains no communities."))
    found.entries = [entry for _where, entry in entries.values()]
    return found


def _together(errors: list[str]) -> str:
    more = len(errors) - MAX_REPORTED
    rest = [_("%(n)s more errors.") % {"n": more}] if more > 0 else []
    return " ".join([*errors[:MAX_REPORTED], *rest])


def _csv_rows(text: str, found: PoolFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield rows by line. The separator is the one that the first line contains most often."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(SEPARATORS, key=first.count), strict=True)
    try:
        columns = [name.strip().lower() for name in next(filter(any, reader), [])]
        if "name" not in columns:
            raise InvalidPoolFile(_("The first line must contain column names, including name."))
        _note_columns(columns, _("Line %(n)s") % {"n": reader.line_num}, found)
        for values in reader:
            where = _("Line %(n)s") % {"n": reader.line_num}
            cells = [value.strip() for value in values]
            if not any(cells):
                continue
            if len(cells) > len(columns):
                words = _("%(where)s: %(n)s surplus fields were ignored.")
                given = {"where": where, "n": len(cells) - len(columns)}
                found.notes.append(Note(SURPLUS_FIELD, words % given))
            row: dict[str, Any] = {
                name: value for name, value in zip(columns, cells, strict=False) if value and name in COLUMNS
            }
            parts = _CATEGORY_SEPARATORS.split(row.get("categories", ""))
            yield where, {**row, "categories": [part.strip() for part in parts if part.strip()]}
    except csv.Error as error:
        raise InvalidPoolFile(f"{_('Line %(n)s') % {'n': reader.line_num}}: {error}") from None


def _note_columns(columns: list[str], where: str, found: PoolFile) -> None:
    for name, count in Counter(columns).items():
        if count > 1 and name in COLUMNS:
            words = _("%(where)s: the column %(name)s appears more than once.")
            raise InvalidPoolFile(words % {"where": where, "name": repr(name)})
        if name not in COLUMNS:
            words = _("%(where)s: the column %(name)s is unknown and was ignored.")
            found.notes.append(Note(UNKNOWN_COLUMN, words % {"where": where, "name": repr(name[:60])}))


def _json_rows(text: str, found: PoolFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield entries of a list, or of an object with a list under `communities` or `seed_communities`."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidPoolFile(_("The file is not JSON.")) from None
    if isinstance(data, dict):
        data = data.get("communities") or data.get("seed_communities")
    if not isinstance(data, list):
        raise InvalidPoolFile(_("The file contains no list of communities."))
    for number, given in enumerate(data, 1):
        where = _("Entry %(n)s") % {"n": number}
        row = given if isinstance(given, dict) else {"name": given}
        _note_columns([str(name).strip().lower() for name in row], where, found)
        row = {str(name).strip().lower(): value for name, value in row.items()}
        yield where, row


def _entry(row: Mapping[str, Any]) -> PoolEntry:
    name = community_name(str(row.get("name", "")))
    if not name:
        shown = repr(str(row.get("name", ""))[:60])
        raise InvalidPoolFile(_("%(name)s is not a community name.") % {"name": shown})
    tier = str(row.get("tier") or "medium").strip().lower()
    if tier not in TIERS:
        raise InvalidPoolFile(_("tier is %(tier)s, expected high, medium or low.") % {"tier": repr(tier[:20])})
    categories = row.get("categories") or []
    if not isinstance(categories, list) or not all(isinstance(one, str) for one in categories):
        raise InvalidPoolFile(_("categories must be a list of words."))
    tags = tuple(one.strip() for one in categories)
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH for tag in tags):
        words = _("At most %(n)s tags of %(length)s characters are allowed.")
        raise InvalidPoolFile(words % {"n": MAX_TAGS, "length": MAX_TAG_LENGTH})
    return PoolEntry(name, tier, tags, _score(row), _is_active(row))


def _score(row: Mapping[str, Any]) -> float:
    try:
        score = float(row.get("quality_score") or 0.0)
    except (TypeError, ValueError):
        score = float("nan")
    if not -1e6 < score < 1e6:
        raise InvalidPoolFile(_("quality_score is not a number."))
    return score


def _is_active(row: Mapping[str, Any]) -> bool:
    given = row.get("is_active", True)
    if isinstance(given, bool):
        return given
    word = str(given).strip().lower()
    if word in {"true", "1", "yes", "on", ""}:
        return True
    if word in {"false", "0", "no", "off"}:
        return False
    raise InvalidPoolFile(_("is_active is %(word)s, expected true or false.") % {"word": repr(word[:20])})
