"""Filters of a list: declared once, read from an address, drawn as a form, applied to rows.

A filter reads its own parameters. A value that cannot be read counts as not given and is named in `Chosen.wrong`:
a page says so, the API refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, ClassVar

from django.db.models import Q
from django.db.models.functions import Lower
from django.db.models.lookups import Contains
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.kit.formatting import day_text, number_text

Words = str | Promise
Options = Sequence[tuple[str, Words]]

LONGEST = 200
MOST_WORDS = 10
# Days that every database can hold, with room for a zone at both ends.
EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
LARGEST = 2**31 - 1
YES = (True, "1", "true", "on")


class Unreadable(ValueError):
    """A value that its filter does not know."""


def text_of(value: Any) -> str:
    return clean_text(str("" if value is None else value))[:LONGEST].strip()


@dataclass(frozen=True)
class Filter:
    """`where` makes a condition of a value; without it the column must equal the value.

    `test` does the same for rows in memory (`List.show_held`): it gets the row and the value.
    """

    name: str
    title: Words
    column: str = ""
    where: Callable[[Any], Q] | None = field(default=None, kw_only=True)
    test: Callable[[Any, Any], bool] | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "text"

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter that it reads."""
        return (self.name,)

    def read(self, asked: Mapping[str, Any]) -> Any:
        """The value, None when it is not given. May raise Unreadable."""
        return text_of(asked.get(self.name)) or None

    def condition(self, value: Any) -> Q:
        return self.where(value) if self.where else Q(**{self.column or self.name: value})

    def holds(self, row: Any, value: Any) -> bool:
        """Whether a row in memory passes."""
        if self.test:
            return self.test(row, value)
        return bool(getattr(row, self.column or self.name) == value)

    def words(self, value: Any) -> str:
        """What the filter in use says."""
        return f"{self.title}: {value}"

    def given(self, value: Any) -> dict[str, str]:
        """The parameters that choose a value."""
        return {self.name: str(value)}

    def options(self) -> Options:
        """The values that it offers; none when any may be written."""
        return ()

    @property
    def is_counted(self) -> bool:
        return False


@dataclass(frozen=True)
class Text(Filter):
    """A text that is written, for example a name."""

    width: int = field(default=12, kw_only=True)


@dataclass(frozen=True)
class Search(Filter):
    """Words that all occur in one of the columns, whatever their case. Drawn before the other filters."""

    columns: tuple[str, ...] = field(default=(), kw_only=True)

    kind: ClassVar[str] = "search"

    def condition(self, value: str) -> Q:
        if self.where:
            return self.where(value)
        found = Q()
        # Not icontains: where texts are compared byte by byte it distinguishes A and a.
        for word in value.lower().split()[:MOST_WORDS]:
            anywhere = Q()
            for column in self.columns:
                anywhere |= Q(Contains(Lower(column), word))
            found &= anywhere
        return found

    def holds(self, row: Any, value: str) -> bool:
        if self.test:
            return self.test(row, value)
        texts = [str(getattr(row, column)).lower() for column in self.columns]
        return all(any(word in text for text in texts) for word in value.lower().split()[:MOST_WORDS])

    def words(self, value: str) -> str:
        return f"“{value}”"


@dataclass(frozen=True)
class WordIndex(Search):
    """Words that the word index finds: no condition on rows (see `WordSearch`)."""

    def condition(self, value: str) -> Q:
        return Q()


@dataclass(frozen=True)
class Number(Filter):
    """A whole number that the column must equal, for example of an author."""

    kind: ClassVar[str] = "number"

    def read(self, asked: Mapping[str, Any]) -> int | None:
        text = text_of(asked.get(self.name))
        if not text:
            return None
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            raise Unreadable
        return int(text)


@dataclass(frozen=True)
class Choice(Filter):
    """One of some values. `choices` are pairs, or a function that reads them; `is_open` takes other texts, too."""

    choices: Options | Callable[[], Options] = field(default=(), kw_only=True)
    is_open: bool = field(default=False, kw_only=True)
    counted: bool = field(default=True, kw_only=True)
    default: str = field(default="", kw_only=True)

    kind: ClassVar[str] = "choice"

    def options(self) -> Options:
        return self.choices() if callable(self.choices) else self.choices

    def read(self, asked: Mapping[str, Any]) -> str | None:
        value = text_of(asked.get(self.name))
        if not value:
            return self.default or None
        if not self.is_open and value not in (known for known, _title in self.options()):
            raise Unreadable
        return value

    def words(self, value: str) -> str:
        return str(dict(self.options()).get(value, value))

    @property
    def is_counted(self) -> bool:
        return self.counted


@dataclass(frozen=True)
class Flag(Filter):
    """A box to tick: only rows for which the condition holds."""

    counted: bool = field(default=True, kw_only=True)

    kind: ClassVar[str] = "flag"

    def read(self, asked: Mapping[str, Any]) -> bool | None:
        value = asked.get(self.name)
        if value in YES:
            return True
        if value in (None, "", False, "0", "false", "off"):
            return None
        raise Unreadable

    def words(self, value: bool) -> str:
        return str(self.title)

    def given(self, value: bool) -> dict[str, str]:
        return {self.name: "1"}

    def options(self) -> Options:
        return (("1", self.title),)

    @property
    def is_counted(self) -> bool:
        return self.counted


@dataclass(frozen=True)
class AtLeast(Number):
    """A number that the column must reach."""

    def read(self, asked: Mapping[str, Any]) -> int | None:
        number = super().read(asked)
        return None if number is None else max(min(number, LARGEST), -LARGEST)

    def condition(self, value: int) -> Q:
        return self.where(value) if self.where else Q(**{f"{self.column}__gte": value})

    def words(self, value: int) -> str:
        return f"{self.title}: {number_text(value)}"


