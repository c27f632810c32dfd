"""An independent look at finished HTML: Python's own parser, a list of what may be there, and the text that is."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

NAMES = "a b i u del sup sub span br blockquote details summary ul ol li h4 div table tbody tr td pre code img"
TAGS = set(NAMES.split())
ATTRIBUTES = {"href", "rel", "class", "src", "alt", "title", "loading", "referrerpolicy", "colspan", "rowspan",
              "data-pid", "data-tid"}  # fmt: skip
INSIDE = {"tr": {"tbody"}, "td": {"tr"}, "tbody": {"table"}, "li": {"ul", "ol"}, "summary": {"details"}}


class Walk(HTMLParser):
    """Raises AssertionError at the first thing that must not be there."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.deepest = 0
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], self.open

    @property
    def text(self) -> str:
        return "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            if name in {"href", "src"}:
                parts = urlsplit(value or "")
                assert parts.scheme in {"http", "https"}, value
                assert parts.netloc, value
                assert "@" not in parts.netloc, value
            if name == "alt":
                self.words.append(value or "")
            if name == "class":
                assert all(part.startswith("bb-") for part in (value or "").split()), value
        if tag == "a":
            assert "a" not in self.open
            assert ("rel", "noopener noreferrer nofollow") in attrs
        if tag in INSIDE:
            assert self.open[-1] in INSIDE[tag], (tag, self.open)
        if tag not in {"br", "img"}:
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))
        elif tag == "br":
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert not self.open or self.open[-1] not in {"table", "tbody", "tr", "ul", "ol"}, (data, self.open)
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)
