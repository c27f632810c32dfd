"""Filters of the inbox: unread or all, source, kind, and days in the reader's zone."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from django import forms
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from watchbook.core import registry
from watchbook.core.stream.models import StreamEntryQuerySet
from watchbook.kit import formatting

EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
UNREAD = "unread"
# Days up to and including today.
PERIODS = {"today": 1, "7": 7, "30": 30}
PERIOD_TITLES = (("today", _("Today")), ("7", _("7 days")), ("30", _("30 days")))
NAMES = ("show", "source", "kind", "period", "day", "start", "end")


class FilterForm(forms.Form):
    """The filters of one list. A filter that cannot be read is no filter."""

    show = forms.CharField(required=False, max_length=10)
    source = forms.CharField(required=False, max_length=40)
    kind = forms.CharField(required=False, max_length=60)
    period = forms.CharField(required=False, max_length=10)
    day = forms.DateField(required=False, label=_("Day"))
    start = forms.DateField(required=False, label=_("From"))
    end = forms.DateField(required=False, label=_("To"))

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
        return period if period in PERIODS else ""

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
        return bool(given.get("source")) + bool(given.get("kind")) + (self.days() != (None, None))

    def days(self) -> tuple[date | None, date | None]:
        """Return the first and the last day; an exact day wins over a range, a range over a period."""
        given = self.cleaned_data
        if given.get("day"):
            return given["day"], given["day"]
        if given.get("start") or given.get("end"):
            return given.get("start"), given.get("end")
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


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone())


def read_filters(given: QueryDict) -> FilterForm:
    form = FilterForm(given)
    form.is_valid()
    return form
