"""Converts a post or comment into a library page with its text, link, time and version."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.html import format_html
from django.utils.safestring import mark_safe

from watchbook.core.accounts.models import User
from watchbook.core.registry import Origin
from watchbook.core.stream.clip import Address, Clip
from watchbook.systems.reddit.models import Comment, PostRaw
from watchbook.systems.reddit.models.comments import COMMENT_KIND
from watchbook.systems.reddit.parse import to_html
from watchbook.systems.reddit.records import reddit_link


def clip(kind: str, object_id: str, user: User) -> Clip | None:
    """Return the current text of a post or comment, or None if it is unknown or erased."""
    if kind == COMMENT_KIND and user.is_authenticated:
        return _comment(object_id)
    if kind != "reddit_post" or not user.is_authenticated:
        return None
    post = PostRaw.objects.current().of([object_id]).filter(blanked_at=None).first()
    if post is None:
        return None
    html = mark_safe(to_html(post.content))  # noqa: S308 - cleaned by nh3
    parent = post.extra_data.get("crosspost") or {}
    if parent.get("text"):
        html += format_html("\n<blockquote>{}</blockquote>", mark_safe(to_html(parent["text"])))  # noqa: S308
    link = str(post.extra_data.get("url", ""))
    if link.startswith(("http://", "https://")):
        html += format_html('\n<p><a href="{}">{}</a></p>', link, link)
    return Clip(
        kind=kind,
        id=post.source_post_id,
        source="reddit",
        title=post.title,
        html=html,
        text="\n".join(filter(None, (post.content, link))),
        source_link=reddit_link(post.source_post_id),
        source_at=post.created_at,
        version=str(post.version),
    )


def _comment(comment_id: str) -> Clip | None:
    row = Comment.objects.of([comment_id]).filter(blanked_at=None).first()
    if row is None:
        return None
    return Clip(
        kind=COMMENT_KIND,
        id=row.comment_id,
        source="reddit",
        title=row.thread_title or row.subreddit,
        html=mark_safe(to_html(row.content)),  # noqa: S308 - cleaned by nh3
        text=row.content,
        source_link=reddit_link(row.post_id, row.comment_id),
        source_at=row.created_at,
        version=str(row.version),
    )


def origins(kind: str, ids: Collection[str]) -> dict[str, Origin]:
    """Return address, community and author of these posts or comments."""
    if kind == COMMENT_KIND:
        written = Comment.objects.of(ids).filter(blanked_at=None)
        return {
            row.comment_id: Origin(
                reddit_link(row.post_id, row.comment_id), row.subreddit, f"u/{row.author}" if row.author else ""
            )
            for row in written.only("comment_id", "post_id", "subreddit", "author")
        }
    found = PostRaw.objects.current().of(ids) if kind == "reddit_post" else PostRaw.objects.none()
    rows = found.filter(blanked_at=None).values_list("source_post_id", "subreddit", "author")
    return {
        post_id: Origin(reddit_link(post_id), community, f"u/{author}" if author else "")
        for post_id, community, author in rows
    }


def address(asked: Address) -> tuple[str, str] | None:
    """Return the post that an address shows."""
    return ("reddit_post", str(asked.values["post_id"])) if asked.name == "post" else None
