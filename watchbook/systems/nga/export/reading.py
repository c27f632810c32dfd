"""The posts of a topic in chapters, with what a file says about each post. Reads rows, writes nothing.

Parts of a post's clean HTML as pages and files show them: smilies, names of pictures, the title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape, unescape
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.systems.nga import options
from watchbook.systems.nga.models import ChangeReason, Post, PostRevision, Thread
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.bbcode.tags import smiley_mark
from watchbook.systems.nga.store.media import Kept, kept_files

POSTS_PER_CHAPTER = 100
# The kind of a clip that holds many posts of a topic, and how many pages are saved together.
PART = "nga_posts"
_IMAGE = re.compile(r'<img((?:\s+[\w-]+="[^"]*")*)\s*/?>')
_ATTRIBUTES = re.compile(r'([\w-]+)="([^"]*)"')
_SMILEY_NAME = re.compile(r"\[s:(?:\w+:)?(.+)\]")
SHORT_NAME = 60
# Marks of our own pages, of no use in a file.
_DATA = re.compile(r'\s(?:data-[\w-]+|rel)="[^"]*"')


@dataclass(frozen=True)
class Gap:
    """Numbers in a row that are not stored."""

    first: int
    last: int


@dataclass(frozen=True)
class Entry:
    """A post, when its author last edited it, and for a comment the post it belongs to."""

    post: Post
    edited_at: datetime | None = None
    parent: Post | None = None


@dataclass(frozen=True)
class Chapter:
    """Posts in a row with the gaps between them. The opening post is a chapter of its own."""

    first: int
    last: int
    items: Sequence[Entry | Gap]
    pictures: dict[str, Kept] = field(default_factory=dict)

    @property
    def title(self) -> str:
        if self.last == 0:
            return _("Opening post")
        return _("Posts %(first)s–%(last)s") % {"first": self.first, "last": self.last}


def chapters(thread: Thread) -> Iterator[Chapter]:
    """Every stored post in the order of the numbers. A topic without posts has no chapter."""
    highest = thread.crawl_cursor_max_floor_number
    if highest is None:
        return
    edges = [0, 1, *range(POSTS_PER_CHAPTER, highest + 1, POSTS_PER_CHAPTER), highest + 1]
    for first, end in pairwise(edges):
        if end > first:
            yield _chapter(thread, first, end - 1)


def part(thread: Thread, first: int, last: int) -> Chapter:
    return _chapter(thread, first, min(last, thread.crawl_cursor_max_floor_number or 0))


def _chapter(thread: Thread, first: int, last: int) -> Chapter:
    rows = Post.objects.filter(thread=thread, floor_number__gte=first, floor_number__lte=last)
    posts = list(rows.with_parents().with_version_counts().select_related("facts").order_by("floor_number"))
    edited, parents = _edits(posts), _parents(thread, posts)
    items: list[Entry | Gap] = []
    expected = first
    for post in posts:
        if post.floor_number > expected:
            items.append(Gap(expected, post.floor_number - 1))
        parent = parents.get(post.parent_source_post_id)  # type: ignore[attr-defined]
        items.append(Entry(post, edited.get(post.pk), parent))
        expected = post.floor_number + 1
    if expected <= last:
        items.append(Gap(expected, last))
    return Chapter(first, last, items, _kept(posts))


def _edits(posts: Sequence[Post]) -> dict[int, datetime]:
    """When each post was last edited, as the site said."""
    rows = PostRevision.objects.filter(
        post_id__in=[post.pk for post in posts],
        source_edited_at__isnull=False,
        change_detected_reason__contains=ChangeReason.CONTENT,
    )
    pairs = rows.order_by("pk").values_list("post_id", "source_edited_at")
    return {post_id: edited_at for post_id, edited_at in pairs if edited_at}


def _parents(thread: Thread, posts: Sequence[Post]) -> dict[int | None, Post]:
    numbers = {post.parent_source_post_id for post in posts} - {None}  # type: ignore[attr-defined]
    rows = Post.objects.filter(thread=thread, source_post_id__in=numbers).defer("content_html") if numbers else []
    return {row.source_post_id: row for row in rows}


def _kept(posts: Sequence[Post]) -> dict[str, Kept]:
    found = kept_files([post.pk for post in posts])
    return {url: kept for url, kept in found.items() if kept.is_picture}


def portable(thread: Thread, post: Post, picture: Callable[[str], str]) -> str:
    """The text of a post for a file. `picture` gives a picture's address in the file; without one a link stays."""
    text = post.html_below_title(thread.title)

    def image(found: re.Match[str]) -> str:
        given = {name: unescape(value) for name, value in _ATTRIBUTES.findall(found[1])}
        if given.get("class") == "bb-smiley":
            return smiley_html(given)
        address = given.get("src", "")
        words = given.get("alt") or picture_name(address)
        if place := picture(address):
            return f'<img src="{escape(place)}" alt="{escape(words)}">'
        return f'<a href="{escape(address)}">[{escape(words)}]</a>' if address else ""

    return _IMAGE.sub(image, _DATA.sub("", text))


