"""What a person types about a monitor. Addresses, channels and patterns are judged by `actions`, as for programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from watchbook.core.notify.models import NotificationChannel
from watchbook.core.ui.moments import span_text
from watchbook.sources.sitemaps.actions import PATTERN_LENGTH, PATTERNS
from watchbook.sources.sitemaps.models import MonitorTask

# Days that every database and every zone can hold the end of.
EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
INTERVALS = (15, 30, 60, 120, 240, 360, 720, 1440)
# `mailto:` or `javascript:`, but neither `localhost:8000` nor `www.example.com:8000`.
OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+-]*:(?!\d)")
VALUES = (
    "name", "sitemap_url", "check_interval_minutes", "include_patterns", "exclude_patterns", "tell_removals",
    "tell_minor",
)  # fmt: skip


class ChannelsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, channel: Any) -> str:
        words = f"{channel.name} · {channel.get_channel_type_display()}"
        return words if channel.is_active else f"{words} ({gettext('switched off')})"


class MonitorForm(forms.Form):
    """The same form for a new monitor and a known one. `values()` is what `actions` takes."""

    sitemap_url = forms.CharField(
        label=_("Address"),
        max_length=2048,
        widget=forms.TextInput(
            attrs={
                "class": "input--l",
                "inputmode": "url",
                "spellcheck": "false",
                "autocapitalize": "off",
                "autocomplete": "off",
                "placeholder": "https://www.example.com/sitemap.xml",
            }
        ),
    )
    name = forms.CharField(label=_("Name"), max_length=255, required=False)
    check_interval_minutes = forms.TypedChoiceField(label=_("Check every"), coerce=int, initial=60)
    channels = ChannelsField(
        label=_("Tell"),
        queryset=NotificationChannel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    tell_removals = forms.BooleanField(label=_("Tell of removed URLs"), required=False, initial=True)
    tell_minor = forms.BooleanField(label=_("Tell also when only changefreq or priority is different"), required=False)
    include_patterns = forms.CharField(
        label=_("Only these URLs"),
        required=False,
        max_length=PATTERNS * (PATTERN_LENGTH + 2),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "/products/*"}),
        help_text=_("One pattern per line, as in robots.txt: * stands for anything, $ for the end. Empty: all."),
    )
    exclude_patterns = forms.CharField(
        label=_("Not these URLs"),
        required=False,
        max_length=PATTERNS * (PATTERN_LENGTH + 2),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "/tag/*"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, user: Any, monitor: MonitorTask | None = None) -> None:
        super().__init__(data, initial=_initial(monitor) if monitor else None)
        self.fields["channels"].queryset = NotificationChannel.objects.of(user).order_by("name", "pk")  # type: ignore[attr-defined]
        known = monitor.check_interval_minutes if monitor else 60
        choices = sorted({*INTERVALS, known})
        self.fields["check_interval_minutes"].choices = [  # type: ignore[attr-defined]
            (minutes, span_text(minutes * 60)) for minutes in choices
        ]

    def clean_sitemap_url(self) -> str:
        """People write addresses without their scheme; another scheme is left for the gate to refuse."""
        text: str = self.cleaned_data["sitemap_url"].strip()
        return text if "://" in text or OTHER_SCHEME.match(text) or not text else f"https://{text}"

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        return name or name_of(self.cleaned_data.get("sitemap_url", ""))

    def clean_include_patterns(self) -> list[str]:
        return str(self.cleaned_data["include_patterns"]).splitlines()

    def clean_exclude_patterns(self) -> list[str]:
        return str(self.cleaned_data["exclude_patterns"]).splitlines()

    def values(self) -> dict[str, Any]:
        given = {name: self.cleaned_data[name] for name in VALUES}
        return given | {"channel_ids": [channel.pk for channel in self.cleaned_data["channels"]]}

    @property
    def has_more(self) -> bool:
        """Something under *More* is set or wrong: it is shown open."""
        names = ("include_patterns", "exclude_patterns")
        return any(self[name].value() or self.errors.get(name) for name in names)


def name_of(address: str) -> str:
    """The host without its www: what most people would type."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def _initial(monitor: MonitorTask) -> dict[str, Any]:
    return {
        **{name: getattr(monitor, name) for name in VALUES},
        "include_patterns": "\n".join(monitor.include_patterns),
        "exclude_patterns": "\n".join(monitor.exclude_patterns),
        "channels": [channel.pk for channel in monitor.channels.all()],
    }


class MomentForm(forms.Form):
    """A day, and a time of it; without a time its end."""

    day = forms.DateField(
        label=_("Day"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        validators=[MinValueValidator(EARLIEST), MaxValueValidator(LATEST)],
    )
    time = forms.TimeField(
        label=_("Time"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
