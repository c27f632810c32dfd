"""What each user has read: a watermark per user, and a mark for each entry that differs from it.

An entry is unread when it is after the watermark and has no mark, or before it and has one. Both parts are found by
primary key, so that 1,000,000 entries cost what 1,000 do.

A transaction can commit an entry after another transaction committed a later id. The watermark therefore stays behind
entries younger than `SETTLED`; until then they are marked one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from heapq import merge
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Subquery
from django.http import HttpRequest

from watchbook.base import clock
from watchbook.core.accounts.access import person_of, viewer_scopes
from watchbook.core.accounts.models import User
from watchbook.core.jobs.runner import JobContext
from watchbook.core.stream.models import ReadingMark, ReadingState, StreamEntry, StreamEntryQuerySet

SETTLED = timedelta(minutes=2)
MOST_COUNTED = 999
# Ids behind the newest entry that a count reads: a page never counts more, whatever others may see.
COUNTED_IDS = 50_000
MOST_MARKED = 1_000
MOST_MARKED_BY_FILTER = 10_000
BATCH = 500
# Marks before the watermark that one list reads by id; with more, the database joins them.
MOST_EARLIER = 20_000
# Marks after the watermark that a user keeps before Watchbook looks for a better watermark.
KEPT_MARKS = 100
WINDOW = 2_000


@dataclass(frozen=True)
class Unread:
    """A number of unread entries; `has_more`: there are more than were counted."""

    number: int
    has_more: bool = False

    def __bool__(self) -> bool:
        return bool(self.number)

    def __str__(self) -> str:
        return f"{self.number}+" if self.has_more else str(self.number)


@dataclass(frozen=True)
class Reader:
    """A user's watermark and scopes, read once for a page."""

    user_id: UUID
    scopes: tuple[str, ...]
    watermark: int
    newest: int
    has_older: bool

    @property
    def entries(self) -> StreamEntryQuerySet:
        return StreamEntry.objects.visible_to(self.scopes)


def reader_of(user: User, scopes: Iterable[str] | None = None) -> Reader:
    """Return where the user is; one query beside that for the scopes."""
    marks = ReadingMark.objects.filter(user=OuterRef("pk"))
    newest = StreamEntry.objects.order_by("-pk").values("pk")[:1]
    older = marks.filter(entry__lte=OuterRef("reading_state__watermark"))
    found = (
        User.objects.filter(pk=user.pk)
        .annotate(newest=Subquery(newest), has_older=Exists(older))
        .values_list("reading_state__watermark", "newest", "has_older")
        .first()
    )
    watermark, last, has_older = found or (0, 0, False)
    chosen = viewer_scopes(user) if scopes is None else scopes
    return Reader(user.pk, tuple(chosen), watermark or 0, last or 0, bool(has_older))


def _is_marked(user_id: UUID) -> Exists:
    return Exists(ReadingMark.objects.filter(user=user_id, entry=OuterRef("pk")))


def _later(reader: Reader, rows: StreamEntryQuerySet) -> StreamEntryQuerySet:
    return rows.filter(~_is_marked(reader.user_id), pk__gt=reader.watermark)


def _earlier(
    reader: Reader, rows: StreamEntryQuerySet, size: int, *, before: int | None = None, after: int | None = None
) -> list[StreamEntry]:
    """Return marked entries before the watermark: newest first, or with `after` alone the nearest, oldest first.

    The ids of the marks are read first: a planner would walk all entries and look for the mark of each.
    """
    marks = ReadingMark.objects.filter(user=reader.user_id, entry__lte=reader.watermark)
    if before is not None:
        marks = marks.filter(entry__lt=before)
    if after is not None:
        marks = marks.filter(entry__gt=after)
    sign = "" if after is not None and before is None else "-"
    ids = list(marks.order_by(f"{sign}entry").values_list("entry", flat=True)[:MOST_EARLIER])
    found: list[StreamEntry] = []
    for start in range(0, len(ids), BATCH):
        found += rows.filter(pk__in=ids[start : start + BATCH]).order_by(f"{sign}pk")[: size - len(found)]
        if len(found) == size:
            return found
    if len(ids) == MOST_EARLIER:
        beyond = marks.filter(**{"entry__lt" if sign else "entry__gt": ids[-1]}).values("entry")
        found += rows.filter(pk__in=beyond).order_by(f"{sign}pk")[: size - len(found)]
    return found


