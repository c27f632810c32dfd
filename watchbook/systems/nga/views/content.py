"""The text of a post as a page shows it, and its stored pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape, unescape
from html.parser import HTMLParser

from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from watchbook.kit.templatetags.kit import draw_icon
from watchbook.systems.nga.export.reading import picture_name, smiley_html
from watchbook.systems.nga.models import MediaAsset
from watchbook.systems.nga.store.media import OLD_FORMATS, Kept, media_file

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
# Elements that begin a new line of plain text.
_BLOCKS = frozenset(
    {"br", "div", "blockquote", "details", "summary", "ul", "ol", "li", "h4", "table", "tr", "pre", "p"}
)


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


@require_safe
def picture(request: HttpRequest, digest: str) -> HttpResponseBase:
    """A picture that was stored before core.media; its type comes from its first bytes, and nothing else is sent."""
    asset = get_object_or_404(MediaAsset, content_sha256=digest[:64])
    file = media_file(asset.content_sha256)
    if asset.media_format_text not in OLD_FORMATS or not file.is_file():
        raise Http404
    answer = FileResponse(file.open("rb"), content_type=f"image/{asset.media_format_text}")
    # What a digest names never changes; who may see it is decided here and nowhere in between.
    answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return answer
