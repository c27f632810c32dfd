"""Which addresses of other services (in Apprise's notation) may be used.

Apprise opens its own connections, so only plug-ins whose hosts are written in their own code are allowed, and none
that reads a file or another address named in the URL. A plug-in that goes to a host of the user's choice is allowed
for hosts that the operator trusts, by name and port.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from django.utils.translation import gettext as _

from watchbook.base.web.address import is_trusted
from watchbook.core.notify.errors import BadConfig

LONGEST = 1024

# Their hosts are fixed by the plug-in; the URL holds tokens and names of rooms only.
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
# Apprise reads `a@b@c` and escaped marks otherwise than anybody else, so an authority that leaves a doubt is refused.
_USER = r"(?:[^@:/?#%\[\];]*(?::[^@:/?#%\[\];]*)?@)?"
_AUTHORITY = re.compile(rf"{_USER}(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{{1,5}}))?", re.IGNORECASE)


def check_service(url: str) -> str:
    """One service address as given, or BadConfig. Nothing is parsed by Apprise before it passed here."""
    if len(url) > LONGEST:
        raise BadConfig("url", _("The address is too long."))
    match = _SHAPE.fullmatch(url)
    if match is None or "," in url or "\\" in url:
        raise BadConfig("url", _("Enter one service address such as tgram://token/chat."))
    scheme = match.group(1).lower()
    if scheme not in PUBLIC and scheme not in HOSTED:
        raise BadConfig("url", _("The service %(name)s is not on the list of allowed ones.") % {"name": scheme})
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
            _("This service goes to a host of your choice; an operator has to allow it in WATCHBOOK_TRUSTED_HOSTS."),
        )
