"""Forum entries in the inbox: edits with their word difference, new topics and replies with their text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.accounts.models import User
from watchbook.core.stream.inbox import Compared, Detail, GroupWords
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.nga.models import Post, Thread
from watchbook.systems.nga.models.forum import path
from watchbook.systems.nga.store.follow import REPLIED
from watchbook.systems.nga.views.posts import shown_html, source_address
from watchbook.systems.nga.views.versions import compared, versions_of

TOPIC, POST = "nga_thread", "nga_post"
MOST_REPLIES = 5
# Entries and versions of one crawl have the same time, except for fractions of a second.
SAME_TIME = timedelta(seconds=2)


def words(entries: Sequence[StreamEntry]) -> GroupWords:
    count, first = len(entries), entries[0]
    if first.object_kind == POST:
        return GroupWords(first.title, ngettext("%(n)s post", "%(n)s posts", count) % {"n": count})
    if first.kind == REPLIED:
        new = sum(_replies(entry) for entry in entries)
        return GroupWords(first.title, ngettext("%(n)s new post", "%(n)s new posts", new) % {"n": new})
    return GroupWords(first.title, ngettext("%(n)s entry", "%(n)s entries", count) % {"n": count})


def _replies(entry: StreamEntry) -> int:
    text = entry.summary.removeprefix("+")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def detail(entry: StreamEntry, user: User) -> Detail | None:
    """All users can read the archive."""
    if not (entry.object_id.isascii() and entry.object_id.isdigit() and len(entry.object_id) <= 18):
        return None
    if entry.object_kind == POST:
        post = Post.objects.select_related("thread__forum").filter(pk=int(entry.object_id)).first()
        return _post(entry, post) if post else None
    thread = Thread.objects.select_related("forum").filter(pk=int(entry.object_id)).first()
    return _topic(entry, thread) if thread and entry.object_kind == TOPIC else None


def _post(entry: StreamEntry, post: Post) -> Detail:
    """Compare the version that this entry reports with the one before it."""
    thread, versions = post.thread, versions_of(post)
    number = next((one.number for one in versions if one.seen_at >= entry.occurred_at - SAME_TIME), versions[-1].number)
    found = compared(post, versions, number - 1, number)
    evidence: tuple[str, ...] = (f"#{post.floor_number} {post.author_name}",)
    html, difference = "", None
    if found and not found.diff.is_empty:
        difference = Compared(found.diff, found.old.name, found.new.name, "zh-Hans")
        evidence += (found.new.reason,) if found.new.reason else ()
    else:
        html = render_to_string("nga/_inbox.html", {"posts": [(post, shown_html(post.content_html))]})
    return Detail(
        html=html,
        compared=difference,
        place=str(thread.forum),
        place_url=path(thread),
        source_link=source_address(thread.source_thread_id, post.source_post_id),
        history_url=path(thread, "versions", post.floor_number),
        evidence=evidence,
    )


def _topic(entry: StreamEntry, thread: Thread) -> Detail:
    posts = Post.objects.filter(thread=thread)
    if entry.kind == REPLIED:
        count = min(max(_replies(entry), 1), MOST_REPLIES)
        newest = posts.filter(created_at__lte=entry.occurred_at + SAME_TIME).order_by("-floor_number")[:count]
        shown = [(post, shown_html(post.content_html)) for post in newest][::-1]
    else:
        opening = posts.filter(floor_number=0)
        shown = [(post, shown_html(post.html_below_title(thread.title))) for post in opening]
    return Detail(
        html=render_to_string("nga/_inbox.html", {"posts": shown}) if shown else "",
        place=str(thread.forum),
        place_url=path(thread),
        source_link=source_address(thread.source_thread_id),
        evidence=(thread.author_name,) if thread.author_name else (_("unknown author"),),
    )
