"""Asking the search: candidates from the word index, checked against their own text, title hits first, then newest."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Generic, TypeVar

from django.utils.timezone import localtime

from watchbook.base.clock import bounded
from watchbook.core import registry
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.models import User
from watchbook.core.search import dialects
from watchbook.core.search import query as queries
from watchbook.core.search.compiling import DocumentFields, column_condition, index_expression
from watchbook.core.search.dialects import Filters, Position, dialect
from watchbook.core.search.highlight import Segment, excerpt, mark
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.query import Query
from watchbook.kit.paging import InvalidCursor

MAX_LIMIT = 200
# Texts read for one page. Phrases whose words are common but never meet would otherwise read the whole archive; the
# page comes back short and its cursor continues from there.
MAX_READ = 3000
CHUNK, CHUNK_CHARACTERS = 50, 1_000_000
# Characters read for counting, so that a page with numbers costs little more than one without.
COUNTED = 1_000_000
# A document without a text costs a row, too.
ROW_COSTS = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some items and where to continue; `next` is empty at the end. A page may be short and still have a next one."""

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
    position: Position | None = None

    @classmethod
    def read(cls, text: str) -> Cursor:
        try:
            tier, micros, document_id = (int(part) for part in text[:60].split("."))
            if tier not in {0, 1} or not 0 <= document_id < 1 << 63:
                raise InvalidCursor
            position = Position(EPOCH + timedelta(microseconds=micros), document_id) if document_id else None
            return cls(bool(tier), position)
        except (ValueError, OverflowError):
            raise InvalidCursor from None

    def __str__(self) -> str:
        if self.position is None:
            return f"{int(self.in_title)}.0.0"
        micros = (self.position.occurred_at - EPOCH) // timedelta(microseconds=1)
        return f"{int(self.in_title)}.{micros}.{self.position.document_id}"


@dataclass(frozen=True)
class Count:
    """How many were found, by kind; not all were counted when `is_whole` is false.

    `recent`: how many of them came in since the moment that was asked for.
    """

    by_kind: dict[str, int]
    is_whole: bool
    recent: int = 0

    @property
    def total(self) -> int:
        return sum(self.by_kind.values())


@dataclass(frozen=True)
class PerDay:
    """How many were published on each day; days before `first` were not counted."""

    matches: dict[date, int]
    first: date


def find(
    query: str | Query,
    *,
    scopes: Iterable[str],
    kinds: Iterable[str] | None = None,
    since: datetime | None = None,
    limit: int = 30,
    before: str | None = None,
    titles_first: bool = True,
) -> Page[Hit]:
    """Find documents in these scopes that match the query. `before` is the `next` of the last page."""
    asked = query if isinstance(query, Query) else queries.read(query)
    start = Cursor.read(before) if before else Cursor(in_title=titles_first and bool(asked.terms))
    filters = _filters(asked, scopes, kinds, since, in_title=start.in_title)
    if filters is None:
        return Page(())
    search = _Search(asked, titles_first and bool(asked.terms))
    return search.page(replace(filters, after=start.position), start.in_title, max(1, min(limit, MAX_LIMIT)))


def newest_for(query: str, user: User, limit: int) -> tuple[Hit, ...]:
    """What a user's query finds, the newest first."""
    return find(query, scopes=viewer_scopes(user), limit=limit, titles_first=False).items


def count(
    query: Query,
    *,
    scopes: Iterable[str],
    kinds: Iterable[str] | None = None,
    since: datetime | None = None,
    most: int = 200,
    recent_since: datetime | None = None,
) -> Count:
    """How many documents of each kind match, up to a bound of documents and of characters read."""
    by_kind: dict[str, int] = {}
    recent = 0
    filters = _filters(query, scopes, kinds, since, in_title=False)
    if filters is None:
        return Count({}, is_whole=True)
    characters = found = 0
    for document in _candidates(filters, most + 1):
        characters += len(document.title) + len(document.body) + ROW_COSTS
        if found == most or characters > COUNTED:
            return Count(by_kind, is_whole=False, recent=recent)
        if query.is_found(DocumentFields(document)):
            found += 1
            by_kind[document.kind] = by_kind.get(document.kind, 0) + 1
            recent += recent_since is not None and document.indexed_at >= recent_since
    return Count(by_kind, is_whole=True, recent=recent)


def per_day(
    query: Query, *, scopes: Iterable[str], kinds: Iterable[str] | None = None, since: datetime, most: int = 2000
) -> PerDay:
    """Count matches by the day of publication, back to a moment. Bounds end it earlier, at a whole day."""
    filters = _filters(query, scopes, kinds, None, in_title=False)
    days: dict[date, int] = {}
    characters = found = 0
    for document in _candidates(filters, most) if filters is not None else ():
        if document.occurred_at < since:
            break
        day = localtime(document.occurred_at).date()
        characters += len(document.title) + len(document.body) + ROW_COSTS
        if found == most or characters > COUNTED:
            days.pop(day, None)
            return PerDay(days, day + timedelta(days=1))
        if query.is_found(DocumentFields(document)):
            found += 1
            days[day] = days.get(day, 0) + 1
    return PerDay(days, localtime(since).date())


