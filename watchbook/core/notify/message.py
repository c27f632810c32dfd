"""What a notification says, the message that is sent of it, and the result of one attempt to send it.

A notification is cut to a size that every endpoint accepts. Users write no templates: our own code inserts the text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django import template
from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeData
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext as _

from watchbook.base.logs import redact
from watchbook.base.text import clean_text, cut, short_id
from watchbook.core import registry
from watchbook.core.notify.models import Attempt, Delivery
from watchbook.kit.letter import Letter
from watchbook.kit.letter import from_json as letter_of

LISTED = 100
# With subject, text and envelope a webhook stays under 20 kB.
PAYLOAD_BYTES = 16_000
CONTENT_BYTES = 60_000
STRING_LENGTH = 2_000
TEXT_LENGTH = 50_000
HTML_LENGTH = 200_000
DEPTH = 20


@dataclass(frozen=True)
class Named:
    """An object that a notification names. `line`: the number of the line about it; None: the whole is about it."""

    kind: str
    object_id: str
    line: int | None = None


@dataclass(frozen=True)
class Notification:
    """One event in words. `event_id` is its identity: the same event is sent once to each channel.

    `html` is markup only when it comes from a template (a safe string); anything else is escaped.
    `link` is a path of ours or a whole address; `thread` groups mails that belong together.
    `urgent` is sent immediately, without the digest.
    `letter` is its content: e-mail, chat and push are drawn from it, and `text` is then its plain text.
    `objects` are the items of a system that it names: `core.erase.erase` finds and removes their words by it.
    """

    event_id: str
    source: str
    kind: str
    subject: str
    text: str = ""
    lines: Sequence[str] = ()
    html: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    link: str = ""
    thread: str = ""
    urgent: bool = False
    objects: Sequence[Named] = ()
    letter: Letter | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns of its rows in the outbox."""
        content = stored(self.letter) if self.letter else {}
        text = letter_of(content).text().strip() if content else self.text or "\n".join(self.lines)
        text = cut(text, TEXT_LENGTH)
        return {
            "event_id": short_id(self.event_id),
            "source": cut(self.source, 40),
            "kind": cut(self.kind, 60),
            "subject": one_line(self.subject),
            "text": text,
            "html": "" if content else self._markup(text),
            "content": content,
            "payload": fit(self.payload),
            "link": full_link(self.link),
            "reference": short_id(self.thread),
            "bypass_digest": self.urgent,
        }

    def _markup(self, text: str) -> str:
        if isinstance(self.html, SafeData) and len(self.html) <= HTML_LENGTH:
            return clean_text(self.html)
        return paragraphs(clean_text(self.html)[:HTML_LENGTH] if self.html else text)


def stored(letter: Letter) -> dict[str, Any]:
    """Return the letter as its row keeps it; addresses that are not http or https are dropped."""
    document = fit(letter.as_json(), CONTENT_BYTES)
    document.pop("truncated", None)  # the letter itself says how many it does not list
    return _with_full_links(document)  # type: ignore[no-any-return]


def _with_full_links(value: Any) -> Any:
    if isinstance(value, dict):
        links = ("url", "here", "more_url")
        return {key: full_link(each) if key in links else _with_full_links(each) for key, each in value.items()}
    return [_with_full_links(each) for each in value] if isinstance(value, list) else value


def one_line(subject: str) -> str:
    """A subject is one line: a line break in it would be a header."""
    return cut(" ".join(clean_text(subject).split()), 300)


def paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(line)}</p>\n" for line in text.splitlines() if line.strip())


def full_link(link: str) -> str:
    """A path becomes a whole address; anything but http and https is dropped."""
    link = clean_text(link).strip()
    if link.startswith("/"):
        link = f"{settings.PUBLIC_URL}{link}"
    return link if link.startswith(("http://", "https://")) and len(link) <= 2048 else ""


