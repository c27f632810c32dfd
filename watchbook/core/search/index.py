"""Putting documents into the search and taking them out, in the caller's transaction and in bulk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from django.db import transaction
from django.db.models.functions import Substr

from watchbook.base import clock
from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text, cut, safe_link
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import JobContext, Outcome
from watchbook.core.registry import Attributes
from watchbook.core.search.dialects import Words, dialect
from watchbook.core.search.models import TITLE_LENGTH, ScoreChange, SearchDocument
from watchbook.core.search.tokens import (
    MAX_TEXT,
    attribute_tokens,
    author_key,
    document_tokens,
    place_key,
    searchable,
    site_key,
)

# Part of every fingerprint: a change of the tokenizer makes every document count as changed.
VERSION = "2"
BATCH = 500
COMPACT = "search.compact"
# A fingerprint has two halves: of the words, and of the rest.
HALF = 16
UNIQUE = ["kind", "object_id"]
WRITTEN = [
    "source", "scope", "occurred_at", "fingerprint", "url_path", "title", "author", "place", "site", "score", "body",
]  # fmt: skip

Key = tuple[str, str]
"""Kind and object id."""


class Row(NamedTuple):
    """A row of search_documents; its key is left to the database."""

    kind: str
    object_id: str
    source: str
    scope: str
    occurred_at: datetime
    indexed_at: datetime
    fingerprint: str
    url_path: str
    title: str
    author: str
    place: str
    site: str
    score: int | None
    body: str

    @property
    def key(self) -> Key:
        return self.kind, self.object_id


ROWS = Columns(SearchDocument, Row._fields)
KNOWN = Columns(SearchDocument, ["kind", "object_id", "id", "fingerprint", "score"])
TEXT_NAMES = ("title", "body", "author", "place", "site")
TEXTS = Columns(SearchDocument, ["id", *TEXT_NAMES])
SCORES = Columns(SearchDocument, ["score"])
CHANGES = Columns(ScoreChange, ["document_id", "before", "after", "changed_at"])
NO_ATTRIBUTES = Attributes()
NAMES = ("kind", "object_id", "source", "scope")

Known = dict[Key, tuple[int, str, int | None]]
"""Row id, fingerprint and score of what is indexed."""


@dataclass(frozen=True)
class Document:
    """A thing to be found. `scope` says who may: members, staff, user:…, space:…"""

    kind: str
    object_id: str
    scope: str
    title: str
    body: str
    url_path: str
    occurred_at: datetime
    source: str
    attributes: Attributes = NO_ATTRIBUTES


def put(documents: Iterable[Document]) -> int:
    """Add or change documents; one that is as it was costs no write. Returns how many were written."""
    now = clock.now()
    fresh = {row.key: row for row in (_row(document, now) for document in documents)}
    pending = iter(fresh.values())
    written = 0
    while batch := list(islice(pending, BATCH)):
        # In a transaction of the caller's there is nothing to be saved half-way: what fails, fails whole.
        with transaction.atomic(savepoint=False):
            written += _put_batch(batch)
    return written


def remove(kind: str, object_ids: Iterable[object]) -> int:
    """Take documents out. Returns how many there were."""
    pending = iter([str(object_id) for object_id in object_ids])
    removed = 0
    while batch := list(islice(pending, BATCH)):
        with transaction.atomic():
            old = list(SearchDocument.objects.filter(kind=kind, object_id__in=batch).only(*TEXT_NAMES))
            dialect().erase([_stored_words(row) for row in old])
            removed += SearchDocument.objects.filter(pk__in=[row.pk for row in old]).delete()[0]
            if old:
                _compact_soon()
    return removed


def rescope(kind: str, old: str, new: str) -> int:
    """Give all documents of one scope another. The words stay; the next `put` of each sees a change."""
    rows = SearchDocument.objects.filter(kind=kind, scope=old)
    return rows.update(scope=new, fingerprint=Substr("fingerprint", 1, HALF))


def _compact_soon() -> None:
    """Queue the job that clears internal blocks: one for all removals of this minute or hour, due when it is over."""
    every = dialect().compact_every
    begin = clock.now().replace(second=0, microsecond=0)
    due_at = begin - timedelta(minutes=begin.minute) % every + every
    queue.enqueue(COMPACT, key=f"{COMPACT}@{due_at:%Y-%m-%dT%H:%MZ}", exclusive=f"job:{COMPACT}", due_at=due_at)


def compact(progress: Callable[[int], None] = lambda done: None) -> int:
    """Remove the words of erased documents from the index's internal blocks. Returns the number of steps."""
    steps = 1
    while dialect().compact(begin=steps == 1):
        progress(steps)
        steps += 1
    return steps


