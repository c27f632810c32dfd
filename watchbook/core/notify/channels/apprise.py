"""Other services through Apprise: one address per channel, without retries and redirects of its own.

Apprise opens its own connections; `base.web.foreign` checks every address it connects to. Only plug-ins whose hosts are
written in their own code are allowed, and none that reads a file or another address named in the URL. A plug-in that
connects to a host of the user's choice is allowed for hosts that an operator trusts, by name and port.
"""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import unquote

from django import forms
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import work
from watchbook.base.env import how_to_install, is_installed
from watchbook.base.store.rows import release
from watchbook.base.text import cut
from watchbook.base.web.address import is_trusted
from watchbook.base.web.transport import guard_urllib3
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
from watchbook.core.notify.chat import body_lines
from watchbook.core.notify.message import Message, Result, failed, sent
from watchbook.core.notify.models import NotificationChannel

DEADLINE_SECONDS = 30.0
TEXT_LENGTH = 4000
LONGEST = 1024

# Their hosts are fixed by the plug-in; the URL holds tokens and names of groups only.
PUBLIC = frozenset({
    "brevo", "dingtalk", "discord", "feishu", "flock", "gchat", "groupme", "guilded", "ifttt", "join", "kook", "lark",
    "line", "mailersend", "msgbird", "nexmo", "notifiarr", "onesignal", "opsgenie", "pagerduty", "pagertree", "pbul",
    "postmark", "pover", "prowl", "push", "pushed", "pushme", "pushplus", "pushy", "qq", "resend", "revolt", "ryver",
    "schan", "sendgrid", "signl4", "simplepush", "slack", "spike", "spugpush", "squadcast", "telnyx", "tgram",
    "threema", "twilio", "twist", "viber", "vonage", "webex", "wecombot", "whapi", "wpush", "wxpusher", "wxteams",
    "zoom",
})  # fmt: skip
# They go to a host of the user's choice. The number is the port when none is named.
HOSTED = {
    "bark": 80, "barks": 443, "form": 80, "forms": 443, "gotify": 80, "gotifys": 443, "hassio": 8123, "hassios": 443,
    "json": 80, "jsons": 443, "matrix": 80, "matrixs": 443, "mmost": 8065, "mmosts": 8065, "ntfy": 80, "ntfys": 443,
    "rocket": 80, "rockets": 443, "xml": 80, "xmls": 443,
}  # fmt: skip
# These would undo what the sender sets: no redirects, checked certificates, no retries of its own, no files.
_CLOSED = {
    "redirect", "verify", "retry", "wait", "cto", "rto", "store", "template", "attach", "attach-as", "keyfile", "file",
    "batch", "webhook", "webhook_url", "host", "hostname", "proxy", "method",
}  # fmt: skip
_SHAPE = re.compile(r"([a-z0-9]{2,20})://([\x21-\x7e]+)", re.IGNORECASE)
# Apprise reads `a@b@c` and escaped marks differently from other parsers, so an ambiguous authority is refused.
_USER = r"(?:[^@:/?#%\[\];]*(?::[^@:/?#%\[\];]*)?@)?"
_AUTHORITY = re.compile(rf"{_USER}(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{{1,5}}))?", re.IGNORECASE)