def gap_words(gap: Gap) -> str:
    numbers = f"#{gap.first}" if gap.first == gap.last else f"#{gap.first}–{gap.last}"
    return _("Missing: %(posts)s") % {"posts": numbers}


def head_words(entry: Entry) -> list[str]:
    """Number, author, time, and what is special about a post."""
    post = entry.post
    words = [f"#{post.floor_number}", post.author_name, moment(post.post_created_at)]
    facts = getattr(post, "facts", None)
    edited_at = facts.source_edited_at if facts and facts.source_edited_at else entry.edited_at
    if edited_at:
        words.append(f"{_('edited')} {moment(edited_at)}")
    if facts and facts.up_vote_count:
        number = facts.up_vote_count
        words.append(ngettext("%(votes)s up-vote", "%(votes)s up-votes", number) % {"votes": number})
    if entry.parent:
        values = {"n": entry.parent.floor_number, "name": entry.parent.author_name}
        words.append(_("Comment on #%(n)s by %(name)s") % values)
    if post.is_deleted_by_source:
        words.append(pgettext("floor", "Deleted on the site"))
    if post.is_folded_by_source:
        words.append(pgettext("floor", "Collapsed"))
    return words


def topic_words(thread: Thread, stored: int, missing: int) -> list[str]:
    words = [thread.author_name, str(thread.forum), moment(thread.thread_created_at)]
    counted = _("%(stored)s posts stored, %(missing)s missing") % {"stored": stored, "missing": missing}
    as_of = [f"{_('Last read')} {moment(thread.last_crawled_at)}"] if thread.last_crawled_at else []
    return [*words, counted, *as_of]


def joined(words: Sequence[str]) -> str:
    return " · ".join(words)


def moment(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="minutes")


def source_address(tid: int) -> str:
    return Addresses(options.BASE_URL.value).post(0, tid)


def smiley_html(given: Mapping[str, str]) -> str:
    """The sign or the name of a smiley, from the attributes of its image."""
    alt = given.get("alt", "")
    found = _SMILEY_NAME.fullmatch(alt)
    name = found[1] if found else alt
    mark = smiley_mark(name)
    if mark is None:
        return f'<span class="bb-smiley" title="{escape(alt)}">{escape(name)}</span>'
    return f'<span class="bb-mark" role="img" aria-label="{escape(name)}" title="{escape(alt)}">{mark}</span>'


def picture_name(address: str) -> str:
    """Return the file name at the end of an address."""
    try:
        path = unquote(urlsplit(address).path)
    except ValueError:
        path = ""
    name = path.rstrip("/").rpartition("/")[2] or address
    return name if len(name) <= SHORT_NAME else f"{name[: SHORT_NAME // 2]}…{name[-SHORT_NAME // 2 :]}"
