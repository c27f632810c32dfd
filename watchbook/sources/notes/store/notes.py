"""Committing a note: written once under its key, with its search document and its line in the stream."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from watchbook.base.crash import crash_point
from watchbook.base.logs import request_id
from watchbook.base.text import clean_text, cut
from watchbook.core.search import index
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.record import Entry, record
from watchbook.sources.notes.errors import LockLost, Trouble
from watchbook.sources.notes.models import Candidate, CandidateStatus, Execution, Note
from watchbook.sources.notes.parse.records import NoteRecord
from watchbook.sources.notes.rules import Code, idempotency_key
from watchbook.sources.notes.store.candidates import NOT_KNOWN, UNLOCKED
from watchbook.sources.notes.store.executions import Holder, hold

SOURCE, KIND, SCOPE = "notes", "note", "members"
CREATED, SKIPPED = "created", "skipped"
SUMMARY = 300


@dataclass(frozen=True)
class Committed:
    action: str
    id: int


def commit(holder: Holder, note: NoteRecord, meta: dict[str, Any], now: datetime) -> Committed:
    """Write the note and mark its candidate collected, in one transaction under the execution's fence."""
    try:
        with transaction.atomic():
            hold(holder, now)
            return _commit(holder, note, meta, now)
    except LockLost:
        # The answer to its first commit may have been lost on the way: the same execution is told again.
        own = Note.objects.filter(idempotency_key=idempotency_key(note.note_id), execution_id=holder.execution_id)
        existing = own.values_list("pk", flat=True).first()
        if existing is None:
            raise
        return Committed(SKIPPED, existing)


def _commit(holder: Holder, note: NoteRecord, meta: dict[str, Any], now: datetime) -> Committed:
    candidate = Candidate.objects.select_for_update().filter(note_id=note.note_id).first()
    if candidate is None:
        raise Trouble(Code.NOT_FOUND, NOT_KNOWN)
    mine = Candidate.objects.held_by(holder.execution_id, holder.fence).filter(pk=candidate.pk)
    if not mine.update(**UNLOCKED, status=CandidateStatus.COLLECTED, updated_at=now):
        raise LockLost("record")
    row = _row(holder, note, candidate, meta, now)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        existing = Note.objects.values_list("pk", flat=True).get(idempotency_key=row.idempotency_key)
        answer = Committed(SKIPPED, existing)
    else:
        index.put([_document(row)])
        record([_entry(row)])
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
            "request_id": request_id.current(),
            "execution_id": holder.execution_id,
            "fence": holder.fence,
        },
    )


def note_path(note_id: str) -> str:
    """Where the note's page is."""
    return f"/notes/note/{note_id}/"


def _document(row: Note) -> index.Document:
    return index.Document(
        kind=KIND, object_id=row.note_id, scope=SCOPE, title=row.title or row.content[:80] or row.note_id,
        body="\n".join([row.content, " ".join(row.tags), row.author_name]), url_path=note_path(row.note_id),
        occurred_at=row.published_at or row.collected_at, source=SOURCE,
    )  # fmt: skip


def _entry(row: Note) -> Entry:
    return Entry(
        source=SOURCE, kind="collected", title=row.title or row.content[:80] or row.note_id,
        summary=row.content[:SUMMARY], url_path=note_path(row.note_id), scope=SCOPE, object_kind=KIND,
        object_id=row.note_id, occurred_at=row.collected_at, data={"keyword": row.source_keyword},
    )  # fmt: skip


def forget_note(note_id: str) -> bool:
    """Delete one note and everything found by it; the candidate stays, so that it is not collected again."""
    return bool(_forget([note_id]))


def forget_author(author_id: str) -> int:
    """Delete every note of one author, by the id as it is kept."""
    return _forget(list(Note.objects.filter(author_id=author_id).values_list("note_id", flat=True)))


def _forget(ids: list[str]) -> int:
    with transaction.atomic():
        index.remove(KIND, ids)
        StreamEntry.objects.filter(source=SOURCE, object_kind=KIND, object_id__in=ids).delete()
        Candidate.objects.filter(note_id__in=ids).update(title="")
        return Note.objects.filter(note_id__in=ids).delete()[0]