class ServiceForm(ChannelForm):
    url = forms.CharField(
        label=gettext_lazy("Service address"),
        max_length=1024,
        help_text=gettext_lazy("For example tgram://token/chat. The address is encrypted."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.channel is not None:
            keep_if_empty(self.fields["url"], self.channel.config.get("url", ""))

    def given(self) -> dict[str, Any]:
        return {"url": self.cleaned_data["url"]} if self.cleaned_data["url"] else {}


class AppriseService(ChannelKind):
    name = "apprise"
    label = gettext_lazy("Apprise service")
    icon = "plug"
    lead = gettext_lazy("Many other services, by an Apprise URL.")
    content = (gettext_lazy("Subject, text and link of the notification, in the format of the service."),)
    form = ServiceForm
    order = 100

    def check(self, given: Config, known: Config) -> dict[str, Any]:
        only(given, "url")
        return {"url": check_service(text_of(given, known, "url"))}

    def masked(self, config: dict[str, Any]) -> dict[str, Any]:
        return {"url": f"{config['url'].partition('://')[0]}://{MASK}"}

    def send(self, channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
        return send(channel, config, message)


KIND = AppriseService()


def check_service(url: str) -> str:
    """One service address as given, or BadConfig. Nothing is parsed by Apprise before it passed here."""
    if not is_installed("apprise"):
        raise BadConfig(
            "url",
            _("Apprise is not installed. An operator can install it: %(command)s")
            % {"command": how_to_install("apprise")},
        )
    if len(url) > LONGEST:
        raise BadConfig("url", _("The address is too long."))
    match = _SHAPE.fullmatch(url)
    if match is None or "," in url or "\\" in url:
        raise BadConfig("url", _("Enter one service address such as tgram://token/chat."))
    scheme = match.group(1).lower()
    if scheme not in PUBLIC and scheme not in HOSTED:
        raise BadConfig("url", _("The service %(name)s is not allowed.") % {"name": scheme})
    _check_options(url)
    if scheme in HOSTED:
        _check_host(url, HOSTED[scheme])
    return url


def _check_options(url: str) -> None:
    for pair in re.split("[?&;]", url.partition("?")[2]):
        name = unquote(pair.partition("=")[0])
        # A sign before the name makes it a header, a parameter or a payload field of the plug-in.
        if name.strip().lower() in _CLOSED or name.startswith(("+", "-", ":", " ")):
            raise BadConfig("url", _("The option %(name)s is not allowed in a service address.") % {"name": name[:40]})


def _check_host(url: str, default_port: int) -> None:
    rest = url.partition("://")[2]
    found = _AUTHORITY.fullmatch(re.split("[/?#]", rest, maxsplit=1)[0])
    # A second @ further on would make Apprise take the path for a password and look for the host behind it.
    if found is None or "@" in rest[found.end() :].partition("?")[0]:
        raise BadConfig("url", _("The address has no valid host name."))
    host = found["host"].strip("[]").rstrip(".").lower()
    if not is_trusted(host, int(found["port"] or default_port)):
        raise BadConfig(
            "url",
            _("This service connects to a host you choose. An operator must allow it in WATCHBOOK_TRUSTED_HOSTS."),
        )


def send(channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
    if not is_installed("apprise"):
        return failed("service_not_installed")
    try:
        url = check_service(config["url"])  # the list may have become shorter since it was saved
    except BadConfig:
        return failed("service_refused", is_permanent=True)
    # Imported here: it loads 180 plug-ins, and most installations have no such channel.
    import apprise
    from apprise.result import AppriseResultStatus

    guard_urllib3()
    release()

    # Its log lines name addresses; the outcome is in the delivery log.
    logging.getLogger("apprise").setLevel(logging.CRITICAL)
    asset = apprise.AppriseAsset(
        app_id="Watchbook",
        app_desc="Watchbook",
        http_redirects=False,
        default_service_retry=0,
        storage_mode="memory",
        service_timeout=DEADLINE_SECONDS,
        pgp_autogen=False,
        pem_autogen=False,
    )
    service = apprise.Apprise(asset=asset)
    if not service.add(url):
        return failed("service_refused", is_permanent=True)
    for plugin in service:
        # A Matrix server may refer to another server, which the user did not choose.
        plugin.discovery = False  # type: ignore[attr-defined]
    work.add_to_count(requests=1)
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        body = _body(message)
    outcome = service.notify(
        body=body,
        title=cut(message.subject, 250),
        body_format=apprise.NotifyFormat.TEXT,
        timeout=DEADLINE_SECONDS,
        interpret_escapes=False,
    )
    if outcome.status == AppriseResultStatus.SUCCESS:
        return sent()
    if outcome.status == AppriseResultStatus.TIMEOUT:
        return failed("service_timed_out")
    return failed("service_failed")


def _body(message: Message) -> str:
    lines = body_lines(message, TEXT_LENGTH) or [cut(message.text or message.subject, TEXT_LENGTH)]
    return "\n".join([*lines, message.link] if message.link else lines)
