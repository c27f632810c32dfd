"""Phone push: Web Push to one browser that subscribed. Only that browser can decrypt the message."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from django import forms
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base.crypto import DecryptionError
from watchbook.base.text import cut
from watchbook.base.web.address import check_url, is_trusted
from watchbook.base.web.errors import Refused
from watchbook.base.web.response import Answer
from watchbook.core.notify import push
from watchbook.core.notify.channels import MASK, BadConfig, ChannelForm, ChannelKind, Config, only, text_of
from watchbook.core.notify.chat import TITLES, body_lines, short_subject
from watchbook.core.notify.http import judge, post
from watchbook.core.notify.message import Message, Result, failed
from watchbook.core.notify.models import NotificationChannel, PushKey

# Of 4,096 bytes that every push service accepts, the encryption takes 103.
PLAIN_BYTES = 3_900
BODY_BYTES = 1_500
DAY = 86_400
# Seconds that the push service keeps a message for a phone that is off.
KEPT_SECONDS = {"": 3 * DAY, "P0": DAY, "P1": DAY, "P2": DAY}
URGENT = frozenset({"P0", "P1"})


class PushForm(ChannelForm):
    """The script of the page fills in what the browser answered; a user sees the name only."""

    endpoint = forms.CharField(widget=forms.HiddenInput, required=False, max_length=2048)
    p256dh = forms.CharField(widget=forms.HiddenInput, required=False, max_length=200)
    auth = forms.CharField(widget=forms.HiddenInput, required=False, max_length=100)

    def given(self) -> dict[str, Any]:
        if self.channel is not None and not self.cleaned_data["endpoint"]:
            return {}
        return {name: self.cleaned_data[name] for name in ("endpoint", "p256dh", "auth")}


class Push(ChannelKind):
    name = "push"
    label = gettext_lazy("Phone push")
    icon = "phone"
    lead = gettext_lazy("To this phone or computer, without an account elsewhere.")
    content = (
        gettext_lazy("Subject and first titles, encrypted for this browser: the push service cannot read them."),
        gettext_lazy("An unread notification of the same item is replaced by the newer one."),
    )
    form = PushForm
    order = 5
    template = "notify/push_form.html"

    def check(self, given: Config, known: Config) -> dict[str, Any]:
        only(given, "endpoint", "p256dh", "auth")
        endpoint = _checked_endpoint(text_of(given, known, "endpoint"))
        keys = {name: text_of(given, known, name) for name in ("p256dh", "auth")}
        try:
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), push.unb64(keys["p256dh"]))
        except ValueError:
            raise BadConfig("p256dh", _("The key of the browser is not valid.")) from None
        try:
            is_whole = len(push.unb64(keys["auth"])) == 16
        except ValueError:
            is_whole = False
        if not is_whole:
            raise BadConfig("auth", _("The key of the browser is not valid."))
        return {"endpoint": endpoint, **keys}

    def masked(self, config: dict[str, Any]) -> dict[str, Any]:
        scheme, _mark, rest = config["endpoint"].partition("://")
        return {
            "endpoint": f"{scheme}://{rest.partition('/')[0]}/{MASK}",
            "device": device_id(config["endpoint"]),
        }

    def target(self, config: Config) -> str:
        return str(config.get("endpoint", "")).partition("://")[2].partition("/")[0]

    def secrets(self, config: Config) -> tuple[str, ...]:
        return (config["endpoint"], config["auth"])

    def send(self, channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
        with translation.override(channel.user.language or settings.LANGUAGE_CODE):
            document = _document(message)
        try:
            answer = _post(channel, config, message, document)
            if isinstance(answer, Answer) and answer.status == 413:
                # This service accepts less than the others: the subject alone.
                answer = _post(channel, config, message, document | {"body": ""})
        except (PushKey.DoesNotExist, DecryptionError):
            return failed("not_decrypted")
        return answer if isinstance(answer, Result) else _result(answer)


KIND = Push()


def device_id(endpoint: str) -> str:
    """Name a browser without its address, so that it is found when it subscribes again."""
    return hashlib.sha256(endpoint.encode()).hexdigest()[:32]


def _checked_endpoint(value: str) -> str:
    try:
        url = check_url(value, own_url=settings.PUBLIC_URL)
    except Refused as refused:
        raise BadConfig("endpoint", _(refused.message)) from None
    if url.scheme != "https" and not is_trusted(url.host, url.port):
        raise BadConfig("endpoint", _("Enter an address that begins with %(start)s.") % {"start": "https://"})
    return url.url


def _document(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "title": short_subject(message.subject),
        "body": "\n".join(body_lines(message, BODY_BYTES, TITLES)),
        "url": message.link,
        "tag": push.collapse_key(message.thread) or message.id,
        "at": int(message.created_at.timestamp() * 1000),
    }


def _post(
    channel: NotificationChannel, config: dict[str, Any], message: Message, document: dict[str, Any]
) -> Answer | Result:
    plain = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    if len(plain) > PLAIN_BYTES:
        plain = json.dumps(document | {"body": "", "title": cut(document["title"], 80)}).encode()
    level = str(message.payload.get("level", "")) if message.type == "alerts.alert" else ""
    headers = {
        "content-type": "application/octet-stream",
        "content-encoding": "aes128gcm",
        "ttl": str(KEPT_SECONDS.get(level, DAY)),
        "urgency": "high" if level in URGENT else "low" if message.type == "notify.digest" else "normal",
    }
    if name := push.collapse_key(message.thread):
        headers["topic"] = name
    body = push.encrypted(plain, push.unb64(config["p256dh"]), push.unb64(config["auth"]))
    proof = {"authorization": push.authorization(config["endpoint"])}
    return post(channel, config["endpoint"], body, headers, secrets=proof)


def _result(answer: Answer) -> Result:
    if answer.status in (404, 410):
        return failed("device_gone", status=answer.status, body=answer.body, is_gone=True)
    if answer.status == 413:
        return failed("status", status=413, body=answer.body, is_final=True)
    return judge(answer)
