"""What an API call can be refused with. Every answer of a refusal is {"error": {"code", "message", "details"?}}.

Problem                       the caller can do something about it
├─ NotSignedIn     401        send a valid token or sign in
├─ NotAllowed      403        use a token with the scope, or ask an operator
├─ NotFound        404        nothing there, or nothing that this caller may know of
├─ NotThisMethod   405        see the Allow header
├─ Conflict        409        read again, then repeat (`version_conflict`, `LOCK_LOST`, ...)
├─ TooLarge        413        send less
├─ Invalid         422        details say which field and why
├─ Locked          423        another release channel owns it
├─ TooMany         429        wait Retry-After seconds
└─ Unavailable     503        wait Retry-After seconds: the database is away, busy, or its disk is full
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext as _

from watchbook.base.store.folder import disk_usage
from watchbook.kit.formatting import size_text

if TYPE_CHECKING:
    from pydantic import BaseModel  # commands refuse, too, and need not wait for it

# (status, code, message, details) -> the whole body; a system whose seed has its own envelope brings one.
Envelope = Callable[[int, str, str, Any], dict[str, Any]]


RETRY_SECONDS = 5


class Problem(Exception):
    """Raise one of its kinds from an endpoint. `code` is for programs, `message` for people."""

    status = 400
    code = "bad_request"

    def __init__(
        self, message: str = "", *, code: str = "", details: Any = None, headers: dict[str, str] | None = None
    ):
        super().__init__(message or self.default_message())
        self.message = message or self.default_message()
        self.code = code or self.code
        self.details = details
        self.headers = headers or {}

    @classmethod
    def default_message(cls) -> str:
        return _("The request is not valid.")


class NotSignedIn(Problem):
    status, code = 401, "not_signed_in"

    @classmethod
    def default_message(cls) -> str:
        return _("A valid token is required: Authorization: Bearer wb_…")


class NotAllowed(Problem):
    status, code = 403, "not_allowed"

    @classmethod
    def default_message(cls) -> str:
        return _("You do not have permission to do this.")


class NotFound(Problem):
    status, code = 404, "not_found"

    @classmethod
    def default_message(cls) -> str:
        return _("Not found.")


class NotThisMethod(Problem):
    status, code = 405, "method_not_allowed"

    @classmethod
    def default_message(cls) -> str:
        return _("This endpoint does not support this method.")


class Conflict(Problem):
    status, code = 409, "conflict"

    @classmethod
    def default_message(cls) -> str:
        return _("Someone else changed this. Reload, then try again.")


class TooLarge(Problem):
    status, code = 413, "too_large"

    @classmethod
    def default_message(cls) -> str:
        return _("The body is too large.")


class Invalid(Problem):
    status, code = 422, "invalid"

    @classmethod
    def default_message(cls) -> str:
        return _("Some values are not valid.")


def must_be_known(field: str, value: str, known: Iterable[str]) -> None:
    """An unknown filter is a typing error, and an empty list would hide it."""
    words = sorted(known)
    if value and value not in words:
        raise Invalid(details=[{"field": field, "message": "one of " + ", ".join(words)}])


class Locked(Problem):
    status, code = 423, "wrong_release_channel"

    @classmethod
    def default_message(cls) -> str:
        return _("This belongs to another release channel and is read-only here.")


class TooMany(Problem):
    status, code = 429, "too_many_requests"

    @classmethod
    def default_message(cls) -> str:
        return _("Too many requests. Try again later.")


class Unavailable(Problem):
    status, code = 503, "unavailable"

    def __init__(self, **more: Any) -> None:
        super().__init__(headers={"Retry-After": str(RETRY_SECONDS)}, **more)

    @classmethod
    def default_message(cls) -> str:
        return _("The database cannot do this now. Try again in a moment.")


class ContentMissing(Problem):
    """The content of a blob is lost; waiting does not help."""

    status, code = 503, "content_missing"

    @classmethod
    def default_message(cls) -> str:
        return _("Stored content of this item is missing.")


class DiskFull(Problem):
    """The database refuses to write because the disk is full; waiting does not help."""

    status, code = 503, "disk_full"

    @classmethod
    def default_message(cls) -> str:
        return _("The disk is full (%(free)s free). Free up space, then try again.") % {
            "free": size_text(disk_usage().free)
        }


_own_envelopes: dict[str, Envelope] = {}
_own_refusals: dict[str, type[BaseModel]] = {}
_own_statuses: dict[str, Mapping[int, int]] = {}


def use_envelope(
    prefix: str,
    envelope: Envelope,
    refusal: type[BaseModel] | None = None,
    statuses: Mapping[int, int] | None = None,
) -> None:
    """Addresses under this prefix answer refusals in a shape of their own; `refusal` is its type."""
    _own_envelopes[prefix] = envelope
    _own_statuses[prefix] = statuses or {}
    if refusal is not None:
        _own_refusals[prefix] = refusal


def refusal_of(path: str) -> type[BaseModel] | None:
    """The type of the refusals of an address that has its own; None where they look as usual."""
    return next((refusal for prefix, refusal in _own_refusals.items() if path.startswith(prefix)), None)


def status_of(path: str, status: int) -> int:
    """Return the status as the envelope of this address has it: a seed may name another one."""
    own = next((statuses for prefix, statuses in _own_statuses.items() if path.startswith(prefix)), {})
    return own.get(status, status)


def body_of(path: str, status: int, code: str, message: str, details: Any = None) -> dict[str, Any]:
    for prefix, envelope in _own_envelopes.items():
        if path.startswith(prefix):
            return envelope(status, code, message, details)
    error = {"code": code, "message": message}
    return {"error": {**error, "details": details} if details is not None else error}


def answer(request: HttpRequest, problem: Problem) -> JsonResponse:
    body = body_of(request.path, problem.status, problem.code, problem.message, problem.details)
    status = status_of(request.path, problem.status)
    return JsonResponse(body, status=status, headers=problem.headers, json_dumps_params={"ensure_ascii": False})
