"""Map refusals and network errors of the platform to error codes, and decide what counts against the cookie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils.translation import gettext_noop

from watchbook.base.web.errors import Busy, Refused, TimedOut, Unreachable, WebError
from watchbook.base.web.response import Answer
from watchbook.systems.notes.parse import documents
from watchbook.systems.notes.parse.documents import PlatformRefusal
from watchbook.systems.notes.rules import COOL, COUNTED, DEAD, HEAVY, OUTAGE, Code, NotesError

SERVER = "server_error"
# Failures of the service, not of one note: several in a row are an outage.
SERVICE_CODES = frozenset({Code.NETWORK_ERROR, Code.TIMEOUT_ERROR})
SERVICE_REASONS = frozenset(
    {SERVER, documents.NOT_READABLE, documents.EMPTY, documents.OTHER, documents.BLOCKED, documents.WALLED}
)
# Open the circuit breaker: another cookie would get the same refusal.
OPEN_BREAKER = frozenset({documents.IP_BLOCK, documents.SIGNATURE})
# End the batch for this cookie; no other cookie continues in its place.
STOP_COOKIE = OPEN_BREAKER | {
    documents.CAPTCHA,
    documents.LOGIN_DEAD,
    documents.ACCOUNT_RESTRICTED,
    documents.THROTTLED,
}
# End the whole run: the platform has detected automated access.
STOP_RUN = OPEN_BREAKER | {documents.CAPTCHA, documents.THROTTLED, OUTAGE}


@dataclass(frozen=True)
class ErrorKind:
    code: Code
    message: str
    cookie_error: str = ""
    retryable: bool | None = None


ERROR_KINDS: dict[str, ErrorKind] = {
    documents.LOGIN_DEAD: ErrorKind(
        Code.COOKIE_INVALID, gettext_noop("The platform no longer accepts this login. Replace the cookie."), DEAD
    ),
    documents.ACCOUNT_RESTRICTED: ErrorKind(
        Code.COOKIE_INVALID, gettext_noop("The platform has restricted this account."), HEAVY
    ),
    documents.CAPTCHA: ErrorKind(
        Code.PLATFORM_ERROR,
        gettext_noop("The platform requires a captcha. Open the site in a browser, then replace the cookie."),
        COOL,
    ),
    documents.IP_BLOCK: ErrorKind(
        Code.PLATFORM_ERROR, gettext_noop("The platform blocks requests from this server's IP address.")
    ),
    documents.SIGNATURE: ErrorKind(Code.PLATFORM_ERROR, gettext_noop("The platform rejected the request signature.")),
    documents.STALE_TOKEN: ErrorKind(
        Code.PLATFORM_ERROR,
        gettext_noop("The note's token is missing or has expired. Search again to get a new one."),
        retryable=False,
    ),
    documents.NOTE_GONE: ErrorKind(Code.NOT_FOUND, gettext_noop("The note does not exist or is not public.")),
    documents.WALLED: ErrorKind(Code.PLATFORM_ERROR, gettext_noop("The platform does not show this on the web.")),
    documents.BLOCKED: ErrorKind(
        Code.PLATFORM_ERROR, gettext_noop("The platform denied the request (401 or 403)."), COUNTED
    ),
    documents.THROTTLED: ErrorKind(
        Code.RATE_LIMITED, gettext_noop("The platform asked for fewer requests (429)."), COOL
    ),
    documents.EMPTY: ErrorKind(Code.PLATFORM_ERROR, gettext_noop("The platform returned an empty response.")),
    documents.LOGIN_REQUIRED: ErrorKind(
        Code.PLATFORM_ERROR, gettext_noop("The note is shown only to logged-in accounts. Replace the cookie.")
    ),
    documents.NOT_READABLE: ErrorKind(
        Code.PLATFORM_ERROR, gettext_noop("The platform's response could not be parsed.")
    ),
    documents.OTHER: ErrorKind(Code.PLATFORM_ERROR, gettext_noop("The platform refused the request.")),
}
SERVER_ERROR = ErrorKind(Code.PLATFORM_ERROR, gettext_noop("The platform returned a server error (5xx)."))
SLOW = ErrorKind(Code.TIMEOUT_ERROR, gettext_noop("The platform did not respond in time."))
UNREACHABLE = ErrorKind(Code.NETWORK_ERROR, gettext_noop("The platform could not be reached."))
WAITING = ErrorKind(
    Code.RATE_LIMITED, gettext_noop("Rate limited: another request is running, or the platform asked for a pause.")
)
NO_RESPONSE = gettext_noop("The platform did not respond to several requests in a row.")
NOT_ALLOWED = ErrorKind(
    Code.PLATFORM_ERROR, gettext_noop("Requests to the platform's address are not allowed."), retryable=False
)


@contextmanager
def as_notes_errors() -> Iterator[None]:
    """Raise every error of one request as NotesError."""
    try:
        yield
    except PlatformRefusal as refusal:
        raise error_for(refusal.reason) from refusal
    except WebError as error:
        raise _web_error(error) from error


def error_for(reason: str) -> NotesError:
    return _error(ERROR_KINDS[reason], reason)


def check_answer(answer: Answer, *, may_be_missing: bool = False) -> None:
    """Raise PlatformRefusal or NotesError for an error status. A 404 page may still carry its reason."""
    headers = {
        name: answer.headers.get(name, "") for name in ("verifytype", "verifyuuid") if answer.headers.get(name, "")
    }
    location = answer.headers.get("location", "") if 300 <= answer.status < 400 else ""
    documents.check_status(answer.status, headers, location)
    if answer.status >= 500 or answer.status == 408:
        raise _error(SERVER_ERROR, SERVER)
    if answer.status >= 400 and not (may_be_missing and answer.status in {404, 410}):
        raise PlatformRefusal(documents.OTHER, f"status {answer.status}")


def _web_error(error: WebError) -> NotesError:
    kinds: tuple[tuple[type[WebError], ErrorKind], ...] = (
        (TimedOut, SLOW),
        (Unreachable, UNREACHABLE),
        (Busy, WAITING),
        (Refused, NOT_ALLOWED),
    )
    found = next((kind for type_, kind in kinds if isinstance(error, type_)), ERROR_KINDS[documents.NOT_READABLE])
    return _error(found, error.code)


def _error(kind: ErrorKind, reason: str) -> NotesError:
    return NotesError(
        kind.code, kind.message, reason=reason, retryable=kind.retryable, cookie_error=kind.cookie_error
    )  # fmt: skip


def is_service_failure(error: NotesError) -> bool:
    """Whether the service or the network failed, so that the note may be fine."""
    return error.asked and (error.code in SERVICE_CODES or error.reason in SERVICE_REASONS)


def reason_sentence(reason: str) -> str:
    """Return the English sentence of a reason, or an empty string for an unknown one."""
    kind = ERROR_KINDS.get(reason) or {SERVER: SERVER_ERROR, "timed_out": SLOW, "unreachable": UNREACHABLE}.get(reason)
    if reason == OUTAGE:
        return NO_RESPONSE
    return kind.message if kind else ""
