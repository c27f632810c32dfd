"""The content of a message, and the e-mail made of it: HTML with dark mode and plain text that say the same.

A `Letter` is a frozen record that is stored as JSON. Mail, chat and push are drawn from it, so that they agree. The
template has classes only; `html` writes their styles into the elements, because mail programs ignore style sheets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

STYLES = Path(__file__).parent / "static" / "kit" / "mail.css"
_CLASS = re.compile(r'class="([a-z0-9 ]+)"')
_RULE = re.compile(r"^\.([a-z0-9]+) \{ (.+) \}$", re.MULTILINE)
PEEK = 3
SIGNS = {"+": "add", "−": "del", "~": "mod"}


@dataclass(frozen=True)
class Link:
    text: str
    url: str = ""


@dataclass(frozen=True)
class Counts:
    """How many are new, removed and updated."""

    added: int = 0
    removed: int = 0
    updated: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.updated)

    def chips(self) -> list[tuple[str, str]]:
        """Return class and text of each count that is not 0."""
        numbers = zip(SIGNS, (self.added, self.removed, self.updated), strict=True)
        return [(SIGNS[sign], f"{sign}{number:,}") for sign, number in numbers if number]

    def __str__(self) -> str:
        return " ".join(text for _css, text in self.chips())


@dataclass(frozen=True)
class Piece:
    """A part of an excerpt; `is_match`: it is what was searched for."""

    text: str
    is_match: bool = False


@dataclass(frozen=True)
class Item:
    """One page, post or match. `url` is the original, `here` its page in Watchbook.

    `kind` and `id` name the object, so that its words can be erased with it.
    """

    title: str
    url: str = ""
    here: str = ""
    sign: str = ""
    note: str = ""
    excerpt: tuple[Piece, ...] = ()
    side: str = ""
    counts: Counts = Counts()
    kind: str = ""
    id: str = ""

    @property
    def css(self) -> str:
        return SIGNS.get(self.sign, "")

    @property
    def is_removed(self) -> bool:
        return self.sign == "−"

    @property
    def address(self) -> str:
        return self.url or self.here

    @property
    def shown(self) -> str:
        """The second line: a note, or the address without its scheme."""
        return self.note or self.address.partition("://")[2]

    @property
    def excerpt_text(self) -> str:
        return "".join(piece.text for piece in self.excerpt)

    @property
    def excerpt_html(self) -> SafeString:
        rows = (("match" if piece.is_match else "plain", piece.text) for piece in self.excerpt)
        return format_html_join("", '<span class="{}">{}</span>', rows)


@dataclass(frozen=True)
class Section:
    """Items that belong together; `more` says how many are not listed, `more_url` where they are."""

    title: str = ""
    note: str = ""
    counts: Counts = Counts()
    items: tuple[Item, ...] = ()
    more: int = 0
    more_url: str = ""

    @property
    def more_text(self) -> str:
        return _("and %(count)s more") % {"count": f"{self.more:,}"} if self.more else ""


@dataclass(frozen=True)
class Letter:
    """A message. `name` is what it is about: a watched item, a saved search."""

    title: str
    name: str = ""
    label: str = ""
    badge: str = ""
    is_good: bool = False
    lead: tuple[str, ...] = ()
    counts: Counts = Counts()
    figures: tuple[tuple[str, str], ...] = ()
    button: Link | None = None
    under_button: str = ""
    paragraphs: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    facts: tuple[tuple[str, str, str], ...] = ()
    after: tuple[Link, ...] = ()
    foot: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def items(self) -> list[Item]:
        return [item for section in self.sections for item in section.items]

    @property
    def more(self) -> int:
        return sum(section.more for section in self.sections)

    def as_json(self) -> dict[str, Any]:
        """Return what differs from the defaults."""
        return {name: value for name, value in asdict(self).items() if value and name not in ("foot", "links")}

    def text(self) -> str:
        """Return the plain text, with the same content as the HTML."""
        return "\n".join(_squeezed(_lines(self))).strip() + "\n"

    def html(self, lang: str = "", **more: Any) -> str:
        """Return the HTML; `more` are further values of the template."""
        peek = " · ".join(item.title for item in self.items[:PEEK]) or " ".join(self.lead)
        context = {"letter": self, "lang": lang or get_language() or "en", "peek": peek, **more}
        inline, head = _styles()
        drawn = render_to_string("kit/mail.html", context)
        styled = _CLASS.sub(lambda found: _with_style(found, inline), drawn)
        return styled.replace("</head>", f"<style>\n{head}</style>\n</head>", 1)

    def mail(self, subject: str, to: str, *, lang: str = "", headers: Mapping[str, str] | None = None) -> Any:
        """Return a mail with both parts, ready to send."""
        made = EmailMultiAlternatives(
            subject, self.text(), settings.DEFAULT_FROM_EMAIL, [to], headers=dict(headers or {})
        )
        made.attach_alternative(self.html(lang), "text/html")
        return made


def from_json(stored: Mapping[str, Any]) -> Letter:
    """Return the letter that `as_json` stored. Unknown keys of a newer version are ignored."""
    known = {each.name for each in fields(Letter)}
    given = {name: value for name, value in stored.items() if name in known}
    for name in ("lead", "foot"):
        given[name] = tuple(str(line) for line in given.get(name, ()))
    for name in ("figures", "paragraphs", "facts"):
        given[name] = tuple(tuple(str(part) for part in row) for row in given.get(name, ()))
    for name in ("after", "links"):
        given[name] = tuple(Link(**row) for row in given.get(name, ()))
    if given.get("button"):
        given["button"] = Link(**given["button"])
    given["counts"] = Counts(**given.get("counts", {}))
    given["sections"] = tuple(_section(row) for row in given.get("sections", ()))
    return Letter(**{"title": "", **given})


def _section(stored: Mapping[str, Any]) -> Section:
    items = tuple(_item(row) for row in stored.get("items", ()))
    return Section(**{**stored, "counts": Counts(**stored.get("counts", {})), "items": items})


def _item(stored: Mapping[str, Any]) -> Item:
    pieces = tuple(Piece(**row) for row in stored.get("excerpt", ()))
    return Item(**{**stored, "counts": Counts(**stored.get("counts", {})), "excerpt": pieces})


@cache
def _styles() -> tuple[dict[str, str], str]:
    inline, _mark, head = STYLES.read_text("utf-8").partition("/* head */\n")
    return {found[1]: found[2].strip() for found in _RULE.finditer(inline)}, head


def _with_style(found: re.Match[str], inline: Mapping[str, str]) -> str:
    styles = "".join(inline.get(name, "") for name in found[1].split()).replace('"', "'")
    return f'{found[0]} style="{styles}"' if styles else found[0]


def _squeezed(lines: Iterator[str]) -> Iterator[str]:
    """Leave at most one empty line in a row."""
    before = ""
    for line in lines:
        if line or before:
            yield line
        before = line


def _lines(letter: Letter) -> Iterator[str]:
    if letter.badge:
        yield letter.badge
    yield letter.title
    yield ""
    yield from letter.lead
    if letter.counts:
        yield str(letter.counts)
    for number, words in letter.figures:
        yield f"{number} {words}"
    yield ""
    for title, text in letter.paragraphs:
        yield f"{title} {text}".strip()
    if letter.button:
        yield f"{letter.button.text}: {letter.button.url}"
    if letter.under_button:
        yield letter.under_button
    yield ""
    for section in letter.sections:
        yield from _section_lines(section)
    for label, value, url in letter.facts:
        yield f"{label}: {value}{f' {url}' if url and url != value else ''}"
    yield ""
    for link in letter.after:
        yield _linked(link)
    if letter.label or letter.foot or letter.links:
        yield ""
        yield "-- "
        yield from (line for line in (*letter.foot, *map(_linked, letter.links), _brand(letter)) if line)


def _brand(letter: Letter) -> str:
    return f"Watchbook · {letter.label}" if letter.label else "Watchbook"


def _linked(link: Link) -> str:
    if not link.url or link.url == link.text:
        return link.text
    return f"{link.text} {link.url}" if link.text.endswith((".", "。")) else f"{link.text}: {link.url}"


def _section_lines(section: Section) -> Iterator[str]:
    parts = (section.title.upper(), section.note, f"({section.counts})" if section.counts else "")
    head = "  ".join(part for part in parts if part)
    if head:
        yield head
        yield ""
    for item in section.items:
        yield from _item_lines(item)
    if section.more:
        yield section.more_text + (f": {section.more_url}" if section.more_url else "")
    yield ""


def _item_lines(item: Item) -> Iterator[str]:
    right = "  ".join(part for part in (item.side, str(item.counts)) if part)
    yield f"{item.sign} {item.title}".strip() + (f"  {right}" if right else "")
    if item.note:
        yield f"  {item.note}"
    if item.excerpt:
        yield f"  {item.excerpt_text}"
    for url in dict.fromkeys(url for url in (item.url, item.here) if url):
        yield f"  {url}"