def fit(payload: Mapping[str, Any], limit: int = PAYLOAD_BYTES) -> dict[str, Any]:
    """The payload with at most 100 entries per list, fewer when it would still be too large to post."""
    listed = LISTED
    while True:
        fitted, was_cut = _shorten(payload, listed, 0)
        if was_cut:
            fitted["truncated"] = True
        if len(json.dumps(fitted, ensure_ascii=False).encode()) <= limit:
            return dict(fitted)
        if listed == 0:
            return {"truncated": True}
        listed = listed * 3 // 4


def _shorten(value: Any, listed: int, depth: int) -> tuple[Any, bool]:
    if depth > DEPTH:
        return None, True
    if isinstance(value, str):
        return cut(value, STRING_LENGTH), len(value) > STRING_LENGTH
    if value is None or isinstance(value, bool | int):
        return value, False
    if isinstance(value, float):
        finite = value == value and abs(value) != float("inf")  # JSON has neither NaN nor infinity
        return (value if finite else None), False
    if isinstance(value, Mapping):
        pairs = {clean_text(str(key)): _shorten(entry, listed, depth + 1) for key, entry in value.items()}
        return {key: entry for key, (entry, _) in pairs.items()}, any(was_cut for _, was_cut in pairs.values())
    if isinstance(value, Sequence | set | frozenset):
        kept = [_shorten(entry, listed, depth + 1) for entry in list(value)[:listed]]
        return [entry for entry, _ in kept], len(value) > listed or any(was_cut for _, was_cut in kept)
    return cut(str(value), STRING_LENGTH), False


KEPT_BODY = 2048

ANSWERED = gettext_noop("The endpoint returned HTTP %(status)s.")
MAIL_ANSWERED = gettext_noop("The mail server returned code %(status)s.")
SENTENCES = {
    "status": ANSWERED,
    "gone": gettext_noop("The endpoint no longer exists (HTTP 410). The channel is now disabled."),
    "device_gone": gettext_noop(
        "The browser no longer accepts notifications (HTTP %(status)s). The device is now disabled."
    ),
    "redirect": gettext_noop(
        "The endpoint returned a redirect (HTTP %(status)s). Watchbook does not follow redirects."
    ),
    "mail_not_set": gettext_noop("No mail server is set. An operator enters one under Settings."),
    "mail_later": MAIL_ANSWERED,
    "mail_refused": MAIL_ANSWERED,
    "mail_setup": gettext_noop("The mail server refused to send. An operator must check the mail settings."),
    "mail_unreachable": gettext_noop("Could not connect to the mail server, or the connection was closed."),
    "mail_unconfirmed": gettext_noop("The mail server closed the connection without confirming the message."),
    "bad_address": gettext_noop("The e-mail address is not valid."),
    "not_decrypted": gettext_noop(
        "The secrets of this channel cannot be decrypted with the current key. Enter them again."
    ),
    "unknown_type": gettext_noop("This type of channel is not installed."),
    "service_failed": gettext_noop("The service did not accept the notification."),
    "service_timed_out": gettext_noop("The service did not respond in time."),
    "service_not_installed": gettext_noop("Apprise is not installed on this server."),
    "service_refused": gettext_noop("This service address is not allowed."),
    "crashed": gettext_noop("The sending process stopped repeatedly during this delivery."),
    "unexpected": gettext_noop("Unexpected error. An operator can find the cause in the log."),
    "paused": gettext_noop("Not sent: the channel is disabled."),
    "failing": gettext_noop("Not sent: the channel was disabled because deliveries kept failing."),
    "signed_out": gettext_noop("Not sent: this device was signed out."),
    "unsubscribed": gettext_noop("Not sent: the recipient unsubscribed."),
    "erased": gettext_noop("Not sent: the item was deleted."),
    "account_closed": gettext_noop("Not sent: the account is disabled."),
}


@dataclass(frozen=True)
class Message:
    """A notification for one channel. `id` is the same for every attempt, so that duplicates can be ignored."""

    id: str
    event_id: str
    type: str
    subject: str
    text: str
    html: str
    link: str
    created_at: datetime
    sequence: int | None = None
    thread: str = ""
    payload: dict[str, Any] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)

    @property
    def letter(self) -> Letter | None:
        return letter_of(self.content) if self.content else None


