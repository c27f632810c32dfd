"""EPUB 3 books: chapters of cleaned XHTML, their pictures, a table of contents. The same book gives the same bytes.

Nothing in a book leads to a request: a picture is in the file, or its alternative text takes its place. Links to the
web stay links. `chapter_file` gives the address of another chapter.
"""

from __future__ import annotations

import re
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import BinaryIO
from urllib.parse import quote

import nh3
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from watchbook.base.text import clean_text

MEDIA_TYPE = "application/epub+zip"
# The types that every EPUB 3 reader must show; WebP came later and older readers refuse a book with it.
PICTURE_TYPES = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif"}
# Smallest moment of a zip file. The time of writing would make two equal books differ.
_FIXED = (1980, 1, 1, 0, 0, 0)
_INLINE_NAMES = "a abbr b bdi cite code del em i ins kbd mark q s samp small span strong sub sup u var"
_BLOCK_NAMES = "blockquote details div h1 h2 h3 h4 h5 h6 hr li ol p pre summary table ul"
_INLINE = frozenset(_INLINE_NAMES.split())
_PHRASING_ONLY = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre"}) | _INLINE
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_TABLES = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th"})
_ALLOWED = set(_INLINE | _BLOCKS | _TABLES | {"br", "img"})
_ATTRIBUTES = {
    "*": {"class", "id", "lang"},
    "a": {"href", "title"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
}
_ID = re.compile(r"[A-Za-z][\w.-]{0,60}", re.ASCII)
_CHAPTER = re.compile(r"chapter-(\d{5})\.xhtml(#[A-Za-z][\w.-]{0,60})?", re.ASCII)
_WEB = re.compile(r"(?:https?://[\w.-]+(?::\d+)?(?:[/?#]\S*)?|mailto:[\w.+-]+@[\w.-]+)", re.IGNORECASE | re.ASCII)
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_STYLE = """body { line-height: 1.6; }
img { max-width: 100%; height: auto; }
blockquote { margin: 0.5em 0; padding-left: 0.8em; border-left: 3px solid #999; }
pre { white-space: pre-wrap; }
table { border-collapse: collapse; }
td, th { border: 1px solid #999; padding: 0.2em 0.5em; }
.meta { color: #666; font-size: 0.85em; }
"""
_CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles>
    <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
  </rootfiles>
</container>
"""


@dataclass(frozen=True)
class Chapter:
    """A title and HTML. `depth` 2 and deeper are entries below the chapter before in the table of contents."""

    title: str
    html: str
    depth: int = 1


@dataclass(frozen=True)
class Picture:
    media_type: str
    read: Callable[[], bytes]


@dataclass(frozen=True)
class Book:
    """What is written. `identifier` names the work: every export of it has the same one.

    Chapters are taken one after the other. `pictures` has what `<img src>` says in their HTML.
    """

    title: str
    language: str
    identifier: str
    modified: datetime
    chapters: Iterable[Chapter]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    author: str = ""
    source: str = ""


@dataclass
class Written:
    """What a book has, and the addresses of pictures that it does not have."""

    chapters: int = 0
    pictures: int = 0
    left_out: list[str] = field(default_factory=list)


def chapter_file(number: int, fragment: str = "") -> str:
    """The address of a chapter, counted from 1, for links between chapters."""
    return f"chapter-{number:05d}.xhtml" + (f"#{fragment}" if fragment else "")


def write(book: Book, file: BinaryIO) -> Written:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        return _Writer(book, archive).write()


class _Writer:
    def __init__(self, book: Book, archive: zipfile.ZipFile) -> None:
        self.book = book
        self.archive = archive
        self.written = Written()
        self.names: dict[str, str] = {}
        self.contents: list[tuple[int, str]] = []

    def write(self) -> Written:
        # Readers recognise a book by these bytes at a fixed place, so they come first and are not compressed.
        self._file("mimetype", MEDIA_TYPE, zipfile.ZIP_STORED)
        self._file("META-INF/container.xml", _CONTAINER)
        self._file("EPUB/style.css", _STYLE)
        for chapter in self.book.chapters:
            self.written.chapters += 1
            self.contents.append((self._depth(chapter.depth), _words(chapter.title)))
            self._file(f"EPUB/{chapter_file(self.written.chapters)}", self._chapter(chapter))
        if not self.contents:
            raise ValueError("a book needs a chapter")
        self._file("EPUB/nav.xhtml", self._page(_words(self.book.title), self._navigation()))
        self._file("EPUB/package.opf", self._package())
        self.written.left_out.sort()
        return self.written

    def _file(self, name: str, content: str | bytes, kind: int = zipfile.ZIP_DEFLATED) -> None:
        entry = zipfile.ZipInfo(name, _FIXED)
        entry.compress_type = kind
        entry.external_attr = 0o644 << 16
        entry.create_system = 3
        self.archive.writestr(entry, content)

    def _depth(self, wanted: int) -> int:
        """No entry is more than one level below the one before it."""
        return max(1, min(wanted, self.contents[-1][0] + 1 if self.contents else 1))

    def _chapter(self, chapter: Chapter) -> str:
        title = _words(chapter.title)
        body = xhtml(chapter.html, self._picture)
        return self._page(title, f"<section><h1>{escape(title)}</h1>{body}</section>")

    def _picture(self, address: str) -> str:
        """The name of a picture in the book, or empty. A picture is written where it is first used."""
        if address in self.names:
            return self.names[address]
        picture = self.book.pictures.get(address)
        name = ""
        if picture and picture.media_type in PICTURE_TYPES and (content := picture.read()):
            self.written.pictures += 1
            name = f"picture-{self.written.pictures:05d}.{PICTURE_TYPES[picture.media_type]}"
            self._file(f"EPUB/{name}", content, zipfile.ZIP_STORED)
        elif address:
            self.written.left_out.append(address)
        self.names[address] = name
        return name

    def _page(self, title: str, body: str) -> str:
        language = escape(self.book.language)
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
            '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"'
            f' lang="{language}" xml:lang="{language}">\n<head>\n<meta charset="utf-8"/>\n'
            f'<title>{escape(title)}</title>\n<link rel="stylesheet" href="style.css"/>\n</head>\n'
            f"<body>\n{body}\n</body>\n</html>\n"
        )

    def _navigation(self) -> str:
        parts, depth = [f'<nav epub:type="toc" id="toc"><h1>{escape(_words(self.book.title))}</h1>'], 0
        for number, (level, title) in enumerate(self.contents, start=1):
            parts.append("<ol>" if level > depth else "</li>" + "</ol></li>" * (depth - level))
            parts.append(f'<li><a href="{chapter_file(number)}">{escape(title)}</a>')
            depth = level
        return "".join([*parts, "</li></ol>" * depth, "</nav>"])

    def _package(self) -> str:
        book, items, spine = self.book, list(self._items()), []
        for number in range(1, self.written.chapters + 1):
            spine.append(f'<itemref idref="c{number}"/>')
        more = f"<dc:creator>{escape(_words(book.author))}</dc:creator>\n" if book.author.strip() else ""
        more += f"<dc:source>{escape(_words(book.source))}</dc:source>\n" if book.source.strip() else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"'
            f' xml:lang="{escape(book.language)}">\n<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">\n'
            f'<dc:identifier id="id">urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, book.identifier)}</dc:identifier>\n'
            f"<dc:title>{escape(_words(book.title))}</dc:title>\n<dc:language>{escape(book.language)}</dc:language>\n"
            f'{more}<meta property="dcterms:modified">{book.modified.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}</meta>\n'
            f"</metadata>\n<manifest>\n{chr(10).join(items)}\n</manifest>\n<spine>\n{chr(10).join(spine)}\n</spine>\n"
            "</package>\n"
        )

    def _items(self) -> Iterator[str]:
        yield '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        yield '<item id="style" href="style.css" media-type="text/css"/>'
        for number in range(1, self.written.chapters + 1):
            yield f'<item id="c{number}" href="{chapter_file(number)}" media-type="application/xhtml+xml"/>'
        types = {ending: kind for kind, ending in PICTURE_TYPES.items()}
        for name in filter(None, self.names.values()):
            stem, _, ending = name.partition(".")
            yield f'<item id="{stem}" href="{name}" media-type="{types[ending]}"/>'


def xhtml(html: str, picture: Callable[[str], str]) -> str:
    """HTML of a chapter as valid XHTML. `picture` gives the name of a picture in the book, or empty."""
    cleaned = nh3.clean(
        clean_text(html), tags=_ALLOWED, attributes=_ATTRIBUTES, link_rel=None,
        url_schemes={"http", "https", "mailto"}, strip_comments=True,
    )  # fmt: skip
    root = lxml_html.fragment_fromstring(cleaned, create_parent="div")
    seen: set[str] = set()
    # Children before their parents: what becomes a block makes a block of what encloses it.
    for element in reversed(list(root.iterdescendants())):
        _place(element)
    for element in root.iterdescendants():
        _attributes(element, seen)
    for element in list(root.iterdescendants("a", "img")):
        _link(element, seen) if element.tag == "a" else _image(element, picture)
    text = etree.tostring(root, encoding="unicode", method="xml")
    assert isinstance(text, str)
    return text


def _place(element: lxml_html.HtmlElement) -> None:
    """What stands where XHTML does not allow it becomes a plain block, list item or summary."""
    if element.tag in _PHRASING_ONLY and any(child.tag in _BLOCKS | _TABLES for child in element.iterdescendants()):
        element.tag = "div"
    if element.tag in {"ul", "ol"}:
        _items_only(element)
    elif element.tag == "li" and (parent := element.getparent()) is not None and parent.tag not in {"ul", "ol"}:
        element.tag = "div"
    elif element.tag == "details":
        _with_summary(element)
    elif element.tag == "summary" and ((parent := element.getparent()) is None or parent.tag != "details"):
        element.tag = "div"


def _items_only(element: lxml_html.HtmlElement) -> None:
    loose = element.text if element.text and element.text.strip() else ""
    element.text = None
    for child in list(element):
        if child.tag != "li":
            item = element.makeelement("li")
            child.addprevious(item)
            item.append(child)
            child = item
        if child.tail and child.tail.strip():
            child.append(_span(element, child.tail))
        child.tail = None
    if loose or not len(element):
        first = element.makeelement("li")
        first.text = loose
        element.insert(0, first)


def _with_summary(element: lxml_html.HtmlElement) -> None:
    """`details` begins with exactly one summary, and that has text only."""
    if not (len(element) and element[0].tag == "summary" and not (element.text or "").strip()):
        summary = element.makeelement("summary")
        summary.text, summary.tail, element.text = "…", element.text, None
        element.insert(0, summary)
    words, tail = element[0].text_content(), element[0].tail
    for child in list(element[0]):
        element[0].remove(child)
    element[0].text, element[0].tail = words or "…", tail
    for other in element.findall("summary")[1:]:
        other.tag = "div"


def _span(element: lxml_html.HtmlElement, text: str) -> lxml_html.HtmlElement:
    made = element.makeelement("span")
    made.text = text
    return made


def _attributes(element: lxml_html.HtmlElement, seen: set[str]) -> None:
    name = element.attrib.pop("id", None)
    if name and _ID.fullmatch(name) and name not in seen:
        element.set("id", name)
        seen.add(name)
    for attribute in ("colspan", "rowspan", "start"):
        value = element.get(attribute)
        if value is not None and not re.fullmatch(r"[1-9]\d{0,2}", value, re.ASCII):
            del element.attrib[attribute]
    if element.tag == "div":
        for attribute in ("href", "title", "start"):
            element.attrib.pop(attribute, None)


def _link(element: lxml_html.HtmlElement, seen: set[str]) -> None:
    """Links to the web, to a chapter and to a place in this one stay. Other addresses lead nowhere in a book."""
    address = element.attrib.pop("href", "").strip()
    # Chinese and other signs as a URI has them; a second "#" would make it invalid.
    start, mark, end = quote(_STRAY_PERCENT.sub("%25", address), safe="/:?#@!$&'()*+,;=%~").partition("#")
    address = start + mark + end.replace("#", "%23")
    is_here = address[:1] == "#" and address[1:] in seen
    if is_here or _CHAPTER.fullmatch(address) or _WEB.fullmatch(address):
        element.set("href", address)
    else:
        element.tag = "span"
        element.attrib.pop("title", None)


def _image(element: lxml_html.HtmlElement, picture: Callable[[str], str]) -> None:
    name = picture(element.get("src", ""))
    words = element.get("alt", "")
    if name:
        element.set("src", name)
        element.set("alt", words)
        return
    element.tag = "span"
    for attribute in ("src", "alt"):
        element.attrib.pop(attribute, None)
    element.text = f"[{words}]" if words else "[…]"


def _words(text: str) -> str:
    return " ".join(clean_text(text).split()) or "…"
