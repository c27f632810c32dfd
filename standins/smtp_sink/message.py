"""One mail as it came over the wire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import cached_property
from typing import Literal

Outcome = Literal["accepted", "lost", "refused"]
LINK = re.compile(r"https?://[^\s<>\"')\]]+")


@dataclass(frozen=True, eq=False, kw_only=True)
class Message:
    """`accepted` was promised to be delivered, `lost` as well but the sender never heard so, `refused` was not.

    `attempt` counts how often this Message-ID was sent to these recipients.
    """

    connection: int
    sender: str
    recipients: tuple[str, ...]
    raw: bytes
    monotonic: float
    received_at: datetime
    outcome: Outcome
    number: int = 0
    attempt: int = 0
    is_encrypted: bool = False
    user: str | None = None

    @cached_property
    def parsed(self) -> EmailMessage:
        return message_from_bytes(self.raw, policy=default)

    def header(self, name: str) -> str:
        return str(self.parsed.get(name, ""))

    @property
    def message_id(self) -> str:
        return self.header("Message-ID").strip()

    @property
    def subject(self) -> str:
        return self.header("Subject")

    @cached_property
    def text(self) -> str:
        return self._part("plain")

    @cached_property
    def html(self) -> str:
        return self._part("html")

    def links(self) -> list[str]:
        """The addresses in the text, or in the HTML when there is no text; in order, without repeats."""
        found = LINK.findall(self.text or self.html.replace("&amp;", "&"))
        return list(dict.fromkeys(link.rstrip(".,;:!?") for link in found))

    def as_json(self) -> dict[str, object]:
        return {
            "number": self.number,
            "sender": self.sender,
            "recipients": list(self.recipients),
            "subject": self.subject,
            "message_id": self.message_id,
            "attempt": self.attempt,
            "outcome": self.outcome,
            "is_encrypted": self.is_encrypted,
            "received_at": self.received_at.isoformat(),
            "headers": [[name, str(value)] for name, value in self.parsed.items()],
            "text": self.text,
            "html": self.html,
            "links": self.links(),
        }

    def _part(self, kind: str) -> str:
        part = self.parsed.get_body((kind,))
        return "" if part is None else str(part.get_content()).replace("\r\n", "\n")
