"""Reads and writes long lists of changes and snapshots in blobs, and learns which URLs change frequently."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge
from io import BytesIO
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_noop

from watchbook.base.store import lists as sorted_lists
from watchbook.base.store.blobs import BlobMissing
from watchbook.systems.sitemaps.compare import ADDED, MODIFIED, REMOVED, ROLLED_OFF, Difference, union_records
from watchbook.systems.sitemaps.compare.reliability import BulkDateUpdate, advance, always_changing, find_bulk_date
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask, SitemapSnapshot, UrlHistory
from watchbook.systems.sitemaps.parse.lists import PartList, key_for, read_line
from watchbook.systems.sitemaps.records import OK, Reading

LOST = {
    "list_repaired": gettext_noop("A stored list was lost and was read again from the site. No change was missed."),
    "list_lost": gettext_noop(
        "A stored list was lost. The list as read now is the new baseline; changes since the last check are not known."
    ),
}
# First letter of a stored line, and the list it belongs to.
MARKS = {"a": "added", "m": "modified", "r": "removed"}


def write_changes(difference: Difference, folder: Path) -> dict[str, Any]:
    """Store all changes in one blob and return its manifest."""
    removed = merge(difference.items(REMOVED), difference.items(ROLLED_OFF), key=lambda item: str(item["url"]))
    count = 0
    plain = folder / "changes.lines"
    with plain.open("wb") as file:
        for mark, items in (("a", difference.items(ADDED)), ("m", difference.items(MODIFIED)), ("r", removed)):
            for item in items:
                file.write(f"{mark}\t{json.dumps(item, ensure_ascii=False)}\n".encode())
                count += 1
    sha256 = sorted_lists.digest(plain)
    sorted_lists.put(plain, sha256=sha256, line_count=count)
    return {"manifest": sha256}


def change_entries(record: ChangeRecord, kind: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (kind, entry) of one kind (added, removed, modified) or of all."""
    manifest = record.changes.get("manifest")
    if manifest is None:
        for name in [kind] if kind else (ADDED, REMOVED, MODIFIED):
            yield from ((name, entry) for entry in record.changes.get(name, []))
        return
    for line in sorted_lists.lines(manifest):
        name = MARKS[chr(line[0])]
        if not kind or name == kind:
            yield name, json.loads(line[2:])


def change_items(record: ChangeRecord, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of one kind in the order of their URLs."""
    return (entry for _kind, entry in change_entries(record, kind))


def snapshot_lists(snapshot: SitemapSnapshot, folder: Path) -> list[PartList]:
    return [
        PartList(entry["url"], entry["sha256"], entry["url_count"], sorted_lists.packed(entry["sha256"], folder))
        for entry in snapshot.parts
    ]


def stored_lists(
    snapshot: SitemapSnapshot, reading: Reading, folder: Path
) -> tuple[list[PartList], list[dict[str, Any]]]:
    """Return the lists of a snapshot, and a note for each that is lost.

    In the place of a lost list comes the one just read: equal, or else a new baseline. Raises BlobMissing if its file
    was not read completely, because its URLs would all count as new in a later check.
    """
    read = {part.url: part for part in reading.pages}
    lists, notes = [], []
    for entry in snapshot.parts:
        try:
            source = sorted_lists.packed(entry["sha256"], folder)
            lists.append(PartList(entry["url"], entry["sha256"], entry["url_count"], source, entry.get("news", False)))
        except BlobMissing:
            part = read.get(entry["url"])
            if part is not None and (part.lines is None or part.outcome != OK):
                raise
            is_same = part is not None and part.summary["list_sha256"] == entry["sha256"]
            code = "list_repaired" if is_same else "list_lost"
            notes.append({"code": code, "count": 1, "message": LOST[code], "part": entry["url"]})
            lists += [part.as_list()] if part is not None else []
    return lists, notes


def lost_files(snapshot: SitemapSnapshot | None) -> set[str]:
    """Addresses of the files of a snapshot whose stored list cannot be read."""
    entries = snapshot.parts if snapshot else []
    lost = sorted_lists.unreadable(entry["sha256"] for entry in entries)
    return {entry["url"] for entry in entries if entry["sha256"] in lost}


def snapshot_urls(snapshot: SitemapSnapshot, folder: Path, after: str = "") -> Iterator[dict[str, str | None]]:
    """Yield the URLs of a snapshot in alphabetical order, after the given URL."""
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
    """A list from a given URL on; earlier blocks are skipped unread."""

    key: bytes = b""

    def blocks(self, size: int = 262_144) -> Iterator[list[bytes]]:
        # In a line a tab follows the URL, and a line feed sorts right after a tab.
        edge = self.key + b"\n"
        for block in PartList.blocks(self, size):
            if block[-1] >= edge:
                yield block[bisect_left(block, edge) :] if block[0] < edge else block


LISTED = 1000


@dataclass
class Noise:
    """Modified URLs split into frequently changing and notified ones, with the first of each."""

    noisy_count: int = 0
    noisy: list[str] = field(default_factory=list)
    notified_count: int = 0
    notified: list[dict[str, str | None]] = field(default_factory=list)
    restamp: BulkDateUpdate | None = None


def learn(monitor: MonitorTask, difference: Difference) -> Noise:
    """Update the history of every URL with this check and split the modified URLs."""
    import zstandard  # only where a history is written

    row, _ = UrlHistory.objects.get_or_create(pk=monitor.pk)
    noise = Noise()
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    packed = bytearray()
    modified = (change.url for change in difference.changes(MODIFIED))
    changes = difference.changes(MODIFIED)
    for url, history, changed in advance(_histories(row), modified, unchanged_before=row.unchanged_checks):
        packed += packer.compress(key_for(url) + b"\t%d\n" % history)
        if changed:
            _sort(noise, next(changes).as_json(), is_noisy=always_changing(history))
    packed += packer.flush()
    row.data, row.unchanged_checks = bytes(packed), 0
    row.save(update_fields=["data", "unchanged_checks"])
    noise.restamp = find_bulk_date(lambda: (item["new_lastmod"] for item in difference.items(MODIFIED)))
    return noise


def _sort(noise: Noise, item: dict[str, str | None], *, is_noisy: bool) -> None:
    if is_noisy:
        noise.noisy_count += 1
        if len(noise.noisy) < LISTED:
            noise.noisy.append(str(item["url"]))
    else:
        noise.notified_count += 1
        if len(noise.notified) < LISTED:
            noise.notified.append(item)


def _histories(row: UrlHistory) -> Iterator[tuple[str, int]]:
    import zstandard

    if not row.data:
        return
    with zstandard.ZstdDecompressor().stream_reader(BytesIO(bytes(row.data))) as reader:
        rest = b""
        while chunk := reader.read(1 << 18):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                record = read_line(line)
                yield record.url, int(record.lastmod)  # the second column of these lines is the history
