"""Who may see what: the scope strings of search and stream rows, and the door of staff pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from watchbook.core import registry
from watchbook.core.accounts.models import User

V = TypeVar("V", bound=Callable[..., HttpResponseBase])

MEMBERS = "members"
STAFF = "staff"


def viewer_scopes(user: Any) -> list[str]:
    """Every scope whose rows this person may see. Nobody who is not signed in sees any."""
    if not user.is_authenticated or not user.is_active:
        return []
    own = [MEMBERS, f"user:{user.pk}"]
    if user.is_staff:
        own.append(STAFF)
    for source in registry.sources():
        if source.scopes:
            own += registry.load(source.scopes)(user)
    return own


def person_of(request: HttpRequest) -> User:
    """The account behind a request that only signed-in people make."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def staff_required(view: V) -> V:
    """For views: operators only. A stranger is asked to sign in, a member is told that it is not his."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not getattr(request.user, "is_staff", False):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    guarded.staff_only = True  # type: ignore[attr-defined]
    return guarded  # type: ignore[return-value]
