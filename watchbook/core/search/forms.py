"""What may be asked on the search page, and how a search is saved."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from watchbook.core import registry
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search.models import NAME_LENGTH, QUERY_LENGTH

EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 31)


class AskForm(forms.Form):
    """The address of the search page. Whatever cannot be read counts as not asked."""

    q = forms.CharField(required=False, strip=True)
    source = forms.CharField(required=False, max_length=40)
    since = forms.DateField(required=False, label=_("Seen from"), widget=forms.DateInput(attrs={"type": "date"}))
    cursor = forms.CharField(required=False, max_length=60)

    def clean_source(self) -> str:
        slug: str = self.cleaned_data["source"]
        return slug if slug in {source.slug for source in registry.sources()} else ""

    def clean_since(self) -> date | None:
        day: date | None = self.cleaned_data["since"]
        if day is not None and not EARLIEST <= day <= LATEST:
            raise forms.ValidationError(_("Give a day between 1970 and 2199."))
        return day

    @property
    def since_moment(self) -> datetime | None:
        """The beginning of that day where the reader is."""
        day = self.cleaned_data.get("since")
        return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone()) if day else None


class SaveForm(forms.Form):
    """Tell me about new ones."""

    q = forms.CharField(max_length=QUERY_LENGTH, widget=forms.HiddenInput)
    source = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)
    name = forms.CharField(max_length=NAME_LENGTH, label=_("Name"))
    channels = forms.ModelMultipleChoiceField(
        NotificationChannel.objects.none(), required=False, label=_("Channel"), widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = NotificationChannel.objects.of(user).filter(is_active=True).order_by("name", "pk")
        self.fields["channels"].queryset = own  # type: ignore[attr-defined]
