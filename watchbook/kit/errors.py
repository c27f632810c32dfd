"""Error answers. Each says what happened, what it means for the data, what to do, and the id of the request.

Programs under /api/ get the same as JSON: {"error": {"code", "message", "request_id"}}. A server error is drawn
without the database and without the request's session: either may be what broke.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from watchbook.base.logs import request_id
from watchbook.kit.formatting import HTML_LANG


@dataclass(frozen=True)
class Fault:
    """The three sentences of an error, and the short name that programs read."""

    status: int
    code: str
    happened: str | Promise
    means: str | Promise
    remedy: str | Promise


BAD_REQUEST = Fault(
    400,
    "bad_request",
    _("The request is not valid"),
    _("Nothing was changed."),
    _("Go back, reload the page, then try again."),
)
NOT_ALLOWED = Fault(
    403,
    "not_allowed",
    _("You do not have access to this page"),
    _("Nothing was changed."),
    _("Ask an operator for access."),
)
EXPIRED_FORM = Fault(
    403,
    "csrf_failed",
    _("The form has expired"),
    _("Nothing was changed."),
    _("Reload the page, then submit the form again. Your browser must allow cookies."),
)
NOT_FOUND = Fault(
    404,
    "not_found",
    _("Page not found"),
    _("The page was removed, or you do not have access to it. Nothing was changed."),
    _("Check the address, or use the search."),
)
# Users who are not signed in cannot search; the words do not reveal what exists.
NOT_FOUND_OUTSIDE = replace(NOT_FOUND, remedy=_("Check the address, or sign in."))
TOO_MANY = Fault(
    429,
    "too_many_requests",
    _("Too many searches and exports at the same time"),
    _("Nothing was changed."),
    _("Wait until the others have finished, then try again."),
)
BROKEN = Fault(
    500,
    "server_error",
    _("Server error"),
    _("Saved data is safe. Your last change may not be saved."),
    _("Try again in a minute. If it happens again, send the request ID to an operator."),
)


CONTENT_MISSING = Fault(
    503,
    "content_missing",
    _("Stored content is missing"),
    _("Other data is safe. Nothing was changed."),
    _("Run the check again to repair it, or ask an operator to run watchbook doctor."),
)
DISK_FULL = Fault(
    503,
    "disk_full",
    _("The disk is full"),
    _("Saved data is safe. Your last change was not saved."),
    _("An operator must free up disk space. Then try again."),
)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # The host or the session may be what is wrong, so nothing of the request is used.
    return _answer(request, BAD_REQUEST, is_bare=True)


def not_allowed(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, NOT_ALLOWED)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, EXPIRED_FORM)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    user = getattr(request, "user", None)
    is_inside = user is not None and user.is_authenticated
    return _answer(request, NOT_FOUND if is_inside else NOT_FOUND_OUTSIDE)


def too_many(request: HttpRequest) -> HttpResponse:
    return _answer(request, TOO_MANY)


def server_error(request: HttpRequest, fault: Fault = BROKEN) -> HttpResponse:
    return _answer(request, fault, is_bare=True)


def _answer(request: HttpRequest, fault: Fault, *, is_bare: bool = False) -> HttpResponse:
    reference = getattr(request, "request_id", "") or request_id()
    if request.path_info.startswith("/api/"):
        told = {"code": fault.code, "message": f"{fault.happened}. {fault.remedy}", "request_id": reference}
        return JsonResponse({"error": told}, status=fault.status)
    return HttpResponse(_page(request, fault, reference, is_bare), status=fault.status)


def _page(request: HttpRequest, fault: Fault, reference: str, is_bare: bool) -> str:
    context = {"fault": fault, "reference": reference}
    if is_bare:
        layout = SimpleNamespace(lang=HTML_LANG.get(get_language() or "en", "en"), theme="")
        return render_to_string(
            "kit/error.html", {**context, "frame": "kit/plain.html", "layout": layout, "is_bare": True}
        )
    request.is_fault = True  # type: ignore[attr-defined]  # read by the frame around the page
    user = getattr(request, "user", None)
    frame = "kit/base.html" if user is not None and user.is_authenticated else "kit/plain.html"
    return render_to_string("kit/error.html", {**context, "frame": frame}, request)
