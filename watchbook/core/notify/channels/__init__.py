"""Channel kinds: their base class, the common form fields and checks, and the list of all kinds, found by folder.

A new kind is one new file in this folder with one instance named KIND; nothing else names it. What can go wrong when a
user sets up a channel:

    NotifyError
    ├── BadConfig        a field cannot be used as given: change it (`field` and `message` name it and the reason)
    ├── Unreadable       the secrets cannot be decrypted with the current key: enter them again
    ├── TooManyTests     too many test messages: wait
    └── NotReplayable    only a notification that was sent, skipped or given up can be resent

Errors of sending are no exceptions: an attempt ends in a `message.Result`.

Configuration of a channel: checked, encrypted in the database, masked when displayed.

A configuration is one JSON document. `write` encrypts it into `secret` and puts the masked form into `config`; `read`
decrypts it. A value equal to the mask means "keep the current one".
"""

from __future__ import annotations

import json
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from watchbook.base.crypto import DecryptionError, Writing, decrypt, encrypt, reencrypt
from watchbook.base.logs.redact import remember
from watchbook.core.notify.message import Message, Result, failed
from watchbook.core.notify.models import Digest, Level, NotificationChannel, PushKey
from watchbook.core.notify.push import BOUND_TO as PUSH_KEY


class NotifyError(Exception):
    code = "notify"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadConfig(NotifyError):
    code = "bad_config"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Unreadable(NotifyError):
    code = "not_decrypted"


class TooManyTests(NotifyError):
    code = "too_many_tests"


class NotReplayable(NotifyError):
    code = "not_replayable"


MASK = "***"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]|%(?:[01][0-9a-f]|7f)", re.IGNORECASE)

Config = Mapping[str, Any]


# What every channel has beside its configuration.
CHOICES = ("name", "digest", "quiet_from", "quiet_until", "alert_level", "is_active")


