"""A collected note as something to file in the library."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html, format_html_join

from watchbook.core.stream.clip import Clip
from watchbook.sources.notes.models import Note

KIND = "note"


def clip(kind: str, object_id: str, user: Any) -> Clip | None:
    """None for other kinds, and for what is not there. Notes are for every member."""
    if kind != KIND or not getattr(user, "is_authenticated", False):
        return None
    note = Note.objects.filter(note_id=object_id[:64]).first()
    if note is None:
        return None
    lines = [line for line in note.content.split("\n") if line.strip()]
    return Clip(
        kind=KIND,
        id=note.note_id,
        source="notes",
        title=note.title or note.content[:80] or note.note_id,
        html=format_html("{}", format_html_join("", "<p>{}</p>", ((line,) for line in lines))),
        text=note.content,
        source_link=note.note_url,
        source_at=note.published_at,
        version=note.idempotency_key,
    )
