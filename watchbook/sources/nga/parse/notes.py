"""Notes: what was odd about an answer that could be read all the same. A stable code, a count, a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from watchbook.sources.nga.parse.reasons import gettext_noop

SENTENCES = {
    "blanked_keywords": gettext_noop("%(count)d keyword fields are wrongly encoded and were left out."),
    "board_rows": gettext_noop("%(count)d rows stand for a board, not for a topic; they were left out."),
    "broken_rows": gettext_noop("%(count)d rows cannot be read and were left out."),
    "denied_rows": gettext_noop("%(count)d rows are placeholders for topics that this account may not see."),
    "gone_notes": gettext_noop("%(count)d comments under posts are named but not shown."),
    "literal_repairs": gettext_noop("The JSON breaks its grammar; it was repaired."),
    "mixed_encoding": gettext_noop("%(count)d pieces are in another character encoding than the rest."),
    "not_closed": gettext_noop("The page breaks off before its end."),
    "repeated_rows": gettext_noop("%(count)d rows are repeated; each is listed once."),
    "rows_without_data": gettext_noop("%(count)d posts of the page come without their data and were left out."),
    "text_after_end": gettext_noop("There is something after the end of the data; it was ignored."),
}

# After one of these nothing may be concluded from what is absent.
INCOMPLETE = frozenset({"broken_rows", "not_closed", "rows_without_data"})


@dataclass(frozen=True, slots=True)
class Note:
    code: str
    count: int

    @property
    def message(self) -> str:
        return SENTENCES[self.code] % {"count": self.count}


class Notes:
    """Collects notes while an answer is read."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, code: str, count: int = 1) -> None:
        if code not in SENTENCES:
            raise KeyError(code)
        if count:
            self._counts[code] += count

    def copy(self) -> Notes:
        other = Notes()
        other._counts.update(self._counts)
        return other

    def listed(self) -> tuple[Note, ...]:
        return tuple(Note(code, count) for code, count in sorted(self._counts.items()))
