"""Records of the parser: problems, errors, limits, URLs and files."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchbook.systems.sitemaps.parse.lists import PartList


class Unreadable(Exception):
    """The file cannot be read: the part counts as failed and keeps its earlier content.

    Unreadable
    ├── NotASitemap     the response is something else: enter another address
    ├── Dangerous       the file would harm a reader: the site has to change it
    ├── Damaged         the file ends before any content: fetch it again
    └── NoFileRead      none of the files of an index could be read: see the reason of the first

    `code` is stable and meant for programs, the message for users.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotASitemap(Unreadable):
    pass


class Dangerous(Unreadable):
    pass


class Damaged(Unreadable):
    pass


class NoFileRead(Unreadable):
    """An index of which no file could be read; the message ends with the reason of the first file."""

    def __init__(self, count: int, reason: str) -> None:
        files = "file" if count == 1 else "files"
        super().__init__(
            "no_file_read", f"None of the {count} {files} of the sitemap index could be read. {reason}".strip()
        )


def gettext_noop(message: str) -> str:
    """Mark a message for translation. The code that shows it translates it."""
    return message


SENTENCES = {
    "bad_urls": gettext_noop("%(count)d addresses are not valid URLs and were skipped."),
    "bare_ampersand": gettext_noop("%(count)d unescaped ampersands were fixed."),
    "bare_less_than": gettext_noop("%(count)d unescaped less-than signs were fixed."),
    "bare_text_children": gettext_noop("%(count)d entries of the index have no <loc>; their text was used."),
    "control_characters": gettext_noop("%(count)d control characters were removed."),
    "corrupt_gzip": gettext_noop("The compressed data is damaged; only the part before the damage was read."),
    "decoded_cap": gettext_noop("The file is larger than %(count)d bytes; the rest was not read."),
    "doctype_ignored": gettext_noop("The document type declaration was ignored."),
    "double_gzip": gettext_noop("The file was compressed twice."),
    "duplicate_urls": gettext_noop("%(count)d addresses are repeated; each is listed once."),
    "empty_locs": gettext_noop("%(count)d entries have no address and were skipped."),
    "entry_too_large": gettext_noop("An entry is larger than %(count)d bytes; the rest was not read."),
    "extra_locs": gettext_noop("%(count)d entries have more than one address; the first was used."),
    "html_entities": gettext_noop("%(count)d HTML entities that XML does not know were fixed."),
    "index_lists_itself": gettext_noop("The index lists itself; that entry was skipped."),
    "lost_entries": gettext_noop("%(count)d entries are damaged and could not be read."),
    "misplaced_entries": gettext_noop("%(count)d entries have the wrong type for this file and were skipped."),
    "not_http_urls": gettext_noop("%(count)d addresses are neither http nor https and were skipped."),
    "not_url_lines": gettext_noop("%(count)d lines are not URLs and were skipped."),
    "over_50000_urls": gettext_noop("The file lists more than the 50,000 entries that the protocol allows."),
    "over_50_megabytes": gettext_noop("The file is larger than the 50 MB that the protocol allows."),
    "relative_urls": gettext_noop("%(count)d addresses are relative; they were completed."),
    "root_not_closed": gettext_noop("The file ends before its closing tag."),
    "text_after_root": gettext_noop("Content after the end of the document was ignored."),
    "text_before_root": gettext_noop("Content before the start of the document was ignored."),
    "too_long_urls": gettext_noop("%(count)d addresses are longer than the protocol allows and were skipped."),
    "too_long_values": gettext_noop("%(count)d values are too long and were shortened."),
    "too_many_children": gettext_noop("The index lists more than %(count)d sitemaps; the rest was not read."),
    "too_many_urls": gettext_noop("The file lists more than %(count)d addresses; the rest was not read."),
    "trailing_bytes_after_gzip": gettext_noop("Bytes after the end of the compressed data were ignored."),
    "transport_cut": gettext_noop("The connection closed before the whole file arrived."),
    "truncated_gzip": gettext_noop("The compressed data is truncated."),
    "undeclared_prefix": gettext_noop("A namespace prefix is used without being declared."),
    "unknown_encoding": gettext_noop("The declared character encoding is unknown or wrong; UTF-8 was assumed."),
    "unreadable_lastmods": gettext_noop("%(count)d modification dates are not valid; they are compared as text."),
    "wrong_encoding": gettext_noop("%(count)d bytes do not match the character encoding; read as Windows-1252."),
    "xml_errors": gettext_noop("The XML is not well formed; it was fixed."),
}

