"""Pages of the library. Here: response helpers, errors as HTML for browsers and as JSON for scripts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.systems.library import access
from watchbook.systems.library.errors import NotAllowed, NotFound, Problem, Wrong

View = Callable[..., HttpResponseBase]


def answers(view: View) -> View:
    """Turn a Problem into a response with its status."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            with access.reading() if request.method in ("GET", "HEAD") else nullcontext():
                return view(request, *args, **kwargs)
        except Problem as problem:
            return refused(request, problem)

    return wrapper


def refused(request: HttpRequest, problem: Problem) -> HttpResponse:
    if is_script(request):
        told = {"code": problem.code, "message": problem.message}
        return JsonResponse({"error": told}, status=problem.status)
    if isinstance(problem, NotFound):
        raise Http404(problem.message)
    if isinstance(problem, NotAllowed):
        raise PermissionDenied(problem.message)
    context = {"problem": problem, "back": _back(request)}
    return render(request, "library/error.html", context, status=problem.status)


def is_script(request: HttpRequest) -> bool:
    """True if one of our scripts sent the request and renders the response."""
    return request.headers.get("Accept", "").startswith("application/json")


def done(request: HttpRequest, address: str, text: str, *, undo: str = "") -> HttpResponse:
    """Redirect with a message; for scripts, a toast."""
    if is_script(request):
        return JsonResponse({"text": text, "undo": undo, "url": address})
    messages.success(request, text)
    return redirect(address)


def reader(request: HttpRequest) -> User:
    """Return the signed-in user; the login middleware refuses anonymous requests."""
    return person_of(request)


def given(request: HttpRequest, name: str) -> str:
    """Return a value of the form, or of the query string for Undo."""
    return str(request.POST.get(name) or request.GET.get(name) or "").replace("\0", "")


def given_id(request: HttpRequest, name: str) -> UUID | None:
    text = given(request, name)
    return as_id(text, name) if text else None


def given_ids(request: HttpRequest, name: str) -> list[UUID]:
    return [as_id(text, name) for text in (request.POST.getlist(name) or request.GET.getlist(name))]


def given_number(request: HttpRequest, name: str) -> int:
    text = given(request, name)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Wrong(name, _("Enter a number."))
    return int(text)


def as_id(text: str, name: str = "id") -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Wrong(name, _("There is no such page.")) from None


def _back(request: HttpRequest) -> str:
    """Return the previous page if it belongs to this server."""
    came = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(came, {request.get_host()}, require_https=request.is_secure())
    return came if is_ours else ""
