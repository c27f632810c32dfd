"""Audits: which floors are missing, how often each was tried, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count

from watchbook.systems.nga.models import (
    MOST_ATTEMPTS,
    FloorRepair,
    Post,
    Thread,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadFloorRepairAttempt,
    ThreadRepair,
)
from watchbook.systems.nga.store.versions import fit_summary

BATCH = 1000
RUN_COUNTERS = (
    "total_thread_count", "missing_thread_count", "repaired_thread_count", "partial_thread_count",
    "failed_thread_count", "failed_http_count", "failed_parse_count", "failed_db_count", "failed_unknown_count",
)  # fmt: skip


@dataclass(frozen=True)
class Gap:
    """A topic that has fewer floors than its cursor says."""

    thread_id: int
    source_thread_id: int
    max_floor_number: int
    post_count: int
    missing: tuple[int, ...]


@dataclass(frozen=True)
class RepairError:
    category: str
    summary: str
    http_error_code: int | None = None


@dataclass
class Result:
    """The result of one attempt for each post."""

    repaired: set[int] = field(default_factory=set)
    still_missing: set[int] = field(default_factory=set)
    failed: dict[int, RepairError] = field(default_factory=dict)

    def statuses(self) -> dict[int, str]:
        return {
            **dict.fromkeys(self.repaired, FloorRepair.REPAIRED.value),
            **dict.fromkeys(self.still_missing, FloorRepair.STILL_MISSING.value),
            **dict.fromkeys(self.failed, FloorRepair.FAILED.value),
        }


def find_gaps() -> Iterator[tuple[int, list[Gap]]]:
    """Batch after batch of topics: how many were checked, and those with gaps. Two queries a batch without gaps."""
    last = 0
    while rows := list(
        Thread.objects.filter(pk__gt=last)
        .order_by("pk")
        .values_list("pk", "source_thread_id", "crawl_cursor_max_floor_number")[:BATCH]
    ):
        last = rows[-1][0]
        stored = Post.objects.filter(thread_id__gte=rows[0][0], thread_id__lte=last)
        counts = dict(stored.order_by().values_list("thread_id").annotate(number=Count("pk")))
        short = [(pk, tid, top) for pk, tid, top in rows if top is not None and counts.get(pk, 0) != top + 1]
        yield len(rows), [_gap(pk, tid, top, counts.get(pk, 0)) for pk, tid, top in short]


def _gap(thread_id: int, tid: int, highest: int, post_count: int) -> Gap:
    stored = set(Post.objects.filter(thread_id=thread_id).values_list("floor_number", flat=True))
    missing = tuple(number for number in range(highest + 1) if number not in stored)
    return Gap(thread_id, tid, highest, post_count, missing)


def begin_audit(trigger: str, *, repair: bool, now: datetime) -> ThreadFloorAuditRun:
    return ThreadFloorAuditRun.objects.create(
        run_started_at=now, run_trigger_text=trigger, repair_enabled=repair, created_at=now, updated_at=now
    )


def store_gaps(run: ThreadFloorAuditRun, gaps: Sequence[Gap], now: datetime) -> list[ThreadFloorAuditThread]:
    """A row for each topic with gaps, and one for each missing floor."""
    listed = []
    for gap in gaps:
        tried = attempts_of(gap.thread_id)
        ignored = [number for number in gap.missing if tried.get(number, 0) >= MOST_ATTEMPTS]
        row = ThreadFloorAuditThread.objects.create(
            audit_run=run,
            thread_id=gap.thread_id,
            source_thread_id=gap.source_thread_id,
            max_floor_number=gap.max_floor_number,
            post_count=gap.post_count,
            missing_floor_count=len(gap.missing),
            ignored_floor_count=len(ignored),
            created_at=now,
            updated_at=now,
        )
        floors = (_floor_row(row, number, tried.get(number, 0), now) for number in gap.missing)
        ThreadFloorAuditPost.objects.bulk_create(floors, batch_size=500)
        listed.append(row)
    return listed


def _floor_row(row: ThreadFloorAuditThread, number: int, tried: int, now: datetime) -> ThreadFloorAuditPost:
    return ThreadFloorAuditPost(
        audit_run_id=row.audit_run_id,
        audit_thread=row,
        thread_id=row.thread_id,
        source_thread_id=row.source_thread_id,
        floor_number=number,
        repair_status=FloorRepair.IGNORED if tried >= MOST_ATTEMPTS else FloorRepair.MISSING,
        attempt_count_before=tried,
        created_at=now,
        updated_at=now,
    )


def attempts_of(thread_id: int) -> dict[int, int]:
    rows = ThreadFloorRepairAttempt.objects.filter(thread_id=thread_id)
    return dict(rows.values_list("floor_number", "attempt_count"))


def store_result(row: ThreadFloorAuditThread, result: Result, now: datetime) -> None:
    """Count an attempt for every floor that was tried, and say what came of it. Belongs to the floors' transaction."""
    statuses = result.statuses()
    _count_attempts(row, statuses, now)
    floors = list(row.posts.filter(floor_number__in=statuses))
    for floor in floors:
        failure = result.failed.get(floor.floor_number)
        floor.repair_status = statuses[floor.floor_number]
        floor.attempt_count_after = floor.attempt_count_before + 1
        floor.repair_error_category = failure.category if failure else None
        floor.repair_error_summary = fit_summary(failure.summary) if failure else None
        floor.repair_http_error_code = failure.http_error_code if failure else None
        floor.updated_at = now
    columns = ["repair_status", "attempt_count_after", "repair_error_category", "repair_error_summary"]
    ThreadFloorAuditPost.objects.bulk_update(floors, [*columns, "repair_http_error_code", "updated_at"], batch_size=200)


