"""How a page answers: refusals with their status, for people as a page and for our own scripts as JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from watchbook.library.errors import NotAllowed, NotFound, Problem, Wrong

View = Callable[..., HttpResponseBase]


def answers(view: View) -> View:
    """A refusal of `actions` becomes an answer with its status; nothing of it is a server error."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
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
    return render(request, "library/refused.html", context, status=problem.status)


def is_script(request: HttpRequest) -> bool:
    """One of our own modules asks, and draws the answer itself."""
    return request.headers.get("Accept", "").startswith("application/json")


def done(request: HttpRequest, address: str, text: str, *, undo: str = "") -> HttpResponse:
    """It was done: a page of its own for people, a toast for scripts."""
    if is_script(request):
        return JsonResponse({"text": text, "undo": undo, "url": address})
    messages.success(request, text)
    return redirect(address)


def reader(request: HttpRequest) -> Any:
    """The account that asks; the login middleware lets nobody else in."""
    return cast(Any, request.user)


def given(request: HttpRequest, name: str) -> str:
    """A value of the form, or of the address when it is an Undo that was pressed."""
    return str(request.POST.get(name) or request.GET.get(name) or "").replace("\0", "")


def given_id(request: HttpRequest, name: str) -> UUID | None:
    text = given(request, name)
    return as_id(text, name) if text else None


def given_ids(request: HttpRequest, name: str) -> list[UUID]:
    return [as_id(text, name) for text in (request.POST.getlist(name) or request.GET.getlist(name))]


def given_number(request: HttpRequest, name: str) -> int:
    text = given(request, name)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Wrong(name, _("This is not a number."))
    return int(text)


def as_id(text: str, name: str = "id") -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Wrong(name, _("There is no such page.")) from None


def _back(request: HttpRequest) -> str:
    """Where the person came from, when that is a page of ours."""
    came = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(came, {request.get_host()}, require_https=request.is_secure())
    return came if is_ours else ""