# Those that count, said of a single one.
ONE = {
    "bad_urls": gettext_noop("1 address is not a valid URL and was skipped."),
    "bare_ampersand": gettext_noop("1 unescaped ampersand was fixed."),
    "bare_less_than": gettext_noop("1 unescaped less-than sign was fixed."),
    "bare_text_children": gettext_noop("1 entry of the index has no <loc>; its text was used."),
    "control_characters": gettext_noop("1 control character was removed."),
    "duplicate_urls": gettext_noop("1 address is repeated; it is listed once."),
    "empty_locs": gettext_noop("1 entry has no address and was skipped."),
    "extra_locs": gettext_noop("1 entry has more than one address; the first was used."),
    "html_entities": gettext_noop("1 HTML entity that XML does not know was fixed."),
    "lost_entries": gettext_noop("1 entry is damaged and could not be read."),
    "misplaced_entries": gettext_noop("1 entry has the wrong type for this file and was skipped."),
    "not_http_urls": gettext_noop("1 address is neither http nor https and was skipped."),
    "not_url_lines": gettext_noop("1 line is not a URL and was skipped."),
    "relative_urls": gettext_noop("1 address is relative; it was completed."),
    "too_long_urls": gettext_noop("1 address is longer than the protocol allows and was skipped."),
    "too_long_values": gettext_noop("1 value is too long and was shortened."),
    "unreadable_lastmods": gettext_noop("1 modification date is not valid; it is compared as text."),
    "wrong_encoding": gettext_noop("1 byte does not match the character encoding; read as Windows-1252."),
}

OVER_LIMIT = frozenset({"decoded_cap", "too_many_urls", "too_many_children", "entry_too_large"})
CUT_SHORT = frozenset({"corrupt_gzip", "lost_entries", "root_not_closed", "transport_cut", "truncated_gzip"})
INCOMPLETE = OVER_LIMIT | CUT_SHORT


def sentence_for(code: str, count: int) -> str:
    """Return the message of a code, with `%(count)d` to fill in; empty for an unknown code."""
    return (ONE.get(code, "") if count == 1 else "") or SENTENCES.get(code, "")


@dataclass(frozen=True, slots=True)
class Note:
    code: str
    count: int

    @property
    def is_counted(self) -> bool:
        return "%(count)d" in SENTENCES[self.code]

    @property
    def message(self) -> str:
        return sentence_for(self.code, self.count) % {"count": self.count}

    def __str__(self) -> str:
        return f"{self.code}:{self.count}" if self.is_counted else self.code


class Notes:
    """Collects notes while a file is read."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, code: str, count: int = 1) -> None:
        if code not in SENTENCES:
            raise KeyError(code)
        if count:
            self._counts[code] += count

    def once(self, code: str, count: int = 1) -> None:
        """Add a note that counts only once."""
        if code not in self._counts:
            self.add(code, count)

    def __contains__(self, code: str) -> bool:
        return code in self._counts

    @property
    def complete(self) -> bool:
        return not INCOMPLETE & self._counts.keys()

    def listed(self) -> tuple[Note, ...]:
        return tuple(Note(code, count) for code, count in sorted(self._counts.items()))


URLSET, INDEX, TEXT, RSS, ATOM, RDF = "urlset", "index", "text", "rss", "atom", "rdf"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of reading. Reaching one makes the file incomplete, except `url_length`."""

    decoded_bytes: int = 200_000_000
    gzip_layers: int = 2
    head_bytes: int = 65_536
    entry_bytes: int = 16_000_000
    urls: int = 5_000_000
    children: int = 50_000
    url_length: int = 2048
    value_length: int = 100

    def as_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class UrlRecord:
    """One listed URL. An empty text means that the file gives no value."""

    url: str
    lastmod: str = ""
    changefreq: str = ""
    priority: str = ""

    def as_json(self) -> dict[str, str | None]:
        return {
            "url": self.url,
            "lastmod": self.lastmod or None,
            "changefreq": self.changefreq or None,
            "priority": self.priority or None,
        }


@dataclass(frozen=True, slots=True)
class ChildRecord:
    """One sitemap that an index lists."""

    url: str
    lastmod: str = ""


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One file as read: URLs in `pages`, or files in `children` if it is an index."""

    kind: str
    complete: bool
    count: int
    """Different pages; 0 for an index."""
    listed: int
    """Entries as they stand in the file, repeated ones included."""
    notes: tuple[Note, ...]
    pages: PartList
    children: tuple[ChildRecord, ...] = ()
    news: bool = False
    """A news sitemap: pages leave it after two days by design."""
    decoded_bytes: int = 0

    @property
    def state(self) -> str:
        """ok | incomplete | over-limit"""
        if self.complete:
            return "ok"
        return "over-limit" if any(note.code in OVER_LIMIT for note in self.notes) else "incomplete"

    def summary(self) -> dict[str, Any]:
        """Return everything except the URLs, as JSON."""
        return {
            "kind": self.kind,
            "state": self.state,
            "complete": self.complete,
            "count": self.count,
            "listed": self.listed,
            "news": self.news,
            "decoded_bytes": self.decoded_bytes,
            "list_sha256": self.pages.sha256,
            "children": [[child.url, child.lastmod] for child in self.children],
            "notes": [{"code": note.code, "count": note.count, "message": note.message} for note in self.notes],
        }
