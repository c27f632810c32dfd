"""Topics and posts as clips for the library: current text and origin."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from watchbook.core.accounts.models import User
from watchbook.core.registry import Origin
from watchbook.core.stream.clip import Address, Clip
from watchbook.systems.nga import options
from watchbook.systems.nga.export.reading import PART, Chapter, Gap, gap_words, head_words, joined, part, portable
from watchbook.systems.nga.models import Post, PostRevision, Thread
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.views.versions import plain_text

TOPIC, FLOOR = "nga_thread", "nga_post"
# The longest topic that is crawled has 20,000 posts and is saved as 50 pages.
MOST_POSTS = 500


def clip(kind: str, object_id: str, user: User) -> Clip | None:
    """Return the clip, or None for other kinds and missing rows. All users can read the archive."""
    if kind not in (TOPIC, FLOOR, PART) or not user.is_authenticated:
        return None
    if kind == PART:
        return _part(object_id)
    if not (object_id.isascii() and object_id.isdigit() and len(object_id) <= 18):
        return None
    rows = Post.objects.select_related("thread")
    if kind == FLOOR:
        post = rows.filter(pk=int(object_id)).first()
        return _clip(kind, object_id, post.thread, post) if post else None
    thread = Thread.objects.filter(pk=int(object_id)).first()
    return _clip(kind, object_id, thread, rows.filter(thread=thread, floor_number=0).first()) if thread else None


def _part(object_id: str) -> Clip | None:
    """Many posts of a topic, with their numbers and the gaps between them."""
    asked = re.fullmatch(r"(\d{1,18})-(\d{1,9})-(\d{1,9})", object_id, re.ASCII)
    thread = Thread.objects.select_related("forum").filter(pk=int(asked[1])).first() if asked else None
    if asked is None or thread is None or int(asked[3]) - int(asked[2]) >= MOST_POSTS:
        return None
    chapter = part(thread, int(asked[2]), int(asked[3]))
    floors = [item for item in chapter.items if not isinstance(item, Gap)]
    if not floors:
        return None
    is_whole = chapter.first == 0 and chapter.last == thread.crawl_cursor_max_floor_number
    return Clip(
        kind=PART,
        id=object_id,
        source="nga",
        title=thread.title if is_whole else f"{thread.title} #{chapter.first}–{chapter.last}",
        html=format_html_join("", "<p><b>{}</b></p><div>{}</div><hr>", _lines(thread, chapter)),
        text="\n\n".join(plain_text(floor.post.content_html) for floor in floors),
        source_link=Addresses(options.BASE_URL.value).post(floors[0].post.source_post_id, thread.source_thread_id),
        source_at=floors[0].post.post_created_at,
    )


def _lines(thread: Thread, chapter: Chapter) -> Iterator[tuple[str, SafeString]]:
    for item in chapter.items:
        if isinstance(item, Gap):
            yield gap_words(item), mark_safe("")
        else:
            # Cleaned when it was stored.
            text = portable(thread, item.post, lambda _address: "")
            yield joined(head_words(item)), mark_safe(text)  # noqa: S308


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


def origins(kind: str, ids: Collection[str]) -> dict[str, Origin]:
    """Return address, board and author of these topics."""
    numbers = [int(each) for each in ids if each.isdigit()] if kind == TOPIC else []
    found = Thread.objects.filter(pk__in=numbers).select_related("forum")
    addresses = Addresses(options.BASE_URL.value)
    return {
        str(each.pk): Origin(
            addresses.post(0, each.source_thread_id), each.forum.forum_name or "", each.author_name or ""
        )
        for each in found
    }


def address(asked: Address) -> tuple[str, str] | None:
    """Return the topic or post that an address of the archive shows."""
    if asked.name not in ("topic", "floor", "post") or asked.values["tid"] >= 2**63:
        return None
    thread = Thread.objects.filter(source_thread_id=asked.values["tid"]).order_by("pk").first()
    if thread is None:
        return None
    floor = asked.values.get("floor_number")
    if asked.name == "topic" and asked.fragment[:1] == "f" and asked.fragment[1:].isdecimal():
        floor = int(asked.fragment[1:])
    posts = Post.objects.filter(thread=thread)
    if asked.name == "post":
        posts = posts.filter(source_post_id=min(asked.values["pid"], 2**63 - 1))
    elif floor is not None:
        posts = posts.filter(floor_number=min(floor, 2**31 - 1))
    else:
        return TOPIC, str(thread.pk)
    pk = posts.values_list("pk", flat=True).first()
    return (FLOOR, str(pk)) if pk is not None else None
