"""Long lists: change lists written to blobs, and every list read back in the shapes of the record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any

from watchbook.base.store import blobs
from watchbook.sources.sitemaps.compare import Difference, union_records
from watchbook.sources.sitemaps.compare.difference import ADDED, MODIFIED, REMOVED, ROLLED_OFF
from watchbook.sources.sitemaps.models import ChangeRecord, SitemapSnapshot
from watchbook.sources.sitemaps.parse import PartList

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


def change_items(record: ChangeRecord, kind: str) -> Iterator[dict[str, Any]]:
    """Entries of one kind (added, removed, modified) in the order of their URLs."""
    manifest = record.changes.get("manifest")
    if manifest is None:
        yield from record.changes.get(kind, [])
        return
    for line in blobs.lines(manifest):
        if MARKS[chr(line[0])] == kind:
            yield json.loads(line[2:])


def snapshot_lists(snapshot: SitemapSnapshot, folder: Path) -> list[PartList]:
    return [
        PartList(entry["url"], entry["sha256"], entry["url_count"], blobs.packed(entry["sha256"], folder))
        for entry in snapshot.parts
    ]


def snapshot_urls(snapshot: SitemapSnapshot, folder: Path) -> Iterator[dict[str, str | None]]:
    """Every page a snapshot lists, in the order of their URLs."""
    if isinstance(snapshot.urls, list):
        yield from snapshot.urls
        return
    for record in union_records(snapshot_lists(snapshot, folder)):
        yield record.as_json()
