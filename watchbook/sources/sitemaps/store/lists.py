"""Long lists: change lists written to blobs, and every list read back in the shapes of the record."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from pathlib import Path
from typing import Any

from watchbook.base.store import blobs
from watchbook.sources.sitemaps.compare import Difference, union_records
from watchbook.sources.sitemaps.compare.difference import ADDED, MODIFIED, REMOVED, ROLLED_OFF
from watchbook.sources.sitemaps.models import ChangeRecord, SitemapSnapshot
from watchbook.sources.sitemaps.parse import PartList
from watchbook.sources.sitemaps.parse.lines import key_for

# First letter of a stored line, and the list it belongs to.
MARKS = {"a": "added", "m": "modified", "r": "removed"}


def write_changes(difference: Difference, folder: Path) -> dict[str, Any]:
    """Store all changes in one blob, kind by kind in the order of their URLs; the column holds where they are."""
    removed = merge(difference.items(REMOVED), difference.items(ROLLED_OFF), key=lambda item: str(item["url"]))
    count = 0
    plain = folder / "changes.lines"
    with plain.open("wb") as file:
        for mark, items in (("a", difference.items(ADDED)), ("m", difference.items(MODIFIED)), ("r", removed)):
            for item in items:
                file.write(f"{mark}\t{json.dumps(item, ensure_ascii=False)}\n".encode())
                count += 1
    sha256 = blobs.digest(plain)
    blobs.put(plain, sha256=sha256, line_count=count)
    return {"manifest": sha256}


def change_entries(record: ChangeRecord, kind: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Kind and entry, in one pass and the order of the list; of one kind (added, removed, modified) or of all."""
    manifest = record.changes.get("manifest")
    if manifest is None:
        for name in [kind] if kind else (ADDED, REMOVED, MODIFIED):
            yield from ((name, entry) for entry in record.changes.get(name, []))
        return
    for line in blobs.lines(manifest):
        name = MARKS[chr(line[0])]
        if not kind or name == kind:
            yield name, json.loads(line[2:])


def change_items(record: ChangeRecord, kind: str) -> Iterator[dict[str, Any]]:
    """Entries of one kind in the order of their URLs."""
    return (entry for _kind, entry in change_entries(record, kind))


def snapshot_lists(snapshot: SitemapSnapshot, folder: Path) -> list[PartList]:
    return [
        PartList(entry["url"], entry["sha256"], entry["url_count"], blobs.packed(entry["sha256"], folder))
        for entry in snapshot.parts
    ]


def snapshot_urls(snapshot: SitemapSnapshot, folder: Path, after: str = "") -> Iterator[dict[str, str | None]]:
    """Every page a snapshot lists, in the order of their URLs; from the one that comes after this one."""
    key = key_for(after) if after else b""
    if isinstance(snapshot.urls, list):
        yield from (row for row in snapshot.urls if not key or key_for(str(row["url"])) > key)
        return
    lists = snapshot_lists(snapshot, folder)
    if key:
        lists = [_After(part.name, part.sha256, part.count, part.source, key=key) for part in lists]
    for record in union_records(lists):
        yield record.as_json()


@dataclass(frozen=True, slots=True)
class _After(PartList):
    """A list from a URL on: what comes before is passed over block by block, unread."""

    key: bytes = b""

    def blocks(self, size: int = 262_144) -> Iterator[list[bytes]]:
        # A line goes on with a tab after its URL, and no line holds the line feed that comes next to it.
        edge = self.key + b"\n"
        for block in PartList.blocks(self, size):
            if block[-1] >= edge:
                yield block[bisect_left(block, edge) :] if block[0] < edge else block
