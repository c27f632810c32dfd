"""Comments of collected notes: stored once, other texts as versions, absent twice from a whole listing as gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from watchbook.base.text import clean_text, cut
from watchbook.base.work import crash_point
from watchbook.core.search import index
from watchbook.systems.notes.models import CommentVersion, Execution, Note, NoteComment, NoteWatch, Presence
from watchbook.systems.notes.parse.records import CommentRecord
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.store import Holder, renew
from watchbook.systems.notes.store.documents import SCOPE, SOURCE, note_path, title_of

KIND = "note_comment"
GONE = Presence.GONE


@dataclass(frozen=True)
class Thread:
    """What one reading saw. Comments whose branch was not read to its end are never judged as absent."""

    comments: Sequence[CommentRecord] = ()
    is_whole: bool = False
    # Comments on the note whose answers were not all listed.
    open_branches: frozenset[str] = frozenset()
    error: NotesError | None = None
    retry_minutes: int | None = None


@dataclass(frozen=True)
class CommentsRead:
    """How one reading went."""

    note_id: str
    found: int = 0
    added: int = 0
    changed: int = 0
    gone: int = 0
    error: dict[str, Any] | None = None
    # The next note would fail the same way.
    stop: bool = False


def store_thread(holder: Holder, watch: NoteWatch, read: Thread, now: datetime) -> CommentsRead:
    """Write one reading in one transaction under the fence of the run."""
    note = watch.note
    with transaction.atomic():
        renew(holder, now)
        known = {row.comment_id: row for row in NoteComment.objects.select_for_update().filter(note=note)}
        added = _add(note, [one for one in read.comments if one.comment_id not in known], now)
        changed = _change([(known[one.comment_id], one) for one in read.comments if one.comment_id in known], now)
        gone = _absent(known, read, now) if read.is_whole and read.error is None else 0
        index.put([document(note, row) for row in [*added, *changed]])
        _plan(watch, read, now)
        figure = "items_processed" if read.error is None else "items_failed"
        Execution.objects.filter(execution_id=holder.execution_id).update(**{figure: F(figure) + 1})
        crash_point("notes.comments_stored")
    error = read.error.as_json() if read.error else None
    return CommentsRead(note.note_id, len(read.comments), len(added), len(changed), gone, error)


def _plan(watch: NoteWatch, read: Thread, now: datetime) -> None:
    """A reading that an outage ended is repeated soon; every other one waits for the next reading of the note."""
    due = now + timedelta(minutes=read.retry_minutes) if read.retry_minutes else None
    error = cut(str(read.error), 300) if read.error else ""
    columns: dict[str, Any] = {"comments_due_at": due, "comments_error": error}
    if read.error is None:
        columns |= {"comments_read_at": now, "comments_whole": read.is_whole}
    NoteWatch.objects.filter(pk=watch.pk).update(**columns)


def _add(note: Note, fresh: Sequence[CommentRecord], now: datetime) -> list[NoteComment]:
    rows = [
        NoteComment(
            note=note, comment_id=one.comment_id, parent_id=one.parent_id, author_id=cut(one.author_id, 64),
            author_name=cut(one.author_name, 100), content=clean_text(one.content), liked=one.liked_json,
            published_at=one.published_at, first_read_at=now, last_read_at=now, changed_at=now,
        )
        for one in fresh
    ]  # fmt: skip
    NoteComment.objects.bulk_create(rows, batch_size=200)
    # MariaDB gives no keys back.
    return list(NoteComment.objects.filter(note=note, comment_id__in=[row.comment_id for row in rows]))


def _change(pairs: Sequence[tuple[NoteComment, CommentRecord]], now: datetime) -> list[NoteComment]:
    changed, versions = [], []
    for row, one in pairs:
        text = clean_text(one.content)
        if text_changed := text != row.content:
            versions.append(CommentVersion(comment=row, number=row.version, content=row.content, replaced_at=now))
            row.content, row.version = text, row.version + 1
            changed.append(row)
        if text_changed or (row.liked, row.presence) != (one.liked_json, Presence.THERE):
            row.changed_at = now
        row.liked, row.last_read_at, row.presence = one.liked_json, now, Presence.THERE
    CommentVersion.objects.bulk_create(versions, batch_size=200)
    NoteComment.objects.bulk_update(
        [row for row, _one in pairs],
        ["content", "version", "liked", "last_read_at", "changed_at", "presence"],
        batch_size=200,
    )
    return changed


def _absent(known: dict[str, NoteComment], read: Thread, now: datetime) -> int:
    """Absent once is missing, absent twice is gone; the text stays. Returns how many became gone."""
    seen = {one.comment_id for one in read.comments} | {key for key, row in known.items() if row.presence == GONE}
    absent = [row for row in known.values() if row.comment_id not in seen and row.parent_id not in read.open_branches]
    gone = 0
    for row in absent:
        gone += row.presence == Presence.MISSING
        row.presence = Presence.MISSING if row.presence == Presence.THERE else GONE
        row.changed_at = now
    NoteComment.objects.bulk_update(absent, ["presence", "changed_at"], batch_size=200)
    return gone


def document(note: Note, row: NoteComment) -> index.Document:
    return index.Document(
        kind=KIND, object_id=str(row.pk), scope=SCOPE, title=title_of(note), body=row.content,
        url_path=f"{note_path(note.note_id)}#comments", source=SOURCE,
        occurred_at=row.published_at or row.first_read_at,
    )  # fmt: skip
