"""The lists of posts, comments, communities and crawls, and the search for words in posts and comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import F, Model, Q, QuerySet
from django.db.models.functions import Lower
from django.db.models.lookups import Contains, Exact
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.base.text import fold
from watchbook.core.search import query as queries
from watchbook.core.search.find import Hit, find
from watchbook.core.search.query import Query
from watchbook.kit.lists import (
    AtLeast,
    Changes,
    Choice,
    Column,
    Days,
    Flag,
    List,
    Order,
    Search,
    Shown,
    Text,
    WordIndex,
    by_time,
)
from watchbook.kit.paging import InvalidCursor
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.jobs.crawl import full_name
from watchbook.systems.reddit.models import Comment, CommunityCache, CommunityPool, CrawlKind, Outcome, PostRaw
from watchbook.systems.reddit.models.comments import COMMENT_KIND
from watchbook.systems.reddit.models.communities import FOLDED
from watchbook.systems.reddit.models.posts import KIND
from watchbook.systems.reddit.records import reddit_link

Row = TypeVar("Row", bound=Model)

# Pages of search results that are read to fill one page when filters exclude most of them.
MAX_SEARCH_ROUNDS = 10
# Maximum number of communities that a category adds to a search.
MAX_CATEGORY_NAMES = 1000
STATES = (
    ("live", pgettext_lazy("posts", "Available")),
    ("edited", pgettext_lazy("posts", "Edited")),
    ("removed", pgettext_lazy("posts", "Removed")),
    ("deleted", pgettext_lazy("posts", "Deleted by author")),
)


def _in_community(name: str, column: str = "subreddit") -> Q:
    row = CommunityCache.objects.named(full_name(name))
    return Q(**{column: row.community_name if row else full_name(name)})


def _by_author(name: str) -> Q:
    return Q(Exact(Lower("author"), actions.author_name(name)))


def _names_tagged(tag: str) -> list[str]:
    """Names of communities with this tag, ignoring case."""
    asked = fold(tag.strip())
    pool = CommunityPool.objects.values_list("name", "categories")
    named = [name for name, tags in pool if any(asked == fold(str(one)) for one in tags)]
    return named[:MAX_CATEGORY_NAMES]


POSTS = List(
    "reddit-posts",
    filters=(
        WordIndex("q", _("Words in title or text")),
        Text("community", _("Community"), where=_in_community),
        Text("tag", _("Community tag"), where=lambda tag: Q(subreddit__in=_names_tagged(tag))),
        Text("author", _("Author"), where=_by_author),
        Choice("state", _("State"), choices=STATES, where=actions.STATES.__getitem__),
        Flag("rising", _("Rising"), where=lambda _on: Q(rising__gte=actions.RISING_FROM)),
        AtLeast("least_score", _("Minimum score"), "score"),
        Days("days", _("Posted"), "created_at"),
    ),
    orders=(
        Order("newest", _("Newest first"), "created_at"),
        Order("rising", _("Fastest rising first"), "rising"),
    ),
    columns=(
        *map(
            Column,
            (
                "source_post_id", "subreddit", "title", "content", "author", "score", "num_comments", "rising",
                "created_at", "first_seen_at", "observed_at", "version", "removed_by_category", "author_deleted",
                "blanked_at",
            ),
        ),
        Column("link", lambda row: reddit_link(row.source_post_id)),
    ),
    changes=Changes("updated_at", "updated_at"),
)  # fmt: skip


def every_post() -> QuerySet[PostRaw]:
    """Current texts, not sorted."""
    return actions.posts()


def posts(asked: Mapping[str, Any], scopes: Sequence[str]) -> Shown[PostRaw]:
    """The list of posts; with words those that the word index finds, in its order."""
    return _with_words(POSTS.show(every_post(), asked), KIND, scopes)


def _with_words(shown: Shown[Row], kind: str, scopes: Sequence[str]) -> Shown[Row]:
    """Let the word index find the rows, if words were asked for."""
    words = shown.chosen.values.get("q", "")

    def found(cursor: str, limit: int) -> tuple[list[Row], str]:
        matches = search(words, shown.rows, scopes, kind=kind, limit=limit, cursor=cursor)
        return list(matches.rows), matches.next

    if words:
        shown.found = found
    return shown


COMMENTS = List(
    "reddit-comments",
    filters=(
        WordIndex("q", _("Words in the comment")),
        Text("community", _("Community"), where=_in_community),
        Text("tag", _("Community tag"), where=lambda tag: Q(subreddit__in=_names_tagged(tag))),
        Text("author", _("Author"), where=_by_author),
        Text("thread", _("Thread"), where=lambda post_id: Q(post_id=post_id.strip())),
        Choice("state", _("State"), choices=STATES, where=actions.STATES.__getitem__),
        AtLeast("least_score", _("Minimum score"), "score"),
        Days("days", _("Posted"), "created_at"),
    ),
    orders=by_time("created_at"),
    columns=(
        *map(
            Column,
            (
                "comment_id", "post_id", "parent_id", "subreddit", "thread_title", "content", "author", "score",
                "created_at", "edited_at", "first_seen_at", "observed_at", "version", "removed_by_category",
                "author_deleted", "blanked_at",
            ),
        ),
        Column("link", lambda row: reddit_link(row.post_id, row.comment_id)),
    ),
    changes=Changes("updated_at", "updated_at"),
)  # fmt: skip


def comments(asked: Mapping[str, Any], scopes: Sequence[str]) -> Shown[Comment]:
    """The list of comments; with words those that the word index finds, in its order."""
    return _with_words(COMMENTS.show(Comment.objects.all(), asked), COMMENT_KIND, scopes)


CRAWLS = List(
    "reddit-crawls",
    filters=(
        Search("q", _("Community or reason"), columns=("community_name", "detail")),
        Text("community", _("Community"), where=lambda name: _in_community(name, "community_name")),
        Choice("kind", _("Kind"), "kind", choices=tuple(CrawlKind.choices)),
        Choice("outcome", _("Outcome"), "outcome", choices=tuple(Outcome.choices)),
        Flag("gap", _("Possible gap"), where=lambda _on: Q(possible_gap=True)),
        Days("days", _("Crawled"), "crawled_at"),
    ),
    orders=by_time("crawled_at"),
    columns=tuple(
        map(
            Column,
            (
                "id", "community_name", "crawled_at", "kind", "outcome", "detail", "new_posts", "updated_posts",
                "unchanged_posts", "versions", "requests", "duration_seconds", "possible_gap",
            ),
        )
    ),
    changes=Changes("id", "crawled_at"),
)  # fmt: skip

TIERS = (("tier1", _("Tier 1")), ("tier2", _("Tier 2")), ("tier3", _("Tier 3")))
COMMUNITY_STATES = (
    ("active", pgettext_lazy("communities", "Active")),
    ("overdue", _("Late")),
    ("gap", _("Possible gap")),
    ("inactive", _("Inactive")),
)
ORDERS = {
    "-posts": (_("Most posts per day"), F("rate").desc()),
    "posts": (_("Fewest posts per day"), F("rate").asc()),
    "name": (_("Name, A to Z"), F("community_name").asc()),
    "-name": (_("Name, Z to A"), F("community_name").desc()),
    "-last": (_("Last crawl, newest first"), F("last_crawled_at").desc(nulls_last=True)),
    "last": (_("Last crawl, oldest first"), F("last_crawled_at").asc(nulls_first=True)),
    "due": (_("Next crawl, soonest first"), F("next_due").asc()),
    "-due": (_("Next crawl, latest first"), F("next_due").desc()),
}
ROWS_AT_ONCE = 500


def _named(words: str) -> Q:
    """A part of the name, or of a tag."""
    asked = fold(words).removeprefix("r/")
    pool = CommunityPool.objects.values_list("name", "categories")
    named = [name for name, categories in pool if any(asked in fold(str(one)) for one in categories)]
    return Q(Contains(FOLDED, asked)) | Q(community_name__in=named[:MAX_CATEGORY_NAMES])


def in_order(rows: QuerySet[CommunityCache], order: Order) -> QuerySet[CommunityCache]:
    return rows.order_by(ORDERS[order.name][1], "pk")


def _read_in_order(rows: QuerySet[CommunityCache], order: Order) -> Iterator[list[CommunityCache]]:
    """By number, as on the page: there are at most some thousand rows, and an order may have NULLs."""
    place = 0
    while batch := list(in_order(rows, order)[place : place + ROWS_AT_ONCE]):
        yield batch
        place += ROWS_AT_ONCE


COMMUNITIES = List(
    "communities",
    filters=(
        Search("q", _("Name or tag"), where=_named),
        Choice("tier", _("Tier"), "quality_tier", choices=TIERS),
        Text("tag", _("Tag"), where=lambda tag: Q(community_name__in=_names_tagged(tag))),
        Choice("state", _("State"), choices=COMMUNITY_STATES, where=actions.community_state),
        Days("days", _("Last crawl"), "last_crawled_at"),
    ),
    orders=tuple(Order(name, title) for name, (title, _order) in ORDERS.items()),
    columns=tuple(
        map(
            Column,
            (
                "community_name", "quality_tier", "is_active", "inactive_reason", "rate", "posts_cached",
                "last_crawled_at", "last_outcome", "next_due", "crawl_frequency_hours", "success_hit", "empty_hit",
                "failure_hit", "covered_from", "possible_gap", "gap_count", "created_at",
            ),
        )
    ),
    read=_read_in_order,
    changes=Changes("updated_at", "updated_at"),
)  # fmt: skip


@dataclass(frozen=True)
class Matches(Generic[Row]):
    """Posts or comments that contain the words, with their search hits; `next` is empty at the end."""

    query: Query
    hits: tuple[Hit, ...]
    rows: tuple[Row, ...]
    next: str = ""


# Column with the ID that the search knows, by kind.
ID_COLUMNS = {KIND: "source_post_id", COMMENT_KIND: "comment_id"}


def search(
    words: str,
    rows: QuerySet[Row],
    scopes: Sequence[str],
    *,
    limit: int,
    kind: str = KIND,
    cursor: str = "",
    strict: bool = False,
) -> Matches[Row]:
    """Find rows that contain every word in title or text: title hits first, then newest.

    An invalid cursor starts at the beginning, or raises InvalidCursor if `strict`.
    """
    asked, column = queries.read(words), ID_COLUMNS[kind]
    hits: list[Hit] = []
    found: list[Row] = []
    for _round in range(MAX_SEARCH_ROUNDS):
        try:
            page = find(asked, scopes=scopes, kinds=[kind], limit=limit - len(found), before=cursor or None)
        except InvalidCursor:
            if strict:
                raise
            page = find(asked, scopes=scopes, kinds=[kind], limit=limit)
        ids = [hit.object_id for hit in page.items]
        passed = {getattr(row, column): row for row in rows.filter(**{f"{column}__in": ids})} if ids else {}
        hits += [hit for hit in page.items if hit.object_id in passed]
        found += [passed[object_id] for object_id in ids if object_id in passed]
        cursor = page.next
        if len(found) >= limit or not cursor:
            break
    return Matches(asked, tuple(hits), tuple(found), cursor)
