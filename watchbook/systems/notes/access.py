"""Who may do notes work: operators, and users whom an operator has allowed.

Notes work uses the server's cookies and writes its tables: searching, collecting, the workflow API, the list of the
cookie pool. Reading candidates, notes and runs is for every member; in the API with the scope read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from watchbook.core.accounts.models import ApiToken, User
from watchbook.core.api.auth import Gate
from watchbook.core.api.errors import NotAllowed
from watchbook.systems.notes.models import AllowedUser, Note

V = TypeVar("V", bound=Callable[..., HttpResponseBase])


def visible_notes(user: User, note_ids: Collection[str]) -> list[str]:
    """Return which of these notes a user may see: notes are for every member."""
    if not user.is_active:
        return []
    return list(Note.objects.filter(note_id__in=list(note_ids)).values_list("note_id", flat=True))


def allowed_users() -> list[UUID]:
    """Return the members whom an operator has allowed."""
    return list(AllowedUser.objects.values_list("user_id", flat=True))


def may_work(user: User | AnonymousUser) -> bool:
    if not user.is_active:
        return False
    return bool(user.is_staff) or AllowedUser.objects.filter(user_id=user.pk).exists()


def work_required(view: V) -> V:
    """Restrict a view to users who may do notes work."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may_work(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    guarded.staff_only = True  # type: ignore[attr-defined]
    return guarded  # type: ignore[return-value]


class WorkGate(Gate):
    """Endpoints that use cookies or write tables: a token with the scope notes, or a session, of an allowed user."""

    def __init__(self) -> None:
        super().__init__("notes")

    def __call__(self, request: HttpRequest) -> User:
        user = super().__call__(request)
        if not may_work(user):
            raise NotAllowed
        return user


class ListGate(Gate):
    """Lists that every member may read: the scope read, or notes."""

    def _check_scopes(self, request: HttpRequest, token: ApiToken) -> None:
        if not (token.allows("read") or token.allows("notes")):
            raise NotAllowed(details={"scopes": ["notes", "read"]})


working = WorkGate()
reading = ListGate()