def rebuild(progress: Callable[[int], None] = lambda done: None) -> int:
    """Rebuild the word index from the documents. Words are missing while it runs."""
    dialect().clear()
    last, done = 0, 0
    while batch := list(SearchDocument.objects.since(last).only(*TEXT_NAMES)[:BATCH]):
        with transaction.atomic():
            dialect().write([_stored_words(row) for row in batch])
        last, done = batch[-1].pk, done + len(batch)
        progress(done)
    return done


def rebuild_index(ctx: JobContext) -> Outcome:
    """Rebuild the word index after a change of the tokenizer or a restored database."""
    return Outcome("done", {"documents": rebuild(lambda done: ctx.report(documents=done))})


def is_compact_owed(_now: datetime) -> bool:
    """Whether the newest run failed: erased words would stay in the blocks until the next removal."""
    newest = JobRun.objects.filter(name=COMPACT).order_by("-pk").values_list("state", flat=True).first()
    return newest in (State.FAILED, State.CANCELLED)


def compact_index(ctx: JobContext) -> Outcome:
    """Remove the words of erased documents from the index's internal blocks. Each step is its own transaction."""
    return Outcome("done", {"steps": compact(lambda done: ctx.report(steps=done))})


def _put_batch(rows: Sequence[Row]) -> int:
    known = _known(rows)
    # In the same order in every process: two writers of the same documents wait for each other instead of locking up.
    changed = sorted((row for row in rows if _differs(known, row)), key=lambda row: row.key)
    if not changed:
        return 0
    spoken = [row for row in changed if _needs_reindex(known, row)]
    before = _old_words([known[row.key][0] for row in spoken if row.key in known])
    written = ROWS.upsert(changed, unique=UNIQUE, update=WRITTEN, returning=["id", *UNIQUE])
    ids = {(kind, object_id): pk for pk, kind, object_id in written}
    words = [(row.key in known, _row_words(ids[row.key], row)) for row in spoken]
    dialect().write([each for is_known, each in words if not is_known])
    dialect().rewrite(before, [each for is_known, each in words if is_known])
    _note_scores([(*known[row.key][::2], row.score) for row in changed if row.key in known], changed[0].indexed_at)
    return len(changed)


def set_scores(kind: str, scores: Mapping[str, int]) -> int:
    """Change the scores of documents that are otherwise as they were. Returns how many were changed."""
    now = clock.now()
    changed = 0
    pending = iter(scores.items())
    while batch := dict(islice(pending, BATCH)):
        with transaction.atomic(savepoint=False):
            known = SearchDocument.objects.filter(kind=kind, object_id__in=list(batch))
            rows = known.values_list("pk", "object_id", "score")
            moved = [(pk, before, batch[key]) for pk, key, before in rows if before != batch[key]]
            SCORES.update([(after, pk) for pk, _before, after in moved])
            _note_scores(moved, now)
            changed += len(moved)
    return changed


def describe(rows: Iterable[SearchDocument], attributes: Mapping[Key, Attributes]) -> int:
    """Give stored documents these attributes, or none. Returns how many were written."""
    return put(
        Document(
            kind=row.kind,
            object_id=row.object_id,
            scope=row.scope,
            title=row.title,
            body=row.body,
            url_path=row.url_path,
            occurred_at=row.occurred_at,
            source=row.source,
            attributes=attributes.get((row.kind, row.object_id), NO_ATTRIBUTES),
        )
        for row in rows
    )


