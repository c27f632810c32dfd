"""What a person does with the archive: pages, API and commands alike."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.actions import exclusive_name
from watchbook.core.jobs.models import JobRun
from watchbook.sources.nga import options
from watchbook.sources.nga.models import Forum, Thread

CRAWL, AUDIT, THREAD = "nga.crawl", "nga.audit", "nga.thread"
LARGEST_FID = 2**31
MOST_PAGE_LIMIT = 50
SLOWEST, FASTEST = Decimal("0.01"), Decimal(1)


class WrongForum(Exception):
    """A value cannot be used; the message says what would be right."""

    def __init__(self, message: str, code: str = "invalid") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def add_forum(fid: int, name: str) -> Forum:
    """One more board to archive. Its first crawl is the next one."""
    if not fid or abs(fid) >= LARGEST_FID:
        raise WrongForum(_("This is not a number of a board."))
    if Forum.objects.filter(source_forum_id=fid).exists():
        raise WrongForum(_("This board is archived already."), "exists")
    now = clock.now()
    return Forum.objects.create(
        source_forum_id=fid,
        forum_name=cut(name.strip(), 100) or None,
        list_url=f"{options.BASE_URL.value}/thread.php?fid={fid}&order_by=postdatedesc"[:255],
        created_at=now,
        updated_at=now,
    )


def crawl_now(fid: int) -> JobRun:
    return runner.run_now(CRAWL, {"fid": fid}, exclusive=exclusive_name(CRAWL))


def audit_now(*, repair: bool) -> JobRun:
    return runner.run_now(AUDIT, {"repair": repair}, exclusive=exclusive_name(AUDIT))


def read_now(tid: int, pages: tuple[int, int] | None = None) -> JobRun:
    return runner.run_now(THREAD, _arguments(tid, pages), exclusive=f"{THREAD}:{tid}")


def read_soon(thread: Thread, *, user: Any = None) -> JobRun | None:
    """Put a topic into the queue; None when it waits there already."""
    tid = thread.source_thread_id
    waiting = JobRun.objects.live().filter(name=THREAD, exclusive=f"{THREAD}:{tid}")
    if waiting.exists():
        return None
    requested_by_id = getattr(user, "pk", None)
    return queue.enqueue(THREAD, _arguments(tid, None), exclusive=f"{THREAD}:{tid}", requested_by_id=requested_by_id)


def crawl_soon(fid: int | None = None, *, user: Any = None) -> JobRun | None:
    """Put a crawl of a board, or of all, into the queue; None when one waits or runs already."""
    return _soon(CRAWL, {} if fid is None else {"fid": fid}, user)


def audit_soon(*, repair: bool, user: Any = None) -> JobRun | None:
    return _soon(AUDIT, {"repair": repair}, user)


def _soon(name: str, args: dict[str, Any], user: Any) -> JobRun | None:
    if any(run.args == args for run in JobRun.objects.live().filter(name=name).exclude(key__startswith=f"{name}@")):
        return None
    requested_by_id = getattr(user, "pk", None)
    return queue.enqueue(name, args, exclusive=exclusive_name(name), requested_by_id=requested_by_id)


def change_forum(forum: Forum, *, name: str, crawl_page_limit: int, request_rate_limit_per_sec: Decimal) -> Forum:
    """What it is called and how politely it is asked; the next crawl keeps to it."""
    if not 1 <= crawl_page_limit <= MOST_PAGE_LIMIT:
        raise WrongForum(_("Choose 1 to 50 pages."), "page_limit")
    if not SLOWEST <= request_rate_limit_per_sec <= FASTEST:
        raise WrongForum(_("Choose 0.01 to 1 request a second."), "rate")
    forum.forum_name = cut(clean_text(name).strip(), 100) or None
    forum.crawl_page_limit = crawl_page_limit
    forum.request_rate_limit_per_sec = request_rate_limit_per_sec
    forum.updated_at = clock.now()
    forum.save(update_fields=["forum_name", "crawl_page_limit", "request_rate_limit_per_sec", "updated_at"])
    return forum


def _arguments(tid: int, pages: tuple[int, int] | None) -> dict[str, int]:
    return {"tid": tid} | ({"first": pages[0], "last": pages[1]} if pages else {})