def unread_entries(
    reader: Reader, rows: StreamEntryQuerySet, *, before: int | None = None, after: int | None = None, size: int = 50
) -> list[StreamEntry]:
    """Return unread entries among the rows, newest arrival first: those before an id, or the nearest after one."""
    earlier = _earlier(reader, rows, size, before=before, after=after) if reader.has_older else []
    if before is not None:
        rows = rows.filter(pk__lt=before)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    if after is not None and before is None:
        later = _later(reader, rows).order_by("pk")[:size]
        return list(merge(later, earlier, key=_id))[:size][::-1]
    later = _later(reader, rows).order_by("-pk")[:size]
    return list(merge(later, earlier, key=_id, reverse=True))[:size]


def _id(entry: StreamEntry) -> int:
    return entry.pk


def unread_among(reader: Reader, ids: Collection[int]) -> set[int]:
    """Return which of these entries are unread; one query."""
    marks = ReadingMark.objects.filter(user=reader.user_id, entry__in=list(ids))
    marked = set(marks.values_list("entry", flat=True))
    return {pk for pk in ids if (pk > reader.watermark) != (pk in marked)}


def count_unread(reader: Reader, most: int = MOST_COUNTED) -> Unread:
    """Return the number of unread entries, at most 999; reads the newest 50,000 ids and the marks."""
    start = max(reader.watermark, reader.newest - COUNTED_IDS)
    later = _later(reader, reader.entries.filter(pk__gt=start)).order_by("-pk")[: most + 1].count()
    earlier = len(_earlier(reader, reader.entries.only("pk"), most + 1)) if reader.has_older else 0
    number = later + earlier
    return Unread(min(number, most), has_more=number > most or start > reader.watermark)


def count_new(reader: Reader, rows: StreamEntryQuerySet, after: int, most: int = MOST_COUNTED) -> Unread:
    """Return how many of the rows arrived after an id."""
    start = max(after, reader.newest - COUNTED_IDS)
    number = rows.filter(pk__gt=start).order_by("-pk")[: most + 1].count()
    return Unread(min(number, most), has_more=number > most or start > after)


def start_for_new_user(sender: Any, instance: User, created: bool, raw: bool = False, **_: Any) -> None:
    """Entries from before the account count as read."""
    if created and not raw:
        newest = StreamEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        ReadingState.objects.get_or_create(user=instance, defaults={"watermark": newest})


@transaction.atomic
def mark(user: User, ids: Collection[int], *, read: bool) -> list[int]:
    """Mark entries as read or unread. Returns the ids of those that the user can see; the others are not marked."""
    if len(ids) > MOST_MARKED:
        raise ValueError(f"at most {MOST_MARKED} entries at a time")
    state = _locked(user)
    scopes = viewer_scopes(user)
    seen = list(StreamEntry.objects.visible_to(scopes).filter(pk__in=list(ids)).values_list("pk", flat=True))
    _write(state, seen, read=read)
    _compact_if_needed(state, scopes)
    return seen


