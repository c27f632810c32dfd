"""Filters of the stream, and a new feed."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from watchbook.core.stream import kinds
from watchbook.core.stream.models import StreamEntryQuerySet

EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)


class FilterForm(forms.Form):
    """What is asked of the stream. A filter that cannot be read is no filter."""

    source = forms.CharField(required=False, max_length=40)
    kind = forms.CharField(required=False, max_length=60)
    day = forms.DateField(required=False, label=_("Day"), widget=forms.DateInput(attrs={"type": "date"}))

    def clean_source(self) -> str:
        slug: str = self.cleaned_data["source"]
        return slug if slug in {source.slug for source in kinds.sources()} else ""

    def clean_kind(self) -> str:
        kind: str = self.cleaned_data["kind"]
        return kind if kind in dict(kinds.kinds_of(self.cleaned_data.get("source", ""))) else ""

    def clean_day(self) -> date | None:
        day: date | None = self.cleaned_data["day"]
        if day is not None and not EARLIEST <= day <= LATEST:
            raise forms.ValidationError(_("Give a day between 1970 and 2199."))
        return day

    def narrow(self, rows: StreamEntryQuerySet) -> StreamEntryQuerySet:
        given = self.cleaned_data
        if given.get("source"):
            rows = rows.filter(source=given["source"])
        if given.get("kind"):
            rows = rows.filter(kind=given["kind"])
        if given.get("day"):
            start = datetime.combine(given["day"], time.min, tzinfo=timezone.get_current_timezone())
            rows = rows.between(
                start, datetime.combine(given["day"] + timedelta(days=1), time.min, tzinfo=start.tzinfo)
            )
        return rows


class FeedForm(forms.Form):
    """A feed keeps the filters it was made with."""

    name = forms.CharField(max_length=100, label=_("Name"), help_text=_("So that you know which reader uses it."))
    source = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)
    kind = forms.CharField(required=False, max_length=60, widget=forms.HiddenInput)
