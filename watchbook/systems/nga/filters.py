"""Filters, orders, search and counts of topics, shared by pages and API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.http import Http404
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.search import query as queries
from watchbook.core.search.find import Hit, find
from watchbook.core.search.query import Query
from watchbook.kit.lists import Changes, Choice, Chosen, Column, Days, Flag, List, Number, Order, Shown, Text, WordIndex
from watchbook.kit.lists.filters import Options
from watchbook.kit.paging import InvalidCursor, as_text, as_value, batches, beyond, decode_cursor, encode_cursor
from watchbook.systems.nga.models import (
    CrawlRunThread,
    Forum,
    Post,
    Thread,
    ThreadPageReading,
    ThreadReadingState,
    ThreadTag,
)
from watchbook.systems.nga.models.forum import ThreadQuerySet
from watchbook.systems.nga.models.runs import THREAD_FAILED
from watchbook.systems.nga.store.publish import KIND, POST_KIND

CREATED, LAST_REPLY = "created", "last_reply"
COLUMNS = {CREATED: "thread_created_at", LAST_REPLY: "last_reply_at"}
LARGEST_ID = 2**63 - 1
OUTDATED_DAYS = 7
# Pages of the word index that are read to fill one page when filters drop most of what is found.
MOST_ROUNDS = 10


@dataclass(frozen=True)
class Filters:
    """The chosen filters; invalid values are ignored and named in `chosen.wrong`."""

    chosen: Chosen
    posts: Chosen
    """Those of them that a post itself must pass: its author and its date."""
    fid: int | None = None
    order: str = CREATED

    @classmethod
    def of(cls, asked: Mapping[str, Any], declared: List | None = None) -> Filters:
        order = asked.get("order")
        return cls(
            Chosen.of((declared or TOPICS).filters, asked),
            Chosen.of(POST_FILTERS, asked),
            _whole(asked.get("fid")),
            order if order in COLUMNS else CREATED,
        )

    @property
    def q(self) -> str:
        return str(self.chosen.values.get("q", ""))

    @property
    def column(self) -> str:
        return COLUMNS[self.order]

    @property
    def is_narrow(self) -> bool:
        """Is anything asked beside the board, the order and the words?"""
        return any(each.name != "q" for each in self.chosen.in_use())

    @property
    def is_opening_only(self) -> bool:
        return bool(self.chosen.values.get("opening"))

    def posts_in(self, rows: ThreadQuerySet) -> QuerySet[Post]:
        """Posts that pass the filters, in topics that pass the rest of them."""
        own = {each.name for each in POST_FILTERS}
        threads = rows.filter(self.chosen.condition(without=lambda each: each.name in own))
        return Post.objects.filter(self.posts.condition(), thread__in=threads.order_by().values("pk"))

    def narrow(self, rows: ThreadQuerySet) -> ThreadQuerySet:
        """The topics that pass every filter, whatever their order."""
        return rows.filter(self.chosen.condition())


def is_deleted_topic() -> Q:
    """The opening post is deleted, or the source says that the whole topic is gone."""
    opening = Post.objects.filter(thread=OuterRef("pk"), floor_number=0, is_deleted_by_source=True)
    gone = ThreadReadingState.objects.filter(thread=OuterRef("pk"), gone_at__isnull=False)
    return Q(Exists(opening)) | Q(Exists(gone))


def midnight(day: date) -> datetime:
    """When a day begins in Shanghai."""
    return datetime.combine(day, time(), tzinfo=SHANGHAI)


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) <= LARGEST_ID else None


TAGS_OFFERED = 80


def _tags() -> Options:
    texts = ThreadTag.objects.order_by("pk").values_list("tag_text", flat=True)[:TAGS_OFFERED]
    return [(text, text) for text in sorted(set(texts))]


def _tagged(text: str) -> Q:
    return Q(pk__in=Thread.objects.tagged(text).values("pk"))


def _gaps(_value: bool) -> Q:
    return Q(pk__in=Thread.objects.with_gaps().values("pk"))


def _outdated(_value: bool) -> Q:
    """A page was not read for a week: edits since then are not known."""
    limit = clock.now() - timedelta(days=OUTDATED_DAYS)
    return Q(Exists(ThreadPageReading.objects.filter(thread=OuterRef("pk"), read_at__lt=limit)))


def _deleted(_value: bool) -> Q:
    return is_deleted_topic()


def _followed(_value: bool) -> Q:
    return Q(following__isnull=False)


def _read_by(rows: Any, order: Order) -> Iterator[list[Thread]]:
    """The whole list for an export. Topics without a known last reply come last, as on the page."""
    if order.name != LAST_REPLY:
        yield from batches(rows, by=order.by)
        return
    place = ""
    while True:
        piece = by_reply(rows, size=EXPORTED_AT_ONCE, older=place)
        yield list(piece.items)
        place = piece.older
        if not place:
            return


def _with_boards(threads: list[Thread]) -> list[Exported]:
    ids = [thread.pk for thread in threads]
    counts, read = stored_counts(ids), ThreadPageReading.objects.oldest_of(ids)
    names = {forum.pk: forum.source_forum_id for forum in Forum.objects.all()}
    return [
        Exported(thread, names[thread.forum_id], counts.get(thread.pk, 0), read.get(thread.pk)) for thread in threads
    ]


@dataclass(frozen=True)
class Exported:
    """A topic with what an export adds."""

    thread: Thread
    fid: int
    stored: int
    edits_known_until: datetime | None


def _column(name: str) -> Column:
    return Column(name, f"thread.{name}")


EXPORTED_AT_ONCE = 1000
# For mirrors: every writer of topics and posts sets it.
CHANGED = Changes("updated_at", "updated_at")
TOPICS = List(
    "topics",
    filters=(
        WordIndex("q", _("Title or opening post")),
        Choice("tag", _("Tag"), choices=_tags, where=_tagged, is_open=True, counted=False),
        Text("prefix", _("Prefix"), "title_prefix_text"),
        Text("author", _("Author"), "author_name"),
        Number("author_id", _("Author number"), "author_source_user_id"),
        Flag("pinned", _("Pinned"), "is_pinned"),
        Flag("digest", _("Featured"), "is_digest"),
        Flag("truncated", _("Backfilling"), "is_truncated_by_page_limit"),
        Flag("gaps", _("Has gaps"), where=_gaps, counted=False),
        Flag("outdated", _("Edits not checked for 7 days"), where=_outdated, counted=False),
        Flag("deleted", _("Deleted on the site"), where=_deleted, counted=False),
        Flag("followed", _("Followed"), where=_followed, counted=False),
        Flag("skipped", _("Over 1,000 pages"), "is_skipped_by_page_total_limit"),
        Days("days", _("Posted"), "thread_created_at", zone=lambda: SHANGHAI),
    ),
    orders=(
        Order(CREATED, _("Post time"), COLUMNS[CREATED]),
        Order(LAST_REPLY, _("Last reply"), COLUMNS[LAST_REPLY]),
    ),
    columns=(
        _column("source_thread_id"),
        Column("fid"),
        _column("title"),
        _column("title_prefix_text"),
        _column("author_name"),
        _column("author_source_user_id"),
        _column("thread_created_at"),
        _column("last_reply_at"),
        _column("reply_count_display"),
        Column("stored_post_count", "stored"),
        Column("edits_known_until"),
        _column("is_pinned"),
        _column("is_digest"),
        _column("is_truncated_by_page_limit"),
        _column("is_skipped_by_page_total_limit"),
    ),
    prepare=_with_boards,
    read=_read_by,
)
FOUND_TOPICS = replace(TOPICS, orders=TOPICS.orders[:1])


def _any(_value: bool) -> Q:
    """The word index is asked for openings alone; among them every topic passes."""
    return Q()


POST_FILTERS = (
    Text("author", _("Author"), "author_name"),
    Number("author_id", _("Author number"), "author_source_user_id"),
    Days("days", _("Posted"), "post_created_at", zone=lambda: SHANGHAI),
)
FOUND = List(
    "found-posts",
    filters=(
        WordIndex("q", _("Title or any post")),
        Flag("opening", _("Only opening posts"), where=_any, counted=False),
        Number("tid", _("Topic number"), "source_thread_id"),
        *(each for each in TOPICS.filters if each.name not in ("q", "truncated", "skipped")),
    ),
    orders=TOPICS.orders[:1],
    columns=(
        Column("source_thread_id", "thread.source_thread_id"),
        Column("fid", "thread.forum.source_forum_id"),
        Column("title", "thread.title"),
        Column("floor_number"),
        Column("author_name", "writer.author_name"),
        Column("author_source_user_id", "writer.author_source_user_id"),
        Column("post_created_at", "posted_at"),
        Column("is_title_hit", "hit.is_title_hit"),
        Column("excerpt"),
    ),
)


def boards() -> list[Forum]:
    """Return all boards; those of which only single topics are archived come last."""
    rows = Forum.objects.select_related("single_topics").order_by("pk")
    return sorted(rows, key=lambda forum: not forum.is_crawled)


def thread(tid: int, fid: object = None) -> Thread:
    """The topic of this number, of this board if one is named; else the one that was found first. May raise Http404."""
    number = _whole(fid)
    if isinstance(fid, int) and number is None:
        raise Http404  # no board has such a number
    rows = Thread.objects.numbered(min(tid, LARGEST_ID), number).with_mirrors().with_readings()
    found = rows.select_related("forum", "reading_state", "following").first()
    if found is None:
        raise Http404
    return found


def threads_of(items: Iterable[tuple[str, str]]) -> list[Thread]:
    """The topics of these items (kind, id); a post means its topic."""
    ids: dict[str, list[int]] = {KIND: [], POST_KIND: []}
    for kind, object_id in items:
        if kind in ids and (number := _whole(object_id)) is not None:
            ids[kind].append(number)
    through_posts = Post.objects.filter(pk__in=ids[POST_KIND]).values("thread")
    rows = Thread.objects.filter(Q(pk__in=ids[KIND]) | Q(pk__in=through_posts))
    return list(rows.select_related("forum").order_by("pk"))


def author_name(thread: Thread, uid: int) -> str | None:
    """The name of an author who wrote in this topic."""
    rows = Post.objects.filter(thread=thread, author_source_user_id=min(uid, LARGEST_ID)).order_by("-floor_number")
    return rows.values_list("author_name", flat=True).first()


def topics_of(selected: Filters, forums: Sequence[Forum]) -> ThreadQuerySet:
    """The filtered topics of the boards that are meant. Naming one board lets its indexes serve both orders."""
    return selected.narrow(every_topic(selected, forums)).with_mirrors().with_readings()


def every_topic(selected: Filters, forums: Sequence[Forum]) -> ThreadQuerySet:
    meant = [forum for forum in forums if selected.fid is None or forum.source_forum_id == selected.fid]
    return meant[0].threads.all() if len(meant) == 1 else Thread.objects.filter(forum__in=meant)


def listing(
    selected: Filters, forums: Sequence[Forum], asked: Mapping[str, Any], scopes: Sequence[str] = ()
) -> Shown[Thread]:
    """The list of topics; with words those that the word index finds, in its order."""
    rows = every_topic(selected, forums)
    if not selected.q:
        return TOPICS.show(rows, asked, keep=("fid",))

    def found(cursor: str, limit: int) -> tuple[list[Thread], str]:
        matches = search(selected, forums, scopes, limit=limit, cursor=cursor)
        return [match.thread for match in matches.items], matches.next

    return FOUND_TOPICS.show(rows, asked, keep=("fid",), found=found)


def found_listing(
    selected: Filters, forums: Sequence[Forum], asked: Mapping[str, Any], scopes: Sequence[str]
) -> Shown[Any]:
    """The list of what words find in titles and in all posts."""

    def found(cursor: str, limit: int) -> tuple[list[Match], str]:
        matches = search(selected, forums, scopes, limit=limit, cursor=cursor, in_posts=True)
        return list(matches.items), matches.next

    return FOUND.show(every_topic(selected, forums), asked, keep=("fid",), found=found)


@dataclass(frozen=True)
class Match:
    """A topic that holds the words in its title or opening post, or one of its posts."""

    hit: Hit
    thread: Thread
    post: Post | None = None

    @property
    def writer(self) -> Thread | Post:
        return self.post or self.thread

    @property
    def floor_number(self) -> int:
        return self.post.floor_number if self.post else 0

    @property
    def posted_at(self) -> datetime:
        moment: datetime = self.post.post_created_at if self.post else self.thread.thread_created_at
        return moment

    @property
    def excerpt(self) -> str:
        return "".join(part.text for part in self.hit.body_parts)


@dataclass(frozen=True)
class Matches:
    query: Query
    items: tuple[Match, ...]
    next: str = ""


def search(
    selected: Filters,
    forums: Sequence[Forum],
    scopes: Sequence[str],
    *,
    limit: int,
    cursor: str = "",
    in_posts: bool = False,
) -> Matches:
    """Topics whose title or opening post holds every word; title hits first, then newest. May raise InvalidCursor.

    With `in_posts` every post, each as a match of its own.
    """
    asked = queries.read(selected.q)
    in_posts = in_posts and not selected.is_opening_only
    rows = topics_of(selected, forums).select_related("reading_state", "forum")
    posts = selected.posts_in(every_topic(selected, forums)) if in_posts else Post.objects.none()
    kinds = [KIND, POST_KIND] if in_posts else [KIND]
    found: list[Match] = []
    for _round in range(MOST_ROUNDS):
        # One more than is still selected would have to be discarded; the word index continues where it stopped.
        page = find(asked, scopes=scopes, kinds=kinds, limit=limit - len(found), before=cursor or None)
        found += _matches(page.items, rows, posts)
        cursor = page.next
        if len(found) >= limit or not cursor:
            break
    return Matches(asked, tuple(found), cursor)


def _matches(hits: Sequence[Hit], rows: ThreadQuerySet, posts: QuerySet[Post]) -> list[Match]:
    """The hits that pass the filters, in the order of the search."""
    wanted: dict[str, set[int]] = {KIND: set(), POST_KIND: set()}
    for hit in hits:
        wanted[hit.kind].add(_whole(hit.object_id) or 0)
    topics = {str(row.pk): row for row in rows.filter(pk__in=wanted[KIND])} if wanted[KIND] else {}
    floors = {str(row.pk): row for row in posts.filter(pk__in=wanted[POST_KIND])} if wanted[POST_KIND] else {}
    parents = _parents(floors.values())
    found = []
    for hit in hits:
        if hit.kind == KIND and hit.object_id in topics:
            found.append(Match(hit, topics[hit.object_id]))
        elif hit.kind == POST_KIND and hit.object_id in floors:
            post = floors[hit.object_id]
            found.append(Match(hit, parents[post.thread_id], post))
    return found


def _parents(posts: Iterable[Post]) -> dict[int, Thread]:
    ids = {post.thread_id for post in posts}
    if not ids:
        return {}
    rows = Thread.objects.with_mirrors().with_readings().select_related("reading_state", "forum")
    return {row.pk: row for row in rows.filter(pk__in=ids)}


__all__ = [
    "CREATED",
    "LAST_REPLY",
    "TOPICS",
    "Filters",
    "Match",
    "Matches",
    "boards",
    "midnight",
    "search",
    "thread",
    "topics_of",
]


# The list has two stages, each in the order of its own column: databases disagree where a NULL stands, and an index
# serves each of the two.
KNOWN, UNKNOWN = "told", "untold"
STAGES = {KNOWN: "last_reply_at", UNKNOWN: "thread_created_at"}


@dataclass(frozen=True)
class ReplyPage:
    """Topics, and the places of the pieces beside them; an empty place: there is none."""

    items: Sequence[Thread]
    newer: str = ""
    older: str = ""


def by_reply(rows: ThreadQuerySet, *, size: int, older: str = "", newer: str = "") -> ReplyPage:
    """The newest topics, those after the place `older`, or those before the place `newer`. May raise InvalidCursor."""
    if newer:
        found = _beside(rows, _open(newer), size + 1, is_backwards=False)
        # A first page that is not full would look as if rows were lost: show the true first page.
        if len(found) > size:
            shown = found[:size][::-1]
            return ReplyPage(shown, newer=cursor_of(shown[0]), older=cursor_of(shown[-1]))
    found = _beside(rows, _open(older) if older else None, size + 1, is_backwards=True)
    shown = found[:size]
    return ReplyPage(
        shown,
        newer=cursor_of(shown[0]) if older and shown else "",
        older=cursor_of(shown[-1]) if len(found) > size else "",
    )


def _beside(rows: ThreadQuerySet, place: tuple[str, Any, Any] | None, most: int, *, is_backwards: bool) -> list[Thread]:
    """Return the rows after a cursor, down or up the list, across both stages."""
    stages = list(STAGES) if is_backwards else list(STAGES)[::-1]
    sign = "-" if is_backwards else ""
    found: list[Thread] = []
    for stage in stages[stages.index(place[0]) :] if place else stages:
        column = STAGES[stage]
        part = rows.filter(last_reply_at__isnull=stage == UNKNOWN).order_by(f"{sign}{column}", f"{sign}pk")
        if place and stage == place[0]:
            part = part.filter(beyond(column, place[1], "pk", place[2], is_backwards=is_backwards))
        found += part[: most - len(found)]
        if len(found) >= most:
            break
    return found


def cursor_of(thread: Thread) -> str:
    stage = UNKNOWN if thread.last_reply_at is None else KNOWN
    return encode_cursor([stage, as_text(getattr(thread, STAGES[stage])), as_text(thread.pk)])


def _open(place: str) -> tuple[str, Any, Any]:
    stage, value, key = decode_cursor(place, 3)
    if stage not in STAGES:
        raise InvalidCursor
    meta = Thread._meta
    return stage, as_value(meta.get_field(STAGES[stage]), value), as_value(meta.pk, key)


NOTHING = {"topics": 0, "pages": 0, "new": 0, "updated": 0, "failed": 0, "limited": 0}


def stored_counts(ids: Sequence[int]) -> dict[int, int]:
    """Return the number of stored posts of each topic, from the index alone."""
    counted = Post.objects.filter(thread_id__in=ids).order_by().values("thread_id").annotate(number=Count("pk"))
    return dict(counted.values_list("thread_id", "number"))


def missing_numbers(thread: Thread) -> list[int]:
    """Floors below the highest stored one that are not there."""
    if thread.crawl_cursor_max_floor_number is None:
        return []
    stored = set(Post.objects.filter(thread=thread).values_list("floor_number", flat=True))
    return [number for number in range(thread.crawl_cursor_max_floor_number + 1) if number not in stored]


def run_sums(ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Per run: topics, pages, floors that are new or changed, topics that failed or were cut by the limit."""
    rows = CrawlRunThread.objects.filter(crawl_run_id__in=ids).order_by().values("crawl_run_id")
    counted = rows.annotate(
        topics=Count("pk"),
        pages=Sum("fetched_page_count"),
        new=Sum("new_post_count"),
        updated=Sum("updated_post_count"),
        failed=Count("pk", filter=THREAD_FAILED),
        limited=Count("pk", filter=Q(page_limit_applied=True)),
    )
    return {row.pop("crawl_run_id"): row for row in counted}
