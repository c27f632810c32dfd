"""Looking for secrets in everything that a program leaves behind, also where they are packed or written otherwise."""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import io
import json
import re
import sqlite3
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import zstandard

_PACKED = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
DEEPEST = 3


class Hunt:
    """Secrets by kind. `search` gives the kinds that are in some bytes, in any form that is easily undone."""

    def __init__(self) -> None:
        self.secrets: dict[str, list[bytes]] = {}
        self._plain: dict[str, list[str]] = {}

    def add(self, kind: str, secret: str) -> str:
        assert len(secret) >= 6, kind
        forms = {
            secret, quote(secret, safe=""), quote_plus(secret), html.escape(secret), json.dumps(secret)[1:-1],
            repr(secret)[1:-1], secret.encode().hex(),
        }  # fmt: skip
        self.secrets.setdefault(kind, []).extend(form.encode() for form in forms)
        self._plain.setdefault(kind, []).append(secret)
        return secret

    def first(self, kind: str) -> str:
        return self._plain[kind][0]

    def search(self, data: bytes | str | None, depth: int = 0) -> set[str]:
        if not data:
            return set()
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
        found = {kind for kind, forms in self.secrets.items() if any(form in raw for form in forms)}
        if depth < DEEPEST:
            for inner in _inside(raw):
                found |= self.search(inner, depth + 1)
        return found


def _inside(raw: bytes) -> Iterator[bytes]:
    """What the bytes become when they are unpacked: zlib, gzip, zstd, and every run that looks like base64."""
    for wbits in (zlib.MAX_WBITS, 31):
        if raw[:2] in (b"\x78\x9c", b"\x78\x01", b"\x78\xda", b"\x1f\x8b"):
            with contextlib.suppress(zlib.error):
                yield zlib.decompressobj(wbits).decompress(raw, 50_000_000)
    if raw.startswith(b"\x28\xb5\x2f\xfd"):
        with contextlib.suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw)).read(50_000_000)
    for run in set(_PACKED.findall(raw[:2_000_000])):
        if len(run) == len(raw) and b"=" not in run and run.isdigit():
            continue
        text = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        with contextlib.suppress(binascii.Error, ValueError):
            yield base64.b64decode(text + b"=" * (-len(text) % 4))


def in_files(hunt: Hunt, folder: Path, *, besides: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """Every file under a folder, archives and what is in them too."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(besides):
            kinds = in_archive(hunt, path) if path.suffix == ".tar" else hunt.search(path.read_bytes())
            if kinds:
                found[name] = kinds
    return found


def in_archive(hunt: Hunt, path: Path) -> set[str]:
    kinds: set[str] = set()
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            data = file.read() if file else b""
            kinds |= hunt.search(data)
            if member.name.endswith((".zst", ".zstd")):
                kinds |= hunt.search(zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read())
    return kinds


def in_database(hunt: Hunt, home: Path, url: str) -> dict[str, set[str]]:
    """Every column of every row of every table."""
    found: dict[str, set[str]] = {}
    for table, column, value in _postgres_cells(url) if url.startswith("postgres") else _sqlite_cells(home):
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        kinds = hunt.search(text if isinstance(text, str | bytes | memoryview) else str(text))
        if kinds:
            found.setdefault(f"{table}.{column}", set()).update(kinds)
    return found


def _sqlite_cells(home: Path) -> Iterator[tuple[str, str, Any]]:
    with closing(sqlite3.connect(home / "watchbook.sqlite3", timeout=20)) as database:
        database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        # A virtual table keeps what it holds in tables of its own, which are listed as well.
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        tables = [name for (name,) in database.execute(query)]
        for table in tables:
            rows = database.execute(f'SELECT * FROM "{table}"')
            columns = [entry[0] for entry in rows.description]
            for row in rows:
                yield from ((table, column, value) for column, value in zip(columns, row, strict=True))


def _postgres_cells(url: str) -> Iterator[tuple[str, str, Any]]:
    import psycopg  # only where the run is on PostgreSQL

    with psycopg.connect(url) as database:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        for (table,) in database.execute(query).fetchall():
            rows = database.execute(f'SELECT * FROM "{table}"')
            columns = [entry.name for entry in rows.description or ()]
            for row in rows:
                yield from ((table, column, value) for column, value in zip(columns, row, strict=True))


def in_redis(hunt: Hunt, client: Any) -> dict[str, set[str]]:
    """Every key and every value, as they lie there."""
    found: dict[str, set[str]] = {}
    for key, value in redis_entries(client):
        if kinds := hunt.search(key) | hunt.search(value):
            found[key] = kinds
    return found


def redis_entries(client: Any) -> Iterator[tuple[str, bytes]]:
    for key in client.scan_iter(count=1000):
        read = {"string": client.get, "list": lambda k: b"\n".join(client.lrange(k, 0, -1))}
        value = read.get(client.type(key).decode(), client.dump)(key)
        yield key.decode("utf-8", "replace"), value or b""
