"""What kind of file this is, told by its root element, which may stand behind white space, warnings and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from xml.sax.saxutils import quoteattr

from watchbook.sources.sitemaps.parse.errors import Damaged, Dangerous, NotASitemap
from watchbook.sources.sitemaps.parse.records import ATOM, INDEX, RDF, RSS, TEXT, URLSET
from watchbook.sources.sitemaps.parse.urls import TRIMMED

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, not even as a reference."""
_KINDS = {"urlset": URLSET, "sitemapindex": INDEX, "rss": RSS, "feed": ATOM, "RDF": RDF}
# What PHP and its debuggers print before the document. Any other element in front is the root itself.
_WARNING_TAGS = frozenset({
    "a", "b", "br", "center", "code", "div", "em", "font", "h1", "h2", "h3", "hr", "i", "p", "pre", "small", "span",
    "strong", "table", "tbody", "td", "th", "tr", "u",
})  # fmt: skip
_PAGE_TAGS = frozenset({"html", "head", "body", "title", "meta", "script", "style"})
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
    r"|(?P<doctype><!DOCTYPE\b(?:[^\[>]*+\[[^\]]*+\]|[^\[>]*+)[^>]*+(?:>|\Z))"
    r"|<(?P<name>[A-Za-z_][\w.\-]*+(?::[\w.\-]++)?+)",
    re.DOTALL | re.IGNORECASE,
)
_START_TAG = re.compile(r"<[^<>\"']*+(?:\"[^\"<]*+\"[^<>\"']*+|'[^'<]*+'[^<>\"']*+)*+>")
_NAMESPACE = re.compile(r"\bxmlns(?::([\w.\-]+))?\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
UNKNOWN = "The answer does not look like a sitemap."
_URL_LINE = re.compile(r"https?://\S", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Root:
    """Where the root element is and what its start tag says. Positions count from the start of the searched text."""

    kind: str
    name: str = ""
    start: int = 0
    end: int = 0
    closed: bool = False
    namespaces: tuple[tuple[str, str], ...] = ()
    text_before: bool = False
    doctype: bool = False

    @property
    def prefix(self) -> str:
        return self.name.rpartition(":")[0]

    @property
    def start_tag(self) -> str:
        """The start tag written cleanly: with its namespaces, without what may be broken in it."""
        spaces = "".join(
            f" xmlns{':' if prefix else ''}{prefix}={quoteattr(uri)}" for prefix, uri in self.spaces.items()
        )
        return f"<{self.name}{spaces}{'/' if self.closed else ''}>"

    @property
    def spaces(self) -> dict[str, str]:
        return dict(self.namespaces)

    @property
    def news_prefix(self) -> str | None:
        """The prefix under which this file may carry news elements."""
        return next((prefix for prefix, uri in self.namespaces if "sitemap-news" in uri), None)


def find_root(head: str) -> Root:
    """Raises an Unreadable for what is no sitemap."""
    stranger, doctype, text_before = "", False, False
    position = 0
    for token in _TOKEN.finditer(head):
        text_before = text_before or bool(head[position : token.start()].strip(TRIMMED))
        position = token.end()
        if token["doctype"]:
            doctype = True
            _check_doctype(token["doctype"])
        if not token["name"]:
            continue
        local = token["name"].rpartition(":")[2]
        if local in _KINDS and not stranger:
            if "\0" in head[: token.start()]:  # a sitemap inside an archive or a picture is not the sitemap
                raise NotASitemap("unknown_content", UNKNOWN)
            root = Root(_KINDS[local], token["name"], text_before=text_before, doctype=doctype)
            return _known_root(head, token, root)
        if local.lower() in _PAGE_TAGS and not stranger:
            raise NotASitemap("html_page", "The answer is a web page, not a sitemap.")
        text_before = True
        if local.lower() not in _WARNING_TAGS:
            stranger = stranger or token["name"]
    return _without_root(head, stranger)


def _check_doctype(doctype: str) -> None:
    if re.match(r"<!DOCTYPE\s+html\b", doctype, re.IGNORECASE):
        raise NotASitemap("html_page", "The answer is a web page, not a sitemap.")
    _refuse_entities(doctype)


def _refuse_entities(text: str) -> None:
    """Declared entities may grow without end or read files; sitemaps have no use for them."""
    if "<!entity" in text.lower():
        raise Dangerous("entity_declarations", "The file declares XML entities, which are refused.")


def _known_root(head: str, token: re.Match[str], root: Root) -> Root:
    tag = _START_TAG.match(head, token.start())
    if tag is None:
        raise Damaged("root_tag_broken", "The first element of the sitemap is never finished.")
    _refuse_entities(head[: tag.start()])
    clean = NOT_XML.sub("", tag[0])
    spaces = tuple((m[1] or "", m[2] if m[2] is not None else m[3]) for m in _NAMESPACE.finditer(clean))
    return replace(root, start=tag.start(), end=tag.end(), closed=tag[0].endswith("/>"), namespaces=spaces)


def _without_root(head: str, stranger: str) -> Root:
    lines = [line for line in map(_trim, head.splitlines()) if line]
    addresses = sum(_URL_LINE.match(line) is not None for line in lines)
    if addresses and addresses * 2 >= len(lines):
        return Root(TEXT)
    if stranger:
        raise NotASitemap("unknown_root", f"The answer is XML of another kind: its root is <{stranger[:80]}>.")
    if not lines or not _without_comments(head).strip(TRIMMED):
        raise NotASitemap("empty_body", "The answer is empty.")
    raise NotASitemap("unknown_content", UNKNOWN)


def _trim(line: str) -> str:
    return line.strip(TRIMMED)


def _without_comments(head: str) -> str:
    return re.sub(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", "", head, flags=re.DOTALL)