def _filters(
    query: Query, scopes: Iterable[str], kinds: Iterable[str] | None, since: datetime | None, *, in_title: bool
) -> Filters | None:
    """What the database is asked; None when nothing can be found."""
    listed = None if kinds is None else tuple(dict.fromkeys(kinds))
    allowed = tuple(dict.fromkeys(scopes))
    if query.root is None or not allowed or listed == ():
        return None
    return Filters(
        expression=index_expression(query.root, titled=in_title),
        where=column_condition(query.root),
        scopes=allowed,
        kinds=listed,
        since=bounded(since),
    )


@dataclass(frozen=True)
class _Search:
    """One question. With `is_tiered` title hits come first, then the others; without it all by date."""

    query: Query
    is_tiered: bool

    def page(self, filters: Filters, in_title: bool, limit: int) -> Page[Hit]:
        found: list[tuple[bool, SearchDocument]] = []
        for read, (is_title_hit, document) in enumerate(self._walk(filters, in_title, limit + 1), 1):
            if self._holds(document, in_title=is_title_hit):
                found.append((is_title_hit, document))
                if len(found) > limit:
                    return Page(_hits(self.query, found[:limit]), str(_after(*found[limit - 1])))
            if read >= MAX_READ:
                return Page(_hits(self.query, found), str(_after(is_title_hit, document)))
        return Page(_hits(self.query, found))

    def _walk(self, filters: Filters, in_title: bool, need: int) -> Iterator[tuple[bool, SearchDocument]]:
        """Candidates in the order of the answer: by title, then all (title hits come again and are passed over)."""
        if in_title and self.query.root is not None:
            for document in _candidates(filters, need if self.query.is_exact else MAX_READ):
                yield True, document
            everywhere = index_expression(self.query.root, titled=False)
            filters = replace(filters, expression=everywhere, after=None)
        for document in _candidates(filters, max(need, CHUNK) if self.query.is_exact else MAX_READ):
            yield False, document

    def _holds(self, document: SearchDocument, *, in_title: bool) -> bool:
        fields = DocumentFields(document)
        if in_title:
            return self.query.is_title_hit(fields)
        return not (self.is_tiered and self.query.is_title_hit(fields)) and self.query.is_found(fields)


def _candidates(filters: Filters, size: int) -> Iterator[SearchDocument]:
    """First from the newest documents, and from more of them as long as they do not suffice; then from the index."""
    expression = filters.expression
    width = dialects.PROBE
    while True:
        window = dialect().window(filters, expression, width) if width and expression else None
        if expression is None:
            ids = dialect().scan(filters, size)
        elif window is None:
            ids = dialect().ask(filters, expression, size)
        else:
            ids = dialect().probe(filters, expression, window, size)
        last = yield from _documents(ids)
        is_full = len(ids) >= size and last is not None
        position = last if is_full else window.end if window else None
        if position is None:
            return
        filters = replace(filters, after=position)
        if not is_full and expression is not None:
            width = dialect().wider(expression, width)


def _documents(ids: list[int]) -> Generator[SearchDocument, None, Position | None]:
    """The documents in this order; returns the position of the last."""
    position = None
    begin, size = 0, CHUNK
    while chunk := ids[begin : begin + size]:
        by_id = SearchDocument.objects.in_bulk(chunk)
        for document in (by_id[document_id] for document_id in chunk if document_id in by_id):
            yield document
            position = Position(document.occurred_at, document.pk)
        begin += len(chunk)
        # Short texts come in fewer queries; long ones must not fill the memory.
        characters = sum(len(document.body) for document in by_id.values())
        size = max(CHUNK, min(CHUNK_CHARACTERS * len(chunk) // max(characters, 1), MAX_LIMIT))
    return position


def _after(in_title: bool, document: SearchDocument) -> Cursor:
    return Cursor(in_title, Position(document.occurred_at, document.pk))


def _hits(query: Query, found: list[tuple[bool, SearchDocument]]) -> tuple[Hit, ...]:
    names = _names([document for _in_title, document in found if not document.title])
    return tuple(
        Hit(
            document_id=document.pk,
            kind=document.kind,
            object_id=document.object_id,
            source=document.source,
            title=document.title or names.get(document.pk, ""),
            url_path=document.url_path,
            occurred_at=document.occurred_at,
            is_title_hit=in_title,
            title_parts=mark(document.title or names.get(document.pk, ""), query.marks),
            body_parts=excerpt(document.body, query.marks),
        )
        for in_title, document in found
    )


def _names(untitled: list[SearchDocument]) -> dict[int, str]:
    """Titles for documents that are found by their text alone, one question for each kind."""
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for document in untitled:
        rows.setdefault((document.source, document.kind), {})[document.object_id] = document.pk
    return {
        ids[object_id]: title
        for (source, kind), ids in rows.items()
        for object_id, title in registry.search_titles(source, kind, ids).items()
    }
