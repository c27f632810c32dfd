"""Forms of a website and of a single address. `actions` checks the values, as for the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.core import url_lists
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.url_lists import UrlList
from watchbook.kit.formatting import span_text
from watchbook.systems.pages import options
from watchbook.systems.pages.actions import FREQUENCIES, FREQUENCY
from watchbook.systems.pages.models import Mode, Page, RuleKind, Site, SiteRule

VALUES = (
    "name", "mode", "daily_requests", "masks_noise", "keeps_evidence", "takes_screenshots", "notifies_changed",
    "notifies_removed",
)  # fmt: skip


class ChannelsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, channel: Any) -> str:
        return f"{channel.name} · {channel.get_channel_type_display()}"


class SiteForm(forms.Form):
    """Which pages of a website are read, with which budget, and what is notified."""

    list_name = forms.ChoiceField(label=_("Pages of"))
    name = forms.CharField(label=_("Name"), max_length=200)
    mode = forms.ChoiceField(
        label=_("Read the pages"), choices=Mode.choices, widget=forms.RadioSelect, initial=Mode.NEW
    )
    daily_requests = forms.IntegerField(label=_("Requests per day"), min_value=1)
    masks_noise = forms.BooleanField(label=_("Ignore learned noise when comparing"), required=False, initial=True)
    keeps_evidence = forms.BooleanField(label=_("Keep what was sent and received"), required=False)
    takes_screenshots = forms.BooleanField(label=_("Take screenshots"), required=False)
    notifies_changed = forms.BooleanField(label=_("Notify about changed pages"), required=False, initial=True)
    notifies_removed = forms.BooleanField(label=_("Notify about moved and gone pages"), required=False, initial=True)
    more_lists = forms.MultipleChoiceField(
        label=_("Further sitemaps and feeds of this website"), required=False, widget=forms.CheckboxSelectMultiple
    )
    channels = ChannelsField(
        label=_("Notify"),
        queryset=NotificationChannel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: User,
        site: Site | None = None,
        lists: Sequence[UrlList] = (),
    ) -> None:
        super().__init__(data, initial=_initial(site) if site else {"daily_requests": options.DAILY_REQUESTS.value})
        if not options.CHROMIUM.value:
            del self.fields["takes_screenshots"]
        own = NotificationChannel.objects.of(user).order_by("name", "pk")
        self.fields["channels"].queryset = own  # type: ignore[attr-defined]
        if site is not None:
            del self.fields["list_name"]
            others = [one for one in url_lists.lists_of(user) if one.name != site.list_name] if site.list_name else []
        else:
            del self.fields["name"]
            others = list(lists) if len(lists) > 1 else []
            self.fields["list_name"].choices = [(one.name, one.title) for one in lists]  # type: ignore[attr-defined]
        self.fields["more_lists"].choices = [(one.name, one.title) for one in others]  # type: ignore[attr-defined]

    def choose(self, name: str, lists: Sequence[UrlList]) -> None:
        """Select a list, and with it the others of the same host: most often they are one website."""
        hosts = {one.name: urlsplit(one.address).netloc for one in lists}
        same = [other for other, host in hosts.items() if other != name and host == hosts.get(name)]
        self.initial["list_name"], self.initial["more_lists"] = name, same

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in VALUES if name in self.cleaned_data}

    @property
    def channel_ids(self) -> list[Any]:
        return [channel.pk for channel in self.cleaned_data["channels"]]


def _initial(site: Site) -> dict[str, Any]:
    chosen = [channel.pk for channel in site.channels.all()]
    return {**{name: getattr(site, name) for name in VALUES}, "channels": chosen, "more_lists": site.more_lists}


class RuleForm(forms.Form):
    """What a rule does, its condition or selector, the addresses that it is about, and where it notifies."""

    kind = forms.ChoiceField(label=_("Rule"), choices=RuleKind.choices, initial=RuleKind.NOTIFY)
    condition = forms.CharField(
        label=_("Condition or CSS selector"),
        max_length=300,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "price < 50", "spellcheck": "false"}),
    )
    pattern = forms.CharField(
        label=pgettext_lazy("web", "Pages"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "/products/", "spellcheck": "false"}),
    )
    page_id = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)
    channels = ChannelsField(
        label=_("Channels of this rule"),
        queryset=NotificationChannel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: User,
        rule: SiteRule | None = None,
        page: Page | None = None,
    ) -> None:
        super().__init__(data, initial=_rule_initial(rule) if rule else {"page_id": page.pk if page else None})
        own = NotificationChannel.objects.of(user).order_by("name", "pk")
        self.fields["channels"].queryset = own  # type: ignore[attr-defined]

    def given(self) -> dict[str, Any]:
        """What `actions` takes for a preview."""
        return {name: self.cleaned_data[name] for name in ("kind", "condition", "pattern", "page_id")}

    @property
    def channel_ids(self) -> list[Any]:
        return [channel.pk for channel in self.cleaned_data["channels"]]


def _rule_initial(rule: SiteRule) -> dict[str, Any]:
    chosen = [channel.pk for channel in rule.channels.all()]
    names = ("kind", "condition", "pattern", "page_id")
    return {**{name: getattr(rule, name) for name in names}, "channels": chosen}


class PageForm(forms.Form):
    """A single address."""

    url = forms.CharField(
        label=_("Address"),
        max_length=2048,
        widget=forms.TextInput(
            attrs={"inputmode": "url", "spellcheck": "false", "placeholder": "https://www.example.com/prices"}
        ),
    )
    interval_minutes = forms.TypedChoiceField(label=_("Check every"), coerce=int, initial=FREQUENCY)

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        choices = [(minutes, span_text(minutes * 60)) for minutes in FREQUENCIES]
        self.fields["interval_minutes"].choices = choices  # type: ignore[attr-defined]