def _count_attempts(row: ThreadFloorAuditThread, tried: dict[int, str], now: datetime) -> None:
    known = {
        one.floor_number: one
        for one in ThreadFloorRepairAttempt.objects.filter(thread_id=row.thread_id, floor_number__in=tried)
    }
    new = [
        ThreadFloorRepairAttempt(
            thread_id=row.thread_id,
            source_thread_id=row.source_thread_id,
            floor_number=number,
            attempt_count=1,
            last_attempted_at=now,
            created_at=now,
            updated_at=now,
        )
        for number in sorted(tried)
        if number not in known
    ]
    for one in known.values():
        one.attempt_count = min(one.attempt_count + 1, 255)
        one.last_attempted_at = one.updated_at = now
    ThreadFloorRepairAttempt.objects.bulk_create(new, batch_size=500)
    ThreadFloorRepairAttempt.objects.bulk_update(
        list(known.values()), ["attempt_count", "last_attempted_at", "updated_at"], batch_size=200
    )


def note_outage(row: ThreadFloorAuditThread, error: RepairError, now: datetime) -> None:
    """Record why a repair stopped. The site failed, not the posts: no attempt is counted."""
    row.repair_error_summary = fit_summary(error.summary)
    row.repair_error_category, row.repair_http_error_code = error.category, error.http_error_code
    row.updated_at = now
    row.save(update_fields=["repair_error_summary", "repair_error_category", "repair_http_error_code", "updated_at"])


def begin_repair(row: ThreadFloorAuditThread, crawl_run_id: int, now: datetime) -> None:
    row.repair_crawl_run_id, row.repair_attempted_at, row.updated_at = crawl_run_id, now, now
    row.save(update_fields=["repair_crawl_run_id", "repair_attempted_at", "updated_at"])


def finish_repair(row: ThreadFloorAuditThread, now: datetime) -> None:
    """The verdict on one topic, from the rows of its floors."""
    floors = list(row.posts.order_by("floor_number"))
    counts = Counter(floor.repair_status for floor in floors)
    failed = next((floor for floor in floors if floor.repair_status == FloorRepair.FAILED), None)
    stored = Post.objects.filter(thread_id=row.thread_id)
    row.repair_status = _verdict(counts)
    row.repair_after_max_floor_number = row.max_floor_number
    row.repair_after_post_count = stored.count()
    row.repair_remaining_floor_count = row.missing_floor_count - counts[FloorRepair.REPAIRED]
    if failed is not None:
        row.repair_error_summary = failed.repair_error_summary
        row.repair_error_category = failed.repair_error_category
        row.repair_http_error_code = failed.repair_http_error_code
    row.repair_finished_at = row.updated_at = now
    row.save()


def _verdict(counts: Counter[str]) -> str:
    """Return the state of a repaired topic. A post that the site no longer has is missing, not failed."""
    if counts[FloorRepair.REPAIRED] == counts.total():
        return ThreadRepair.REPAIRED
    if counts[FloorRepair.IGNORED] + counts[FloorRepair.MISSING] == counts.total():
        return ThreadRepair.SKIPPED
    if not counts[FloorRepair.REPAIRED]:
        return ThreadRepair.FAILED if counts[FloorRepair.FAILED] else ThreadRepair.MISSING
    return ThreadRepair.PARTIAL


def finish_audit(run: ThreadFloorAuditRun, now: datetime) -> None:
    threads = list(run.threads.values_list("repair_status", "repair_error_category"))
    statuses = Counter(status for status, _ in threads)
    categories = Counter(category for status, category in threads if status == ThreadRepair.FAILED)
    counts: dict[str, Any] = {
        "missing_thread_count": len(threads),
        "repaired_thread_count": statuses[ThreadRepair.REPAIRED],
        "partial_thread_count": statuses[ThreadRepair.PARTIAL],
        "failed_thread_count": statuses[ThreadRepair.FAILED],
    }
    counts |= {f"failed_{name}_count": categories[name] for name in ("http", "parse", "db", "unknown")}
    for name, value in counts.items():
        setattr(run, name, value)
    run.run_finished_at = run.updated_at = now
    run.save()
