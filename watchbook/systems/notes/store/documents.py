"""How a note is found and shown elsewhere: its path, title, search document, and the files it wants kept."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

from watchbook.core.media.models import LIVE_PHOTO, PICTURE, VIDEO
from watchbook.core.media.store import Wanted
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.systems.notes.models import Note
from watchbook.systems.notes.parse.records import NoteRecord, parse_moment

SOURCE, KIND, SCOPE = "notes", "note", "members"


def title_of(note: Note) -> str:
    return note.title or " ".join(note.content.split())[:80] or note.note_id


def note_path(note_id: str) -> str:
    """Where the note's page is."""
    return f"/notes/note/{note_id}/"


def document(row: Note) -> index.Document:
    return index.Document(
        kind=KIND, object_id=row.note_id, scope=SCOPE, title=title_of(row),
        body="\n".join([row.content, " ".join(row.tags), row.author_name]), url_path=note_path(row.note_id),
        occurred_at=row.published_at or row.collected_at, source=SOURCE, attributes=_attributes(row),
    )  # fmt: skip


def _attributes(row: Note) -> Attributes:
    """Author, keyword and likes, for the query language."""
    likes = (row.counts.get("liked") or {}).get("value")
    return Attributes(row.author_name, row.source_keyword, score=likes if isinstance(likes, int) else None)


def search_attributes(kind: str, ids: Collection[str]) -> dict[str, Attributes]:
    rows = Note.objects.filter(note_id__in=list(ids)) if kind == KIND else Note.objects.none()
    newest = dict(rows.exclude(watch=None).values_list("note_id", "watch__counts"))
    found = {}
    for row in rows:
        row.counts = newest.get(row.note_id) or row.counts
        found[row.note_id] = _attributes(row)
    return found


# t=<hex seconds> beside a signature: when the address of a file ends.
_ENDS = re.compile(r"[?&]t=([0-9a-f]{8})(?=&|\Z)")
ROLES = {"image": PICTURE, "live_photo": LIVE_PHOTO, "video": VIDEO}


def wanted_files(note: NoteRecord) -> list[Wanted]:
    """The files of a note. Their addresses change with every reading, so their names are places in the note."""
    return [
        Wanted(
            one.url, note.note_id, place, ROLES.get(one.kind, PICTURE),
            key=f"{SOURCE}:{note.note_id}:{one.kind}:{one.file_id or place}", use_before=_ends_at(one.url),
            others=one.others, width=one.width, height=one.height,
        )
        for place, one in enumerate(note.media)
        if one.url
    ]  # fmt: skip


def _ends_at(url: str) -> datetime | None:
    found = _ENDS.search(url) if "sign=" in url else None
    return parse_moment(int(found[1], 16)) if found else None
