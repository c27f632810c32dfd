"""Crawling a stand-in board, and the archive side by side with the board's own ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from standins.nga_board import ArchivedFloor, Known, NgaBoard, Plan, plan_run
from watchbook.base import clock
from watchbook.core.jobs.models import JobRun
from watchbook.systems.nga import actions
from watchbook.systems.nga.models import Forum, Post, PostRevision, Thread
from watchbook.systems.nga.parse.bbcode import Place, render
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.topic import fingerprint

CHANGED = "content_fingerprint_changed"


def point_at(monkeypatch: pytest.MonkeyPatch, board: NgaBoard) -> None:
    """The board may be asked, without waiting between requests."""
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", board.netloc)
    monkeypatch.setenv("WATCHBOOK_PACE", "off")
    monkeypatch.setenv("NGA_BASE_URL", board.url)


@dataclass
class Crawler:
    board: NgaBoard

    def __post_init__(self) -> None:
        # A database that a test with real transactions emptied has lost it.
        Forum.objects.get_or_create(source_forum_id=7, defaults={"list_url": self.board.url})

    def crawl(self, *, after: float = 0, **job: Any) -> dict[str, Any]:
        """One run, so many hours later."""
        return self._at(after, lambda: actions.crawl_now(job.get("fid", 7)))

    def audit(self, *, repair: bool = False, after: float = 0) -> dict[str, Any]:
        return self._at(after, lambda: actions.audit_now(repair=repair))

    def read(self, tid: int, pages: tuple[int, int] | None = None, *, after: float = 0) -> dict[str, Any]:
        return self._at(after, lambda: actions.read_now(tid, pages))

    def _at(self, hours: float, start: Any) -> dict[str, Any]:
        self.board.world.advance(hours=hours)
        self.board.begin_run()
        with clock.set_to(self.board.world.moment):
            run: JobRun = start()
        assert run.state == "done", (run.state, run.error_code, run.error)
        return dict(run.progress)

    @property
    def plan(self) -> Plan:
        """The fewest requests with which the next run can keep the rules."""
        known = {
            thread.source_thread_id: Known(
                last_post_at=int(thread.last_reply_at.timestamp()) if thread.last_reply_at else None,
                last_floor=thread.crawl_cursor_max_floor_number,
                next_page=thread.crawl_backfill_next_page_number,
            )
            for thread in Thread.objects.all()
        }
        return plan_run(self.board.world, known)


def thread_of(tid: int) -> Thread:
    return Thread.objects.get(source_thread_id=tid)


def floors_of(tid: int) -> dict[int, Post]:
    return {post.floor_number: post for post in Post.objects.filter(thread__source_thread_id=tid)}


def state(post: Post) -> tuple[Any, ...]:
    """Everything about a floor that the ledger knows, too."""
    kept = sorted(post.revisions.all(), key=lambda row: row.pk)
    absence = getattr(post, "absence", None)
    return (
        post.source_post_id,
        post.author_name,
        post.author_source_user_id,
        int(post.post_created_at.timestamp()),
        post.content_fingerprint_sha256,
        post.is_deleted_by_source,
        post.is_folded_by_source,
        absence.reading_count if absence and not post.is_deleted_by_source else 0,
        [(row.content_fingerprint_sha256, row.change_detected_reason, _stamp(row)) for row in kept],
    )


def _stamp(row: PostRevision) -> int | None:
    return int(row.source_edited_at.timestamp()) if row.source_edited_at else None


def truth(floor: ArchivedFloor) -> tuple[Any, ...]:
    now = floor.now
    extra = [*now.files, *(f"? {label}" for label in now.labels)]

    def print_of(source: str) -> str:
        return fingerprint(source, subject=now.subject, extra=extra)

    return (
        now.pid,
        now.author,
        now.uid,
        now.posted_at,
        print_of(floor.source),
        floor.is_deleted,
        floor.is_folded,
        0 if floor.is_deleted else floor.absences,
        [
            # A deletion alone is no edit, whatever stamp the post carries.
            (print_of(old.source), old.reasons, old.edited_at if CHANGED in old.reasons else None)
            for old in floor.versions
        ],
    )


def differences(board: NgaBoard) -> dict[Any, Any]:
    """Where archive and ledger disagree; empty when they are one."""
    archive = board.expected_archive()
    expected = {(tid, lou): floor for tid, floors in archive.items() for lou, floor in floors.items()}
    stored = {
        (post.thread.source_thread_id, post.floor_number): post
        for post in Post.objects.select_related("thread", "absence").prefetch_related("revisions")
    }
    found = {}
    for key in sorted(expected.keys() | stored.keys()):
        post, floor = stored.get(key), expected.get(key)
        said = (state(post) if post else None, truth(floor) if floor else None)
        if said[0] != said[1]:
            found[key] = said
        elif post and floor and (lost := _texts_lost(board, post, floor)):
            found[key] = lost
    return found


def _texts_lost(board: NgaBoard, post: Post, floor: ArchivedFloor) -> list[tuple[str, str]]:
    """Texts, now and in its versions, that do not read as their sources do: a digest alone proves no text."""
    kept = [row.content_html for row in sorted(post.revisions.all(), key=lambda row: row.pk)]
    pairs = zip([post.content_html, *kept], [floor.source, *(old.source for old in floor.versions)], strict=True)
    place = Place(addresses=Addresses(board.url))
    return [(html, source) for html, source in pairs if not _shows(html, render(source, place))]


def _shows(html: str, text: str) -> bool:
    """Before the text stands at most a heading, behind it a poll and files."""
    rest = html.partition("</h4>")[2] if html.startswith("<h4>") else html
    return rest == text or (rest.startswith(text) and rest[len(text) :].startswith("<ul class="))


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, clock.SHANGHAI)
