"""HTTP for channels: one guarded request with its result, and the base class of chat services.

A chat service declares its fields, builds one JSON request and reads the response. A message counts as sent only when
the service itself says so: several respond 200 to a message that they refuse.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.web import client
from watchbook.base.web.address import check_url, is_trusted
from watchbook.base.web.errors import Busy, Refused, WebError
from watchbook.base.web.response import Answer, retry_after
from watchbook.core.notify.channels import (
    MASK,
    BadConfig,
    ChannelForm,
    ChannelKind,
    Config,
    keep_if_empty,
    only,
    text_of,
)
from watchbook.core.notify.message import Message, Result, failed, sent
from watchbook.core.notify.models import NotificationChannel

DEADLINE_SECONDS = 30.0
# 4xx that may succeed later: time-out, conflict, too early, too many.
PASSING = frozenset({408, 409, 425, 429})
# 4xx that refuse the sender or the address and not the message: a login, a firewall, a deployment. They are retried as
# an outage is, because no message is at fault.
REFUSED = frozenset({401, 402, 403, 404, 405, 407, 421, 423, 424, 451})
# The whole response of a chat service is read: the decision may be at its end.
MAX_RESPONSE = 65_536
# A list that a form asks for: at most 100 messages with their texts.
MAX_LISTED = 1_048_576
ASK_SECONDS = 15.0


def post(
    channel: NotificationChannel,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    method: str = "POST",
    secrets: Mapping[str, str] | None = None,
    max_bytes: int | None = None,
) -> Answer | Result:
    """Send one request. Returns the response, or the failed result when there is none."""
    try:
        return client.send(
            method,
            url,
            body,
            headers=headers,
            secrets=secrets or {},
            max_bytes=max_bytes,
            deadline_seconds=DEADLINE_SECONDS,
            raise_for_status=False,
            own_url=settings.PUBLIC_URL,
            # A key per attempt: the outbox keeps the pause that an endpoint asked for, with its own clock, and the rate
            # limit of the host must not keep it a second time.
            account=f"{channel.pk}:{clock.now().timestamp()}",
        )
    except Busy as error:
        return failed(error.code, message=error.message, retry_after_seconds=error.retry_after_seconds, is_busy=True)
    except WebError as error:
        return failed(
            error.code,
            message=error.message,
            status=error.status,
            retry_after_seconds=error.retry_after_seconds,
            is_permanent=not error.is_temporary,
        )


def ask(url: str, body: Mapping[str, Any], *, key: str) -> dict[str, Any]:
    """Ask a service a question while a user waits. Returns its JSON object; raises WebError without a response."""
    answer = client.send(
        "POST",
        url,
        json.dumps(body).encode(),
        headers={"content-type": "application/json"},
        max_bytes=MAX_LISTED,
        deadline_seconds=ASK_SECONDS,
        raise_for_status=False,
        own_url=settings.PUBLIC_URL,
        account=f"{key}:{clock.now().timestamp()}",
    )
    try:
        document = json.loads(answer.body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def judge(answer: Answer) -> Result:
    """Only 2xx is success."""
    status, body = answer.status, answer.body
    if 200 <= status < 300:
        return sent(status, body)
    if status == 410:
        return failed("gone", status=status, body=body, is_gone=True)
    if status < 400:
        return failed("redirect", status=status, body=body)
    is_permanent = status < 500 and status not in PASSING | REFUSED
    pause = None if is_permanent else retry_after(answer.headers)
    return failed("status", status=status, body=body, is_permanent=is_permanent, retry_after_seconds=pause)


@dataclass(frozen=True)
class Field:
    """One field of a chat service. An address must be at one of `hosts`, or at a host that an operator trusts."""

    name: str
    label: str | Promise
    help: str | Promise
    pattern: str = ""
    is_secret: bool = True
    is_required: bool = True
    is_address: bool = False
    hosts: tuple[str, ...] = ()
    default: str = ""


@dataclass(frozen=True)
class Outgoing:
    url: str
    body: Mapping[str, Any]
    secret_headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What the service said. `said` is its own sentence; `is_passing`: the same message may be accepted later."""

    is_accepted: bool
    said: str = ""
    is_passing: bool = False
    pause_seconds: float | None = None