def message_id(event_id: str, channel_id: object) -> str:
    """Letters and digits only: the id is signed between dots and used in mail headers."""
    return "msg_" + hashlib.sha256(f"{event_id}\0{channel_id}".encode()).hexdigest()[:32]


def message_of(delivery: Delivery) -> Message:
    return Message(
        id=message_id(delivery.event_id, delivery.channel_id),
        event_id=delivery.event_id,
        type=f"{delivery.source}.{delivery.kind}",
        subject=delivery.subject,
        text=delivery.text,
        html=delivery.html,
        link=delivery.link,
        created_at=delivery.created_at,
        sequence=delivery.sequence,
        thread=delivery.reference,
        payload=delivery.payload,
        content=delivery.content,
    )


@dataclass(frozen=True)
class Result:
    """Result of one attempt.

    `is_permanent`: two in a row end the delivery; `is_final`: this one ends it; `is_gone`: this one also disables the
    channel. `is_busy`: nothing was sent, so it does not count as an attempt.
    """

    ok: bool
    code: str = ""
    message: str = ""
    status: int | None = None
    body: str = ""
    retry_after_seconds: float | None = None
    is_permanent: bool = False
    is_final: bool = False
    is_gone: bool = False
    is_busy: bool = False


def sent(status: int | None = None, body: bytes = b"") -> Result:
    return Result(ok=True, status=status, body=kept(body))


def failed(code: str, *, message: str = "", status: int | None = None, body: bytes = b"", **how: object) -> Result:
    """Return a failed result. The sentence belongs to the code unless `message` is given."""
    sentence = message or SENTENCES[code] % {"status": status}
    return Result(ok=False, code=code, message=cut(sentence, 500), status=status, body=kept(body), **how)  # type: ignore[arg-type]


def kept(body: bytes) -> str:
    """Return the start of a response as plain text. Known secrets are masked: some endpoints echo what they get."""
    return cut(redact.text(clean_text(body[:KEPT_BODY].decode("utf-8", "replace"))), KEPT_BODY)


def explain(code: str, status: int | None, message: str = "") -> str:
    """Return the sentence of a stored result in the current language."""
    if code in SENTENCES:
        return _(SENTENCES[code]) % {"status": status}
    return _(message) if message else ""


register = template.Library()

# Kinds of notifications that core itself sends; those of a system are its `stream_kinds`.
OWN_KINDS = {
    ("alerts", "alert"): gettext_noop("Alert"),
    ("alerts", "resolved"): gettext_noop("Alert resolved"),
    ("notify", "channel_failing"): gettext_noop("Deliveries failing"),
    ("notify", "channel_recovered"): gettext_noop("Deliveries working again"),
    ("notify", "digest"): gettext_noop("Digest"),
    ("notify", "test"): gettext_noop("Test notification"),
    ("search", "saved_search"): gettext_noop("New match for a saved search"),
}


def title_of(source: str, kind: str) -> str:
    """Return the title of a kind of notification in the current language; its name if it is not declared."""
    if (source, kind) in OWN_KINDS:
        return gettext(OWN_KINDS[source, kind])
    title = registry.stream_kind_title(source, kind)
    return title if title != kind else f"{source}.{kind}"


@register.simple_tag
def explain_delivery(delivery: Delivery) -> str:
    """Return the last response as a sentence; empty if there is none."""
    if delivery.error_code:
        return explain(delivery.error_code, delivery.last_status, delivery.last_error)
    return str(delivery.last_status or "")


@register.simple_tag
def explain_attempt(attempt: Attempt) -> str:
    return explain(attempt.error_code, attempt.status, attempt.error)


@register.simple_tag
def delivery_kind(delivery: Delivery) -> str:
    """Return the title of the kind of notification."""
    return title_of(delivery.source, delivery.kind)


@register.simple_tag(name="message_id")
def message_id_of(delivery: Delivery) -> str:
    return message_id(delivery.event_id, delivery.channel_id)
