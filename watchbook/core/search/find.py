"""Asking the search: candidates from the word index, checked against their own text, title hits first, then newest."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from watchbook.core.search import query as queries
from watchbook.core.search.dialects import Place, Wanted, dialect
from watchbook.core.search.highlight import Segment, excerpt, mark
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.query import Query
from watchbook.core.search.tokens import searchable

MAX_LIMIT = 200
# Texts read for one page. Phrases whose words are common but never meet would otherwise read the whole archive; the
# page comes back short and its cursor goes on from there.
MAX_READ = 3000
CHUNK = 50
# Characters read for counting, so that a page with numbers costs little more than one without.
COUNTED = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

T = TypeVar("T")


class BadCursor(ValueError):
    """The cursor is not one that this search gave out. Begin without one."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some items and where to go on; `next` is empty at the end. A page may be short and still have a next one."""

    items: tuple[T, ...]
    next: str = ""


@dataclass(frozen=True)
class Hit:
    """A document that was found, with what was found marked."""

    document_id: int
    kind: str
    object_id: str
    source: str
    title: str
    url_path: str
    occurred_at: datetime
    is_title_hit: bool
    title_parts: tuple[Segment, ...]
    body_parts: tuple[Segment, ...]


@dataclass(frozen=True)
class Cursor:
    """A position: among the title hits or among the others, and the document it stands after."""

    in_title: bool
    place: Place | None = None

    @classmethod
    def read(cls, text: str) -> Cursor:
        try:
            tier, micros, document_id = (int(part) for part in text[:60].split("."))
            if tier not in {0, 1} or not 0 <= document_id < 1 << 63:
                raise BadCursor(text[:60])
            place = Place(EPOCH + timedelta(microseconds=micros), document_id) if document_id else None
            return cls(bool(tier), place)
        except (ValueError, OverflowError):
            raise BadCursor("the cursor was not made by this search") from None

    def __str__(self) -> str:
        if self.place is None:
            return f"{int(self.in_title)}.0.0"
        micros = (self.place.occurred_at - EPOCH) // timedelta(microseconds=1)
        return f"{int(self.in_title)}.{micros}.{self.place.document_id}"


@dataclass(frozen=True)
class Count:
    """How many were found, by kind; not all were counted when `is_whole` is false."""

    by_kind: dict[str, int]
    is_whole: bool

    @property
    def total(self) -> int:
        return sum(self.by_kind.values())


def find(
    query: str | Query,
    *,
    scopes: Iterable[str],
    kinds: Iterable[str] | None = None,
    since: datetime | None = None,
    limit: int = 30,
    before: str | None = None,
) -> Page[Hit]:
    """Documents in these scopes that hold every word. `before` is the `next` of the last page; may raise BadCursor."""
    asked = query if isinstance(query, Query) else queries.read(query)
    start = Cursor.read(before) if before else Cursor(in_title=True)
    wanted = Wanted(
        asked.lookups,
        in_title=start.in_title,
        scopes=tuple(dict.fromkeys(scopes)),
        kinds=None if kinds is None else tuple(dict.fromkeys(kinds)),
        since=bounded(since),
        after=start.place,
    )
    if not asked or not wanted.scopes or wanted.kinds == ():
        return Page(())
    return _page(asked, wanted, max(1, min(limit, MAX_LIMIT)))


def count(query: Query, *, scopes: Iterable[str], since: datetime | None = None, most: int = 200) -> Count:
    """How many documents of each kind hold every word, up to a bound of documents and of characters read."""
    by_kind: dict[str, int] = {}
    wanted = Wanted(query.lookups, in_title=False, scopes=tuple(dict.fromkeys(scopes)), since=bounded(since))
    if not query or not wanted.scopes:
        return Count({}, is_whole=True)
    characters = found = 0
    for document in _candidates(wanted, most + 1):
        characters += len(document.body)
        if found == most or characters > COUNTED:
            return Count(by_kind, is_whole=False)
        if query.is_found(searchable(document.title), searchable(document.body)):
            found += 1
            by_kind[document.kind] = by_kind.get(document.kind, 0) + 1
    return Count(by_kind, is_whole=True)


def bounded(moment: datetime | None) -> datetime | None:
    """A moment that every database can compare: aware, and not at the ends of the calendar."""
    if moment is None or moment.year < 1900:
        return None
    if moment.year > 2200:
        return datetime(2200, 1, 1, tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _page(query: Query, wanted: Wanted, limit: int) -> Page[Hit]:
    found: list[tuple[bool, SearchDocument]] = []
    for read, (in_title, document) in enumerate(_walk(query, wanted, limit + 1), 1):
        if _holds(query, document, in_title=in_title):
            found.append((in_title, document))
            if len(found) > limit:
                return Page(_hits(query, found[:limit]), str(_after(*found[limit - 1])))
        if read >= MAX_READ:
            return Page(_hits(query, found), str(_after(in_title, document)))
    return Page(_hits(query, found))


def _walk(query: Query, wanted: Wanted, need: int) -> Iterator[tuple[bool, SearchDocument]]:
    """Candidates in the order of the answer: by title, then all (title hits come again and are passed over)."""
    if wanted.in_title:
        for document in _candidates(wanted, need if query.is_exact else MAX_READ):
            yield True, document
        wanted = replace(wanted, in_title=False, after=None)
    for document in _candidates(wanted, max(need, CHUNK) if query.is_exact else MAX_READ):
        yield False, document


def _candidates(wanted: Wanted, size: int) -> Iterator[SearchDocument]:
    """First from the newest documents, as long as they fill what is asked; then from the whole index."""
    is_full = True
    while True:
        window = dialect().window(wanted) if is_full else None
        ids = dialect().probe(wanted, window, size) if window else dialect().ask(wanted, size)
        last = yield from _documents(ids)
        is_full = len(ids) >= size and last is not None
        place = last if is_full else window.end if window else None
        if place is None:
            return
        wanted = replace(wanted, after=place)


def _documents(ids: list[int]) -> Generator[SearchDocument, None, Place | None]:
    """The documents in this order; returns the place of the last."""
    place = None
    for begin in range(0, len(ids), CHUNK):
        chunk = ids[begin : begin + CHUNK]
        by_id = SearchDocument.objects.in_bulk(chunk)
        for document in (by_id[document_id] for document_id in chunk if document_id in by_id):
            yield document
            place = Place(document.occurred_at, document.pk)
    return place


def _holds(query: Query, document: SearchDocument, *, in_title: bool) -> bool:
    title = searchable(document.title)
    if in_title:
        return query.is_in(title)
    return not query.is_in(title) and query.is_found(title, searchable(document.body))


def _after(in_title: bool, document: SearchDocument) -> Cursor:
    return Cursor(in_title, Place(document.occurred_at, document.pk))


def _hits(query: Query, found: list[tuple[bool, SearchDocument]]) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            document_id=document.pk,
            kind=document.kind,
            object_id=document.object_id,
            source=document.source,
            title=document.title,
            url_path=document.url_path,
            occurred_at=document.occurred_at,
            is_title_hit=in_title,
            title_parts=mark(document.title, query.marks),
            body_parts=excerpt(document.body, query.marks),
        )
        for in_title, document in found
    )
