"""Versions of one post: their list, their texts and the difference between two of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.kit.diff import Difference, compare
from watchbook.systems.nga import filters
from watchbook.systems.nga.export.reading import picture_name
from watchbook.systems.nga.models import CrawlRunThread, Post, PostRevision
from watchbook.systems.nga.views.page_header import head, own_title, reason_text
from watchbook.systems.nga.views.posts import HEADS, floor_badges, shown_html, source_address

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


# Elements that begin a new line of plain text.
_BLOCKS = frozenset(
    {"br", "div", "blockquote", "details", "summary", "ul", "ol", "li", "h4", "table", "tr", "pre", "p"}
)


def plain_text(html: str) -> str:
    """The words of a floor, a line for each block; pictures and smilies by name, so that a difference shows them."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "img":
            self.parts.append(given.get("alt") or f"[{picture_name(given.get('src') or '')}]")
        elif tag in _BLOCKS:
            self.parts.append("\n")
        elif tag == "td":
            self.parts.append("\t")

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS and tag != "br":
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


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
