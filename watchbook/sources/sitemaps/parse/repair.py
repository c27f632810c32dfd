"""Making text fit for an XML parser: bare ampersands and less-than signs, HTML entities, control characters.

Comments and processing instructions are taken out, and the end of the root element is seen. Works on a stream: a token
that is cut by the end of a chunk waits for the next one.
"""

from __future__ import annotations

import re
from html.entities import html5

from watchbook.sources.sitemaps.parse.notes import Notes
from watchbook.sources.sitemaps.parse.root import NOT_XML, Root

_AMPERSAND = re.compile(r"&(?:#(?:([0-9]{1,9})|[xX]([0-9A-Fa-f]{1,8}));|([A-Za-z][A-Za-z0-9]{0,31});)?")
_OPENING = re.compile(r"<!--|<\?|<!\[CDATA\[")
# A tag that another one begins inside of. The parser would search the rest of the file for the end of each.
_STRAY = re.compile(r"<(?=[^<>]*+<)")
_STRAY_TO_END = re.compile(r"<(?=[^<>]*+(?:<|\Z))")
_TOKEN_START = re.compile(r"[<&]")
_LONGEST_TOKEN = 64
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_CDATA = "<![CDATA["
_CLOSINGS = {"<!--": "-->", "<?": "?>", _CDATA: "]]>"}


class Repairer:
    """Feed what follows the start tag of the root; get back what a parser can take, up to the root's end."""

    def __init__(self, root: Root, entry_name: str, notes: Notes) -> None:
        self._notes = notes
        self._held = ""
        self._inside = ""
        self._root_end = re.compile(rf"</{re.escape(root.name)}\s*>")
        self._entry = re.compile(rf"<(?:[\w.\-]+:)?{entry_name}(?=[\s/>])")
        self.entries = 0
        self.closed = root.closed

    def feed(self, text: str) -> str:
        return self._work(self._held + text, final=False)

    def finish(self) -> str:
        return self._work(self._held, final=True)

    def _work(self, text: str, *, final: bool) -> str:
        out: list[str] = []
        self._held, at = "", 0
        while at < len(text):
            step = self._skip if self._inside else self._plain
            at = step(text, at, out, final=final)
        return "".join(out)

    def _skip(self, text: str, at: int, out: list[str], *, final: bool) -> int:
        """Inside a comment, an instruction or a CDATA section: nothing is markup until its closing."""
        closing = _CLOSINGS[self._inside]
        stop = text.find(closing, at)
        end = stop + len(closing) if stop >= 0 else len(text)
        if stop < 0 and not final:
            end = max(at, end - len(closing) + 1)
            self._held = text[end:]
        if self._inside == _CDATA and not self.closed:
            out.append(self._clean(text[at:end]))
        if stop >= 0:
            self._inside = ""
            return end
        return len(text)

    def _plain(self, text: str, at: int, out: list[str], *, final: bool) -> int:
        opening = _OPENING.search(text, at)
        end = opening.start() if opening else len(text)
        if opening is None and not final:
            token = _TOKEN_START.search(text, max(at, end - _LONGEST_TOKEN))
            if token:
                end = token.start()
                self._held = text[end:]
        self._take(text[at:end], out, ended=final or opening is not None)
        if opening is None:
            return len(text)
        self._inside = opening[0]
        if self._inside == _CDATA and not self.closed:
            out.append(_CDATA)
        elif self._inside == _CDATA:
            self._notes.once("text_after_root")
        return opening.end()

    def _take(self, text: str, out: list[str], *, ended: bool) -> None:
        if not self.closed and (end := self._root_end.search(text)):
            self.closed = True
            out.append(self._repaired(text[: end.end()], ended=ended))
            text = text[end.end() :]
        if self.closed:
            if text.strip():
                self._notes.once("text_after_root")
            return
        out.append(self._repaired(text, ended=ended))

    def _repaired(self, text: str, *, ended: bool) -> str:
        text, strays = (_STRAY_TO_END if ended else _STRAY).subn("&lt;", self._clean(text))
        self._notes.add("bare_less_than", strays)
        self.entries += len(self._entry.findall(text))
        return _AMPERSAND.sub(self._reference, text) if "&" in text else text

    def _clean(self, text: str) -> str:
        text, found = NOT_XML.subn("", text)
        self._notes.add("control_characters", found)
        return text

    def _reference(self, match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        if decimal or hexadecimal:
            number = int(decimal) if decimal else int(hexadecimal, 16)
            if number > 0x10FFFF or NOT_XML.match(chr(number)):
                self._notes.add("control_characters")
                return ""
            return match[0].lower()
        if name in _XML_ENTITIES:
            return match[0]
        letters = html5.get(f"{name};") if name else None
        if letters is None:
            self._notes.add("bare_ampersand")
            return "&amp;" + match[0][1:]
        self._notes.add("html_entities")
        return letters.replace("&", "&amp;").replace("<", "&lt;")
