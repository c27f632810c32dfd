"""Attributes for documents from before an upgrade. Until a document is reindexed, only its words are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from watchbook.core import registry
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.search import index
from watchbook.core.search.models import Reindexing, SearchDocument

BATCH = 200


@dataclass(frozen=True)
class Progress:
    """How far the reindexing is, by the ids of documents."""

    done: int
    last: int

    @property
    def percent(self) -> int:
        return self.done * 100 // self.last


def progress() -> Progress | None:
    """None when every document has its attributes."""
    row = Reindexing.objects.order_by("pk").first()
    return Progress(row.done_id, row.last_id) if row else None


def is_behind(now: datetime) -> bool:
    return Reindexing.objects.exists()


def reindex(ctx: JobContext) -> Outcome:
    """Ask the systems for the attributes of all documents; after an upgrade for those from before it.

    Scheduled only while something is left to do. An interrupted run continues where it stopped.
    """
    row = Reindexing.objects.order_by("pk").first() or _begin()
    if row is None:
        return NOTHING_TO_DO
    done = 0
    while batch := _next(row):
        with ctx.writing():
            # Read in the transaction that writes: a crawl that changes one of them waits or is seen.
            describe(list(SearchDocument.objects.select_for_update().filter(pk__in=batch)))
            row.done_id = batch[-1]
            row.save(update_fields=["done_id"])
        done += len(batch)
        ctx.report(documents=done)
    with ctx.writing():
        row.delete()
    return Outcome("done", {"documents": done})


def _begin() -> Reindexing | None:
    last = SearchDocument.objects.last_id()
    return Reindexing.objects.create(last_id=last) if last else None


def _next(row: Reindexing) -> list[int]:
    rows = SearchDocument.objects.since(row.done_id).filter(pk__lte=row.last_id)
    return list(rows.values_list("pk", flat=True)[:BATCH])


def describe(rows: Sequence[SearchDocument]) -> int:
    """Ask each system for the attributes of its items and store them."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        groups.setdefault((row.source, row.kind), []).append(row.object_id)
    found = {
        (kind, object_id): attributes
        for (source, kind), ids in groups.items()
        for object_id, attributes in registry.search_attributes(source, kind, ids).items()
    }
    return index.describe(rows, found)
