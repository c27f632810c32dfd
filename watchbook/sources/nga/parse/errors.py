"""What can stop the reading of an answer.

Unreadable          nothing may be concluded from the answer; what is stored stays as it is
├── Damaged         it is empty, broke off or cannot be decoded: fetch it again, then in another form
├── LayoutChanged   it is whole, but not what this reader knows: the reader has to learn it
└── Refused         the site said no in its own words: `reason` says what that means
"""

from __future__ import annotations

from watchbook.sources.nga.parse import reasons


class Unreadable(Exception):
    """`code` is stable and meant for programs, the message for people."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or reasons.SENTENCES[code])
        self.code = code
        self.message = message or reasons.SENTENCES[code]


class Damaged(Unreadable):
    pass


class LayoutChanged(Unreadable):
    pass


class Refused(Unreadable):
    """`site_code` is the number that the site gave, if any; it alone means nothing (2048 covers four cases)."""

    def __init__(self, message: str, site_code: int | None = None) -> None:
        self.reason = reasons.classify(message, site_code)
        super().__init__(self.reason, message)
        self.site_code = site_code

    @property
    def is_gone(self) -> bool:
        """Only these may ever lead to a deletion, and only when they repeat."""
        return self.reason in reasons.GONE

    @property
    def is_temporary(self) -> bool:
        return self.reason in reasons.TEMPORARY
