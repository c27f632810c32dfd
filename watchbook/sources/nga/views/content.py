"""A floor's text as a page shows it: pictures and smilies as words, links inside the archive to the archive.

What is stored was cleaned when it was stored. A page fetches nothing from elsewhere while somebody reads: a picture is
shown when it is kept here, and is a link to it otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape, unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from watchbook.core.ui.templatetags.ui import draw_icon

_ATTRIBUTES = re.compile(r'([\w-]+)="([^"]*)"')
_TAG = re.compile(r'<(a|img)((?:\s+[\w-]+="[^"]*")*)\s*/?>|</a>')
_TOPIC = re.compile(r'\sdata-tid="(\d{1,15})"')
_SMILEY_NAME = re.compile(r"\[s:(?:\w+:)?(.+)\]")
# Elements that begin a new line of plain text.
_BLOCKS = frozenset(
    {"br", "div", "blockquote", "details", "summary", "ul", "ol", "li", "h4", "table", "tr", "pre", "p"}
)
SHORT = 60


def linked_topics(texts: Iterable[str]) -> set[int]:
    """The tids that these texts lead to."""
    return {int(tid) for text in texts for tid in _TOPIC.findall(text)}


def shown_html(
    html: str, archived: Mapping[int, str] | None = None, kept: Mapping[str, str] | None = None
) -> SafeString:
    """Stored HTML, ready for the page. `kept` are pictures that we have.

    `archived` are tids that have a page here, each with what follows its path (`Thread.at_board`).
    """
    writer = _Writer(archived or {}, kept or {})
    shown = _TAG.sub(writer.tag, html)
    # Headings of a floor stand right below the page's own: a level that is left out would confuse who listens.
    shown = shown.replace("<h4>", '<h2 class="bb-title">').replace("</h4>", "</h2>")
    return mark_safe(shown)  # noqa: S308 - cleaned when stored; what is added is escaped


def without_title(html: str, title: str) -> str:
    """The opening post repeats the title of its topic, which stands above it already."""
    return html.removeprefix(f"<h4>{escape(title, quote=False)}</h4>")


class _Writer:
    """Remembers whether it is inside a link: a link in a link would fall apart."""

    def __init__(self, archived: Mapping[int, str], kept: Mapping[str, str]) -> None:
        self.archived = archived
        self.kept = kept
        self.is_in_link = False

    def tag(self, found: re.Match[str]) -> str:
        if found[1] is None:
            self.is_in_link = False
            return found[0]
        given = {name: unescape(value) for name, value in _ATTRIBUTES.findall(found[2])}
        if found[1] == "a":
            self.is_in_link = True
            return self._link(found[0], given)
        if given.get("class") == "bb-smiley":
            return _smiley(given)
        if given.get("src", "") in self.kept:
            return _own_picture(self.kept[given["src"]], given)
        return _picture(given, in_link=self.is_in_link)

    def _link(self, tag: str, given: dict[str, str]) -> str:
        tid, pid = (int(given.get(name) or 0) for name in ("data-tid", "data-pid"))
        if tid not in self.archived:
            return tag
        address = reverse("nga:post", args=[tid, pid]) if pid else reverse("nga:topic", args=[tid])
        return f'<a href="{escape(address + self.archived[tid])}">'


def _smiley(given: dict[str, str]) -> str:
    alt = given.get("alt", "")
    name = _SMILEY_NAME.fullmatch(alt)
    return f'<span class="bb-smiley" title="{escape(alt)}">{escape(name[1] if name else alt)}</span>'


def _own_picture(digest: str, given: dict[str, str]) -> str:
    address, name = reverse("nga:picture", args=[digest]), given.get("alt") or picture_name(given["src"])
    return f'<img class="bb-kept" src="{escape(address)}" alt="{escape(name)}" loading="lazy">'


def _picture(given: dict[str, str], *, in_link: bool) -> str:
    address = given.get("src", "")
    words = f"{draw_icon('image')}{escape(given.get('alt') or picture_name(address))}"
    if in_link or not address:
        return f'<span class="bb-picture">{words}</span>'
    return f'<a class="bb-picture" href="{escape(address)}" rel="noopener noreferrer nofollow">{words}</a>'


def picture_name(address: str) -> str:
    """The end of the address: what a file was called, as far as it tells."""
    try:
        path = unquote(urlsplit(address).path)
    except ValueError:
        path = ""
    name = path.rstrip("/").rpartition("/")[2] or address
    return name if len(name) <= SHORT else f"{name[: SHORT // 2]}…{name[-SHORT // 2 :]}"


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
