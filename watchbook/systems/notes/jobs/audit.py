"""Is a cookie anywhere in the clear? Looks through logs, text columns of the whole database, and the source tree.

Known cookies are looked for by value, in their secret pieces; unknown ones by the names they go by. Findings name the
place and never the secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast

import watchbook
from watchbook.base.crypto import DecryptionError
from watchbook.systems.notes import encryption
from watchbook.systems.notes.encryption import FOUND
from watchbook.systems.notes.fetch import pairs_of
from watchbook.systems.notes.models import Cookie

# Shorter pieces are words that turn up by chance.
SHORTEST_PIECE = 10
LONGEST_LINE = 20_000
LONGEST_SOURCE_LINE = 1_000
MOST_FINDINGS = 200
LOG_NAMES = ("*.log", "*.log.*", "*.jsonl", "*.out", "*.err")
TREE_NAMES = ("*.py", "*.json", "*.html", "*.md", "*.txt", "*.toml", "*.yml", "*.yaml", "*.sh", "*.js", ".env", "*.env")
# In a text these come before every cookie that was neither encrypted nor masked.
TELLTALES = ("web_session", "cookie_value", "a1=")
SEALED = ("v1:", "v2:")
NOT_ENTERED = {"tests", "__pycache__", "node_modules", ".git", ".venv"}


@dataclass(frozen=True)
class Finding:
    where: str
    what: str


@dataclass(frozen=True)
class Report:
    findings: tuple[Finding, ...]
    looked_at: dict[str, int]

    @property
    def passed(self) -> bool:
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "findings": [asdict(finding) for finding in self.findings],
            "looked_at": self.looked_at,
        }


def audit(logs: Iterable[Path] = (), trees: Iterable[Path] | None = None) -> Report:
    """`logs` beside those in the data folder; `trees` instead of the installed package."""
    secrets = frozenset(_known_pieces())
    places = [Path(settings.HOME) / "logs", *logs]
    roots = [Path(watchbook.__file__).parent] if trees is None else list(trees)
    counts = {"logs": 0, "columns": 0, "files": 0}
    findings: list[Finding] = []
    for path in _files(places, LOG_NAMES, is_log=True):
        counts["logs"] += 1
        findings += _in_file(path, secrets, "log")
    for path in _files(roots, TREE_NAMES, is_log=False):
        counts["files"] += 1
        findings += _in_file(path, secrets, "file")
    findings += _in_pool()
    for model in apps.get_models():
        names = _text_columns(model)
        counts["columns"] += len(names)
        findings += _in_table(model, names, secrets)
    return Report(tuple(findings[:MOST_FINDINGS]), counts)


def _known_pieces() -> Iterator[str]:
    """The cookies of the pool, whole and by value. A pool that cannot be opened is looked for by name only."""
    for row in Cookie.objects.all():
        try:
            plain = encryption.decrypt(row.cookie_encrypted, name=row.cookie_name, platform=row.platform)
        except (DecryptionError, encryption.PoolUnavailable):
            continue
        yield from (value for _name, value in pairs_of(plain) if len(value) >= SHORTEST_PIECE)


def _files(roots: Iterable[Path], names: tuple[str, ...], *, is_log: bool) -> Iterator[Path]:
    for root in roots:
        if root.is_file():
            yield root
        for folder, inner, found in os.walk(root):
            # Tests hold cookies that were made up; that is what they are for.
            inner[:] = [name for name in inner if is_log or name not in NOT_ENTERED]
            yield from (Path(folder) / name for name in found if any(Path(name).match(shape) for shape in names))


def _in_file(path: Path, secrets: frozenset[str], kind: str) -> Iterator[Finding]:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                # Lines of a bundled script are long, and its variables get short names such as a1 by chance.
                is_bundle = path.suffix == ".js" and len(line) > LONGEST_SOURCE_LINE
                what = _secret_in(line[:LONGEST_LINE], secrets, by_name=not is_bundle)
                if what:
                    yield Finding(f"{kind} {path}:{number}", what)
    except OSError as error:
        yield Finding(f"{kind} {path}", f"cannot be read: {error.strerror}")


def _secret_in(text: str, secrets: frozenset[str], *, by_name: bool = True) -> str:
    """Return what was found, in words; `by_name` also finds values behind the names of known cookies."""
    if any(secret in text for secret in secrets):
        return "a cookie of the pool"
    if not by_name or not any(word in text for word in TELLTALES):
        return ""
    return next((f"a value of {found[1]}" for found in FOUND.finditer(text) if _is_telling(found)), "")


def _is_telling(found: Any) -> bool:
    value = found[3].strip("\"'")
    return len(value) >= SHORTEST_PIECE and not value.startswith(("***", *SEALED)) and any(c.isdigit() for c in value)


def _in_pool() -> Iterator[Finding]:
    for row in Cookie.objects.all():
        if not row.cookie_encrypted.startswith(SEALED):
            yield Finding(f"tbl_cookie {row.cookie_name}", "the cookie is not encrypted")
        elif row.encryption_key_id != encryption.key_id_in(row.cookie_encrypted):
            yield Finding(f"tbl_cookie {row.cookie_name}", "encryption_key_id is not the key of the encrypted value")


def _text_columns(model: type[models.Model]) -> list[str]:
    if not model._meta.managed or model._meta.proxy:
        return []
    kinds = (models.CharField, models.TextField, models.JSONField)
    columns = [field.name for field in model._meta.concrete_fields if isinstance(field, kinds) and not field.choices]
    return [name for name in columns if (model._meta.db_table, name) != ("tbl_cookie", "cookie_encrypted")]


def _in_table(model: type[models.Model], names: list[str], secrets: frozenset[str]) -> Iterator[Finding]:
    """One query per table: the database searches for the words, this code checks its hits."""
    if not names:
        return
    texts = {f"text_{name}": Cast(name, models.TextField()) for name in names}
    wanted = Q()
    for alias in texts:
        for word in (*TELLTALES, *secrets):
            wanted |= Q(**{f"{alias}__contains": word})
    rows = model._default_manager.annotate(**texts).filter(wanted).values_list("pk", *texts)
    for pk, *values in rows[:MOST_FINDINGS].iterator():
        for name, value in zip(names, values, strict=True):
            what = _secret_in(str(value or ""), secrets)
            if what:
                yield Finding(f"{model._meta.db_table}.{name} row {pk}", what)
