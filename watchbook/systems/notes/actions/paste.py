"""Pasted texts become candidates: every link is a candidate, known, or refused with its line and reason."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.base.web.errors import WebError
from watchbook.systems.notes import options
from watchbook.systems.notes.fetch.short_links import follow_short_link
from watchbook.systems.notes.models import Candidate
from watchbook.systems.notes.parse import pasted
from watchbook.systems.notes.parse.pasted import PastedPart
from watchbook.systems.notes.parse.records import bare_url
from watchbook.systems.notes.rules import DEFAULT_PLATFORM, invalid
from watchbook.systems.notes.store import candidates
from watchbook.systems.notes.store.candidates import FoundNote
from watchbook.systems.notes.validation.managed import BAD_PASTE, LONGEST_PASTE

ADDED, KNOWN, REFUSED = "added", "known", "refused"
# Short links are requested one after the other while the user waits.
MOST_SHORT_LINKS, SHORT_LINKS_SECONDS = 20, 30.0

REASONS = {
    pasted.NO_LINK: gettext_noop("This line has no link to a note."),
    pasted.NOT_A_NOTE: gettext_noop("This link does not lead to a note."),
    pasted.PROFILE: gettext_noop("This is a profile, not a note. Add it under Creators."),
    pasted.TOO_MANY: gettext_noop("Only the first 500 links are read. Paste the rest again."),
    "too_many_short_links": gettext_noop("Only 20 short links are followed per paste. Paste the rest again."),
    "short_link_failed": gettext_noop("The short link could not be followed. Try again later."),
}


@dataclass(frozen=True)
class PasteResult:
    """What became of one link of one line."""

    line: int
    text: str
    action: str
    note_id: str = ""
    reason: str = ""

    @property
    def message(self) -> str:
        return _(REASONS[self.reason]) if self.reason else ""

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "message": self.message}


@dataclass(frozen=True)
class Pasted:
    results: list[PasteResult]

    def count(self, action: str) -> int:
        """How many; a note that was pasted twice is one."""
        found = [one for one in self.results if one.action == action]
        return len(found) if action == REFUSED else len({one.note_id for one in found})

    @property
    def refused(self) -> list[PasteResult]:
        return [one for one in self.results if one.action == REFUSED]

    def as_json(self) -> dict[str, Any]:
        counts = {action: self.count(action) for action in (ADDED, KNOWN, REFUSED)}
        return {**counts, "results": [one.as_json() for one in self.results]}


def add_pasted(text: str) -> Pasted:
    """Store every note that the text names as a candidate. Raises NotesError only for an empty or too long text."""
    if not text.strip() or len(text) > LONGEST_PASTE:
        raise invalid(BAD_PASTE, "text")
    parts = list(_followed(pasted.read_pasted(clean_text(text))))
    notes: dict[str, PastedPart] = {}
    for part in parts:
        # Of one note pasted twice the link with a token counts.
        if part.address and (part.address.xsec_token or part.address.note_id not in notes):
            notes[part.address.note_id] = part
    known = set(Candidate.objects.filter(note_id__in=notes).values_list("note_id", flat=True))
    if notes:
        candidates.store_found([_found(part) for part in notes.values()], clock.now())
    return Pasted([_result(part, known) for part in parts])


def _result(part: PastedPart, known: set[str]) -> PasteResult:
    # The query of a link holds a token, which is not shown again.
    shown = bare_url(part.text)
    if part.address is None:
        return PasteResult(part.line, shown, REFUSED, reason=part.refusal)
    note_id = part.address.note_id
    return PasteResult(part.line, shown, KNOWN if note_id in known else ADDED, note_id)


def _found(part: PastedPart) -> FoundNote:
    assert part.address is not None
    return FoundNote(
        note_id=part.address.note_id,
        platform=DEFAULT_PLATFORM,
        note_url=bare_url(part.url)[:2048],
        xsec_token=part.address.xsec_token,
        xsec_source=part.address.xsec_source,
    )


def _followed(parts: Iterable[PastedPart]) -> Iterable[PastedPart]:
    """Replace short links by what is behind them, within the limits of number and time."""
    ends = time.monotonic() + SHORT_LINKS_SECONDS
    asked = 0
    for part in parts:
        if not part.short_link:
            yield part
        elif asked >= MOST_SHORT_LINKS or time.monotonic() >= ends:
            yield replace(part, refusal="too_many_short_links")
        else:
            asked += 1
            yield _behind(part, ends - time.monotonic())


def _behind(part: PastedPart, seconds: float) -> PastedPart:
    try:
        target = follow_short_link(part.short_link, min(seconds, 10.0))
    except WebError:
        return replace(part, refusal="short_link_failed")
    found = pasted.read_link(part.line, target)
    if not pasted.is_on(target, (*pasted.DOMAINS, pasted.host_of(options.PAGE_URL.value))):
        return replace(part, refusal=pasted.NOT_A_NOTE)
    if found.address is None:
        return replace(part, refusal=found.refusal or pasted.NOT_A_NOTE)
    return found
