"""A topic or a floor as something to file in the library: its text as it reads now, and where it comes from."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from watchbook.core.stream.clip import Clip
from watchbook.sources.nga import options
from watchbook.sources.nga.models import Post, PostRevision, Thread
from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.views.content import plain_text

TOPIC, FLOOR = "nga_thread", "nga_post"


def clip(kind: str, object_id: str, user: Any) -> Clip | None:
    """None for other kinds and for what is not there. Everybody who is signed in may read the archive."""
    if kind not in (TOPIC, FLOOR) or not user.is_authenticated:
        return None
    if not (object_id.isascii() and object_id.isdigit() and len(object_id) <= 18):
        return None
    rows = Post.objects.select_related("thread")
    if kind == FLOOR:
        post = rows.filter(pk=int(object_id)).first()
        return _clip(kind, object_id, post.thread, post) if post else None
    thread = Thread.objects.filter(pk=int(object_id)).first()
    return _clip(kind, object_id, thread, rows.filter(thread=thread, floor_number=0).first()) if thread else None


def _clip(kind: str, object_id: str, thread: Thread, post: Post | None) -> Clip:
    name = thread.title if kind == TOPIC or post is None else f"{thread.title} #{post.floor_number}"
    author = post.author_name if post else thread.author_name
    html: SafeString = mark_safe(post.content_html if post else "")  # noqa: S308 - cleaned when it was stored
    return Clip(
        kind=kind,
        id=object_id,
        source="nga",
        title=name,
        html=format_html("<p><b>{}</b></p><div>{}</div>", author, html),
        text=f"{author}\n\n{plain_text(post.content_html) if post else ''}",
        source_link=Addresses(options.BASE_URL.value).post(post.source_post_id if post else 0, thread.source_thread_id),
        source_at=post.post_created_at if post else thread.thread_created_at,
        version=str(PostRevision.objects.filter(post=post).count() + 1) if post else "",
    )
