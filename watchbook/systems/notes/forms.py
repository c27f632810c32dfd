"""What a person types about notes; `actions` judges it, as for programs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from watchbook.systems.notes.actions import LONGEST_COOKIE
from watchbook.systems.notes.models import SearchSort, SearchType, TimeRange
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.validation import LONGEST_KEYWORD
from watchbook.systems.notes.validation.managed import LONGEST_PASTE, SHORTEST_EVERY

PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}


class SecretInput(forms.PasswordInput):
    """Never written back into a page, not even after an error; no browser is asked to keep it."""

    def __init__(self) -> None:
        super().__init__(attrs=PLAIN, render_value=False)


def secret_field() -> forms.CharField:
    return forms.CharField(
        label=_("Cookie"),
        max_length=LONGEST_COOKIE,
        widget=SecretInput(),
        help_text=_("As sent by the browser: name=value; name=value. It is never displayed again."),
    )


class EveryForm(forms.Form):
    """How often something is read; empty follows the setting of this server."""

    every_hours = forms.DecimalField(
        label=_("Hours between searches"),
        min_value=Decimal("0.1"),
        max_value=720,
        decimal_places=2,
        required=False,
        widget=forms.NumberInput(attrs={**PLAIN, "step": "any"}),
        help_text=_("Empty: as set for this server."),
    )

    @property
    def every_minutes(self) -> int | None:
        hours = self.cleaned_data["every_hours"]
        return max(SHORTEST_EVERY, round(hours * 60)) if hours else None


class SearchForm(EveryForm):
    """How a keyword is searched."""

    sort = forms.ChoiceField(label=_("Search order"), choices=SearchSort.choices, required=False)
    note_type = forms.ChoiceField(label=_("Type"), choices=SearchType.choices, required=False)
    time_range = forms.ChoiceField(label=_("Published"), choices=TimeRange.choices, required=False)

    field_order = ("keyword", "sort", "note_type", "time_range", "every_hours")

    def values(self) -> dict[str, Any]:
        named = {name: self.cleaned_data[name] for name in ("sort", "note_type", "time_range")}
        return {**{name: value for name, value in named.items() if value}, "every_minutes": self.every_minutes}


class KeywordForm(SearchForm):
    keyword = forms.CharField(
        label=_("Keyword"), max_length=LONGEST_KEYWORD, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )


class CreatorSettings(EveryForm):
    """How a creator is named and how often checked."""

    label = forms.CharField(
        label=_("Name"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=_("Empty: the masked name on the platform."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["every_hours"].label = _("Hours between checks")

    field_order = ("creator", "label", "every_hours")

    def values(self) -> dict[str, Any]:
        return {"label": self.cleaned_data["label"], "every_minutes": self.every_minutes}


class CreatorForm(CreatorSettings):
    creator = forms.CharField(
        label=_("Profile address or ID"),
        max_length=5000,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=_("The ID is stored encrypted."),
    )


class CandidatesForm(forms.Form):
    """Whatever people have copied: share texts, links, IDs."""

    lines = forms.CharField(
        label=_("Links to notes"),
        max_length=LONGEST_PASTE,
        widget=forms.Textarea(attrs={**PLAIN, "rows": 6}),
        help_text=_("Share texts, short links, links to notes, or IDs; up to 500, one or several per line."),
    )


class LimitsForm(forms.Form):
    priority = forms.IntegerField(
        label=_("Priority"), min_value=-1000, max_value=1000, initial=0, help_text=_("Higher values are used first.")
    )
    daily_limit = forms.IntegerField(
        label=_("Requests per day"),
        min_value=0,
        max_value=1_000_000,
        initial=200,
        help_text=_("Counted per day in Asia/Shanghai. The platform restricts accounts with many requests."),
    )
    user_agent = forms.CharField(
        label=_("User agent"),
        max_length=400,
        required=False,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=_("User agent of the browser that the cookie comes from."),
    )


class CookieForm(LimitsForm):
    cookie_name = forms.CharField(label=_("Name"), max_length=100, widget=forms.TextInput(attrs=PLAIN))
    cookie = secret_field()

    field_order = ("cookie_name", "cookie", "priority", "daily_limit", "user_agent")


class ReplaceForm(forms.Form):
    cookie = secret_field()


def add_form_error(form: forms.Form, error: NotesError) -> None:
    """Put what is wrong beside its field, or on top where it has none."""
    found = error.as_json()
    details = error.details if isinstance(error.details, list) else []
    field = str(details[0]["field"]) if details else ""
    form.add_error(field if field in form.fields else None, found["message"])
