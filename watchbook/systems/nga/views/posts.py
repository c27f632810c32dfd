"""Posts of a topic as pages show them, and the versions of one post."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.diff import Difference, compare
from watchbook.systems.nga import filters, options
from watchbook.systems.nga.models import (
    MOST_ATTEMPTS,
    ChangeReason,
    CrawlRunThread,
    NoteParent,
    Post,
    PostAbsence,
    PostRevision,
    Thread,
    ThreadFloorRepairAttempt,
)
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.store.media import Kept, kept_files
from watchbook.systems.nga.views.content import Replied, linked_topics, plain_text, replied_posts, shown_html
from watchbook.systems.nga.views.page_header import head, own_title, reason_text

# A page has twenty posts; more comments than this are not read below them, and each is a post of its own anyway.
MOST_NOTES = 400


@dataclass(frozen=True)
class CommentMap:
    """Posts by ID: those of the page, their comments and their parents on other pages."""

    here: frozenset[int]
    posts: dict[int, Post]

    def parent_of(self, post: Post) -> Post | None:
        return self.posts.get(_parent(post))

    def notes_of(self, post: Post) -> list[Post]:
        found = [note for note in self.posts.values() if _parent(note) == post.source_post_id]
        return sorted(found, key=lambda note: note.floor_number)

    @property
    def elsewhere(self) -> list[Post]:
        """Notes under posts of the page whose own floors are on other pages."""
        return [post for pid, post in self.posts.items() if pid not in self.here and _parent(post) in self.here]


def comments_of(thread: Thread, posts: Sequence[Post]) -> CommentMap:
    """`posts` know their parents (`with_parents`)."""
    here = {post.source_post_id: post for post in posts}
    known = NoteParent.objects.filter(thread=thread).order_by()
    notes = known.filter(parent_source_post_id__in=here).values_list("source_post_id")
    parents = known.filter(source_post_id__in=here).values_list("parent_source_post_id")
    others = Post.objects.filter(thread=thread, source_post_id__in=notes.union(parents)).with_parents()
    found = {post.source_post_id: post for post in others.order_by("source_post_id")[:MOST_NOTES]}
    return CommentMap(frozenset(here), found | here)


def _parent(post: Post) -> int:
    parent: int | None = post.parent_source_post_id  # type: ignore[attr-defined]
    return -1 if parent is None else parent


# What a list of versions needs; the texts themselves may be long.
HEADS = ("pk", "post_id", "revision_created_at", "source_edited_at", "change_detected_reason", "crawl_run_thread_id")


@dataclass(frozen=True)
class CommentView:
    """A comment as shown under its post."""

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
    up_vote_count: int = 0
    client: str = ""
    notes: list[CommentView] = field(default_factory=list)
    parent: Post | None = None
    """The post this comment belongs to, or None if it is not stored."""
    is_shown_above: bool = False
    """A note whose post is on the same page: its text is read there."""

    @property
    def number(self) -> int:
        return self.post.floor_number

    @property
    def author_query(self) -> str:
        """Return the query that shows only posts of this author."""
        uid = self.post.author_source_user_id
        return urlencode({"author_id": uid} if uid else {"author": self.post.author_name})


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
    """Archived targets of the links on a page: topics by number, files by address."""

    topics: dict[int, str]
    pictures: dict[str, Kept]
    replied: Replied


def floors_of(thread: Thread, posts: Sequence[Post], missing: Sequence[int] = ()) -> Shown:
    comments = comments_of(thread, posts)
    texts = [*posts, *comments.elsewhere]
    heads = _revisions(texts)
    htmls = [post.content_html for post in texts]
    found = Found(_archived(thread, htmls), kept_files([post.pk for post in texts]), _replied(thread, htmls))
    floors = [_floor(thread, post, heads, found, comments) for post in posts]
    items: list[Floor | Gap] = [*floors, *_gaps(thread, missing)]
    return Shown(sorted(items, key=lambda item: item.number if isinstance(item, Floor) else item.first))


def _revisions(posts: Sequence[Post]) -> dict[int, list[PostRevision]]:
    ids = [post.pk for post in posts]
    rows = PostRevision.objects.filter(post_id__in=ids).only(*HEADS).order_by("post_id", "pk")
    return {post_id: list(group) for post_id, group in groupby(rows, key=lambda row: row.post_id)}


def _archived(here: Thread, texts: Iterable[str]) -> dict[int, str]:
    """Return the linked topics that are archived; links to this topic stay at its board."""
    asked = linked_topics(texts) - {here.source_thread_id}
    known = Thread.objects.filter(source_thread_id__in=asked).values_list("source_thread_id", flat=True)
    return {**(dict.fromkeys(known, "") if asked else {}), here.source_thread_id: here.at_board}


def _replied(thread: Thread, texts: Iterable[str]) -> Replied:
    """Numbers of the posts of this topic that these texts answer."""
    asked = replied_posts(texts, thread.source_thread_id)
    rows = Post.objects.filter(thread=thread, source_post_id__in=asked) if asked else Post.objects.none()
    return Replied(thread.source_thread_id, dict(rows.values_list("source_post_id", "floor_number")) if asked else {})


def _floor(
    thread: Thread, post: Post, heads: dict[int, list[PostRevision]], found: Found, comments: CommentMap
) -> Floor:
    own = heads.get(post.pk, [])
    edits = _edits(own)
    stamps = [head.source_edited_at for head in edits if head.source_edited_at]
    parent = comments.parent_of(post)
    facts = getattr(post, "facts", None)
    return Floor(
        post=post,
        html=shown_html(post.html_below_title(thread.title), found.topics, found.pictures, found.replied),
        badges=floor_badges(post, len(edits)),
        edits=len(edits),
        version_count=len(own) + 1,
        edited_at=facts.source_edited_at if facts and facts.source_edited_at else stamps[-1] if stamps else None,
        up_vote_count=facts.up_vote_count if facts else 0,
        client=facts.client_text.partition(" ")[2] if facts else "",
        absence=getattr(post, "absence", None),
        source_url=source_address(thread.source_thread_id, post.source_post_id),
        is_starter=is_starter(thread, post),
        notes=[
            CommentView(
                post=note,
                html=shown_html(note.content_html, found.topics, found.pictures, found.replied),
                badges=floor_badges(note, len(_edits(heads.get(note.pk, [])))),
                is_starter=is_starter(thread, note),
            )
            for note in comments.notes_of(post)
        ],
        parent=parent,
        is_shown_above=parent is not None and parent.source_post_id in comments.here,
    )


def _edits(heads: list[PostRevision]) -> list[PostRevision]:
    return [head for head in heads if ChangeReason.CONTENT in head.reasons]


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


# A floor that changes at every run for years is cut here; the oldest are still in the API.
MOST_VERSIONS = 500


@dataclass(frozen=True)
class Version:
    """One version; `revision_id` is None for the current one. The first one has no reason."""

    number: int
    revision_id: int | None
    seen_at: datetime
    reason: str = ""
    edited_at: datetime | None = None
    run_id: int | None = None

    @property
    def is_current(self) -> bool:
        return self.revision_id is None

    @property
    def name(self) -> str:
        return (_("version %(n)s, current") if self.is_current else _("version %(n)s")) % {"n": self.number}


@dataclass(frozen=True)
class Compared:
    """Two versions and their difference."""

    old: Version
    new: Version
    diff: Difference
    side: SafeString


def versions_of(post: Post) -> list[Version]:
    """Oldest first. A revision keeps what was replaced, and why: the reason belongs to the version after it."""
    rows = list(PostRevision.objects.filter(post=post).only(*HEADS).order_by("-pk")[:MOST_VERSIONS])[::-1]
    runs = _runs([row.crawl_run_thread_id for row in rows if row.crawl_run_thread_id])
    found, before = [], None
    for number, row in enumerate([*rows, None], 1):
        revision_id = row.pk if row else None
        if before is None:
            found.append(Version(number, revision_id, post.created_at))
        else:
            found.append(
                Version(
                    number,
                    revision_id,
                    before.revision_created_at,
                    reason_text(before.change_detected_reason),
                    before.source_edited_at,
                    runs.get(before.crawl_run_thread_id or 0),
                )
            )
        before = row
    return found


def _runs(ids: list[int]) -> dict[int, int]:
    """The run of each of these details of runs."""
    return dict(CrawlRunThread.objects.filter(pk__in=ids).values_list("pk", "crawl_run_id")) if ids else {}


def compared(post: Post, versions: list[Version], old: int, new: int) -> Compared | None:
    """The difference between two versions by number; None when there are not two."""
    by_number = {version.number: version for version in versions}
    if old not in by_number or new not in by_number or old == new:
        return None
    first, second = by_number[min(old, new)], by_number[max(old, new)]
    diff = compare(plain_text(text_of(post, first)), plain_text(text_of(post, second)))
    side = render_to_string("nga/_diff_side.html", {"new": second})
    return Compared(first, second, diff, side)


def text_of(post: Post, version: Version) -> str:
    if version.revision_id is None:
        return str(post.content_html)
    return str(PostRevision.objects.only("content_html").get(pk=version.revision_id, post=post).content_html)


@require_GET
def versions(request: HttpRequest, tid: int, floor_number: int) -> HttpResponse:
    thread = filters.thread(tid, request.GET.get("fid"))
    post = get_object_or_404(Post.objects.select_related("absence"), thread=thread, floor_number=floor_number)
    found = versions_of(post)
    last = found[-1].number
    new = _number(request, "to", last)
    old = _number(request, "from", max(new - 1, 1))
    chosen = next((each for each in found if each.number == new), None)
    if chosen is None:
        raise Http404
    edits = sum(bool(each.reason) for each in found)
    context: dict[str, Any] = {
        **head(request, "topics", thread.forum.source_forum_id),
        "thread": thread,
        "title": own_title(thread),
        "post": post,
        "versions": found[::-1],
        "compared": compared(post, found, old, new),
        "chosen": chosen,
        "html": shown_html(text_of(post, chosen)),
        "badges": floor_badges(post, edits),
        "source_url": source_address(tid, post.source_post_id),
    }
    return render(request, "nga/versions.html", context)


def _number(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else otherwise