class ChannelForm(forms.Form):
    """Form fields of every channel. `given()` returns the configuration; an empty secret keeps the current one."""

    name = forms.CharField(label=_("Name"), max_length=255)
    digest = forms.ChoiceField(
        label=_("Frequency"),
        choices=Digest.choices,
        help_text=_("Errors, recoveries and alerts are always sent immediately."),
    )
    quiet_from = forms.TimeField(
        label=_("Quiet hours from"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text=_("In your time zone. What comes in this time is sent as one message when it ends."),
    )
    quiet_until = forms.TimeField(
        label=_("Quiet hours until"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    alert_level = forms.ChoiceField(
        label=_("Server alerts"),
        required=False,
        choices=[("", _("None")), *((level, _("%(level)s and higher") % {"level": level}) for level in Level.values)],
    )
    is_active = forms.BooleanField(label=_("Enabled"), required=False, initial=True)

    def __init__(
        self, *args: Any, is_operator: bool, channel: NotificationChannel | None = None, name: str = "", **kwargs: Any
    ) -> None:
        self.channel = channel
        kwargs["initial"] = {"name": name, **self._initial(channel)}
        super().__init__(*args, **kwargs)
        if not is_operator:
            del self.fields["alert_level"]
        if channel is None:
            del self.fields["is_active"]
        last = ["digest", "quiet_from", "quiet_until", "alert_level", "is_active"]
        self.order_fields(["name", *(name for name in self.fields if name not in {"name", *last}), *last])

    def _initial(self, channel: NotificationChannel | None) -> dict[str, Any]:
        if channel is None:
            return {"digest": Digest.IMMEDIATE}
        return {name: getattr(channel, name) for name in CHOICES}

    def given(self) -> dict[str, Any]:
        raise NotImplementedError

    def choices(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in CHOICES if name in self.fields}

    def kind_fields(self) -> list[forms.BoundField]:
        """Return the fields of the service itself, without those of every channel."""
        return [bound for bound in self.visible_fields() if bound.name not in CHOICES]

    def common_rows(self) -> list[list[forms.BoundField]]:
        return in_rows(bound for bound in self.visible_fields() if bound.name in CHOICES)


def in_rows(fields: Iterable[forms.BoundField]) -> list[list[forms.BoundField]]:
    """One field in a row, and the two times of the quiet hours in one."""
    rows: list[list[forms.BoundField]] = []
    for bound in fields:
        if bound.name == "quiet_until" and rows:
            rows[-1].append(bound)
        else:
            rows.append([bound])
    return rows


@dataclass(frozen=True)
class Listed:
    """A value that a service offers for a field, such as a chat that a bot can write to."""

    value: str
    title: str
    detail: str = ""


class ChannelKind(ABC):
    """One way to send notifications. A new kind is one file in this folder with one instance named KIND."""

    name: ClassVar[str]
    label: ClassVar[str | Promise]
    icon: ClassVar[str]
    lead: ClassVar[str | Promise]
    # Paragraphs beside the form: what is sent, and what counts as sent.
    content: ClassVar[tuple[str | Promise, ...]]
    # Where a user finds the values of the form, step by step.
    steps: ClassVar[tuple[str | Promise, ...]] = ()
    form: ClassVar[type[ChannelForm]]
    order: ClassVar[int] = 100
    template: ClassVar[str] = "notify/channel_form.html"
    # A picture of where the values are found: lines of the service's own page, the values to copy marked with True.
    picture: ClassVar[tuple[tuple[str | Promise, bool], ...]] = ()
    # Whether messages are signed with a secret that the user copies.
    is_signed: ClassVar[bool] = False
    # The field whose values the service itself can list, the field that must be filled before, and the button.
    listed_field: ClassVar[str] = ""
    listed_after: ClassVar[str] = ""
    listed_title: ClassVar[str | Promise] = ""

    def list_values(self, given: Config, known: Config) -> list[Listed]:
        """Ask the service for the values of `listed_field`. Raises BadConfig with its answer."""
        raise NotImplementedError

    def unavailable(self) -> str | Promise:
        """Return why this kind cannot send now; empty if it can."""
        return ""

    @abstractmethod
    def check(self, given: Config, known: Config) -> dict[str, Any]:
        """Return a whole, clean configuration, or raise BadConfig with the field. Unknown keys are refused."""

    @abstractmethod
    def masked(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return the configuration with secrets masked, for the `config` column and pages."""

    def target(self, config: Config) -> str:
        """Return the recipient or endpoint as pages show it, from the masked configuration."""
        return str(config.get("url", ""))

    def secrets(self, config: Config) -> tuple[str, ...]:
        """Return values that logs must mask."""
        return (config.get("url", ""),)

    @abstractmethod
    def send(self, channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
        """Send one message. Raises nothing for what the other side did: that is a Result."""


def keep_if_empty(field: forms.Field, masked: str) -> None:
    """Make a secret field optional when editing: it is never put into a page, and empty means unchanged."""
    field.required = False
    field.widget.attrs["placeholder"] = masked
    field.help_text = _("Leave empty to keep the current value.")


def only(given: Config, *names: str) -> None:
    unknown = sorted(str(name) for name in given if name not in names)
    if unknown:
        raise BadConfig("config", gettext("Unknown setting: %(name)s") % {"name": unknown[0][:60]})


def text_of(given: Config, known: Config, name: str) -> str:
    value = given.get(name)
    if value is None or (isinstance(value, str) and MASK in value):
        value = known.get(name, "")
    if not isinstance(value, str):
        raise BadConfig(name, gettext("Enter text."))
    if _CONTROL.search(value.strip(" \t\r\n")):
        # Also where they are written %00: no endpoint has them in its address on purpose.
        raise BadConfig(name, gettext("Remove the control characters."))
    return value.strip()


@cache
def kinds() -> dict[str, ChannelKind]:
    """Return every kind by its name, in the order of the page."""
    modules = [each.name for each in pkgutil.iter_modules(__path__)]
    found: list[ChannelKind] = [import_module(f"{__name__}.{name}").KIND for name in modules]
    return {kind.name: kind for kind in sorted(found, key=lambda kind: kind.order)}


def kind_of(name: str) -> ChannelKind | None:
    return kinds().get(name)


def check(channel_type: str, given: Config, known: Config | None = None) -> dict[str, Any]:
    """Return a whole, clean configuration, or raise BadConfig with the field.

    `known` is the current configuration: it stays where `given` has no value or the mask.
    """
    return _kind(channel_type).check(given, known or {})


def bound_to(channel: NotificationChannel) -> str:
    return f"channel:{channel.pk}:config"


def write(channel: NotificationChannel, config: dict[str, Any]) -> None:
    """Set a checked configuration on the row; the caller saves it."""
    text = json.dumps(config, ensure_ascii=False)
    channel.secret = encrypt(text, bound_to=bound_to(channel))
    channel.config = masked(channel.channel_type, config)


def read(channel: NotificationChannel) -> dict[str, Any]:
    """Return the decrypted configuration. Logs mask its secrets from now on."""
    if channel.account_slot is not None:
        return {"email": channel.user.email}
    try:
        text = decrypt(channel.secret, bound_to=bound_to(channel))
    except DecryptionError:
        raise Unreadable(
            gettext("The secrets of this channel cannot be decrypted with the current key. Enter them again.")
        ) from None
    config: dict[str, Any] = json.loads(text)
    secrets = _kind(channel.channel_type).secrets(config)
    if secrets:
        remember(text)
    for secret in secrets:
        remember(secret)
    return config


def masked(channel_type: str, config: dict[str, Any]) -> dict[str, Any]:
    return _kind(channel_type).masked(config)


def send(channel: NotificationChannel, message: Message) -> Result:
    """Send one message through a channel."""
    if channel.kind is None:
        return failed("unknown_type", is_permanent=True)
    try:
        config = read(channel)
    except Unreadable:
        return failed("not_decrypted")
    return channel.kind.send(channel, config, message)


def _kind(name: str) -> ChannelKind:
    kind = kind_of(name)
    if kind is None:
        raise BadConfig("channel_type", gettext("Unknown channel type."))
    return kind


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from reencrypt(NotificationChannel.objects.all(), "secret", bound_to, writing)
    yield from reencrypt(PushKey.objects.all(), "secret", lambda _row: PUSH_KEY, writing)
