"""Later readings of a note: another text is a version, other counts are a point, not found twice is gone.

The row of the first reading never changes. A due note becomes a pending candidate again, so that both runners read it
with the steps they know; its commit ends here instead of in a second row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from watchbook.base.text import clean_text, cut
from watchbook.core.media import store as media
from watchbook.core.search import index
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.notes import options
from watchbook.systems.notes.models import Candidate, CandidateStatus, Note
from watchbook.systems.notes.models.readings import NotePoint, NoteVersion, NoteWatch, Presence
from watchbook.systems.notes.parse.records import NoteRecord
from watchbook.systems.notes.rules import Code
from watchbook.systems.notes.store.documents import KIND, SCOPE, SOURCE, document, note_path, title_of, wanted_files

VERSION, POINT, SAME = "version", "point", "same"
# After a reading that failed, and before the second reading of a note that was not found.
AGAIN = timedelta(days=1)
MOST_FAILURES = 3


def watch(note: Note, now: datetime) -> None:
    """Plan the later readings of a note that was just collected."""
    NoteWatch.objects.create(
        note=note, next_read_at=next_reading(note.collected_at, now), last_read_at=now, counts=note.counts,
        execution_id=note.execution_id, comments_due_at=now,
    )  # fmt: skip


def next_reading(collected_at: datetime, now: datetime) -> datetime | None:
    """The first planned reading after now: so many days after the note was collected."""
    moments = (collected_at + timedelta(days=days) for days in options.READ_AGAIN_DAYS.value)
    return next((moment for moment in moments if moment > now), None)


def store_reading(note: Note, read: NoteRecord, now: datetime, execution_id: str) -> list[str]:
    """Write what is new in a later reading; return what that was: version, point, or same."""
    row = _watch(note, now)
    latest = current(note, row)
    said = []
    if _text(latest) != (text := _text_of(read)):
        row.version += 1
        latest = _add_version(note, row.version, read, text, now)
        said.append(VERSION)
    counts = read.as_json()["counts"]
    if row.counts != counts:
        NotePoint.objects.bulk_create([NotePoint(note=note, read_at=now, counts=counts)], ignore_conflicts=True)
        row.counts = counts
        said.append(POINT)
    was_away, row.presence = row.presence, Presence.THERE
    row.failures, row.last_error_code, row.last_error_reason = 0, "", ""
    row.last_read_at, row.execution_id = now, execution_id
    row.next_read_at, row.comments_due_at = next_reading(note.collected_at, now), now
    row.save()
    media.want(SOURCE, wanted_files(read))
    if said:
        index.put([document(shown(note, latest, counts))])
    if VERSION in said or was_away == Presence.GONE:
        record([_entry(shown(note, latest, counts), "edited" if VERSION in said else "returned", row, now)])
    return said or [SAME]


def failed(note_id: str, error: dict[str, Any], now: datetime) -> None:
    """Record a reading that failed because of the note itself. Not found twice is gone; nothing else ever is."""
    note = Note.objects.get(note_id=note_id)
    row = _watch(note, now)
    is_missing = error.get("code") == Code.NOT_FOUND
    row.failures += 1
    row.last_error_code = cut(str(error.get("code", "")), 40)
    row.last_error_reason = cut(str(error.get("reason", "")), 40)
    planned = next_reading(note.collected_at, now)
    row.next_read_at = planned if row.failures >= MOST_FAILURES else now + AGAIN
    if is_missing:
        row.last_read_at = now
        is_second = row.presence in (Presence.MISSING, Presence.GONE)
        is_new = row.presence == Presence.MISSING
        row.presence = Presence.GONE if is_second else Presence.MISSING
        row.next_read_at = None if is_second else now + AGAIN
        if is_new:
            record([_entry(shown(note, current(note, row), row.counts), "gone", row, now)])
    row.save()


def queue_due(now: datetime, limit: int) -> int:
    """Make due notes pending candidates again; return how many. A note without a candidate is read no more."""
    due = list(NoteWatch.objects.due(now).select_related("note")[:limit])
    queued = ask([row.note.note_id for row in due], now)
    NoteWatch.objects.filter(pk__in=[row.pk for row in due]).update(next_read_at=now + AGAIN)
    return queued


def ask(note_ids: Sequence[str], now: datetime) -> int:
    """Make the candidates of collected notes pending again. A note that was deleted here is not collected again."""
    there = Note.objects.filter(note_id=OuterRef("note_id"))
    rows = Candidate.objects.filter(Exists(there), note_id__in=list(note_ids), status=CandidateStatus.COLLECTED)
    return rows.update(status=CandidateStatus.PENDING, retry_count=0, queued_at=now, updated_at=now, claimed_by="")


def current(note: Note, row: NoteWatch | None) -> Note | NoteVersion:
    """The newest text of a note."""
    if row is None or row.version == 1:
        return note
    return NoteVersion.objects.get(note=note, number=row.version)


def shown(note: Note, latest: Note | NoteVersion, counts: dict[str, Any]) -> Note:
    """The note as it reads now; never saved."""
    fields = {field.attname: getattr(note, field.attname) for field in Note._meta.concrete_fields}
    newest = {name: getattr(latest, name) for name in ("title", "content", "tags", "media")}
    return Note(**{**fields, **newest, "counts": counts})


@transaction.atomic
def _watch(note: Note, now: datetime) -> NoteWatch:
    """The plan of a note, locked; made for a note that was collected before there were plans."""
    NoteWatch.objects.bulk_create(
        [NoteWatch(note=note, last_read_at=note.collected_at, counts=note.counts)], ignore_conflicts=True
    )
    return NoteWatch.objects.select_for_update().get(note=note)


def _add_version(note: Note, number: int, read: NoteRecord, text: Text, now: datetime) -> NoteVersion:
    title, content, tags, _files = text
    return NoteVersion.objects.create(
        note=note, number=number, title=title, content=content, tags=list(tags), media=read.as_json()["media"],
        edited_at=read.edited_at, read_at=now,
    )  # fmt: skip


Text = tuple[str, str, tuple[str, ...], tuple[str, ...]]


def _text(latest: Note | NoteVersion) -> Text:
    files = tuple(_file(one) for one in latest.media if isinstance(one, dict))
    return latest.title, latest.content, tuple(latest.tags), files


def _text_of(read: NoteRecord) -> Text:
    files = tuple(_file(one) for one in read.as_json()["media"])
    return cut(read.title, 300), clean_text(read.content), read.tags, files


def _file(one: dict[str, Any]) -> str:
    """What a picture or video is; its address is another at every reading."""
    return f"{one.get('kind')}:{one.get('file_id') or ''}"


def _entry(note: Note, kind: str, row: NoteWatch, now: datetime) -> Entry:
    return Entry(
        source=SOURCE, kind=kind, title=title_of(note), summary=note.content[:300], url_path=note_path(note.note_id),
        scope=SCOPE, object_kind=KIND, object_id=note.note_id, occurred_at=now,
        data={"keyword": note.source_keyword}, event_key=f"{kind}-{row.version}-{now:%Y%m%d%H%M%S}",
    )  # fmt: skip
