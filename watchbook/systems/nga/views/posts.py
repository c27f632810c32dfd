"""Posts of a topic as pages show them: text with links and kept files, badges, comments, gaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape, unescape
from itertools import groupby
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.templatetags.kit import draw_icon
from watchbook.systems.nga import options
from watchbook.systems.nga.export.reading import picture_name, smiley_html
from watchbook.systems.nga.models import (
    MOST_ATTEMPTS,
    ChangeReason,
    NoteParent,
    Post,
    PostAbsence,
    PostRevision,
    Thread,
    ThreadFloorRepairAttempt,
)
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.store.media import Kept, kept_files

_ATTRIBUTES = re.compile(r'([\w-]+)="([^"]*)"')
_TAG = re.compile(r'<(a|img)((?:\s+[\w-]+="[^"]*")*)\s*/?>|</a>')
_TAGS = re.compile(r"<[^<>]*>")
_PID = re.compile(r'data-pid="(\d{1,18})"')
# "Reply Post by NAME (time):" over a quotation, "Reply to Reply Post by NAME (time)" before an answer without one.
_REPLY = re.compile(
    r"(?:<a ([^<>]*)>(Reply|Topic)</a>\s?<b>Post by (.{1,300}?)"
    r"|<b>Reply to <a ([^<>]*)>(Reply|Topic)</a> Post by (.{1,300}?))"
    r" ?\((\d{4}-\d\d-\d\d \d\d:\d\d)\):?</b>(?:<br>){0,2}"
)
_TOPIC = re.compile(r'\sdata-tid="(\d{1,15})"')
# A page has twenty posts; more comments than this are not read below them, and each is a post of its own anyway.
MOST_NOTES = 400
# What a list of versions needs; the texts themselves may be long.
HEADS = ("pk", "post_id", "revision_created_at", "source_edited_at", "change_detected_reason", "crawl_run_thread_id")


def linked_topics(texts: Iterable[str]) -> set[int]:
    """The tids that these texts lead to."""
    return {int(tid) for text in texts for tid in _TOPIC.findall(text)}


@dataclass(frozen=True)
class Replied:
    """Numbers of the posts of a topic that are answered, by post ID."""

    tid: int
    numbers: Mapping[int, int]


def replied_posts(texts: Iterable[str], tid: int) -> set[int]:
    """Post IDs of this topic that these texts answer."""
    mark = f'data-tid="{tid}"'
    found = (hit[1] or hit[4] for text in texts if "Post by" in text for hit in _REPLY.finditer(text))
    return {int(pid[1]) for attributes in found if mark in attributes and (pid := _PID.search(attributes))}


def compact_quotes(html: str, replied: Replied) -> str:
    """The head of a quotation or answer as one short line: whom it answers. The time is its title."""
    if "Post by" not in html:
        return html

    def line(found: re.Match[str]) -> str:
        attributes, kind, written, moment = found.group(*((1, 2, 3, 7) if found[1] else (4, 5, 6, 7)))
        name = _TAGS.sub("", written).strip()
        pid = _PID.search(attributes)
        is_here = f'data-tid="{replied.tid}"' in attributes
        number = 0 if kind == "Topic" and is_here else replied.numbers.get(int(pid[1])) if pid and is_here else None
        values = {"n": number, "name": name}
        words = _("Reply to %(name)s") % values if number is None else _("Reply to #%(n)s %(name)s") % values
        return f'<p class="bb-reply"><a {attributes} title="{moment}">{words}</a></p>'

    return _REPLY.sub(line, html)


def shown_html(
    html: str,
    archived: Mapping[int, str] | None = None,
    kept: Mapping[str, Kept] | None = None,
    replied: Replied | None = None,
) -> SafeString:
    """Stored HTML, ready for the page. `kept` are files that we have, by their addresses.

    `archived` are tids that have a page here, each with what follows its path (`Thread.at_board`).
    """
    writer = _Writer(archived or {}, kept or {})
    shown = _TAG.sub(writer.tag, compact_quotes(html, replied) if replied else html)
    # Headings of a floor come right below the page's own: a skipped level would confuse users of screen readers.
    shown = shown.replace("<h4>", '<h2 class="bb-title">').replace("</h4>", "</h2>")
    # `del` is the mark of a removed word in a diff; struck text of an author is something else.
    shown = shown.replace("<del>", '<s class="bb-struck">').replace("</del>", "</s>")
    # A wide table scrolls on its own on a narrow screen.
    shown = shown.replace("<table>", '<div class="bb-scroll" tabindex="0"><table>').replace(
        "</table>", "</table></div>"
    )
    return mark_safe(shown)  # noqa: S308 - cleaned when stored; what is added is escaped


class _Writer:
    """Remembers whether it is inside a link: a link in a link would fall apart."""

    def __init__(self, archived: Mapping[int, str], kept: Mapping[str, Kept]) -> None:
        self.archived = archived
        self.kept = kept
        self.is_in_link = False

    def tag(self, found: re.Match[str]) -> str:
        if found[1] is None:
            self.is_in_link = False
            return found[0]
        given = {name: unescape(value) for name, value in _ATTRIBUTES.findall(found[2])}
        if found[1] == "a":
            player = self._player(given.get("href", ""))
            self.is_in_link = True
            return player + self._link(found[0], given)
        if given.get("class") == "bb-smiley":
            return smiley_html(given)
        kept = self.kept.get(given.get("src", ""))
        if kept and kept.is_picture:
            return _own_picture(kept, given, in_link=self.is_in_link)
        return _picture(given, in_link=self.is_in_link)

    def _player(self, address: str) -> str:
        """The stored file, ahead of the link to its original: played here, or to download."""
        kept = self.kept.get(address)
        if kept is None:
            return ""
        path, name = escape(kept.path), escape(picture_name(address))
        if kept.is_played:
            kind = "video" if kept.media_type.startswith("video/") else "audio"
            return f'<{kind} class="bb-player" src="{path}" controls preload="none" aria-label="{name}"></{kind}> '
        return f'<a class="bb-file" href="{path}">{draw_icon("download")}{escape(_("Stored file"))}</a> '

    def _link(self, tag: str, given: dict[str, str]) -> str:
        tid, pid = (int(given.get(name) or 0) for name in ("data-tid", "data-pid"))
        if tid not in self.archived:
            return tag
        address = reverse("nga:post", args=[tid, pid]) if pid else reverse("nga:topic", args=[tid])
        return f'<a href="{escape(address + self.archived[tid])}">'


def _own_picture(kept: Kept, given: dict[str, str], *, in_link: bool) -> str:
    name = given.get("alt") or picture_name(kept.url)
    image = f'<img class="bb-kept" src="{escape(kept.path)}" alt="{escape(name)}" loading="lazy">'
    if in_link:
        return image
    label = escape(_("Original address of %(name)s") % {"name": name})
    return (
        f'{image}<a class="bb-origin" href="{escape(kept.url)}" rel="noopener noreferrer nofollow"'
        f' aria-label="{label}" title="{label}">{draw_icon("external")}</a>'
    )


def _picture(given: dict[str, str], *, in_link: bool) -> str:
    address = given.get("src", "")
    words = f"{draw_icon('image')}{escape(given.get('alt') or picture_name(address))}"
    if in_link or not address:
        return f'<span class="bb-picture">{words}</span>'
    return f'<a class="bb-picture" href="{escape(address)}" rel="noopener noreferrer nofollow">{words}</a>'


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
