"""Collected notes in the inbox: notes of one keyword are one row."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.accounts.models import User
from watchbook.core.stream.inbox import Compared, Detail, GroupWords
from watchbook.core.stream.models import StreamEntry
from watchbook.kit.diff import compare
from watchbook.systems.notes.models import Note
from watchbook.systems.notes.views.notes import versions_of

KIND = "note"
EDITED = "edited"


def key(entry: StreamEntry) -> str:
    """Return the keyword that found the note; a note that was added by hand stands alone."""
    return _keyword(entry) or f"note {entry.pk}"


def _keyword(entry: StreamEntry) -> str:
    keyword = entry.data.get("keyword") if isinstance(entry.data, dict) else ""
    return keyword if isinstance(keyword, str) else ""


def words(entries: Sequence[StreamEntry]) -> GroupWords:
    count = len(entries)
    title = _("Keyword: %(keyword)s") % {"keyword": _keyword(entries[0])}
    return GroupWords(title, ngettext("%(n)s note", "%(n)s notes", count) % {"n": count})


def detail(entry: StreamEntry, user: User) -> Detail | None:
    note = Note.objects.filter(note_id=entry.object_id[:64]).first() if entry.object_kind == KIND else None
    if note is None:
        return None
    keyword = _keyword(entry)
    compared = _compared(entry, note) if entry.kind == EDITED else None
    return Detail(
        html="" if compared else render_to_string("notes/_inbox.html", {"note": note}),
        compared=compared,
        place=_("Keyword: %(keyword)s") % {"keyword": keyword} if keyword else "",
        source_link=note.note_url,
        evidence=(note.author_name,) if note.author_name else (),
    )


def _compared(entry: StreamEntry, note: Note) -> Compared | None:
    """Compare the version of the entry (event key "edited-3-…") with the one before."""
    number = entry.event_key.removeprefix(f"{EDITED}-").partition("-")[0]
    versions = versions_of(note)
    new = next((place for place, one in enumerate(versions) if str(one.number) == number), None)
    if new is None or new + 1 >= len(versions):
        return None
    old = versions[new + 1]
    return Compared(compare(old.text, versions[new].text), old.name, versions[new].name)
