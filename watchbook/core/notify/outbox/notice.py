"""What is told: a record that fits every channel, cut to a size that every receiver takes.

There are no templates of users here: text is inserted as it is, once, by our own code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeData

from watchbook.base.text import clean_text, cut

LISTED = 100
# With subject, text and envelope a webhook stays under 20 kB.
PAYLOAD_BYTES = 16_000
STRING_LENGTH = 2_000
TEXT_LENGTH = 50_000
HTML_LENGTH = 200_000
ID_LENGTH = 200
DEPTH = 20


@dataclass(frozen=True)
class Notice:
    """One event, worded. `event_id` is its identity: telling it twice is telling it once.

    `html` is markup only when it comes from a template (a safe string); anything else is escaped.
    `link` is a path of ours or a whole address; `thread` groups mails that belong together.
    `urgent` passes by the digest.
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

    def columns(self) -> dict[str, Any]:
        """The notice as columns of the outbox."""
        text = cut(self.text or "\n".join(self.lines), TEXT_LENGTH)
        return {
            "event_id": short_id(self.event_id),
            "source": cut(self.source, 40),
            "kind": cut(self.kind, 60),
            "subject": one_line(self.subject),
            "text": text,
            "html": self._markup(text),
            "payload": fit(self.payload),
            "link": full_link(self.link),
            "reference": short_id(self.thread),
            "bypass_digest": self.urgent,
        }

    def _markup(self, text: str) -> str:
        if isinstance(self.html, SafeData) and len(self.html) <= HTML_LENGTH:
            return clean_text(self.html)
        return paragraphs(clean_text(self.html)[:HTML_LENGTH] if self.html else text)


def one_line(subject: str) -> str:
    """A subject is one line: a line break in it would be a header of its own."""
    return cut(" ".join(clean_text(subject).split()), 300)


def paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(line)}</p>\n" for line in text.splitlines() if line.strip())


def short_id(value: str) -> str:
    """At most the column's length; a longer id ends in its own hash, so that two never become one."""
    value = clean_text(value)
    if len(value) <= ID_LENGTH:
        return value
    return f"{value[: ID_LENGTH - 65]}~{hashlib.sha256(value.encode()).hexdigest()}"


def full_link(link: str) -> str:
    """A path becomes an address of this installation; anything but http and https is dropped."""
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
