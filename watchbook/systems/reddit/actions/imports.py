"""Imports dump files of posts and comments, in batches that an interrupted import continues after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction

from watchbook.base import clock
from watchbook.base.text import cut
from watchbook.core.accounts import audit
from watchbook.systems.reddit.jobs.crawl import full_name
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, DumpImport
from watchbook.systems.reddit.parse import SkippedLine, parse_line
from watchbook.systems.reddit.parse import dumps as dumps
from watchbook.systems.reddit.store.imports import Placed, store_batch

BATCH = 500
NOT_LISTED = "community not in the list"
OTHER = "another community"
TOO_LONG = "line too long"
# Reasons that concern the choice of communities, not the line: counted, but not listed.
CHOSEN = (NOT_LISTED, OTHER)


@dataclass
class Batch:
    """Some lines: what is imported, and what is skipped with its line number."""

    items: list[Placed] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[int, str]] = field(default_factory=list)


def import_dump(
    path: Path,
    *,
    community: str = "",
    window_megabytes: int = dumps.MAX_WINDOW_MEGABYTES,
    progress: Callable[[dict[str, Any]], None] = lambda figures: None,
    skipped: Callable[[int, str], object] = lambda line, reason: None,
) -> DumpImport:
    """Import a file, from where an interrupted import of the same file ended.

    A finished one is read again only if communities were added for which it had skipped lines.
    """
    row = _begin(path, full_name(community) if community else "")
    if row.finished_at is not None:
        return row
    homes = _homes(row.community_name)
    found = islice(dumps.lines(path, window_megabytes=window_megabytes), row.lines, None)
    for batch, lines in _batches(found, row, homes):
        # Before they are stored: after a kill a line may be listed twice, but none is missing.
        for number, reason in batch.problems:
            skipped(number, reason)
        row = store_batch(row, batch.items, batch.skipped, lines=lines, now=clock.now())
        progress({"lines": row.lines, "new": row.new, "updated": row.updated, "skipped": sum(row.skipped.values())})
    with transaction.atomic():
        row.finished_at = row.updated_at = clock.now()
        row.save(update_fields=["finished_at", "updated_at"])
        audit.record("reddit.imported", subject=row.file_name, lines=row.lines, new=row.new, skipped=row.skipped)
    return row


def _begin(path: Path, community: str) -> DumpImport:
    now = clock.now()
    row, _ = DumpImport.objects.get_or_create(
        fingerprint=dumps.fingerprint(path),
        community_name=community,
        defaults={"file_name": cut(path.name, 200), "started_at": now, "updated_at": now},
    )
    if NOT_LISTED in row.skipped and CommunityPool.objects.filter(created_at__gt=row.started_at).exists():
        row.begin_again(now)
    return row


def _homes(community: str) -> dict[str, str]:
    """Return names of wanted communities as the list writes them, by their folded name."""
    if community:
        listed = CommunityCache.objects.named(community)
        return {community.removeprefix("r/").lower(): listed.community_name if listed else community}
    names = CommunityCache.objects.values_list("community_name", flat=True)
    return {name.removeprefix("r/").lower(): name for name in names}


def _batches(found: Iterator[bytes | None], row: DumpImport, homes: dict[str, str]) -> Iterator[tuple[Batch, int]]:
    """Yield batches with the number of the last line of each."""
    number = row.lines
    while lines := list(islice(found, BATCH)):
        batch = Batch()
        for line in lines:
            number += 1
            _add(batch, line, number, homes, OTHER if row.community_name else NOT_LISTED)
        yield batch, number


def _add(batch: Batch, line: bytes | None, number: int, homes: dict[str, str], elsewhere: str) -> None:
    if line is not None and not line.strip():
        return
    try:
        if line is None:
            raise SkippedLine(TOO_LONG)
        dumped = parse_line(line)
        home = homes.get(dumped.item.subreddit.lower())
        if home is None:
            raise SkippedLine(elsewhere)
    except SkippedLine as error:
        reason = str(error)
        batch.skipped[reason] += 1
        batch.problems += [] if reason in CHOSEN else [(number, reason)]
    else:
        batch.items.append(Placed(dumped, home))
