"""A declared list (`List`) and what a reader sees of it (`Shown`): page, counts, filters in use, links of exports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import urlencode

from django.db.models import Count, Model, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from watchbook.kit.formatting import number_text
from watchbook.kit.lists.exports import CSV, FORMATS, JSONL, XLSX, Column, Table
from watchbook.kit.lists.filters import Choice, Chosen, Filter, Options, Words
from watchbook.kit.paging import Page, batches, keyset

Row = TypeVar("Row", bound=Model)

# Rows that counting reads, and the greatest number that a filter shows: a page costs the same however long the list.
SCANNED = 10_000
MOST_COUNTED = 1_000
MOST_OPTIONS = 30
# Matches of words that are read together for an export.
MOST_FOUND = 200
ORDER, FORMAT = "order", "format"
FORMAT_TITLES = {CSV: "CSV", JSONL: "JSON Lines", XLSX: "Excel"}
FORMAT_ICONS = {CSV: "list", JSONL: "code", XLSX: "table"}


@dataclass(frozen=True)
class Order:
    """An order of a list: by a column without NULLs and then by the key."""

    name: str
    title: Words
    by: str = "pk"
    is_rising: bool = False


@dataclass(frozen=True)
class Changes:
    """The order in which rows come into a list or change, for mirrors: `by` only grows; `at` says when it happened."""

    by: str
    at: str
    where: Q = field(default_factory=Q)


class WordSearch(Protocol):
    """Finds rows by words, in an order of its own: so many after a cursor, and the cursor of the next ones."""

    def __call__(self, cursor: str, limit: int) -> tuple[list[Any], str]: ...


def by_time(by: str = "pk") -> tuple[Order, ...]:
    """The orders of a list by time: newest first, or oldest first."""
    return Order("newest", gettext_lazy("Newest first"), by), Order("oldest", gettext_lazy("Oldest first"), by, True)


@dataclass(frozen=True)
class List:
    """`prepare` turns a batch of rows into what the columns are read from; one query per batch, not per row."""

    name: str
    filters: tuple[Filter, ...] = ()
    columns: tuple[Column, ...] = ()
    orders: tuple[Order, ...] = field(default_factory=by_time)
    prepare: Callable[[list[Any]], Iterable[Any]] = field(default=lambda rows: rows)
    size: int = 30
    changes: Changes | None = None
    # Reads the whole list where an order needs more than one column.
    read: Callable[[QuerySet[Any], Order], Iterator[list[Any]]] | None = None

    @property
    def parameters(self) -> frozenset[str]:
        """Every parameter of the list beside its cursors."""
        return frozenset(name for each in self.filters for name in each.names) | {ORDER}

    def show(
        self,
        rows: QuerySet[Row],
        asked: Mapping[str, Any],
        *,
        keep: Sequence[str] = (),
        found: WordSearch | None = None,
    ) -> Shown[Row]:
        """What a reader sees of these rows.

        `keep` are parameters that are no filters and stay in every link; `found` searches words among the rows.
        """
        return Shown(self, rows, asked, keep, found)

    def show_held(self, rows: Sequence[Any], asked: Mapping[str, Any], *, keep: Sequence[str] = ()) -> ShownHeld:
        """The same for rows that are in memory, such as the jobs of the registry: one page shows them all."""
        return ShownHeld(self, rows, asked, keep)


@dataclass(frozen=True)
class Total:
    """How many rows a list has, counted up to a limit."""

    count: int
    is_more: bool = False

    def __str__(self) -> str:
        number = number_text(self.count)
        return _("more than %(n)s") % {"n": number} if self.is_more else number

    @property
    def rows(self) -> str:
        """For a menu: 1,284 rows."""
        return ngettext("%(n)s row", "%(n)s rows", self.count) % {"n": self}

    @property
    def results(self) -> str:
        return ngettext("%(n)s result", "%(n)s results", self.count) % {"n": self}


@dataclass(frozen=True)
class Offered:
    """One value that a filter offers; an empty count was not counted."""

    value: str
    title: str
    count: str
    is_on: bool


@dataclass(frozen=True)
class Drawn:
    """A filter as the form draws it."""

    filter: Filter
    value: Any
    offered: Sequence[Offered]

    @property
    def kind(self) -> str:
        return self.filter.kind

    @property
    def id(self) -> str:
        return f"filter-{self.filter.name}"

    @property
    def is_on(self) -> bool:
        return self.value is not None

    @property
    def anything(self) -> str:
        """The first option of a choice."""
        return _("%(filter)s: any") % {"filter": self.filter.title}


@dataclass(frozen=True)
class Chip:
    """A filter in use; its link removes it."""

    title: str
    query: str


@dataclass(frozen=True)
class ExportLink:
    """A line of the export menu; `note` says what is in the file if it is not exactly the list."""

    title: str
    icon: str
    query: str
    note: str = ""


class Shown(Generic[Row]):
    """Nothing is asked of the database before it is needed: an export counts nothing."""

    def __init__(
        self,
        declared: List,
        rows: QuerySet[Row],
        asked: Mapping[str, Any],
        keep: Sequence[str] = (),
        found: WordSearch | None = None,
    ) -> None:
        self.list = declared
        self.asked = asked
        self.every_row = rows
        self.found = found
        self.chosen = Chosen.of(declared.filters, asked)
        self.kept = [(name, str(asked[name])) for name in keep if asked.get(name)]
        self.order = next((each for each in declared.orders if each.name == asked.get(ORDER)), declared.orders[0])

    @property
    def form(self) -> str:
        """The format of a file that is asked for; empty: a page."""
        asked = self.asked.get(FORMAT)
        return asked if isinstance(asked, str) and asked in FORMATS else ""

    @cached_property
    def wrong(self) -> tuple[str, ...]:
        """Names of parameters whose values are unknown."""
        found = list(self.chosen.wrong)
        # Where words are searched their order is the only one, and the order of the list beside it is no mistake.
        if len(self.list.orders) > 1 and self.asked.get(ORDER) not in (
            None,
            "",
            *(each.name for each in self.list.orders),
        ):
            found.append(ORDER)
        if self.asked.get(FORMAT) not in (None, "", *FORMATS):
            found.append(FORMAT)
        return tuple(found)

    @cached_property
    def rows(self) -> QuerySet[Row]:
        """The rows that pass every filter, in no order."""
        return self.every_row.filter(self.chosen.condition())

    @cached_property
    def page(self) -> Page[Row]:
        order = self.order
        return keyset(self.rows, self.asked, by=order.by, size=self.list.size, is_rising=order.is_rising)

    @cached_property
    def total(self) -> Total:
        return capped_count(self.rows)

    def found_on_page(self, count: int, *, is_more: bool) -> None:
        """Say how many rows a search found so far: searching them all again only to count them costs too much."""
        self.total = Total(count, is_more)

    def prepared(self) -> Iterator[Any]:
        """Every row of the list in its order, as the columns read it."""
        for batch in self._batches():
            yield from self.list.prepare(batch)

    def _batches(self) -> Iterator[list[Any]]:
        if self.found:
            yield from _every(self.found)
        elif self.list.read:
            yield from self.list.read(self.rows, self.order)
        else:
            yield from batches(self.rows, by=self.order.by, is_rising=self.order.is_rising)

    @property
    def table(self) -> Table:
        return Table(self.list.name, self.list.columns, self.prepared(), self.about)

    @property
    def about(self) -> list[tuple[str, str]]:
        """The filters in use, for a file that is read without its page."""
        return [(str(each.title), each.words(self.chosen.values[each.name])) for each in self.chosen.in_use()]

    # What templates draw.

    @property
    def is_narrow(self) -> bool:
        return self.chosen.is_narrow

    @property
    def search(self) -> Drawn | None:
        return next((each for each in self._drawn if each.kind == "search"), None)

    @property
    def fields(self) -> list[Drawn]:
        return [each for each in self._drawn if each.kind != "search"]

    @property
    def number_in_use(self) -> int:
        """How many filters the button counts: all but the words, which stand beside it."""
        return sum(each.kind != "search" for each in self.chosen.in_use())

    @property
    def chips(self) -> list[Chip]:
        return [
            Chip(each.words(self.chosen.values[each.name]), self.query(without=each))
            for each in self.chosen.in_use()
            if each.kind != "search"
        ]

    @property
    def orders(self) -> list[Offered]:
        """The orders to choose from; none when there is only one."""
        offered = [Offered(each.name, str(each.title), "", each is self.order) for each in self.list.orders]
        return offered if len(offered) > 1 else []

    @property
    def exports(self) -> list[ExportLink]:
        return [ExportLink(FORMAT_TITLES[form], FORMAT_ICONS[form], self.query(format=form)) for form in FORMATS]

    @property
    def here(self) -> str:
        """The first page of this list with its filters."""
        return self.query()

    @property
    def cleared(self) -> str:
        """The list without filters."""
        return f"?{urlencode(self.kept)}" if self.kept else "?"

    def query(self, without: Filter | None = None, **more: str) -> str:
        given = dict(self.kept) | self.chosen.given()
        if self.order is not self.list.orders[0]:
            given[ORDER] = self.order.name
        for name in without.names if without else ():
            given.pop(name, None)
        return f"?{urlencode(given | more)}"

    @cached_property
    def _drawn(self) -> list[Drawn]:
        counts = self._counts()
        return [
            Drawn(each, self.chosen.values.get(each.name), self._offered(each, counts)) for each in self.list.filters
        ]

    def _offered(self, each: Filter, counts: Mapping[str, str]) -> list[Offered]:
        chosen = self.chosen.values.get(each.name)
        options = list(each.options())
        if isinstance(each, Choice) and chosen and chosen not in (value for value, _title in options):
            options = [(chosen, chosen), *options]
        marked = getattr(chosen, "preset", "1" if chosen is True else chosen)
        return [
            Offered(value, str(title), counts.get(_label(each, place), ""), value == marked)
            for place, (value, title) in enumerate(options)
        ]

    def _counts(self) -> dict[str, str]:
        """How many rows each offered value would show beside the other filters, in one bounded query."""
        wanted: dict[str, Q] = {}
        faceted = [each for each in self.list.filters if each.is_counted]
        for each in faceted:
            options: Options = each.options()
            if len(options) > MOST_OPTIONS:
                continue
            others = self.chosen.condition(without=lambda one: one is each or not one.is_counted)  # noqa: B023 - called here
            for place, (value, _title) in enumerate(options):
                wanted[_label(each, place)] = others & each.condition(True if each.kind == "flag" else value)
        if not wanted:
            return {}
        rows = self.every_row.filter(self.chosen.condition(without=lambda one: one.is_counted)).order_by()
        return counted(rows, wanted)


class ShownHeld(Shown[Any]):
    """A list whose rows are in memory. Filters test rows (`Filter.holds`), orders compare attributes: None is last."""

    def __init__(self, declared: List, rows: Sequence[Any], asked: Mapping[str, Any], keep: Sequence[str] = ()) -> None:
        super().__init__(declared, QuerySet(), asked, keep)
        self.held = rows

    @cached_property
    def found_rows(self) -> list[Any]:
        """The rows that pass every filter, in the order of the list."""
        found = [row for row in self.held if self.chosen.holds(row)]
        by = attrgetter(self.order.by)
        known = sorted((row for row in found if by(row) is not None), key=by, reverse=not self.order.is_rising)
        return known + [row for row in found if by(row) is None]

    @cached_property
    def page(self) -> Page[Any]:
        return Page(self.found_rows)

    @cached_property
    def total(self) -> Total:
        return Total(len(self.found_rows))

    def _batches(self) -> Iterator[list[Any]]:
        yield self.found_rows

    def _counts(self) -> dict[str, str]:
        found = {}
        for each in self.list.filters:
            others = [row for row in self.held if self.chosen.holds(row, each)] if each.is_counted else []
            for place, (value, _title) in enumerate(each.options() if each.is_counted else ()):
                asked = True if each.kind == "flag" else value
                found[_label(each, place)] = number_text(sum(each.holds(row, asked) for row in others))
        return found


def _every(found: WordSearch) -> Iterator[list[Any]]:
    rows, cursor = found("", MOST_FOUND)
    yield rows
    while cursor:
        rows, cursor = found(cursor, MOST_FOUND)
        yield rows


def _label(each: Filter, place: int) -> str:
    return f"{each.name}_{place}"


def capped_count(rows: QuerySet[Any], most: int = SCANNED) -> Total:
    count = rows.order_by()[: most + 1].count()
    return Total(min(count, most), count > most)


def counted(rows: QuerySet[Any], wanted: Mapping[str, Q]) -> dict[str, str]:
    """Count the rows of each condition among the first ones: exact in a short list, "37+" or "1,000+" in a long one."""
    sums = {name: Count("pk", filter=condition) for name, condition in wanted.items()}
    found = rows[:SCANNED].aggregate(scanned_rows=Count("pk"), **sums)
    is_whole = found.pop("scanned_rows") < SCANNED
    return {name: _count_text(count, is_whole) for name, count in found.items()}


def _count_text(count: int, is_whole: bool) -> str:
    if count > MOST_COUNTED:
        return f"{number_text(MOST_COUNTED)}+"
    if is_whole:
        return number_text(count)
    return f"{number_text(count)}+" if count else ""
