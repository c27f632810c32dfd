"""The constants of the pipeline, its error codes, and how often each is tried again. One table for runner and n8n."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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
# Runner and n8n's *collect* share this name, so that only one of them works at a time.
COLLECT_WORKFLOW = "collect"
IDEMPOTENCY_VERSION = "v1"

BACKLOG_CANDIDATES, BACKLOG_MINUTES = 500, 30
LOW_SUCCESS_RATE, LOW_SUCCESS_MINUTES = 0.9, 10


class Code(StrEnum):
    """Every code an answer may carry: the seven of the document, and three that it needs."""

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
    """What a caller does about a code: HTTP status, whether to try again, how often at most."""

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

# The note itself is the reason: asking again cannot help, whoever asks.
FINAL = frozenset({Code.NOT_FOUND, Code.INVALID_INPUT})
# Nobody asked for the note: giving it back is not a failure of its own.
NOT_ASKED = "not_asked"

# How a cookie is charged, the gravest first. Nothing is charged for what the cookie did not cause.
DEAD, HEAVY, COOL, COUNTED = "dead", "heavy", "cool", "counted"
CHARGES = (DEAD, HEAVY, COOL, COUNTED)


def is_innocent(error: Mapping[str, Any]) -> bool:
    """Says an error nothing about the note, because nobody came to ask for it?"""
    never_asked = error.get("reason") == NOT_ASKED or error.get("asked") is False
    return never_asked or error.get("code") == Code.COOKIE_EXHAUSTED


def gravest(*charges: str) -> str:
    return next((charge for charge in CHARGES if charge in charges), "")


def wait_before(attempt: int) -> int:
    """Seconds before the n-th try after the first: 5, 15, 45."""
    return BACKOFF[min(attempt, len(BACKOFF)) - 1]


def idempotency_key(note_id: str) -> str:
    return f"{note_id}_{IDEMPOTENCY_VERSION}"
