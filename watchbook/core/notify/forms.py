"""What a person types to set up a channel. The checking is done by `config`, the same for pages and API."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from watchbook.core.notify.config.check import METHODS
from watchbook.core.notify.models import ChannelType, Digest, Level, NotificationChannel

HEADER_LINES = 8000


class ChannelForm(forms.Form):
    """Fields of every channel. `given()` is the configuration as typed; a secret left empty is kept."""

    kind: ClassVar[ChannelType]
    lead: ClassVar[Any] = ""

    name = forms.CharField(label=_("Name"), max_length=255)
    digest = forms.ChoiceField(
        label=_("Tell me"),
        choices=Digest.choices,
        help_text=_("Errors, recoveries and alerts are always told at once."),
    )
    alert_level = forms.ChoiceField(
        label=_("Alerts of this installation"),
        required=False,
        choices=[("", _("None")), *((level, _("%(level)s and graver") % {"level": level}) for level in Level.values)],
    )
    is_active = forms.BooleanField(label=_("Switched on"), required=False, initial=True)

    def __init__(
        self, *args: Any, is_operator: bool, channel: NotificationChannel | None = None, **kwargs: Any
    ) -> None:
        self.channel = channel
        kwargs["initial"] = self._initial(channel)
        super().__init__(*args, **kwargs)
        if not is_operator:
            del self.fields["alert_level"]
        if channel is None:
            del self.fields["is_active"]
        last = ["digest", "alert_level", "is_active"]
        self.order_fields(["name", *(name for name in self.fields if name not in {"name", *last}), *last])

    def _initial(self, channel: NotificationChannel | None) -> dict[str, Any]:
        if channel is None:
            return {"digest": Digest.IMMEDIATE}
        return {name: getattr(channel, name) for name in ("name", "digest", "alert_level", "is_active")}

    def given(self) -> dict[str, Any]:
        raise NotImplementedError

    def choices(self) -> dict[str, Any]:
        wanted = ("name", "digest", "alert_level", "is_active")
        return {name: self.cleaned_data[name] for name in wanted if name in self.fields}


class MailForm(ChannelForm):
    kind = ChannelType.EMAIL
    lead = _("Notices as mails, with a link to unsubscribe in each.")
    email = forms.CharField(label=_("Mail address"), max_length=254)

    def _initial(self, channel: NotificationChannel | None) -> dict[str, Any]:
        return super()._initial(channel) | ({"email": channel.config.get("email", "")} if channel else {})

    def given(self) -> dict[str, Any]:
        return {"email": self.cleaned_data["email"]}


class WebhookForm(ChannelForm):
    kind = ChannelType.WEBHOOK
    lead = _("A signed JSON message to an address of yours, as Standard Webhooks describes it.")
    url = forms.CharField(
        label=_("Address"), max_length=2048, help_text=_("Public addresses only. Redirects are not followed.")
    )
    method = forms.ChoiceField(label=_("Method"), choices=[(method, method) for method in METHODS])
    headers = forms.CharField(
        label=_("Headers"),
        required=False,
        max_length=HEADER_LINES,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "Authorization: Bearer …"}),
        help_text=_("One per line, name and value with a colon between. Values are kept encrypted."),
    )
    secret = forms.CharField(
        label=_("Signing secret"),
        required=False,
        max_length=200,
        help_text=_("whsec_… of your own. Leave empty and one is made and shown once."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.channel is not None:
            _may_stay(self.fields["url"], self.channel.config.get("url", ""))
            del self.fields["secret"]

    def _initial(self, channel: NotificationChannel | None) -> dict[str, Any]:
        if channel is None:
            return super()._initial(channel)
        lines = [f"{name}: {value}" for name, value in channel.config.get("headers", {}).items()]
        return super()._initial(channel) | {"method": channel.config.get("method"), "headers": "\n".join(lines)}

    def clean_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for line in self.cleaned_data["headers"].splitlines():
            if line.strip():
                name, colon, value = line.partition(":")
                if not colon:
                    raise forms.ValidationError(_("Each line needs a name, a colon and a value."))
                headers[name.strip()] = value.strip()
        return headers

    def given(self) -> dict[str, Any]:
        given = {"method": self.cleaned_data["method"], "headers": self.cleaned_data["headers"]}
        return given | {name: self.cleaned_data[name] for name in ("url", "secret") if self.cleaned_data.get(name)}


class ServiceForm(ChannelForm):
    kind = ChannelType.APPRISE
    lead = _("Telegram, Slack, Discord, WeCom, Feishu and many others, by one address in Apprise's notation.")
    url = forms.CharField(
        label=_("Service address"), max_length=1024, help_text=_("For example tgram://token/chat. Kept encrypted.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.channel is not None:
            _may_stay(self.fields["url"], self.channel.config.get("url", ""))

    def given(self) -> dict[str, Any]:
        return {"url": self.cleaned_data["url"]} if self.cleaned_data["url"] else {}


def _may_stay(field: forms.Field, masked: str) -> None:
    """A secret is never put into a page: the field is empty, and empty means unchanged."""
    field.required = False
    field.widget.attrs["placeholder"] = masked
    field.help_text = _("Leave empty to keep the present one.")


FORMS: dict[str, type[ChannelForm]] = {form.kind: form for form in (MailForm, WebhookForm, ServiceForm)}
