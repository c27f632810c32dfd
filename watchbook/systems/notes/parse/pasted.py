"""Reads what people paste: share texts, links and IDs, also many together. Nothing is requested here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from watchbook.systems.notes.parse.records import InvalidNoteAddress, NoteAddress, parse_note_url

DOMAINS = ("xiaohongshu.com", "rednote.com")
SHORT_DOMAINS = ("xhslink.com", "xhs.cn")
MOST_LINES, LONGEST_LINE = 500, 5000
# Why a part of the text is no note.
NO_LINK, NOT_A_NOTE, PROFILE, TOO_MANY = "no_link", "not_a_note", "profile", "too_many"

# Addresses of notes are ASCII; a Chinese comma or an emoji ends one.
_LINK = re.compile(r"https?://[!-~]{4,2048}", re.IGNORECASE)
_BARE_LINK = re.compile(r"(?<![\w.@/-])(?:[\w-]+\.){1,4}[a-z]{2,10}/[!-~]{1,2048}", re.IGNORECASE)
_TRAILING = ".,;:!?)]}>\"'~*"
_ID = re.compile(r"[0-9a-f]{24}\Z")
_PROFILE_PATH = re.compile(r"/user/profile/([0-9A-Za-z_-]{1,64})/?\Z")


@dataclass(frozen=True)
class PastedPart:
    """One link or ID of one line: the note it names, a short link to follow, or the reason why it is neither."""

    line: int
    text: str
    address: NoteAddress | None = None
    short_link: str = ""
    refusal: str = ""

    @property
    def url(self) -> str:
        return self.text if self.text.startswith(("http://", "https://")) else ""


def read_pasted(text: str) -> list[PastedPart]:
    """Every link and ID of the text, by line. A line without any is refused, too, so that nothing is lost silently."""
    parts: list[PastedPart] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if len(parts) >= MOST_LINES:
            parts.append(PastedPart(number, _shown(line), refusal=TOO_MANY))
            break
        parts += _parts(number, line[:LONGEST_LINE])
    return parts


def _parts(number: int, line: str) -> Iterator[PastedPart]:
    links = [found.rstrip(_TRAILING) for found in _LINK.findall(line)]
    links = links or [f"https://{found.rstrip(_TRAILING)}" for found in _BARE_LINK.findall(line)]
    for link in dict.fromkeys(links):
        yield read_link(number, link)
    if links:
        return
    ids = [word for word in re.split(r"[\s,;，；]+", line.strip()) if word]
    if ids and all(_ID.match(word) for word in ids):
        for word in dict.fromkeys(ids):
            yield PastedPart(number, word, NoteAddress(word))
        return
    yield PastedPart(number, _shown(line), refusal=NO_LINK)


def read_link(number: int, link: str) -> PastedPart:
    """What one link is. A link to a note of any host is taken: the platform has several."""
    try:
        return PastedPart(number, link, parse_note_url(link))
    except InvalidNoteAddress:
        pass
    if creator_of(link):
        return PastedPart(number, link, refusal=PROFILE)
    if is_on(link, SHORT_DOMAINS):
        return PastedPart(number, link, short_link=link)
    return PastedPart(number, link, refusal=NOT_A_NOTE)


def is_on(link: str, domains: Iterable[str]) -> bool:
    """Whether the host of a link is one of these domains, or below one of them."""
    host = host_of(link)
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def creator_of(link: str) -> str:
    """The ID in the address of a profile, or an empty string."""
    try:
        found = _PROFILE_PATH.match(urlsplit(link).path)
    except ValueError:
        return ""
    return found[1] if found else ""


def host_of(link: str) -> str:
    try:
        return (urlsplit(link).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _shown(line: str) -> str:
    return " ".join(line.split())[:200]
