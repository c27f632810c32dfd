"""The floors of one page of a topic: texts, badges, gaps between them. A fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from django.utils.safestring import SafeString

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.sources.nga import options
from watchbook.sources.nga.models import (
    MOST_ATTEMPTS,
    ChangeReason,
    Post,
    PostAbsence,
    PostMediaMap,
    PostRevision,
    Thread,
    ThreadFloorRepairAttempt,
)
from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.views.content import linked_topics, shown_html, without_title
from watchbook.sources.nga.views.hanging import Hanging, hanging_of

# What a list of versions needs; the texts themselves may be long.
HEADS = ("pk", "post_id", "revision_created_at", "source_edited_at", "change_detected_reason", "crawl_run_thread_id")


@dataclass(frozen=True)
class HungNote:
    """A note under the post it belongs to, wherever its own floor stands."""

    post: Post
    html: SafeString
    badges: list[Badge]
    is_starter: bool


@dataclass(frozen=True)
class Floor:
    """One floor as the page shows it."""

    post: Post
    html: SafeString
    badges: list[Badge]
    edits: int
    version_count: int
    edited_at: datetime | None
    absence: PostAbsence | None
    source_url: str
    is_starter: bool
    notes: list[HungNote] = field(default_factory=list)
    parent: Post | None = None
    """Of a note: the floor under which it hangs, if that is stored."""
    is_shown_above: bool = False
    """A note whose post is on the same page: its text is read there."""

    @property
    def number(self) -> int:
        return self.post.floor_number


@dataclass(frozen=True)
class Gap:
    """Floors in a row that were never seen, with the same number of attempts to get them."""

    first: int
    last: int
    attempts: int
    attempted_at: datetime | None = None

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def others(self) -> range:
        """Each has an address of its own, which leads here."""
        return range(self.first + 1, self.last + 1)

    @property
    def is_given_up(self) -> bool:
        return self.attempts >= MOST_ATTEMPTS


@dataclass(frozen=True)
class Shown:
    """Floors and gaps in their order."""

    items: list[Floor | Gap] = field(default_factory=list)

    @property
    def floors(self) -> list[Floor]:
        return [item for item in self.items if isinstance(item, Floor)]


@dataclass(frozen=True)
class Found:
    """What the texts of a page lead to and we have: topics by number, pictures by address."""

    topics: dict[int, str]
    pictures: dict[str, str]


def floors_of(thread: Thread, posts: Sequence[Post], missing: Sequence[int] = ()) -> Shown:
    hanging = hanging_of(thread, posts)
    texts = [*posts, *hanging.elsewhere]
    heads = _revisions(texts)
    found = Found(_archived(thread, [post.content_html for post in texts]), kept_pictures(texts))
    floors = [_floor(thread, post, heads, found, hanging) for post in posts]
    items: list[Floor | Gap] = [*floors, *_gaps(thread, missing)]
    return Shown(sorted(items, key=lambda item: item.number if isinstance(item, Floor) else item.first))


def _revisions(posts: Sequence[Post]) -> dict[int, list[PostRevision]]:
    ids = [post.pk for post in posts]
    rows = PostRevision.objects.filter(post_id__in=ids).only(*HEADS).order_by("post_id", "pk")
    return {post_id: list(group) for post_id, group in groupby(rows, key=lambda row: row.post_id)}


def _archived(here: Thread, texts: Iterable[str]) -> dict[int, str]:
    """Which of the topics that the texts lead to have a page here; a quotation of this topic stays at its board."""
    asked = linked_topics(texts) - {here.source_thread_id}
    known = Thread.objects.filter(source_thread_id__in=asked).values_list("source_thread_id", flat=True)
    return {**(dict.fromkeys(known, "") if asked else {}), here.source_thread_id: here.at_board}


def kept_pictures(posts: Sequence[Post]) -> dict[str, str]:
    """Digests of the pictures that are kept, by their addresses. Nothing is asked while none are kept."""
    if not options.MEDIA.value:
        return {}
    rows = PostMediaMap.objects.filter(post_id__in=[post.pk for post in posts], media_asset__isnull=False)
    return dict(rows.values_list("source_url", "media_asset__content_sha256"))


def _floor(thread: Thread, post: Post, heads: dict[int, list[PostRevision]], found: Found, hanging: Hanging) -> Floor:
    own = heads.get(post.pk, [])
    edits = _edits(own)
    stamps = [head.source_edited_at for head in edits if head.source_edited_at]
    parent = hanging.parent_of(post)
    return Floor(
        post=post,
        html=shown_html(_own_text(thread, post), found.topics, found.pictures),
        badges=floor_badges(post, len(edits)),
        edits=len(edits),
        version_count=len(own) + 1,
        edited_at=stamps[-1] if stamps else None,
        absence=getattr(post, "absence", None),
        source_url=source_address(thread.source_thread_id, post.source_post_id),
        is_starter=is_starter(thread, post),
        notes=[
            HungNote(
                post=note,
                html=shown_html(note.content_html, found.topics, found.pictures),
                badges=floor_badges(note, len(_edits(heads.get(note.pk, [])))),
                is_starter=is_starter(thread, note),
            )
            for note in hanging.notes_of(post)
        ],
        parent=parent,
        is_shown_above=parent is not None and parent.source_post_id in hanging.here,
    )


def _edits(heads: list[PostRevision]) -> list[PostRevision]:
    return [head for head in heads if ChangeReason.CONTENT in head.reasons]


def _own_text(thread: Thread, post: Post) -> str:
    return post.content_html if post.floor_number else without_title(post.content_html, thread.title)


def floor_badges(post: Post, edits: int) -> list[Badge]:
    found = [
        (edits > 0, badges.edited(edits)),
        (post.is_folded_by_source, badges.find("floor", "folded")),
        (post.is_deleted_by_source, badges.find("floor", "deleted")),
    ]
    return [badge for is_so, badge in found if is_so]


def is_starter(thread: Thread, post: Post) -> bool:
    """Is it the person who opened the topic? Anonymous people have no number; their shown names are all there is."""
    if thread.author_source_user_id or post.author_source_user_id:
        return thread.author_source_user_id == post.author_source_user_id
    return thread.author_name == post.author_name


def source_address(tid: int, pid: int = 0) -> str:
    return Addresses(options.BASE_URL.value).post(pid, tid)


def _gaps(thread: Thread, missing: Sequence[int]) -> list[Gap]:
    if not missing:
        return []
    rows = ThreadFloorRepairAttempt.objects.filter(thread_id=thread.pk, floor_number__in=missing)
    tried = {row.floor_number: (row.attempt_count, row.last_attempted_at) for row in rows}
    found: list[Gap] = []
    for number in sorted(missing):
        attempts, at = tried.get(number, (0, None))
        last = found[-1] if found else None
        if last and last.last == number - 1 and last.attempts == attempts:
            found[-1] = Gap(last.first, number, attempts, at)
        else:
            found.append(Gap(number, number, attempts, at))
    return found
