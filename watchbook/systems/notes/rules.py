"""Constants, error codes, retry counts and errors: one table for the runner, the API and n8n.

NotesError           `code` decides the HTTP status and whether to retry; `reason` is more specific
└── LockLost         409: another run holds the lock. Stop, write nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

LOCK_TIMEOUT_MINUTES = 30

COOLING_DURATION_MINUTES = 30
MAX_CONSECUTIVE_ERRORS = 3
MAX_TOTAL_ERRORS = 10

MAX_RETRY = 3
BACKOFF = (5, 15, 45)

BATCH_SIZE = 10
MAX_BATCH_SIZE = 20
MAX_CLAIM = 100
MAX_PAGE = 100
MAX_PAGE_SIZE = 50

DEFAULT_PLATFORM = "xhs"
# The runner and n8n's *collect* share this name, so that only one of them runs at a time.
COLLECT_WORKFLOW, CREATORS_WORKFLOW, COMMENTS_WORKFLOW = "collect", "creators", "comments"
IDEMPOTENCY_VERSION = "v1"

BACKLOG_CANDIDATES, BACKLOG_MINUTES = 500, 30
LOW_SUCCESS_RATE, LOW_SUCCESS_MINUTES = 0.9, 10


class Code(StrEnum):
    """Error codes: seven of the specification and three more."""

    COOKIE_EXHAUSTED = "COOKIE_EXHAUSTED"
    COOKIE_INVALID = "COOKIE_INVALID"
    PLATFORM_ERROR = "PLATFORM_ERROR"
    TIMEOUT_ERROR = "TIMEOUT_ERROR"
    NETWORK_ERROR = "NETWORK_ERROR"
    PARTIAL_FAIL = "PARTIAL_FAIL"
    INVALID_INPUT = "INVALID_INPUT"
    LOCK_LOST = "LOCK_LOST"
    NOT_FOUND = "NOT_FOUND"
    RATE_LIMITED = "RATE_LIMITED"


@dataclass(frozen=True)
class Handling:
    """HTTP status of a code, whether a retry can succeed, and how many retries at most."""

    status: int
    retryable: bool
    max_retry: int


HANDLING: dict[Code, Handling] = {
    Code.COOKIE_EXHAUSTED: Handling(503, False, 0),
    Code.COOKIE_INVALID: Handling(502, True, 3),
    Code.PLATFORM_ERROR: Handling(502, True, 2),
    Code.TIMEOUT_ERROR: Handling(504, True, 2),
    Code.NETWORK_ERROR: Handling(503, True, 3),
    Code.PARTIAL_FAIL: Handling(207, True, 2),
    Code.INVALID_INPUT: Handling(400, False, 0),
    Code.LOCK_LOST: Handling(409, False, 0),
    Code.NOT_FOUND: Handling(404, False, 0),
    Code.RATE_LIMITED: Handling(429, True, 2),
}

# The note itself is the reason: a retry cannot succeed.
FINAL = frozenset({Code.NOT_FOUND, Code.INVALID_INPUT})
# No request was sent for the note.
NOT_ASKED = "not_asked"
# The platform did not respond to several requests in a row.
OUTAGE = "outage"
MAX_FAILURES_IN_A_ROW = 3
OUTAGE_PAUSE_MINUTES = 5
# A single note that fails is not an outage while other responses were seen in the last minutes.
RECENT_RESPONSE_MINUTES = 5

# What counts against a cookie, the worst first. Only what the cookie caused counts.
DEAD, HEAVY, COOL, COUNTED = "dead", "heavy", "cool", "counted"
COOKIE_ERRORS = (DEAD, HEAVY, COOL, COUNTED)

# Failures of the login, the address or the rate limit: no note is the reason.
NOT_THE_NOTE = frozenset(
    {"login_dead", "account_restricted", "captcha", "ip_block", "signature", "throttled", OUTAGE, NOT_ASKED}
)
NOT_THE_NOTE_CODES = frozenset({Code.COOKIE_EXHAUSTED, Code.COOKIE_INVALID, Code.RATE_LIMITED})


def is_not_an_attempt(error: Mapping[str, Any]) -> bool:
    """Whether an error says nothing about the note, so that it is returned without counting an attempt."""
    if error.get("asked") is False or error.get("outage") is True:
        return True
    return error.get("reason") in NOT_THE_NOTE or error.get("code") in NOT_THE_NOTE_CODES


def worst_cookie_error(*errors: str) -> str:
    return next((error for error in COOKIE_ERRORS if error in errors), "")


def wait_before(attempt: int) -> int:
    """Return the seconds before the n-th retry: 5, 15, 45."""
    return BACKOFF[min(attempt, len(BACKOFF)) - 1]


def idempotency_key(note_id: str) -> str:
    return f"{note_id}_{IDEMPOTENCY_VERSION}"


class NotesError(Exception):
    """`message` is an English sentence that is translated when it is shown."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        reason: str = "",
        retryable: bool | None = None,
        details: Any = None,
        cookie_error: str = "",
        asked: bool = True,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.retryable = HANDLING[code].retryable if retryable is None else retryable
        self.details = details
        # What counts against the cookie: empty, or one of rules.COOKIE_ERRORS.
        self.cookie_error = cookie_error
        # Whether a request was sent. If not, the error says nothing about the note.
        self.asked = asked
        # Whether the platform failed, not this note: set when several requests in a row had no response.
        self.outage = False
        self.cookie_used = ""

    @property
    def status(self) -> int:
        return HANDLING[self.code].status

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"code": str(self.code), "message": _(self.message), "retryable": self.retryable}
        if self.reason:
            shown["reason"] = self.reason
        if not self.asked:
            shown["asked"] = False
        if self.outage:
            shown["outage"] = True
        if self.details is not None:
            shown["details"] = self.details
        return shown


class LockLost(NotesError):
    def __init__(self, reason: str = "execution") -> None:
        super().__init__(Code.LOCK_LOST, LOST, reason=reason)


LOST = gettext_noop("Another run now holds the lock. Nothing was saved.")


def invalid(message: str, field: str = "") -> NotesError:
    details = [{"field": field, "message": _(message)}] if field else None
    return NotesError(Code.INVALID_INPUT, message, details=details)
