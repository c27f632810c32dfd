"""Committing a note: written once under its key, with its search document and its line in the stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from watchbook.base.logs import request_id
from watchbook.base.text import clean_text, cut
from watchbook.base.work import crash_point
from watchbook.core.erase import erase
from watchbook.core.media import store as media
from watchbook.core.search import index
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.notes.models import Candidate, CandidateStatus, Execution, Note, NoteComment
from watchbook.systems.notes.parse.records import NoteRecord
from watchbook.systems.notes.rules import Code, LockLost, NotesError, idempotency_key
from watchbook.systems.notes.store import Holder, readings, renew
from watchbook.systems.notes.store.candidates import NOT_KNOWN, UNLOCKED
from watchbook.systems.notes.store.comments import KIND as COMMENT
from watchbook.systems.notes.store.documents import KIND, SCOPE, SOURCE, document, note_path, title_of, wanted_files

CREATED, SKIPPED = "created", "skipped"
SUMMARY = 300


@dataclass(frozen=True)
class Committed:
    """`reading` says what a later reading of a known note brought: version, point, same."""

    action: str
    id: int
    reading: list[str] = field(default_factory=list)


def commit(holder: Holder, note: NoteRecord, meta: dict[str, Any], now: datetime) -> Committed:
    """Write the note and mark its candidate collected, in one transaction under the execution's fence."""
    try:
        with transaction.atomic():
            renew(holder, now)
            return _commit(holder, note, meta, now)
    except LockLost:
        # The answer to its first commit may have been lost on the way: the same execution gets it again.
        own = Note.objects.filter(
            idempotency_key=idempotency_key(note.note_id), watch__execution_id=holder.execution_id
        )
        existing = own.values_list("pk", flat=True).first()
        if existing is None:
            raise
        return Committed(SKIPPED, existing)


def _commit(holder: Holder, note: NoteRecord, meta: dict[str, Any], now: datetime) -> Committed:
    candidate = Candidate.objects.select_for_update().filter(note_id=note.note_id).first()
    if candidate is None:
        raise NotesError(Code.NOT_FOUND, NOT_KNOWN)
    mine = Candidate.objects.held_by(holder.execution_id, holder.fence).filter(pk=candidate.pk)
    if not mine.update(**UNLOCKED, status=CandidateStatus.COLLECTED, updated_at=now):
        raise LockLost("record")
    row = _row(holder, note, candidate, meta, now)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        existing = Note.objects.get(idempotency_key=row.idempotency_key)
        reading = readings.store_reading(existing, note, now, holder.execution_id)
        answer = Committed(SKIPPED, existing.pk, reading)
    else:
        index.put([document(row)])
        record([_entry(row)])
        media.want(SOURCE, wanted_files(note))
        readings.watch(row, now)
        answer = Committed(CREATED, row.pk)
    Execution.objects.filter(execution_id=holder.execution_id).update(items_processed=F("items_processed") + 1)
    crash_point("notes.committing")
    return answer


def _row(holder: Holder, note: NoteRecord, candidate: Candidate, meta: dict[str, Any], now: datetime) -> Note:
    shown = note.as_json()
    return Note(
        idempotency_key=idempotency_key(note.note_id),
        note_id=note.note_id,
        platform=candidate.platform,
        note_url=candidate.note_url,
        note_type=cut(note.note_type, 20),
        title=cut(note.title, 300),
        content=clean_text(note.content),
        author_id=cut(note.author_id, 64),
        author_name=cut(note.author_name, 100),
        counts=shown["counts"],
        tags=shown["tags"],
        media=shown["media"],
        source_keyword=candidate.source_keyword,
        published_at=note.published_at or candidate.published_at,
        edited_at=note.edited_at,
        collected_at=now,
        retry_count=candidate.retry_count,
        last_error_code=candidate.last_error_code,
        execution_id=holder.execution_id,
        exec_meta={
            **meta,
            **({"skipped": list(note.skipped)} if note.skipped else {}),
            "request_id": request_id(),
            "execution_id": holder.execution_id,
            "fence": holder.fence,
        },
    )


def _entry(row: Note) -> Entry:
    return Entry(
        source=SOURCE, kind="collected", title=title_of(row),
        summary=row.content[:SUMMARY], url_path=note_path(row.note_id), scope=SCOPE, object_kind=KIND,
        object_id=row.note_id, occurred_at=row.collected_at, data={"keyword": row.source_keyword},
    )  # fmt: skip


def delete_note(note_id: str) -> bool:
    """Delete one note and everything found by it; the candidate stays, so that it is not collected again."""
    return bool(_delete([note_id]))


def delete_author_notes(author_id: str) -> int:
    """Delete every note of one author, by the id as it is kept."""
    return _delete(list(Note.objects.filter(author_id=author_id).values_list("note_id", flat=True)))


def _delete(ids: list[str]) -> int:
    with transaction.atomic():
        erase(KIND, ids)
        comments = NoteComment.objects.filter(note__note_id__in=ids)
        erase(COMMENT, list(comments.values_list("pk", flat=True)))
        media.release(SOURCE, ids)
        rows = Candidate.objects.filter(note_id__in=ids)
        rows.update(title="")
        # One that waits for a later reading would be collected as a new note.
        rows.exclude(status=CandidateStatus.FAILED).update(**UNLOCKED, status=CandidateStatus.COLLECTED)
        return Note.objects.filter(note_id__in=ids).delete()[1].get("notes.Note", 0)
