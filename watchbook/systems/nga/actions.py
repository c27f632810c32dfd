"""Actions of users on the archive, shared by pages, API and commands.

Notifications that a user chose, for the removal of an account.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import clean_text, cut
from watchbook.base.web.errors import WebError
from watchbook.base.work import counted
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.queue import exclusive_name
from watchbook.core.notify.actions import own_channels
from watchbook.core.registry import Step
from watchbook.systems.nga import options
from watchbook.systems.nga.fetch import BoardReader
from watchbook.systems.nga.models import FollowedAuthor, FollowedThread, Forum, SingleTopicForum, Subscription, Thread
from watchbook.systems.nga.store import follow as following
from watchbook.systems.nga.store.lists import SUGGESTED_FID, SUGGESTED_NAME, ensure_forum, list_url

CRAWL, AUDIT, THREAD = "nga.crawl", "nga.audit", "nga.thread"
LARGEST_FID = 2**31
MOST_PAGE_LIMIT = 50
MOST_SUBSCRIPTIONS = 500
# A test of the settings: the guest check and each format once.
TRIED_REQUESTS = 6
SLOWEST, FASTEST = Decimal("0.01"), Decimal(1)


def add_forum(fid: int, name: str, *, actor: User | None = None, request: HttpRequest | None = None) -> Forum:
    """Add a board. The next run crawls it."""
    if not fid or abs(fid) >= LARGEST_FID:
        raise InvalidInput("source_forum_id", _("This is not a valid board number."))
    known = Forum.objects.filter(source_forum_id=fid).select_related("single_topics").first()
    if known is not None and known.is_crawled:
        raise _already_added()
    now = clock.now()
    if known is not None:
        return _crawl_list(known, name, actor=actor, request=request)
    forum = Forum(
        source_forum_id=fid,
        forum_name=cut(name.strip(), 100) or None,
        list_url=list_url(fid),
        created_at=now,
        updated_at=now,
    )
    try:
        with transaction.atomic():
            forum.save(force_insert=True)
            audit.record("nga.forum_added", actor=actor, subject=str(fid), request=request)
    except IntegrityError:
        raise _already_added() from None
    return forum


@transaction.atomic
def _crawl_list(forum: Forum, name: str, *, actor: User | None, request: HttpRequest | None) -> Forum:
    """Crawl the list of a board of which only single topics were archived."""
    SingleTopicForum.objects.filter(forum=forum).delete()
    forum.forum_name, forum.updated_at = cut(name.strip(), 100) or forum.forum_name, clock.now()
    forum.save(update_fields=["forum_name", "updated_at"])
    audit.record("nga.forum_added", actor=actor, subject=str(forum.source_forum_id), request=request)
    return forum


def _already_added() -> InvalidInput:
    return InvalidInput("source_forum_id", _("This board is already archived."), "exists", is_conflict=True)


def crawl_now(fid: int) -> JobRun:
    """Crawl a board in this process. Naming the suggested board adds it."""
    if fid == SUGGESTED_FID:
        ensure_forum(fid, clock.now())
    return runner.run_now(CRAWL, {"fid": fid}, exclusive=exclusive_name(CRAWL))


def audit_now(*, repair: bool) -> JobRun:
    return runner.run_now(AUDIT, {"repair": repair}, exclusive=exclusive_name(AUDIT))


class InvalidTopic(Exception):
    """Not the number or address of a topic."""

    def __init__(self) -> None:
        self.message = _("Enter a topic number or an address such as %(example)s.") % {"example": "read.php?tid=123"}
        super().__init__(self.message)


# One site under many names; the m. and www. forms are below them.
DOMAINS = ("nga.cn", "ngabbs.com", "ngacn.cc", "nga.178.com", "nga.donews.com")
_TID = re.compile(r"[?&]tid=(\d{1,18})(?!\d)", re.ASCII)
_HOST = re.compile(r"\A(?:(?:https?:)?//)?([^/?#\s]+)/", re.IGNORECASE)


def is_forum(netloc: str) -> bool:
    """Return whether a host is the forum under one of its names, or the address of the operator."""
    host = netloc.partition(":")[0].rstrip(".").lower()
    is_known = any(host == domain or host.endswith(f".{domain}") for domain in DOMAINS)
    return is_known or netloc == urlsplit(options.BASE_URL.value).netloc


def topic_number(text: str) -> int:
    """Return the number of a topic from its number or its address; an address without a host is one of the forum."""
    text = text.strip()
    host = _HOST.match(text)
    if host and not is_forum(host[1]):
        raise InvalidTopic
    found = _TID.search(text)
    number = int(found[1]) if found else int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
    if number <= 0:
        raise InvalidTopic
    return number


def read_now(tid: int, pages: tuple[int, int] | None = None, *, follow: bool = False) -> JobRun:
    args: dict[str, Any] = {**_arguments(tid, pages), **({"follow": True} if follow else {})}
    return runner.run_now(THREAD, args, exclusive=f"{THREAD}:{tid}")


def archive_topic(text: str, *, follow: bool, actor: User | None = None, request: HttpRequest | None = None) -> JobRun:
    """Queue a crawl of any topic, whether its board is archived or not; return the one that is already queued."""
    tid = topic_number(text)
    alone = f"{THREAD}:{tid}"
    live = JobRun.objects.live().filter(name=THREAD, exclusive=alone).order_by("pk").first()
    if live is not None and live.args.get("follow", False) == follow:
        return live
    return _enqueue(THREAD, {"tid": tid, "follow": follow}, alone, request, actor=actor)


@transaction.atomic
def follow(thread: Thread, *, request: HttpRequest | None = None) -> FollowedThread:
    """Check a topic for new posts until it is quiet."""
    audit.record("nga.topic_followed", subject=str(thread.source_thread_id), request=request)
    return following.follow(thread, clock.now())


@transaction.atomic
def unfollow(thread: Thread, *, request: HttpRequest | None = None) -> bool:
    """End following a topic; False if it was not followed."""
    is_ended = following.unfollow(thread)
    if is_ended:
        audit.record("nga.topic_unfollowed", subject=str(thread.source_thread_id), request=request)
    return is_ended


@transaction.atomic
def follow_many(threads: Iterable[Thread], *, end: bool = False, request: HttpRequest | None = None) -> int:
    """Follow these topics, or end following them. Return how many are followed, or were until now."""
    if end:
        return sum(unfollow(thread, request=request) for thread in threads)
    return len([follow(thread, request=request) for thread in threads])


class InvalidAuthor(Exception):
    """Not the number or address of an author."""

    def __init__(self) -> None:
        self.message = _("Enter an author number or an address such as %(example)s.") % {"example": "nuke.php?uid=123"}
        super().__init__(self.message)


_UID = re.compile(r"[?&](?:uid|authorid)=(\d{1,18})(?!\d)", re.ASCII)


def author_number(text: str) -> int:
    """Return the number of an author from the number or an address."""
    text = text.strip()
    found = _UID.search(text)
    number = int(found[1]) if found else int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
    if number <= 0:
        raise InvalidAuthor
    return number


@transaction.atomic
def follow_author(
    text: str,
    name: str = "",
    *,
    with_past: bool = False,
    actor: User | None = None,
    request: HttpRequest | None = None,
) -> FollowedAuthor:
    """Archive the new topics and replies of an author, in whichever board, and with `with_past` the older topics."""
    uid = author_number(text)
    audit.record("nga.author_followed", actor=actor, subject=str(uid), request=request)
    return following.follow_author(uid, clean_text(name), clock.now(), with_past=with_past)


@transaction.atomic
def unfollow_author(uid: int, *, request: HttpRequest | None = None) -> bool:
    is_ended = following.unfollow_author(uid)
    if is_ended:
        audit.record("nga.author_unfollowed", subject=str(uid), request=request)
    return is_ended


@transaction.atomic
def subscribe(
    user: User,
    *,
    thread: Thread | None = None,
    author: tuple[int, str] = (0, ""),
    notifies_posts: bool = True,
    notifies_edits: bool = True,
    is_starter_only: bool = False,
    channel_ids: Iterable[UUID | str] = (),
    request: HttpRequest | None = None,
) -> Subscription:
    """Choose what this user is notified of: a topic, or an author (number and name). A second time changes it."""
    channels = own_channels(user, channel_ids)
    if not (notifies_posts or notifies_edits):
        raise InvalidInput("notifies_posts", _("Choose new posts, edits or both."), "nothing_chosen")
    key: dict[str, Any] = {"thread": thread} if thread else {"author_source_user_id": author[0]}
    known = Subscription.objects.of(user).filter(**key).first()
    if known is None and Subscription.objects.of(user).count() >= MOST_SUBSCRIPTIONS:
        raise InvalidInput(
            "topic", _("You have %(n)s of these. End one first.") % {"n": MOST_SUBSCRIPTIONS}, "too_many"
        )
    chosen = known or Subscription(user=user, **key, created_at=clock.now())
    chosen.author_name = "" if thread else cut(author[1], 80)
    chosen.notifies_posts, chosen.notifies_edits = notifies_posts, notifies_edits
    chosen.is_starter_only = is_starter_only and thread is not None
    chosen.save()
    chosen.channels.set(channels)
    audit.record("nga.subscribed", actor=user, subject=str(chosen)[:200], request=request)
    return chosen


@transaction.atomic
def unsubscribe(chosen: Subscription, *, request: HttpRequest | None = None) -> None:
    audit.record("nga.unsubscribed", actor=chosen.user, subject=str(chosen)[:200], request=request)
    chosen.delete()


def read_soon(thread: Thread, *, request: HttpRequest | None = None) -> JobRun | None:
    """Queue a crawl of a topic; None if one is already queued or running."""
    return None if _reading(thread) else _read(thread, request)


def read_run(thread: Thread, *, request: HttpRequest | None = None) -> JobRun:
    """Return the queued or running crawl of the topic, or a new one."""
    return _reading(thread) or _read(thread, request)


def _reading(thread: Thread) -> JobRun | None:
    return JobRun.objects.live().filter(name=THREAD, exclusive=_alone(thread)).order_by("pk").first()


def _read(thread: Thread, request: HttpRequest | None) -> JobRun:
    board = {"fid": thread.forum.source_forum_id} if thread.is_mirror else {}
    return _enqueue(THREAD, {"tid": thread.source_thread_id} | board, _alone(thread), request)


def _alone(thread: Thread) -> str:
    board = f"@{thread.forum.source_forum_id}" if thread.is_mirror else ""
    return f"{THREAD}:{thread.source_thread_id}{board}"


def add_suggested(*, request: HttpRequest) -> Forum:
    """Add the board of the specification and queue its first crawl."""
    forum = add_forum(SUGGESTED_FID, SUGGESTED_NAME, request=request)
    crawl_soon(SUGGESTED_FID, request=request)
    return forum


def crawl_soon(fid: int | None = None, *, request: HttpRequest | None = None) -> JobRun | None:
    """Queue a crawl of one board or of all; None if one is already queued or running."""
    return _soon(CRAWL, _board(fid), request)


def crawl_run(fid: int | None = None, *, request: HttpRequest | None = None) -> JobRun:
    """Return the same crawl that is queued or running, or a new one."""
    return _active_run(CRAWL, _board(fid)) or _enqueue(CRAWL, _board(fid), exclusive_name(CRAWL), request)


def audit_soon(*, repair: bool, request: HttpRequest | None = None) -> JobRun | None:
    return _soon(AUDIT, {"repair": repair}, request)


def audit_run(*, repair: bool, request: HttpRequest | None = None) -> JobRun:
    args = {"repair": repair}
    return _active_run(AUDIT, args) or _enqueue(AUDIT, args, exclusive_name(AUDIT), request)


def _board(fid: int | None) -> dict[str, Any]:
    return {} if fid is None else {"fid": fid}


def _soon(name: str, args: dict[str, Any], request: HttpRequest | None) -> JobRun | None:
    return None if _active_run(name, args) else _enqueue(name, args, exclusive_name(name), request)


def _active_run(name: str, args: dict[str, Any]) -> JobRun | None:
    """Return a manual run with these arguments that is queued or running."""
    by_hand = JobRun.objects.live().filter(name=name).exclude(key__startswith=f"{name}@").order_by("pk")
    return next((run for run in by_hand if run.args == args), None)


@transaction.atomic
def _enqueue(
    name: str, args: dict[str, Any], exclusive: str, request: HttpRequest | None, *, actor: User | None = None
) -> JobRun:
    user = actor or getattr(request, "user", None)
    run = queue.enqueue(name, args, exclusive=exclusive, requested_by_id=getattr(user, "pk", None))
    assert run is not None  # the key is random
    audit.record("job.started", actor=actor, subject=name, request=request, run=run.pk)
    return run


@transaction.atomic
def change_forum(
    forum: Forum, *, name: str, crawl_page_limit: int, request_rate_limit_per_sec: Decimal, request: HttpRequest
) -> Forum:
    """Change name, page limit and rate limit of a board; the next crawl uses them."""
    if not 1 <= crawl_page_limit <= MOST_PAGE_LIMIT:
        raise InvalidInput("crawl_page_limit", _("Choose 1 to 50 pages."), "page_limit")
    if not SLOWEST <= request_rate_limit_per_sec <= FASTEST:
        raise InvalidInput("request_rate_limit_per_sec", _("Choose 0.01 to 1 requests per second."), "rate")
    forum.forum_name = cut(clean_text(name).strip(), 100) or None
    forum.crawl_page_limit = crawl_page_limit
    forum.request_rate_limit_per_sec = request_rate_limit_per_sec
    forum.updated_at = clock.now()
    forum.save(update_fields=["forum_name", "crawl_page_limit", "request_rate_limit_per_sec", "updated_at"])
    audit.record("nga.forum_changed", subject=str(forum.source_forum_id), request=request)
    return forum


def _arguments(tid: int, pages: tuple[int, int] | None) -> dict[str, int]:
    return {"tid": tid} | ({"first": pages[0], "last": pages[1]} if pages else {})


def try_forum(_user: User | None) -> Iterator[Step]:
    """Read the first page of a board with the saved cookie, or as a guest. For the settings page."""
    board = Forum.objects.crawled().order_by("pk").first()
    fid = board.source_forum_id if board else SUGGESTED_FID
    reader = _("With the cookie") if options.COOKIE.value else _("As a guest, without a cookie")
    try:
        with counted(most=TRIED_REQUESTS):
            page = BoardReader().list_page(fid, 1)
    except WebError as error:
        words = {"how": reader, "fid": fid, "reason": " ".join(filter(None, (_(error.message), error.detail)))[:300]}
        yield Step(False, _("%(how)s: board %(fid)s could not be read. %(reason)s") % words)
        return
    words = {"how": reader, "fid": fid, "n": len(page.topics)}
    yield Step(bool(page.topics), _("%(how)s: the forum returned %(n)s topics of board %(fid)s.") % words)


def subscription_titles(user: User) -> list[str]:
    """Return the topics and authors; the rows go with the account."""
    return [str(chosen) for chosen in Subscription.objects.of(user).select_related("thread").order_by("pk")]
