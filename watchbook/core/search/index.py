"""Putting documents into the search and taking them out, in the caller's transaction and in bulk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any

from django.db import transaction
from django.db.models import Q

from watchbook.base import clock
from watchbook.base.store.upsert import upsert
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
WRITTEN = ["source", "scope", "occurred_at", "fingerprint", "url_path", "title", "body"]

Known = dict[tuple[str, str], SearchDocument]


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
    fresh = {(row.kind, row.object_id): row for row in (_row(document, now) for document in documents)}
    pending = iter(fresh.values())
    written = 0
    while batch := list(islice(pending, BATCH)):
        with transaction.atomic():
            written += _put_batch(batch)
    return written


def remove(kind: str, object_ids: Iterable[object]) -> int:
    """Take documents out. Returns how many there were."""
    pending = iter([str(object_id) for object_id in object_ids])
    removed = 0
    while batch := list(islice(pending, BATCH)):
        with transaction.atomic():
            old = list(SearchDocument.objects.filter(kind=kind, object_id__in=batch).only("title", "body"))
            dialect().erase([_words(row) for row in old])
            removed += SearchDocument.objects.filter(pk__in=[row.pk for row in old]).delete()[0]
    return removed


def rebuild(progress: Callable[[int], None] = lambda done: None) -> int:
    """Make the word index anew from the documents. Words are missing while it runs."""
    dialect().clear()
    last, done = 0, 0
    while batch := list(SearchDocument.objects.since(last).only("title", "body")[:BATCH]):
        with transaction.atomic():
            dialect().write([_words(row) for row in batch])
        last, done = batch[-1].pk, done + len(batch)
        progress(done)
    return done


def _put_batch(rows: Sequence[SearchDocument]) -> int:
    known = {(row.kind, row.object_id): row for row in _known(rows)}
    # In one order for everybody: two writers of the same documents wait for each other instead of locking up.
    changed = sorted((row for row in rows if _differs(known, row)), key=lambda row: (row.kind, row.object_id))
    if not changed:
        return 0
    spoken = [row for row in changed if _speaks_anew(known, row)]
    new = {(row.kind, row.object_id) for row in spoken if (row.kind, row.object_id) not in known}
    before = _old_words([known[key].pk for row in spoken if (key := (row.kind, row.object_id)) not in new])
    upsert(SearchDocument, changed, unique=["kind", "object_id"], update=WRITTEN)
    dialect().write([_words(row) for row in spoken if (row.kind, row.object_id) in new])
    dialect().rewrite(before, [_words(row) for row in spoken if (row.kind, row.object_id) not in new])
    return len(changed)


def _known(rows: Sequence[SearchDocument]) -> Iterable[SearchDocument]:
    by_kind: dict[str, list[str]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row.object_id)
    same = reduce(or_, (Q(kind=kind, object_id__in=object_ids) for kind, object_ids in by_kind.items()))
    return SearchDocument.objects.filter(same).only("kind", "object_id", "fingerprint")


def _differs(known: Known, row: SearchDocument) -> bool:
    before = known.get((row.kind, row.object_id))
    return before is None or before.fingerprint != row.fingerprint


def _speaks_anew(known: Known, row: SearchDocument) -> bool:
    """Did its words change, or only its place, date or scope?"""
    before = known.get((row.kind, row.object_id))
    return before is None or before.fingerprint[:HALF] != row.fingerprint[:HALF]


def _old_words(document_ids: Sequence[int]) -> list[Words]:
    if not document_ids or not dialect().needs_old_words:
        return []
    return [_words(row) for row in SearchDocument.objects.filter(pk__in=document_ids).only("title", "body")]


def _row(document: Document, now: datetime) -> SearchDocument:
    row = SearchDocument(
        kind=document.kind,
        object_id=str(document.object_id),
        source=document.source,
        scope=document.scope,
        occurred_at=document.occurred_at,
        indexed_at=now,
        url_path=safe_link(document.url_path)[:1000],
        title=cut(" ".join(document.title.split()), TITLE_LENGTH),
        body=clean_text(document.body[:MAX_TEXT]),
    )
    for name in ("kind", "object_id", "source", "scope"):
        field: Any = SearchDocument._meta.get_field(name)
        if len(getattr(row, name)) > field.max_length:
            raise ValueError(f"the {name} of a search document has at most {field.max_length} characters")
    row.fingerprint = _digest(VERSION, row.title, row.body) + _digest(
        row.source, row.scope, row.occurred_at.astimezone(UTC).isoformat(), row.url_path
    )
    return row


def _digest(*parts: str) -> str:
    # Lengths go in too: moving a word from one field to the next is a change.
    framed = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(framed.encode(), digest_size=HALF // 2).hexdigest()


def _words(row: SearchDocument) -> Words:
    in_title, anywhere = document_tokens(searchable(row.title), searchable(row.body))
    return Words(row.pk, frozenset(in_title), frozenset(anywhere))