@transaction.atomic
def erase_authors(kind: str, object_ids: Collection[str]) -> None:
    """Remove the names of the authors; the documents stay."""
    rows = SearchDocument.objects.filter(kind=kind, object_id__in=list(object_ids)).exclude(author="")
    kept = list(rows.select_for_update())
    describe(kept, {(row.kind, row.object_id): replace(attributes_of(row), author="") for row in kept})


def attributes_of(row: SearchDocument) -> Attributes:
    return Attributes(row.author, row.place.partition("/")[2], row.site, row.score)


def _note_scores(moved: Iterable[tuple[int, int | None, int | None]], now: datetime) -> None:
    """Keep what a score was before, for saved searches that ask for a number."""
    rows = [(pk, before, after, now) for pk, before, after in moved if after is not None and before != after]
    CHANGES.insert(rows)


def _known(rows: Sequence[Row]) -> Known:
    by_kind: dict[str, list[str]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row.object_id)
    same = [f"(kind = %s AND object_id IN ({', '.join(['%s'] * len(ids))}))" for ids in by_kind.values()]
    values = [value for kind, ids in by_kind.items() for value in (kind, *ids)]
    found = KNOWN.select(" OR ".join(same), values)
    return {(kind, object_id): (pk, mark, score) for kind, object_id, pk, mark, score in found}


def _differs(known: Known, row: Row) -> bool:
    before = known.get(row.key)
    # The score has no part in the fingerprint: it changes alone (`set_scores`).
    return before is None or before[1:] != (row.fingerprint, row.score)


def _needs_reindex(known: Known, row: Row) -> bool:
    """Did its words change, or only its place, date or scope?"""
    before = known.get(row.key)
    return before is None or before[1][:HALF] != row.fingerprint[:HALF]


def _old_words(document_ids: Sequence[int]) -> list[Words]:
    if not document_ids or not dialect().needs_old_words:
        return []
    rows = TEXTS.select(f"id IN ({', '.join(['%s'] * len(document_ids))})", document_ids)
    return [_words(*row) for row in rows]


def _stored_words(row: SearchDocument) -> Words:
    return _words(row.pk, row.title, row.body, row.author, row.place, row.site)


def _row_words(document_id: int, row: Row) -> Words:
    return _words(document_id, row.title, row.body, row.author, row.place, row.site)


def _row(document: Document, now: datetime) -> Row:
    for name in NAMES:
        if len(str(getattr(document, name))) > ROWS.widths[name]:
            raise ValueError(f"the {name} of a search document has at most {ROWS.widths[name]} characters")
    title = cut(" ".join(document.title.split()), TITLE_LENGTH)
    body = clean_text(document.body[:MAX_TEXT])
    url_path = safe_link(document.url_path)[:1000]
    moment = document.occurred_at.astimezone(UTC).isoformat()
    given = document.attributes
    author, site = author_key(given.author), site_key(given.site)
    place = place_key(f"{document.source}/{given.place}") if given.place else ""
    words = _digest(VERSION, title, body, author, place, site)
    return Row(
        kind=document.kind,
        object_id=str(document.object_id),
        source=document.source,
        scope=document.scope,
        occurred_at=document.occurred_at,
        indexed_at=now,
        fingerprint=words + _digest(document.source, document.scope, moment, url_path),
        url_path=url_path,
        title=title,
        author=author,
        place=place,
        site=site,
        score=given.score,
        body=body,
    )


def _digest(*parts: str) -> str:
    # Lengths go in too: moving a word from one field to the next is a change.
    framed = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(framed.encode(), digest_size=HALF // 2).hexdigest()


def _words(document_id: int, title: str, body: str, author: str, place: str, site: str) -> Words:
    in_title, anywhere = document_tokens(searchable(title), searchable(body))
    return Words(document_id, frozenset(in_title), frozenset(anywhere | attribute_tokens(author, place, site)))
