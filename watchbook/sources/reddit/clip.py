"""A post as a page of the library: its text, where it is from, when, and which version."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html, format_html_join

from watchbook.core.stream.clip import Clip
from watchbook.sources.reddit.models import PostRaw
from watchbook.sources.reddit.places import reddit_link


def clip(kind: str, object_id: str, user: Any) -> Clip | None:
    """The current text. One that is blanked, or unknown, cannot be filed."""
    if kind != "reddit_post" or not user.is_authenticated:
        return None
    post = PostRaw.objects.current().of([object_id]).filter(blanked_at=None).first()
    if post is None:
        return None
    paragraphs = [part for part in post.content.split("\n\n") if part.strip()]
    html = format_html_join("\n", "<p>{}</p>", ((part,) for part in paragraphs))
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
