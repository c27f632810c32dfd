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
from watchbook.core.ui.reader import HTML_LANG


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
    _("The request could not be read"),
    _("Nothing was changed."),
    _("Go back, load the page again and repeat what you did."),
)
NOT_ALLOWED = Fault(
    403,
    "not_allowed",
    _("This is not open to your account"),
    _("Nothing was changed."),
    _("Ask an operator of this desk if you need it."),
)
EXPIRED_FORM = Fault(
    403,
    "csrf_failed",
    _("The form was too old or came from another place"),
    _("Nothing was changed."),
    _("Load the page again and send the form once more. Cookies must be allowed for this site."),
)
NOT_FOUND = Fault(
    404,
    "not_found",
    _("There is nothing at this address"),
    _("It may have been removed, or it belongs to somebody else. Nothing was changed."),
    _("Check the address, or search for what you expected here."),
)
# Whoever is not signed in has nothing to search in; the words do not depend on what there is.
NOT_FOUND_OUTSIDE = replace(NOT_FOUND, remedy=_("Check the address, or sign in."))
BROKEN = Fault(
    500,
    "server_error",
    _("Something went wrong on our side"),
    _("What was saved before is safe; what you just sent may not have been saved."),
    _("Try again in a minute. If it happens again, give the request id to the operator."),
)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # The host or the session may be what is wrong, so nothing of the request is looked at.
    return _answer(request, BAD_REQUEST, is_bare=True)


def not_allowed(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, NOT_ALLOWED)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, EXPIRED_FORM)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    user = getattr(request, "user", None)
    is_inside = user is not None and user.is_authenticated
    return _answer(request, NOT_FOUND if is_inside else NOT_FOUND_OUTSIDE)


def server_error(request: HttpRequest) -> HttpResponse:
    return _answer(request, BROKEN, is_bare=True)


def _answer(request: HttpRequest, fault: Fault, *, is_bare: bool = False) -> HttpResponse:
    reference = getattr(request, "request_id", "") or request_id.current()
    if request.path_info.startswith("/api/"):
        told = {"code": fault.code, "message": f"{fault.happened}. {fault.remedy}", "request_id": reference}
        return JsonResponse({"error": told}, status=fault.status)
    return HttpResponse(_page(request, fault, reference, is_bare), status=fault.status)


def _page(request: HttpRequest, fault: Fault, reference: str, is_bare: bool) -> str:
    context = {"fault": fault, "reference": reference}
    if is_bare:
        house = SimpleNamespace(lang=HTML_LANG.get(get_language() or "en", "en"), theme="")
        return render_to_string("ui/error.html", {**context, "frame": "ui/plain.html", "house": house, "is_bare": True})
    request.is_fault = True  # type: ignore[attr-defined]  # read by the frame around the page
    user = getattr(request, "user", None)
    frame = "ui/base.html" if user is not None and user.is_authenticated else "ui/plain.html"
    return render_to_string("ui/error.html", {**context, "frame": frame}, request)
