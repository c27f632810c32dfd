"""The table of contents of a backup, and the only names that may stand in one."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from watchbook.core.ops.backup.errors import Damaged

FORM = 1
NAME = "manifest.json"
LARGEST = 64 * 1024 * 1024

_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}"
_ALLOWED = re.compile(
    rf"(?:database\.sqlite3\.zst|tables/{_STEP}\.zst|keys/{_STEP}|blobs/(?:{_STEP}/){{0,4}}{_STEP})\Z"
)
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True)
class Member:
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    program: str
    made_at: str
    vendor: str
    with_keys: bool
    # app label and name of every applied migration: the schema that the rows fit
    migrations: list[list[str]]
    tables: dict[str, int]
    # columns of each table and next numbers of sequences, for databases that are written as rows
    columns: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    # first characters of the digest of each key for secrets, so that a restore can tell whether it has the right one
    key_prints: dict[str, str] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    form: int = FORM

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()

    @property
    def rows(self) -> int:
        return sum(self.tables.values())

    @property
    def blobs(self) -> int:
        return sum(name.startswith("blobs/") for name in self.members)


def is_allowed(name: str) -> bool:
    """Only names that a backup itself writes: no absolute paths, no `..`, no hidden files, no other folders."""
    return _ALLOWED.match(name) is not None and ".." not in name


def read(raw: bytes) -> Manifest:
    try:
        data: dict[str, Any] = json.loads(raw)
        if data.get("form") != FORM:
            raise Damaged(f"This backup has form {data.get('form')!r}; this version of the program reads form {FORM}.")
        members = {name: Member(int(m["size"]), str(m["sha256"])) for name, m in data.pop("members").items()}
        manifest = Manifest(**{**data, "members": members})
        checked = all(is_allowed(n) and _DIGEST.match(m.sha256) and m.size >= 0 for n, m in members.items())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Damaged(f"The manifest cannot be read ({type(error).__name__}).") from None
    if not checked:
        raise Damaged("The manifest names something that a backup never holds.")
    return manifest
