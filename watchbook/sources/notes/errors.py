"""What can go wrong with a note, as an answer says it.

Trouble              `code` decides the HTTP status and whether to try again; `reason` is one finer word
└── LockLost         409: the execution or the record is somebody else's now. Stop, write nothing
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from watchbook.sources.notes.rules import HANDLING, Code


class Trouble(Exception):
    """`message` is an English sentence, marked for translation where it is written and translated when shown."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        reason: str = "",
        retryable: bool | None = None,
        details: Any = None,
        charge: str = "",
        asked: bool = True,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.retryable = HANDLING[code].retryable if retryable is None else retryable
        self.details = details
        # What the cookie has to do with it: empty, or a word of store.charging.
        self.charge = charge
        # Did anybody come to ask the platform? If not, it says nothing about the note.
        self.asked = asked

    @property
    def status(self) -> int:
        return HANDLING[self.code].status

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"code": str(self.code), "message": _(self.message), "retryable": self.retryable}
        if self.reason:
            shown["reason"] = self.reason
        if not self.asked:
            shown["asked"] = False
        if self.details is not None:
            shown["details"] = self.details
        return shown


class LockLost(Trouble):
    def __init__(self, reason: str = "execution") -> None:
        super().__init__(Code.LOCK_LOST, LOST, reason=reason)


LOST = gettext_noop("The lock belongs to somebody else by now. Nothing was written.")


def invalid(message: str, field: str = "") -> Trouble:
    details = [{"field": field, "message": _(message)}] if field else None
    return Trouble(Code.INVALID_INPUT, message, details=details)