TODAY, WEEK, LAST_WEEK, RANGE = "today", "7d", "last_week", "range"
PRESETS: dict[str, Words] = {
    TODAY: gettext_lazy("Today"),
    WEEK: gettext_lazy("7 days"),
    LAST_WEEK: gettext_lazy("Last week"),
    RANGE: gettext_lazy("Dates…"),
}

Edge = date | datetime | None


@dataclass(frozen=True)
class Span:
    """From a day or moment to another. A day counts whole; the moment at the end does not count."""

    preset: str
    since: Edge = None
    until: Edge = None


@dataclass(frozen=True)
class Days(Filter):
    """`days` is today, 7d or last_week; else `since` and `until` are days of the reader's zone, both included."""

    zone: Callable[[], tzinfo] = field(default=timezone.get_current_timezone, kw_only=True)

    kind: ClassVar[str] = "days"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, "since", "until")

    def options(self) -> Options:
        return tuple(PRESETS.items())

    def read(self, asked: Mapping[str, Any]) -> Span | None:
        preset = text_of(asked.get(self.name))
        if preset and preset not in PRESETS:
            raise Unreadable
        if preset and preset != RANGE:
            return Span(preset, *self.preset_days(preset))
        since, until = read_edge(asked.get("since")), read_edge(asked.get("until"))
        return Span(RANGE, since, until) if since or until else None

    def preset_days(self, preset: str) -> tuple[date, date]:
        """First and last day. A week begins on Monday."""
        today = clock.now().astimezone(self.zone()).date()
        if preset == LAST_WEEK:
            monday = today - timedelta(days=today.weekday() + 7)
            return monday, monday + timedelta(days=6)
        return today - timedelta(days=6 if preset == WEEK else 0), today

    def condition(self, value: Span) -> Q:
        return self.where(value) if self.where else self.moments(value)

    def moments(self, value: Span) -> Q:
        """The column is within these days."""
        found = Q()
        if value.since:
            found &= Q(**{f"{self.column}__gte": self._moment(value.since)})
        if value.until:
            last = value.until if isinstance(value.until, datetime) else value.until + timedelta(days=1)
            found &= Q(**{f"{self.column}__lt": self._moment(last)})
        return found

    def holds(self, row: Any, value: Span) -> bool:
        at = getattr(row, self.column)
        if at is None or (value.since and at < self._moment(value.since)):
            return False
        if not value.until:
            return True
        last = value.until if isinstance(value.until, datetime) else value.until + timedelta(days=1)
        return bool(at < self._moment(last))

    def _moment(self, edge: date | datetime) -> datetime:
        return edge if isinstance(edge, datetime) else datetime.combine(edge, time(), tzinfo=self.zone())

    def words(self, value: Span) -> str:
        if value.preset != RANGE:
            return str(PRESETS[value.preset])
        first, last = (day_text(edge) if edge else "" for edge in (value.since, value.until))
        if first and last:
            return first if first == last else _("%(first)s to %(last)s") % {"first": first, "last": last}
        return _("From %(day)s") % {"day": first} if first else _("Until %(day)s") % {"day": last}

    def given(self, value: Span) -> dict[str, str]:
        if value.preset != RANGE:
            return {self.name: value.preset}
        edges = (("since", value.since), ("until", value.until))
        return {name: edge.isoformat() for name, edge in edges if edge}


def read_edge(value: Any) -> Edge:
    """A day or a moment (of UTC when it names no zone); None for nothing. May raise Unreadable."""
    if isinstance(value, str):
        value = text_of(value)
        if not value:
            return None
        try:
            value = datetime.fromisoformat(value) if "T" in value else date.fromisoformat(value)
        except ValueError:
            raise Unreadable from None
    if value is None:
        return None
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if not EARLIEST <= (value.date() if isinstance(value, datetime) else value) <= LATEST:
        raise Unreadable
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Chosen:
    """The values that a reader chose, by the names of their filters, and the names that could not be read."""

    filters: tuple[Filter, ...]
    values: Mapping[str, Any]
    wrong: tuple[str, ...] = ()

    @classmethod
    def of(cls, filters: Sequence[Filter], asked: Mapping[str, Any]) -> Chosen:
        values, wrong = {}, []
        for each in filters:
            try:
                value = each.read(asked)
            except Unreadable:
                wrong.append(each.name)
                continue
            if value is not None:
                values[each.name] = value
        return cls(tuple(filters), values, tuple(wrong))

    def holds(self, row: Any, without: Filter | None = None) -> bool:
        """Whether a row in memory passes all that is chosen; `without` leaves one filter out."""
        chosen = (each for each in self.filters if each.name in self.values and each is not without)
        return all(each.holds(row, self.values[each.name]) for each in chosen)

    @property
    def is_narrow(self) -> bool:
        """Is anything chosen that is not a default?"""
        return any(self.in_use())

    def in_use(self) -> list[Filter]:
        return [
            each
            for each in self.filters
            if each.name in self.values and self.values[each.name] != getattr(each, "default", None)
        ]

    def condition(self, without: Callable[[Filter], bool] = lambda each: False) -> Q:
        """All that is chosen, joined; `without` leaves filters out."""
        found = Q()
        for each in self.filters:
            if each.name in self.values and not without(each):
                found &= each.condition(self.values[each.name])
        return found

    def given(self) -> dict[str, str]:
        """The parameters that choose all of this again."""
        return {name: text for each in self.in_use() for name, text in each.given(self.values[each.name]).items()}
