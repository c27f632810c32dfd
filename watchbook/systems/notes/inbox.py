"""Collected notes in the inbox: notes of one keyword are one row."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.accounts.models import User
from watchbook.core.stream.inbox import Detail, GroupWords
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.notes.models import Note

KIND = "note"


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
    return Detail(
        html=render_to_string("notes/_inbox.html", {"note": note}),
        place=_("Keyword: %(keyword)s") % {"keyword": keyword} if keyword else "",
        source_link=note.note_url,
        evidence=(note.author_name,) if note.author_name else (),
    )
