"""Response schemas of what people manage: keywords and pasted texts."""

from __future__ import annotations

from datetime import datetime

from watchbook.core.api.schemas import Answer, said
from watchbook.systems.notes.api.schemas import Enveloped, EnvelopedList
from watchbook.systems.notes.models import Keyword


class KeywordOut(Answer):
    """A keyword that is searched for candidates."""

    row = Keyword

    id: int
    keyword: str
    platform: str
    is_active: bool = said("False while the keyword is paused.")
    sort: str = said(
        "general, time_descending, popularity_descending, comment_descending or collect_descending, as on the platform."
    )
    note_type: str = said("all, normal or video.")
    time_range: str = said("any, day, week or half_year.")
    every_minutes: int | None = said("Minutes between searches; null: as set for this server.")
    next_search_at: datetime
    last_search_at: datetime | None
    last_error: str = said("Code and sentence of the last search, empty if it succeeded.")
    found_count: int = said("Candidates that this keyword added.")
    created_at: datetime


class KeywordList(EnvelopedList[KeywordOut]):
    """Keywords, newest first."""


class KeywordAnswer(Enveloped[KeywordOut]):
    """One keyword."""


class KeywordAdded(Answer):
    """A keyword, and whether it is new."""

    added: bool
    keyword: KeywordOut


class KeywordAddedAnswer(Enveloped[KeywordAdded]):
    """Result of adding a keyword."""


class DeletedOut(Answer):
    """Whether it was deleted."""

    deleted: bool


class DeletedAnswer(Enveloped[DeletedOut]):
    """Result of deleting."""


class QueuedOut(Answer):
    """The run that was queued."""

    run_id: int
    url: str = said("Address of the run in the API.")


class QueuedAnswer(Enveloped[QueuedOut]):
    """Result of asking for work."""


class PasteResultOut(Answer):
    """What became of one link of one line."""

    line: int
    text: str = said("The link without its query, or the line.")
    action: str = said("added, known or refused.")
    note_id: str = said("Empty if refused.")
    reason: str = said("Empty, or why it was refused: no_link, not_a_note, profile, short_link_failed, …")
    message: str


class PasteOut(Answer):
    """What became of a pasted text."""

    added: int
    known: int
    refused: int
    results: list[PasteResultOut] = said("One per link, in the order of the text.")


class PasteAnswer(Enveloped[PasteOut]):
    """Result of pasting."""


class RetriedOut(Answer):
    """Failed candidates that are pending again."""

    retried: int
    not_failed: list[str] = said("Given IDs that were not failed candidates, so that nothing changed.")


class RetriedAnswer(Enveloped[RetriedOut]):
    """Result of a retry."""
