"""The inbox: one page of entries by day, repeats of one source grouped, and the details of one entry.

Its filters: unread or all, source, kind, days in the reader's zone, and words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from django import forms
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.stream import entries, reading
from watchbook.core.stream.entries import ListedEntry
from watchbook.core.stream.models import StreamEntry, StreamEntryQuerySet
from watchbook.core.stream.reading import Reader
from watchbook.kit import formatting
from watchbook.kit.diff import Difference
from watchbook.kit.lists.filters import LAST_WEEK, Days
from watchbook.kit.paging import Page, keyset, read_cursor, write_cursor

EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
UNREAD = "unread"
# Days up to and including today.
PERIODS = {"today": 1, "7": 7, "30": 30}
PERIOD_TITLES = (("today", _("Today")), ("7", _("7 days")), (LAST_WEEK, _("Last week")), ("30", _("30 days")))
# How the words of a change are shown; the reader's choice is kept in a cookie.
VIEWS = {"inline": _("Inline"), "side": _("Side by side")}
VIEW_COOKIE = "watchbook_diff"
NAMES = ("show", "source", "kind", "period", "day", "start", "end", "q")
# Words are looked for in so many of the newest entries, and so many matches are listed: a search costs the same
# however long the inbox is.
SEARCHED = 20_000
MOST_FOUND = 1_000


class FilterForm(forms.Form):
    """The filters of one list. A filter that cannot be read is no filter."""

    show = forms.CharField(required=False, max_length=10)
    source = forms.CharField(required=False, max_length=40)
    kind = forms.CharField(required=False, max_length=60)
    period = forms.CharField(required=False, max_length=10)
    day = forms.DateField(required=False, label=_("Day"))
    start = forms.DateField(required=False, label=_("From"))
    end = forms.DateField(required=False, label=_("To"))
    q = forms.CharField(required=False, max_length=200)

    def clean_show(self) -> str:
        return UNREAD if self.cleaned_data["show"] == UNREAD else ""

    def clean_source(self) -> str:
        slug: str = self.cleaned_data["source"]
        return slug if slug in {source.slug for source in registry.publishing_sources()} else ""

    def clean_kind(self) -> str:
        kind: str = self.cleaned_data["kind"]
        return kind if kind in dict(registry.stream_kinds_of(self.cleaned_data.get("source", ""))) else ""

    def clean_period(self) -> str:
        period: str = self.cleaned_data["period"]
        return period if period in dict(PERIOD_TITLES) else ""

    def clean_day(self) -> date | None:
        return self._within("day")

    def clean_start(self) -> date | None:
        return self._within("start")

    def clean_end(self) -> date | None:
        return self._within("end")

    def _within(self, name: str) -> date | None:
        day: date | None = self.cleaned_data[name]
        if day is not None and not EARLIEST <= day <= LATEST:
            raise forms.ValidationError(_("Enter a date between 1970 and 2199."))
        return day

    @property
    def is_unread(self) -> bool:
        return self.cleaned_data.get("show") == UNREAD

    @property
    def number_in_use(self) -> int:
        """How many filters beside unread are in use."""
        given = self.cleaned_data
        return sum(bool(given.get(name)) for name in ("source", "kind", "q")) + (self.days() != (None, None))

    def days(self) -> tuple[date | None, date | None]:
        """Return the first and the last day; an exact day wins over a range, a range over a period."""
        given = self.cleaned_data
        if given.get("day"):
            return given["day"], given["day"]
        if given.get("start") or given.get("end"):
            return given.get("start"), given.get("end")
        if given.get("period") == LAST_WEEK:
            return Days("period", _("Date")).preset_days(LAST_WEEK)
        if given.get("period"):
            last = formatting.today()
            return last - timedelta(days=PERIODS[given["period"]] - 1), last
        return None, None

    def filter(self, rows: StreamEntryQuerySet) -> StreamEntryQuerySet:
        given = self.cleaned_data
        if given.get("source"):
            rows = rows.filter(source=given["source"])
        if given.get("kind"):
            rows = rows.filter(kind=given["kind"])
        first, last = self.days()
        if first:
            rows = rows.filter(occurred_at__gte=_start_of(first))
        if last:
            rows = rows.filter(occurred_at__lt=_start_of(last + timedelta(days=1)))
        if given.get("q"):
            rows = rows.filter(pk__in=_with_words(rows, given["q"].split()))
        return rows

    def query(self, **other: str | None) -> str:
        """Return the filters as a query string, with other values; None removes one."""
        made = QueryDict(mutable=True)
        for name in NAMES:
            value = other.get(name, self.cleaned_data.get(name)) if name in other else self.cleaned_data.get(name)
            if value:
                made[name] = value.isoformat() if isinstance(value, date) else value
        return f"?{made.urlencode()}" if made else ""

    def kept(self) -> list[tuple[str, str]]:
        """Return names and values for the hidden fields of a form that comes back to this list."""
        given = QueryDict(self.query().removeprefix("?"))
        return [(name, given.get(name, "")) for name in given]


def _with_words(rows: StreamEntryQuerySet, words: Sequence[str]) -> list[int]:
    """Return the newest entries with all these words in title or summary; the ids are read first, by primary key."""
    newest = StreamEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    found = rows.filter(pk__gt=newest - SEARCHED)
    for word in words:
        found = found.filter(Q(title__icontains=word) | Q(summary__icontains=word))
    return list(found.order_by("-pk").values_list("pk", flat=True)[:MOST_FOUND])


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone())


def read_filters(given: QueryDict) -> FilterForm:
    form = FilterForm(given)
    form.is_valid()
    return form


PER_PAGE = 100
# Entries of a group that its row lists.
LISTED = 12
EARLIER = 5


@dataclass(frozen=True)
class GroupWords:
    """What the row of a group says: its title, and a sum such as "12 checks, +96 pages"."""

    title: str
    summary: str


@dataclass(frozen=True)
class Earlier:
    """An earlier change of the same thing, in the reading pane."""

    at: datetime
    title: str
    more: str = ""
    url: str = ""


@dataclass(frozen=True)
class Compared:
    """The words that were added and removed between two versions, their names, and the language of the text."""

    difference: Difference
    old: str
    new: str
    lang: str = ""


@dataclass(frozen=True)
class Detail:
    """What a system shows of an entry in the reading pane. `html` is made by its own template."""

    html: SafeString | str = ""
    compared: Compared | None = None
    # the watched thing that it belongs to, and its page
    place: str = ""
    place_url: str = ""
    # the item on the site of the source
    source_link: str = ""
    # the page with all versions
    history_url: str = ""
    evidence: tuple[str, ...] = ()
    earlier: tuple[Earlier, ...] = field(default=())


@dataclass(frozen=True)
class Row:
    """A row of the list: one entry, or repeats of one thing on one day, newest first."""

    listed: tuple[ListedEntry, ...]
    unread: frozenset[int]
    title: str
    summary: str
    counts: tuple[int, int, int] | None

    @property
    def first(self) -> ListedEntry:
        return self.listed[0]

    @property
    def is_group(self) -> bool:
        return len(self.listed) > 1

    @property
    def ids(self) -> str:
        return ",".join(str(each.entry.pk) for each in self.listed)

    @property
    def unread_ids(self) -> str:
        return ",".join(str(pk) for pk in sorted(self.unread))

    @property
    def shown(self) -> tuple[ListedEntry, ...]:
        return self.listed[:LISTED]

    @property
    def left(self) -> int:
        return len(self.listed) - len(self.shown)

    @property
    def number(self) -> str:
        count = len(self.listed)
        return ngettext("%(n)s entry", "%(n)s entries", count) % {"n": count}


@dataclass(frozen=True)
class Day:
    title: str
    rows: tuple[Row, ...]


def read_page(reader: Reader, form: FilterForm, asked: QueryDict) -> Page[StreamEntry]:
    """One page by time; unread entries by their arrival, because that is the order of the watermark."""
    rows = form.filter(reader.entries)
    if not form.is_unread:
        return keyset(rows, asked, by="occurred_at", size=PER_PAGE)
    older, newer = read_cursor(rows, "pk", asked.get("older")), read_cursor(rows, "pk", asked.get("newer"))
    if older:
        found = reading.unread_entries(reader, rows, before=older[1], size=PER_PAGE + 1)
        return _page(found[:PER_PAGE], has_newer=True, has_older=len(found) > PER_PAGE)
    if newer:
        found = reading.unread_entries(reader, rows, after=newer[1], size=PER_PAGE + 1)
        if len(found) > PER_PAGE:
            return _page(found[1:], has_newer=True, has_older=True)
    found = reading.unread_entries(reader, rows, size=PER_PAGE + 1)
    return _page(found[:PER_PAGE], has_newer=False, has_older=len(found) > PER_PAGE)


def _page(items: list[StreamEntry], *, has_newer: bool, has_older: bool) -> Page[StreamEntry]:
    if not items:
        return Page([])
    return Page(
        items,
        newer=write_cursor(items[0], "pk") if has_newer else "",
        older=write_cursor(items[-1], "pk") if has_older else "",
    )


def by_day(items: Sequence[StreamEntry], unread: set[int], *, by_arrival: bool = False) -> list[Day]:
    """In the order given, under the days of the reader, repeats of one thing in one row."""
    groups: dict[tuple[date, str, str, str, bool], list[ListedEntry]] = {}
    for listed in entries.listed(items):
        entry = listed.entry
        day = formatting.local(entry.created_at if by_arrival else entry.occurred_at).date()
        key = (day, entry.source, entry.kind, _group_key(entry), entry.pk in unread)
        groups.setdefault(key, []).append(listed)
    days: dict[date, list[Row]] = {}
    for (day, *_rest), members in groups.items():
        days.setdefault(day, []).append(_row(members, unread))
    return [Day(formatting.log_heading(day), tuple(rows)) for day, rows in days.items()]


def _group_key(entry: StreamEntry) -> str:
    named = _declared(entry.source)
    if named and named.key:
        return str(registry.load(named.key)(entry))
    # An erased entry has no title and stands alone.
    return entry.title or str(entry.pk)


def _declared(slug: str) -> registry.Inbox | None:
    return next((source.inbox for source in registry.sources() if source.slug == slug), None)


def _row(members: Sequence[ListedEntry], unread: set[int]) -> Row:
    first = members[0].entry
    ids = frozenset(each.entry.pk for each in members) & unread
    title, summary, counts = first.title or first.object_id, first.summary, _sum(members)
    named = _declared(first.source)
    if len(members) > 1:
        summary = ""
        if named and named.words:
            words: GroupWords = registry.load(named.words)([each.entry for each in members])
            title, summary = words.title, words.summary
            # The sum in words names what was added.
            counts = (0, *counts[1:]) if counts and any(counts[1:]) else None
    return Row(tuple(members), ids, title, summary, counts)


def _sum(members: Iterable[ListedEntry]) -> tuple[int, int, int] | None:
    counted = [each.entry.counts for each in members]
    known = [counts for counts in counted if counts]
    if not known:
        return None
    added, removed, modified = (sum(column) for column in zip(*known, strict=True))
    return added, removed, modified


def find_detail(entry: StreamEntry, user: User) -> Detail:
    """Ask the system of the entry; without an answer the entry's own words are shown."""
    named = _declared(entry.source)
    found: Detail | None = registry.load(named.detail)(entry, user) if named and named.detail else None
    return found or Detail()


def earlier_changes(reader: Reader, entry: StreamEntry) -> list[Earlier]:
    """Return the last changes of the same object before this one."""
    if not entry.object_kind:
        return []
    same = reader.entries.filter(object_kind=entry.object_kind, object_id=entry.object_id, pk__lt=entry.pk)
    titles = registry.stream_kind_titles()
    return [
        Earlier(each.occurred_at, titles.get((each.source, each.kind), each.kind), each.summary[:200], each.url_path)
        for each in same.order_by("-pk")[:EARLIER]
    ]
