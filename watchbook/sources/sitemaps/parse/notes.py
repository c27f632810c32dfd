"""Notes: what was odd about a file. A stable code for programs, a count, and a sentence for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


def gettext_noop(message: str) -> str:
    """Marks a sentence for the translators' tools; whoever shows it translates it."""
    return message


SENTENCES = {
    "bad_urls": gettext_noop("%(count)d addresses cannot be read as a URL and were left out."),
    "bare_ampersand": gettext_noop("%(count)d ampersands were not escaped; they were repaired."),
    "bare_less_than": gettext_noop("%(count)d less-than signs were not escaped; they were repaired."),
    "bare_text_children": gettext_noop("%(count)d entries of the index have no <loc>; their text was taken."),
    "control_characters": gettext_noop("%(count)d control characters were removed."),
    "corrupt_gzip": gettext_noop("The compressed data is damaged; only the part before the damage was read."),
    "decoded_cap": gettext_noop("The file is larger than %(count)d bytes; reading stopped there."),
    "doctype_ignored": gettext_noop("The document type declaration was ignored."),
    "double_gzip": gettext_noop("The file was compressed twice."),
    "duplicate_urls": gettext_noop("%(count)d addresses are repeated; each is listed once."),
    "empty_locs": gettext_noop("%(count)d entries have no address and were left out."),
    "entry_too_large": gettext_noop("An entry is larger than %(count)d bytes; reading stopped there."),
    "extra_locs": gettext_noop("%(count)d entries have more than one address; the first was taken."),
    "html_entities": gettext_noop("%(count)d HTML entities do not exist in XML; they were repaired."),
    "index_lists_itself": gettext_noop("The index lists itself; that entry was left out."),
    "lost_entries": gettext_noop("%(count)d entries are too broken to be read."),
    "misplaced_entries": gettext_noop("%(count)d entries are of the wrong kind for this file and were left out."),
    "not_http_urls": gettext_noop("%(count)d addresses are neither http nor https and were left out."),
    "not_url_lines": gettext_noop("%(count)d lines are not a URL and were left out."),
    "over_50000_urls": gettext_noop("The file lists more than the 50,000 entries that the protocol allows."),
    "over_50_megabytes": gettext_noop("The file is larger than the 50 MB that the protocol allows."),
    "relative_urls": gettext_noop("%(count)d addresses are relative; they were completed."),
    "root_not_closed": gettext_noop("The file breaks off before its end."),
    "text_after_root": gettext_noop("There is something after the end of the document; it was ignored."),
    "text_before_root": gettext_noop("There is something before the start of the document; it was ignored."),
    "too_long_urls": gettext_noop("%(count)d addresses are longer than the protocol allows and were left out."),
    "too_long_values": gettext_noop("%(count)d values are far too long and were cut."),
    "too_many_children": gettext_noop("The index lists more than %(count)d sitemaps; reading stopped there."),
    "too_many_urls": gettext_noop("The file lists more than %(count)d addresses; reading stopped there."),
    "trailing_bytes_after_gzip": gettext_noop("There are bytes after the end of the compressed data; ignored."),
    "transport_cut": gettext_noop("The connection ended before the whole file had arrived."),
    "truncated_gzip": gettext_noop("The compressed data breaks off before its end."),
    "undeclared_prefix": gettext_noop("A namespace prefix is used without being declared."),
    "unknown_encoding": gettext_noop("The declared character encoding is unknown or wrong; UTF-8 was assumed."),
    "unreadable_lastmods": gettext_noop("%(count)d modification dates cannot be read; they are compared as text."),
    "wrong_encoding": gettext_noop("%(count)d bytes do not fit the character encoding; read as Windows-1252."),
    "xml_errors": gettext_noop("The XML is not well formed; it was repaired."),
}

# Those that count, said of a single one.
ONE = {
    "bad_urls": gettext_noop("One address cannot be read as a URL and was left out."),
    "bare_ampersand": gettext_noop("One ampersand was not escaped; it was repaired."),
    "bare_less_than": gettext_noop("One less-than sign was not escaped; it was repaired."),
    "bare_text_children": gettext_noop("One entry of the index has no <loc>; its text was taken."),
    "control_characters": gettext_noop("One control character was removed."),
    "duplicate_urls": gettext_noop("One address is repeated; it is listed once."),
    "empty_locs": gettext_noop("One entry has no address and was left out."),
    "extra_locs": gettext_noop("One entry has more than one address; the first was taken."),
    "html_entities": gettext_noop("One HTML entity does not exist in XML; it was repaired."),
    "lost_entries": gettext_noop("One entry is too broken to be read."),
    "misplaced_entries": gettext_noop("One entry is of the wrong kind for this file and was left out."),
    "not_http_urls": gettext_noop("One address is neither http nor https and was left out."),
    "not_url_lines": gettext_noop("One line is not a URL and was left out."),
    "relative_urls": gettext_noop("One address is relative; it was completed."),
    "too_long_urls": gettext_noop("One address is longer than the protocol allows and was left out."),
    "too_long_values": gettext_noop("One value is far too long and was cut."),
    "unreadable_lastmods": gettext_noop("One modification date cannot be read; it is compared as text."),
    "wrong_encoding": gettext_noop("One byte does not fit the character encoding; read as Windows-1252."),
}

OVER_LIMIT = frozenset({"decoded_cap", "too_many_urls", "too_many_children", "entry_too_large"})
CUT_SHORT = frozenset({"corrupt_gzip", "lost_entries", "root_not_closed", "transport_cut", "truncated_gzip"})
INCOMPLETE = OVER_LIMIT | CUT_SHORT


def sentence_for(code: str, count: int) -> str:
    """The sentence of a code, where `%(count)d` may still have to be filled in; empty for a code that has none."""
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
        """Like add, for what is said only once however often it is found."""
        if code not in self._counts:
            self.add(code, count)

    def __contains__(self, code: str) -> bool:
        return code in self._counts

    @property
    def complete(self) -> bool:
        return not INCOMPLETE & self._counts.keys()

    def listed(self) -> tuple[Note, ...]:
        return tuple(Note(code, count) for code, count in sorted(self._counts.items()))