class ChatForm(ChannelForm):
    """The fields of a chat service; secrets are never put into a page."""

    chat_fields: ClassVar[tuple[Field, ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in self.chat_fields:
            if self.channel is not None and each.is_secret:
                keep_if_empty(self.fields[each.name], self.channel.config.get(each.name, ""))

    def _initial(self, channel: NotificationChannel | None) -> dict[str, Any]:
        own = channel.config if channel else {each.name: each.default for each in self.chat_fields}
        return super()._initial(channel) | {
            each.name: own.get(each.name, "") for each in self.chat_fields if not each.is_secret
        }

    def given(self) -> dict[str, Any]:
        values = {each: self.cleaned_data.get(each.name, "") for each in self.chat_fields}
        return {each.name: value for each, value in values.items() if value or not each.is_secret}


def form_of(fields: tuple[Field, ...]) -> type[ChatForm]:
    declared = {
        each.name: forms.CharField(
            label=each.label,  # type: ignore[arg-type]
            help_text=each.help,  # type: ignore[arg-type]
            required=each.is_required,
            max_length=2048,
        )
        for each in fields
    }
    return type("ServiceForm", (ChatForm,), {**declared, "chat_fields": fields})


class ChatKind(ChannelKind):
    """A chat or push service that takes one JSON request per message."""

    fields: ClassVar[tuple[Field, ...]]
    content = ()

    def __init_subclass__(cls) -> None:
        cls.form = form_of(cls.fields)

    def check(self, given: Config, known: Config) -> dict[str, Any]:
        only(given, *(each.name for each in self.fields))
        return self.checked(given, known, *(each.name for each in self.fields))

    def checked(self, given: Config, known: Config, *names: str) -> dict[str, Any]:
        """Return these fields, clean, or raise BadConfig with the first that cannot be used."""
        wanted = [each for each in self.fields if each.name in names]
        return {each.name: _checked(each, text_of(given, known, each.name) or each.default) for each in wanted}

    def masked(self, config: dict[str, Any]) -> dict[str, Any]:
        return {each.name: _masked(each, config[each.name]) for each in self.fields}

    def target(self, config: Config) -> str:
        return str(config.get(self.fields[0].name, ""))

    def secrets(self, config: Config) -> tuple[str, ...]:
        return tuple(config[each.name] for each in self.fields if each.is_secret and config.get(each.name))

    def send(self, channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
        with translation.override(channel.user.language or settings.LANGUAGE_CODE):
            outgoing = self.outgoing(config, message)
        body = json.dumps(outgoing.body, ensure_ascii=False).encode()
        headers = {"content-type": "application/json; charset=utf-8"}
        secrets = outgoing.secret_headers
        answer = post(channel, outgoing.url, body, headers, secrets=secrets, max_bytes=MAX_RESPONSE)
        return answer if isinstance(answer, Result) else self._result(answer)

    def _result(self, answer: Answer) -> Result:
        by_status = judge(answer)
        try:
            document = json.loads(answer.body)
        except ValueError:
            document = None
        reply = self.reply(answer, document if isinstance(document, dict) else {})
        if by_status.ok and reply.is_accepted:
            return by_status
        if not reply.said and not by_status.ok:
            return by_status
        said = reply.said or _("The response is not one of this service.")
        is_permanent = by_status.is_permanent or (by_status.ok and not reply.is_passing)
        return failed(
            "refused_by_service",
            message=f"{self.label}: {said}",
            status=answer.status,
            body=answer.body,
            is_permanent=is_permanent,
            is_gone=by_status.is_gone,
            retry_after_seconds=reply.pause_seconds or by_status.retry_after_seconds,
        )

    @abstractmethod
    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        """Return the request, in the language of the channel's owner."""

    @abstractmethod
    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        """Read the response. `document` is its JSON object, empty if it has none."""


def _checked(each: Field, value: str) -> str:
    if not value:
        if each.is_required:
            raise BadConfig(each.name, _("Enter a value."))
        return ""
    if each.is_address:
        return _checked_address(each, value)
    if each.pattern and not re.fullmatch(each.pattern, value):
        raise BadConfig(each.name, _("This value is not complete. %(help)s") % {"help": each.help})
    return value


def _checked_address(each: Field, value: str) -> str:
    try:
        url = check_url(value, own_url=settings.PUBLIC_URL)
    except Refused as refused:
        raise BadConfig(each.name, _(refused.message)) from None
    if is_trusted(url.host, url.port):
        return url.url
    if url.scheme != "https" or (each.hosts and url.host not in each.hosts):
        start = f"https://{each.hosts[0] if each.hosts else ''}"
        raise BadConfig(each.name, _("Enter an address that begins with %(start)s.") % {"start": start})
    return url.url


def _masked(each: Field, value: str) -> str:
    if not each.is_secret or not value:
        return value
    if not each.is_address:
        return MASK
    scheme, _mark, rest = value.partition("://")
    return f"{scheme}://{re.split('[/?]', rest, maxsplit=1)[0]}/{MASK}"
