"""Converts a post into a library page with its text, link, time and version."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import mark_safe

from watchbook.core.registry import Origin
from watchbook.core.stream.clip import Address, Clip
from watchbook.systems.reddit.models import PostRaw
from watchbook.systems.reddit.parse import to_html
from watchbook.systems.reddit.records import reddit_link


def clip(kind: str, object_id: str, user: Any) -> Clip | None:
    """Return the current text of a post, or None if the post is unknown or erased."""
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


def origins(kind: str, ids: Collection[str]) -> dict[str, Origin]:
    """Return address, community and author of these posts."""
    found = PostRaw.objects.current().of(ids) if kind == "reddit_post" else PostRaw.objects.none()
    rows = found.filter(blanked_at=None).values_list("source_post_id", "subreddit", "author")
    return {
        post_id: Origin(reddit_link(post_id), community, f"u/{author}" if author else "")
        for post_id, community, author in rows
    }


def address(asked: Address) -> tuple[str, str] | None:
    """Return the post that an address shows."""
    return ("reddit_post", str(asked.values["post_id"])) if asked.name == "post" else None
