"""Reddit entries in the inbox: edits with their word difference, crawls with the posts they found."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.accounts.models import User
from watchbook.core.stream.inbox import Compared, Detail, GroupWords
from watchbook.core.stream.models import StreamEntry
from watchbook.kit.diff import compare
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.models import Comment, PostRaw
from watchbook.systems.reddit.models.comments import COMMENT_KIND
from watchbook.systems.reddit.records import comment_path, community_path, post_path, reddit_link

POST, COMMUNITY = "reddit_post", "reddit_community"
POSTED, COMMENTED = "posted", "commented"
MOST_POSTS = 20


def words(entries: Sequence[StreamEntry]) -> GroupWords:
    """Return for example "31 posts, 8 crawls"."""
    first, count = entries[0], len(entries)
    if first.kind not in (POSTED, COMMENTED):
        return GroupWords(first.title, ngettext("%(n)s entry", "%(n)s entries", count) % {"n": count})
    added = sum(entry.counts[0] for entry in entries if entry.counts)
    if first.kind == COMMENTED:
        items = ngettext("%(n)s comment", "%(n)s comments", added) % {"n": added}
    else:
        items = ngettext("%(n)s post", "%(n)s posts", added) % {"n": added}
    crawls = ngettext("%(n)s crawl", "%(n)s crawls", count) % {"n": count}
    return GroupWords(first.title, f"{items}, {crawls}")


def detail(entry: StreamEntry, user: User) -> Detail | None:
    if entry.object_kind == COMMUNITY:
        if entry.kind == COMMENTED:
            return _comments(entry)
        return _community(entry) if entry.kind == POSTED else None
    if entry.object_kind == COMMENT_KIND:
        return _comment(entry)
    post = PostRaw.objects.current().of([entry.object_id]).first() if entry.object_kind == POST else None
    if post is None:
        return None
    compared = None if post.blanked_at else _compared(entry, post)
    return Detail(
        html="" if post.blanked_at or compared else render_to_string("reddit/_inbox.html", {"posts": [post]}),
        compared=compared,
        place=post.subreddit,
        place_url=community_path(post.subreddit),
        source_link=reddit_link(post.source_post_id),
        history_url=post_path(post.source_post_id),
    )


def _compared(entry: StreamEntry, post: PostRaw) -> Compared | None:
    """Compare the version of the entry (event key "v3") with the one before."""
    number = _version(entry)
    versions = {one.number: one for one in actions.versions(post.source_post_id)} if number else {}
    if number in versions and number - 1 in versions:
        old, new = versions[number - 1], versions[number]
        difference = compare(f"{old.title}\n\n{old.content}".strip(), f"{new.title}\n\n{new.content}".strip())
        names = [_("version %(n)s") % {"n": one.number} for one in (old, new)]
        return Compared(difference, *names)
    return None


def _version(entry: StreamEntry) -> int:
    """Return 3 for the event key "v3", or 0."""
    text = entry.event_key.removeprefix("v")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def _community(entry: StreamEntry) -> Detail:
    """Posts that the crawl of this entry saw first."""
    found = PostRaw.objects.current().filter(subreddit=entry.object_id, first_seen_at=entry.occurred_at)
    return Detail(
        html=render_to_string("reddit/_inbox.html", {"posts": found.order_by("-created_at")[:MOST_POSTS]}),
        place=entry.object_id,
        place_url=community_path(entry.object_id),
    )


def _comments(entry: StreamEntry) -> Detail:
    """Comments that the crawl of this entry saw first."""
    found = Comment.objects.filter(subreddit=entry.object_id, first_seen_at=entry.occurred_at)
    return Detail(
        html=render_to_string("reddit/_inbox_comments.html", {"comments": found.order_by("-created_at")[:MOST_POSTS]}),
        place=entry.object_id,
        place_url=community_path(entry.object_id),
    )


def _comment(entry: StreamEntry) -> Detail | None:
    """A comment with its text, or the difference of the version of the entry and the one before."""
    row = Comment.objects.of([entry.object_id]).first()
    if row is None:
        return None
    number = _version(entry)
    found = {one.number: one for one in threads.versions(row)} if number and not row.blanked_at else {}
    html, difference = "", None
    if number in found and number - 1 in found:
        old, new = found[number - 1], found[number]
        names = [_("version %(n)s") % {"n": one.number} for one in (old, new)]
        difference = Compared(compare(old.content, new.content), *names)
    else:
        html = render_to_string("reddit/_inbox_comments.html", {"comments": [row]})
    return Detail(
        html=html,
        compared=difference,
        place=row.subreddit,
        place_url=community_path(row.subreddit),
        source_link=reddit_link(row.post_id, row.comment_id),
        history_url=comment_path(row.post_id, row.comment_id),
    )
