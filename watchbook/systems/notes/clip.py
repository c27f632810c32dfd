"""A collected note as a clip for the library."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.html import format_html, format_html_join

from watchbook.core.accounts.models import User
from watchbook.core.registry import Origin
from watchbook.core.stream.clip import Address, Clip
from watchbook.systems.notes.models import Note

KIND = "note"


def clip(kind: str, object_id: str, user: User) -> Clip | None:
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


def origins(kind: str, ids: Collection[str]) -> dict[str, Origin]:
    """Return address, keyword and author of these notes."""
    found = Note.objects.filter(note_id__in=list(ids)) if kind == KIND else Note.objects.none()
    rows = found.values_list("note_id", "note_url", "source_keyword", "author_name")
    return {note_id: Origin(url, keyword, author) for note_id, url, keyword, author in rows}


def address(asked: Address) -> tuple[str, str] | None:
    """Return the note that an address shows."""
    return (KIND, str(asked.values["note_id"])[:64]) if asked.name == "note" else None
