"""What a person does with the archive: pages, API and commands alike."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts import audit
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


def add_forum(fid: int, name: str, *, actor: Any = None, request: HttpRequest | None = None) -> Forum:
    """One more board to archive. Its first crawl is the next one."""
    if not fid or abs(fid) >= LARGEST_FID:
        raise WrongForum(_("This is not a number of a board."))
    if Forum.objects.filter(source_forum_id=fid).exists():
        raise _twice()
    now = clock.now()
    forum = Forum(
        source_forum_id=fid,
        forum_name=cut(name.strip(), 100) or None,
        list_url=f"{options.BASE_URL.value}/thread.php?fid={fid}&order_by=postdatedesc"[:255],
        created_at=now,
        updated_at=now,
    )
    try:
        with transaction.atomic():
            forum.save(force_insert=True)
            audit.record("nga.forum_added", actor=actor, subject=str(fid), request=request)
    except IntegrityError:
        raise _twice() from None
    return forum


def _twice() -> WrongForum:
    return WrongForum(_("This board is archived already."), "exists")


def crawl_now(fid: int) -> JobRun:
    return runner.run_now(CRAWL, {"fid": fid}, exclusive=exclusive_name(CRAWL))


def audit_now(*, repair: bool) -> JobRun:
    return runner.run_now(AUDIT, {"repair": repair}, exclusive=exclusive_name(AUDIT))


def read_now(tid: int, pages: tuple[int, int] | None = None) -> JobRun:
    return runner.run_now(THREAD, _arguments(tid, pages), exclusive=f"{THREAD}:{tid}")


def read_soon(thread: Thread, *, request: HttpRequest | None = None) -> JobRun | None:
    """Put a topic into the queue; None when it waits there already."""
    return None if _reading(thread) else _read(thread, request)


def read_run(thread: Thread, *, request: HttpRequest | None = None) -> JobRun:
    """The run that reads the topic already or waits to, or a new one in the queue."""
    return _reading(thread) or _read(thread, request)


def _reading(thread: Thread) -> JobRun | None:
    return JobRun.objects.live().filter(name=THREAD, exclusive=_alone(thread)).order_by("pk").first()


def _read(thread: Thread, request: HttpRequest | None) -> JobRun:
    board = {"fid": thread.forum.source_forum_id} if thread.is_mirror else {}
    return _enqueue(THREAD, {"tid": thread.source_thread_id} | board, _alone(thread), request)


def _alone(thread: Thread) -> str:
    board = f"@{thread.forum.source_forum_id}" if thread.is_mirror else ""
    return f"{THREAD}:{thread.source_thread_id}{board}"


def crawl_soon(fid: int | None = None, *, request: HttpRequest | None = None) -> JobRun | None:
    """Put a crawl of a board, or of all, into the queue; None when one waits or runs already."""
    return _soon(CRAWL, _board(fid), request)


def crawl_run(fid: int | None = None, *, request: HttpRequest | None = None) -> JobRun:
    """The same crawl that waits or runs already, or a new one in the queue."""
    return _at_work(CRAWL, _board(fid)) or _enqueue(CRAWL, _board(fid), exclusive_name(CRAWL), request)


def audit_soon(*, repair: bool, request: HttpRequest | None = None) -> JobRun | None:
    return _soon(AUDIT, {"repair": repair}, request)


def audit_run(*, repair: bool, request: HttpRequest | None = None) -> JobRun:
    args = {"repair": repair}
    return _at_work(AUDIT, args) or _enqueue(AUDIT, args, exclusive_name(AUDIT), request)


def _board(fid: int | None) -> dict[str, Any]:
    return {} if fid is None else {"fid": fid}


def _soon(name: str, args: dict[str, Any], request: HttpRequest | None) -> JobRun | None:
    return None if _at_work(name, args) else _enqueue(name, args, exclusive_name(name), request)


def _at_work(name: str, args: dict[str, Any]) -> JobRun | None:
    """A run by hand with these arguments that waits or runs."""
    by_hand = JobRun.objects.live().filter(name=name).exclude(key__startswith=f"{name}@").order_by("pk")
    return next((run for run in by_hand if run.args == args), None)


@transaction.atomic
def _enqueue(name: str, args: dict[str, Any], exclusive: str, request: HttpRequest | None) -> JobRun:
    user = getattr(request, "user", None)
    run = queue.enqueue(name, args, exclusive=exclusive, requested_by_id=getattr(user, "pk", None))
    assert run is not None  # the key is random
    audit.record("job.started", subject=name, request=request, run=run.pk)
    return run


@transaction.atomic
def change_forum(
    forum: Forum, *, name: str, crawl_page_limit: int, request_rate_limit_per_sec: Decimal, request: HttpRequest
) -> Forum:
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
    audit.record("nga.forum_changed", subject=str(forum.source_forum_id), request=request)
    return forum


def _arguments(tid: int, pages: tuple[int, int] | None) -> dict[str, int]:
    return {"tid": tid} | ({"first": pages[0], "last": pages[1]} if pages else {})
