"""Which topics a reader asks for: filters, two orders, words. Pages and API ask alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import Http404

from watchbook.base.clock import SHANGHAI
from watchbook.base.text import clean_text
from watchbook.core import registry
from watchbook.core.search import query as queries
from watchbook.core.search.find import BadCursor, Hit, find
from watchbook.core.search.query import Query
from watchbook.sources.nga.models import Forum, Post, Thread, ThreadReadingState
from watchbook.sources.nga.models.forum import ThreadQuerySet

CREATED, LAST_REPLY = "created", "last_reply"
COLUMNS = {CREATED: "thread_created_at", LAST_REPLY: "last_reply_at"}
LONGEST = 200
# Days that every database can hold, with room for a zone at both ends.
EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
LARGEST_ID = 2**63 - 1
# Pages of the word index that are read to fill one page when filters drop most of what is found.
MOST_ROUNDS = 10


@dataclass(frozen=True)
class Wanted:
    """What was asked for; what cannot be read counts as not asked."""

    fid: int | None = None
    order: str = CREATED
    q: str = ""
    tag: str = ""
    prefix: str = ""
    author: str = ""
    author_id: int | None = None
    pinned: bool = False
    digest: bool = False
    gaps: bool = False
    deleted: bool = False
    truncated: bool = False
    skipped: bool = False
    since: date | None = None
    until: date | None = None

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Wanted:
        given = {each.name: _read(each.name, asked.get(each.name)) for each in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value not in (None, "")})

    @property
    def column(self) -> str:
        return COLUMNS[self.order]

    @property
    def is_narrow(self) -> bool:
        """Is anything asked beside the board, the order and the words?"""
        return any(getattr(self, each.name) for each in fields(self) if each.name not in ("fid", "order", "q"))

    def narrow(self, rows: ThreadQuerySet) -> ThreadQuerySet:
        """The topics that pass every filter, whatever their order."""
        if self.tag:
            rows = rows.tagged(self.tag)
        if self.prefix:
            rows = rows.prefixed(self.prefix)
        if self.gaps:
            rows = rows.with_gaps()
        if self.deleted:
            rows = rows.filter(is_deleted_topic())
        return rows.filter(*self._columns())

    def _columns(self) -> list[Q]:
        asked = {
            "author_name": self.author,
            "author_source_user_id": self.author_id,
            "is_pinned": self.pinned,
            "is_digest": self.digest,
            "is_truncated_by_page_limit": self.truncated,
            "is_skipped_by_page_total_limit": self.skipped,
            "thread_created_at__gte": midnight(self.since) if self.since else None,
            "thread_created_at__lt": midnight(self.until + timedelta(days=1)) if self.until else None,
        }
        return [Q(**{name: value}) for name, value in asked.items() if value]


def is_deleted_topic() -> Q:
    """The opening post is deleted, or the source says that the whole topic is gone."""
    opening = Post.objects.filter(thread=OuterRef("pk"), floor_number=0, is_deleted_by_source=True)
    gone = ThreadReadingState.objects.filter(thread=OuterRef("pk"), gone_at__isnull=False)
    return Q(Exists(opening)) | Q(Exists(gone))


def midnight(day: date) -> datetime:
    """When a day begins in Shanghai."""
    return datetime.combine(day, time(), tzinfo=SHANGHAI)


def _read(name: str, value: Any) -> Any:
    if name == "order":
        return value if value in COLUMNS else None
    if name in ("fid", "author_id"):
        return _whole(value)
    if name in ("since", "until"):
        return _day(value)
    if name in ("q", "tag", "prefix", "author"):
        return clean_text(str(value or ""))[:LONGEST].strip()
    return value in (True, "1", "true", "on") or None


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) <= LARGEST_ID else None


def _day(value: Any) -> date | None:
    if isinstance(value, date):
        return value if EARLIEST <= value <= LATEST else None
    try:
        day = date.fromisoformat(str(value))
    except ValueError:
        return None
    return day if EARLIEST <= day <= LATEST else None


def boards() -> list[Forum]:
    return list(Forum.objects.order_by("pk"))


def thread(tid: int, fid: object = None) -> Thread:
    """The topic of this number, of this board if one is named; else the one that was found first. May raise Http404."""
    number = _whole(fid)
    if isinstance(fid, int) and number is None:
        raise Http404  # no board has such a number
    rows = Thread.objects.numbered(min(tid, LARGEST_ID), number).with_mirrors()
    found = rows.select_related("forum", "reading_state").first()
    if found is None:
        raise Http404
    return found


def topics_of(wanted: Wanted, forums: Sequence[Forum]) -> ThreadQuerySet:
    """The filtered topics of the boards that are meant. Naming one board lets its indexes serve both orders."""
    meant = [forum for forum in forums if wanted.fid is None or forum.source_forum_id == wanted.fid]
    rows = meant[0].threads.all() if len(meant) == 1 else Thread.objects.filter(forum__in=meant)
    return wanted.narrow(rows).with_mirrors()


@dataclass(frozen=True)
class Match:
    """A topic that holds the words, with what was found in it."""

    hit: Hit
    thread: Thread


@dataclass(frozen=True)
class Matches:
    query: Query
    items: tuple[Match, ...]
    next: str = ""


def search(wanted: Wanted, forums: Sequence[Forum], scopes: Sequence[str], *, limit: int, cursor: str = "") -> Matches:
    """Topics whose title or opening post holds every word; title hits first, then newest. May raise BadCursor."""
    asked = queries.read(wanted.q)
    rows = topics_of(wanted, forums).select_related("reading_state")
    found: list[Match] = []
    for _round in range(MOST_ROUNDS):
        # One more than is still wanted would have to be thrown away; the word index goes on from where it stopped.
        page = find(asked, scopes=scopes, kinds=kinds(), limit=limit - len(found), before=cursor or None)
        found += _matches(page.items, rows)
        cursor = page.next
        if len(found) >= limit or not cursor:
            break
    return Matches(asked, tuple(found), cursor)


def kinds() -> list[str]:
    return [kind.name for kind in registry.source("nga").search_kinds]


def _matches(hits: Sequence[Hit], rows: ThreadQuerySet) -> list[Match]:
    """The hits whose topics pass the filters, in the order of the search."""
    ids = {number: hit for hit in hits if (number := _whole(hit.object_id)) is not None}
    threads = {thread.pk: thread for thread in rows.filter(pk__in=ids)} if ids else {}
    return [Match(hit, threads[number]) for number, hit in ids.items() if number in threads]


__all__ = [
    "CREATED",
    "LAST_REPLY",
    "BadCursor",
    "Match",
    "Matches",
    "Wanted",
    "boards",
    "midnight",
    "search",
    "thread",
    "topics_of",
]
