"""Putting documents into the search and taking them out, in the caller's transaction and in bulk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from django.db import transaction

from watchbook.base import clock
from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text, cut
from watchbook.core.search.dialects import Words, dialect
from watchbook.core.search.links import safe_link
from watchbook.core.search.models import TITLE_LENGTH, SearchDocument
from watchbook.core.search.tokens import MAX_TEXT, document_tokens, searchable

# Part of every fingerprint: a change of the tokenizer makes every document count as changed.
VERSION = "1"
BATCH = 500
# A fingerprint has two halves: of the words, and of the rest.
HALF = 16
UNIQUE = ["kind", "object_id"]
WRITTEN = ["source", "scope", "occurred_at", "fingerprint", "url_path", "title", "body"]

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
    body: str

    @property
    def key(self) -> Key:
        return self.kind, self.object_id


ROWS = Columns(SearchDocument, Row._fields)
KNOWN = Columns(SearchDocument, ["kind", "object_id", "id", "fingerprint"])
TEXTS = Columns(SearchDocument, ["id", "title", "body"])
NAMES = ("kind", "object_id", "source", "scope")

Known = dict[Key, tuple[int, str]]
"""Row id and fingerprint of what is indexed."""


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
            old = list(SearchDocument.objects.filter(kind=kind, object_id__in=batch).only("title", "body"))
            dialect().erase([_words(row.pk, row.title, row.body) for row in old])
            removed += SearchDocument.objects.filter(pk__in=[row.pk for row in old]).delete()[0]
    return removed


def rebuild(progress: Callable[[int], None] = lambda done: None) -> int:
    """Make the word index anew from the documents. Words are missing while it runs."""
    dialect().clear()
    last, done = 0, 0
    while batch := list(SearchDocument.objects.since(last).only("title", "body")[:BATCH]):
        with transaction.atomic():
            dialect().write([_words(row.pk, row.title, row.body) for row in batch])
        last, done = batch[-1].pk, done + len(batch)
        progress(done)
    return done


def _put_batch(rows: Sequence[Row]) -> int:
    known = _known(rows)
    # In one order for everybody: two writers of the same documents wait for each other instead of locking up.
    changed = sorted((row for row in rows if _differs(known, row)), key=lambda row: row.key)
    if not changed:
        return 0
    spoken = [row for row in changed if _speaks_anew(known, row)]
    before = _old_words([known[row.key][0] for row in spoken if row.key in known])
    written = ROWS.upsert(changed, unique=UNIQUE, update=WRITTEN, returning=["id", *UNIQUE])
    ids = {(kind, object_id): pk for pk, kind, object_id in written}
    words = [(row.key in known, _words(ids[row.key], row.title, row.body)) for row in spoken]
    dialect().write([each for is_known, each in words if not is_known])
    dialect().rewrite(before, [each for is_known, each in words if is_known])
    return len(changed)


def _known(rows: Sequence[Row]) -> Known:
    by_kind: dict[str, list[str]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row.object_id)
    same = [f"(kind = %s AND object_id IN ({', '.join(['%s'] * len(ids))}))" for ids in by_kind.values()]
    values = [value for kind, ids in by_kind.items() for value in (kind, *ids)]
    return {(kind, object_id): (pk, mark) for kind, object_id, pk, mark in KNOWN.select(" OR ".join(same), values)}


def _differs(known: Known, row: Row) -> bool:
    before = known.get(row.key)
    return before is None or before[1] != row.fingerprint


def _speaks_anew(known: Known, row: Row) -> bool:
    """Did its words change, or only its place, date or scope?"""
    before = known.get(row.key)
    return before is None or before[1][:HALF] != row.fingerprint[:HALF]


def _old_words(document_ids: Sequence[int]) -> list[Words]:
    if not document_ids or not dialect().needs_old_words:
        return []
    rows = TEXTS.select(f"id IN ({', '.join(['%s'] * len(document_ids))})", document_ids)
    return [_words(*row) for row in rows]


def _row(document: Document, now: datetime) -> Row:
    for name in NAMES:
        if len(str(getattr(document, name))) > ROWS.widths[name]:
            raise ValueError(f"the {name} of a search document has at most {ROWS.widths[name]} characters")
    title = cut(" ".join(document.title.split()), TITLE_LENGTH)
    body = clean_text(document.body[:MAX_TEXT])
    url_path = safe_link(document.url_path)[:1000]
    moment = document.occurred_at.astimezone(UTC).isoformat()
    return Row(
        kind=document.kind,
        object_id=str(document.object_id),
        source=document.source,
        scope=document.scope,
        occurred_at=document.occurred_at,
        indexed_at=now,
        fingerprint=_digest(VERSION, title, body) + _digest(document.source, document.scope, moment, url_path),
        url_path=url_path,
        title=title,
        body=body,
    )


def _digest(*parts: str) -> str:
    # Lengths go in too: moving a word from one field to the next is a change.
    framed = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(framed.encode(), digest_size=HALF // 2).hexdigest()


def _words(document_id: int, title: str, body: str) -> Words:
    in_title, anywhere = document_tokens(searchable(title), searchable(body))
    return Words(document_id, frozenset(in_title), frozenset(anywhere))