@transaction.atomic
def mark_all_read(user: User, *, until: int | None = None) -> None:
    """Mark every entry up to an id as read: the watermark moves, and the marks before it are deleted."""
    state, scopes = _locked(user), viewer_scopes(user)
    newest = StreamEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    last = newest if until is None else min(until, newest)
    _move(state, max(state.watermark, _settled(last)))
    ReadingMark.objects.filter(user=user, entry__lte=min(state.watermark, last)).delete()
    young = _unmarked(state, StreamEntry.objects.visible_to(scopes).filter(pk__lte=last))
    while ids := list(young.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        _add(state, ids)


@transaction.atomic
def mark_rows_read(user: User, rows: StreamEntryQuerySet, *, until: int) -> tuple[int, bool]:
    """Mark what is unread among the rows, at most 10,000 at a time. Returns how many, and whether more are left."""
    state, reader = _locked(user), reader_of(user)
    found = unread_entries(
        reader, rows.only("pk").filter(pk__lte=until), size=MOST_MARKED_BY_FILTER + 1, before=until + 1
    )
    ids = [entry.pk for entry in found[:MOST_MARKED_BY_FILTER]]
    for start in range(0, len(ids), BATCH):
        _write(state, ids[start : start + BATCH], read=True)
    _compact_if_needed(state, reader.scopes)
    return len(ids), len(found) > len(ids)


def _locked(user: User) -> ReadingState:
    """One writer per user at a time: a mark means the opposite on the other side of the watermark."""
    ReadingState.objects.get_or_create(user=user)
    return ReadingState.objects.select_for_update().get(user=user)


def _write(state: ReadingState, ids: Sequence[int], *, read: bool) -> None:
    """Marks are added after the watermark for what is read, before it for what is unread; others are deleted."""
    differ = [pk for pk in ids if (pk > state.watermark) == read]
    _add(state, differ)
    agree = [pk for pk in ids if (pk > state.watermark) != read]
    if agree:
        ReadingMark.objects.filter(user=state.user_id, entry__in=agree).delete()


def _add(state: ReadingState, ids: Iterable[int]) -> None:
    rows = [ReadingMark(user_id=state.user_id, entry_id=pk) for pk in ids]
    ReadingMark.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def _move(state: ReadingState, watermark: int) -> None:
    if watermark != state.watermark:
        state.watermark = watermark
        state.save(update_fields=["watermark"])


def _settled(last: int) -> int:
    """Return the last id up to here that no running transaction can still come before; 0 if there is none."""
    old = StreamEntry.objects.filter(pk__lte=last, created_at__lt=clock.now() - SETTLED)
    return old.order_by("-pk").values_list("pk", flat=True).first() or 0


def _unmarked(state: ReadingState, rows: StreamEntryQuerySet) -> StreamEntryQuerySet:
    return rows.filter(~_is_marked(state.user_id), pk__gt=state.watermark)


def _compact_if_needed(state: ReadingState, scopes: Iterable[str]) -> None:
    after = ReadingMark.objects.filter(user=state.user_id, entry__gt=state.watermark)
    if after.order_by()[: KEPT_MARKS + 1].count() > KEPT_MARKS:
        _compact(state, scopes)


def _compact(state: ReadingState, scopes: Iterable[str]) -> bool:
    """Move the watermark to where the fewest marks are needed among the next entries. Return whether it moved."""
    newest = StreamEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    end = _settled(newest)
    rows = StreamEntry.objects.visible_to(scopes).filter(pk__gt=state.watermark, pk__lte=end)
    marked = rows.annotate(is_read=_is_marked(state.user_id)).order_by("pk")
    ahead: list[tuple[int, bool]] = list(marked.values_list("pk", "is_read")[: WINDOW + 1])
    window = ahead[:WINDOW]
    count = _best_prefix([bool(is_read) for _pk, is_read in window])
    # Up to the next visible entry nothing is unread, so that the watermark moves there at no cost.
    watermark = ahead[count][0] - 1 if count < len(ahead) else end
    if watermark <= state.watermark:
        return False
    ReadingMark.objects.filter(user=state.user_id, entry__gt=state.watermark, entry__lte=watermark).delete()
    _add(state, (pk for pk, is_read in window[:count] if not is_read))
    _move(state, watermark)
    return True


def _best_prefix(are_read: Sequence[bool]) -> int:
    """Return how many entries to move past: read ones each save a mark, unread ones each cost one."""
    saved = best = count = 0
    for index, is_read in enumerate(are_read, start=1):
        saved += 1 if is_read else -1
        if saved > best:
            best, count = saved, index
    return count


def compact_all(ctx: JobContext) -> None:
    """Move every user's watermark as far as it saves marks, also past what others can see."""
    for user in User.objects.filter(is_active=True).iterator():
        with ctx.writing():
            _compact(_locked(user), viewer_scopes(user))
        ctx.report()


def reader_for(request: HttpRequest) -> Reader:
    """Return where the user is; asked once for a page and its menu."""
    reader: Reader | None = getattr(request, "inbox_reader", None)
    if reader is None:
        reader = reader_of(person_of(request))
        request.inbox_reader = reader  # type: ignore[attr-defined]
    return reader


def unread_of(request: HttpRequest) -> Unread:
    """Count unread entries once for a page and its menu."""
    counted: Unread | None = getattr(request, "inbox_unread", None)
    if counted is None:
        counted = count_unread(reader_for(request))
        request.inbox_unread = counted  # type: ignore[attr-defined]
    return counted
