"""Forms of a monitor. `actions` validates addresses, channels and patterns, as for the API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.kit.formatting import span_text
from watchbook.systems.sitemaps.actions import PATTERN_LENGTH, PATTERNS, with_scheme
from watchbook.systems.sitemaps.models import MonitorTask

# Days that every database and every zone can hold the end of.
EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
INTERVALS = (15, 30, 60, 120, 240, 360, 720, 1440)
VALUES = (
    "name", "sitemap_url", "check_interval_minutes", "include_patterns", "exclude_patterns", "tell_added",
    "tell_modified", "tell_removals", "tell_minor", "schedule", "quiet_hours", "folder", "tags", "owner", "notes",
)  # fmt: skip


class ChannelsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, channel: Any) -> str:
        words = f"{channel.name} · {channel.get_channel_type_display()}"
        return words if channel.is_active else f"{words} ({gettext('disabled')})"


class MonitorForm(forms.Form):
    """The form of a new or existing monitor. `values()` returns the arguments for `actions`."""

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
        label=_("Notify"),
        queryset=NotificationChannel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    tell_added = forms.BooleanField(label=_("Notify about new URLs"), required=False, initial=True)
    tell_modified = forms.BooleanField(label=_("Notify about changed URLs"), required=False, initial=True)
    tell_removals = forms.BooleanField(label=_("Notify about removed URLs"), required=False, initial=True)
    tell_minor = forms.BooleanField(label=_("Notify also when only changefreq or priority changed"), required=False)
    include_patterns = forms.CharField(
        label=_("Only these URLs"),
        required=False,
        max_length=PATTERNS * (PATTERN_LENGTH + 2),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "/products/*"}),
        help_text=_(
            "One pattern per line, as in robots.txt: * matches any text, $ the end of the URL. Empty means all URLs."
        ),
    )
    exclude_patterns = forms.CharField(
        label=_("Not these URLs"),
        required=False,
        max_length=PATTERNS * (PATTERN_LENGTH + 2),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "/tag/*"}),
    )

    schedule = forms.CharField(
        label=_("Schedule instead of the interval"),
        required=False,
        max_length=100,
        help_text=_("A cron line, daily 09:00 or weekly mon 09:00."),
        widget=forms.TextInput(attrs={"placeholder": "weekly mon 09:00", "spellcheck": "false"}),
    )
    quiet_hours = forms.CharField(
        label=_("Quiet hours"),
        required=False,
        max_length=20,
        help_text=_("No check begins then. It runs when they are over."),
        widget=forms.TextInput(attrs={"placeholder": "22:00-07:00"}),
    )
    folder = forms.CharField(label=_("Folder"), required=False, max_length=100)
    tags = forms.CharField(label=_("Tags"), required=False, max_length=500, help_text=_("Separated by commas."))
    owner = forms.CharField(label=_("Responsible"), required=False, max_length=100)
    notes = forms.CharField(
        label=pgettext_lazy("monitor", "Notes"),
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, user: User, monitor: MonitorTask | None = None
    ) -> None:
        super().__init__(data, initial=_initial(monitor) if monitor else None)
        self.fields["channels"].queryset = NotificationChannel.objects.of(user).order_by("name", "pk")  # type: ignore[attr-defined]
        known = monitor.check_interval_minutes if monitor else 60
        choices = sorted({*INTERVALS, known})
        self.fields["check_interval_minutes"].choices = [  # type: ignore[attr-defined]
            (minutes, span_text(minutes * 60)) for minutes in choices
        ]

    def clean_sitemap_url(self) -> str:
        """Add https:// if the scheme is missing. Other schemes are refused later."""
        return with_scheme(self.cleaned_data["sitemap_url"])

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
        """Whether a field under *More* is set or has an error, so that it is shown open."""
        names = ("include_patterns", "exclude_patterns", "schedule", "quiet_hours", "folder", "tags", "owner", "notes")
        return any(self[name].value() or self.errors.get(name) for name in names)


def name_of(address: str) -> str:
    """Return the host without www as suggested name."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def _initial(monitor: MonitorTask) -> dict[str, Any]:
    return {
        **{name: getattr(monitor, name) for name in VALUES},
        "tags": ", ".join(monitor.tag_list),
        "include_patterns": "\n".join(monitor.include_patterns),
        "exclude_patterns": "\n".join(monitor.exclude_patterns),
        "channels": [channel.pk for channel in monitor.channels.all()],
    }


class ImportForm(forms.Form):
    """A CSV or OPML file with monitors."""

    file = forms.FileField(label=_("File"), widget=forms.FileInput(attrs={"accept": ".csv,.opml,.xml,.txt"}))


class BulkForm(forms.Form):
    """What changes for all selected monitors; an empty field stays as it is."""

    folder = forms.CharField(label=_("Folder"), required=False, max_length=100)
    owner = forms.CharField(label=_("Responsible"), required=False, max_length=100)
    add_tags = forms.CharField(label=_("Add tags"), required=False, max_length=200)
    remove_tags = forms.CharField(label=_("Remove tags"), required=False, max_length=200)
    schedule = forms.CharField(label=_("Schedule"), required=False, max_length=100)
    quiet_hours = forms.CharField(label=_("Quiet hours"), required=False, max_length=20)


class MomentForm(forms.Form):
    """A day and an optional time; without a time the end of the day."""

    day = forms.DateField(
        label=_("Day"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        validators=[MinValueValidator(EARLIEST), MaxValueValidator(LATEST)],
    )
    time = forms.TimeField(
        label=_("Time"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
