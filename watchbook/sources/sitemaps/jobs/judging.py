"""From a reading to a verdict: what the sitemap lists now, what is different, and how far it can be believed.

Rules: a part that was not read whole keeps what was known of it; a check that did not read everything removes nothing;
a check that lost much at once is believed only when a second one says the same; the first check is a baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from watchbook.base.store import blobs
from watchbook.sources.sitemaps.compare import Difference, Patterns, Union, compare, is_suspect, union_of
from watchbook.sources.sitemaps.compare.difference import HELD, REMOVED
from watchbook.sources.sitemaps.models import ChangeType, Health, MonitorTask, SitemapPart, SitemapSnapshot
from watchbook.sources.sitemaps.parse import PartList
from watchbook.sources.sitemaps.parse.lines import write_line
from watchbook.sources.sitemaps.parse.lists import ListWriter
from watchbook.sources.sitemaps.records import (
    CARRIED,
    LEFT_INDEX,
    OK,
    READ_WHOLE,
    SAME,
    Checked,
    Listed,
    PartReading,
    Reading,
    repeated_notes,
)

CONFIRMED = "Confirmed in 2 checks."


def judge(
    monitor: MonitorTask, reading: Reading, known: Mapping[str, SitemapPart], counts: Sequence[int], folder: Path
) -> Checked:
    """Compare a reading with the monitor's present snapshot."""
    snapshot = monitor.current_snapshot
    if snapshot is None:
        return _baseline(reading)
    if _is_same(reading, snapshot):
        same = Union(snapshot.url_hash, snapshot.url_count, 0)
        return _conclude(reading, [], same, ChangeType.NO_CHANGE, Health.OK)
    before = [_stored(entry, folder) for entry in snapshot.parts]
    lists, dropped = _present_lists(reading, known, before)
    is_whole = reading.is_complete and all(one.outcome in READ_WHOLE for one in lists)
    old = [*before, *_late_baseline(lists, known)]
    patterns = Patterns.of(monitor.include_patterns, monitor.exclude_patterns)
    keep = patterns.matches if patterns else None
    difference = compare(old, [one.part for one in lists], removals=is_whole, keep=keep)
    if not is_whole and difference.counts[HELD]:
        lists.append(_carried(difference, folder))
    union = union_of([one.part for one in lists])
    health = Health.OK if is_whole else Health.DEGRADED
    checked = _conclude(reading, lists, union, ChangeType.CHANGED, health)
    checked.difference, checked.dropped = difference, dropped
    _doubt(checked, monitor, snapshot, counts)
    if checked.health != Health.SUSPECT and union.url_hash == snapshot.url_hash:
        checked.change_type = ChangeType.NO_CHANGE
    return checked


def _doubt(checked: Checked, monitor: MonitorTask, snapshot: SitemapSnapshot, counts: Sequence[int]) -> None:
    """Much is gone at once: believed when it is seen twice."""
    assert checked.difference is not None
    removed = checked.difference.counts[REMOVED]
    if checked.health != Health.OK or not is_suspect(removed, snapshot.url_count, counts, left=checked.url_count):
        return
    if monitor.suspect_hash:
        checked.notes.append({"code": "confirmed_in_2_checks", "count": 2, "message": CONFIRMED})
    else:
        checked.health = Health.SUSPECT


def _baseline(reading: Reading) -> Checked:
    """The first check: what could be read is what was there."""
    lists = [listed for part in reading.pages if (listed := _listed(part, None, is_first=True))]
    union = union_of([one.part for one in lists])
    health = Health.OK if reading.is_complete else Health.DEGRADED
    return _conclude(reading, lists, union, ChangeType.INITIAL, health)


def _conclude(reading: Reading, lists: list[Listed], union: Union, change_type: str, health: str) -> Checked:
    notes = [*reading.notes, *repeated_notes(union)]
    return Checked(reading, change_type, health, union.url_hash, union.count, lists, notes=notes)


def _is_same(reading: Reading, snapshot: SitemapSnapshot) -> bool:
    """Every part is the one the snapshot was made of: nothing to compare, nothing to open."""
    listed = {entry["url"]: entry["sha256"] for entry in snapshot.parts}
    read = {part.url: part.summary.get("list_sha256") for part in reading.pages if part.outcome == SAME}
    return reading.is_complete and len(read) == len(reading.pages) and read == listed


def _stored(entry: Mapping[str, Any], folder: Path) -> PartList:
    source = blobs.packed(entry["sha256"], folder)
    return PartList(entry["url"], entry["sha256"], entry["url_count"], source, entry.get("news", False))


def _present_lists(
    reading: Reading, known: Mapping[str, SitemapPart], before: Sequence[PartList]
) -> tuple[list[Listed], list[str]]:
    """The lists the sitemap consists of now; what was not read whole stands as it was."""
    earlier = {part.name: part for part in before if part.name}
    lists = [listed for part in reading.pages if (listed := _listed(part, earlier.pop(part.url, None)))]
    # A file that lists pages no more but other files is read all the same: it did not leave.
    turned_index = {part.url for part in reading.parts if part.is_index and part.is_read}
    dropped = []
    for url, kept in earlier.items():
        if url in turned_index:
            continue
        row = known.get(url)
        seen_twice = row is not None and row.missing_since is not None
        if reading.is_complete and (seen_twice or url in reading.gone):
            dropped.append(url)
        else:
            # Left its index, and not yet known to be gone: what it listed stays until a second check agrees.
            lists.append(Listed(kept, url, LEFT_INDEX))
    return lists, dropped


def _listed(part: PartReading, kept: PartList | None, *, is_first: bool = False) -> Listed | None:
    if part.lines is not None and (part.outcome == OK or is_first):
        summary = part.summary
        fresh = PartList(part.url, summary["list_sha256"], part.count, part.lines, bool(summary.get("news")))
        return Listed(fresh, part.url, part.outcome, part.lines)
    return Listed(kept, part.url, part.outcome) if kept is not None else None


def _late_baseline(lists: Sequence[Listed], known: Mapping[str, SitemapPart]) -> list[PartList]:
    """Parts that the first check could not read: what they list now was there before, so it is not an addition."""
    return [one.part for one in lists if (row := known.get(one.url)) is not None and row.owes_baseline and one.lines]


def _carried(difference: Difference, folder: Path) -> Listed:
    """Pages that are listed no more in what was read, held until everything can be read."""
    target = folder / "carried.lines"
    writer = ListWriter(target)
    batch = []
    for change in difference.changes(HELD):
        assert change.old is not None
        batch.append(write_line(change.old.url, change.old.lastmod, change.old.changefreq, change.old.priority))
    writer.add(batch)
    return Listed(writer.finish(CARRIED), "", CARRIED, target)
