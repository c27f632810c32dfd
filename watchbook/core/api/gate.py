"""Who may call: a bearer token, or the session of a page (with its CSRF token). Without either nobody.

An endpoint that says nothing needs `read` for GET and `write` for the rest. Others say so:

    @router.post("/jobs/{name}/run", auth=staff)        also the scope staff, and an operator
    router = Router(auth=scoped("notes"))               this scope instead of read and write
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.security import HttpBearer
from ninja.utils import check_csrf

from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import ApiToken, User
from watchbook.core.api.errors import NotAllowed, NotSignedIn
from watchbook.core.api.pace import keep_pace

SAFE = {"GET", "HEAD", "OPTIONS"}


class Gate(HttpBearer):
    """Sets `request.user` to whom the token belongs, so that an endpoint never asks how somebody came in."""

    # ninja's page of the documentation then sends the CSRF token along.
    csrf = True
    openapi_bearerFormat = "wb_…"

    def __init__(self, *scopes: str, staff_only: bool = False) -> None:
        super().__init__()
        self.scopes = scopes
        self.staff_only = staff_only

    def __call__(self, request: HttpRequest) -> User:
        given = request.headers.get("Authorization")
        # A header that is there decides alone: a wrong token must not fall back on a cookie.
        user = self.authenticate(request, given) if given is not None else self._session_user(request)
        if self.staff_only and not user.is_staff:
            raise NotAllowed
        return user

    def authenticate(self, request: HttpRequest, token: str) -> User:
        scheme, _, plain = token.partition(" ")
        found = tokens.find(plain.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise NotSignedIn(headers={"WWW-Authenticate": "Bearer"})
        keep_pace(found.prefix)
        self._check_scopes(request, found)
        request.user = found.user
        request.api_token = found  # type: ignore[attr-defined]
        return found.user

    def _check_scopes(self, request: HttpRequest, token: ApiToken) -> None:
        own = ("read",) if request.method in SAFE else ("write",)
        needed = self.scopes or own
        if self.staff_only:
            needed = (*own, *self.scopes, "staff")
        if not token.allows(*needed):
            raise NotAllowed(details={"scopes": sorted(needed)})

    def _session_user(self, request: HttpRequest) -> User:
        user: Any = request.user
        if not user.is_authenticated:
            raise NotSignedIn(headers={"WWW-Authenticate": "Bearer"})
        if request.method not in SAFE and check_csrf(request) is not None:
            raise NotAllowed("The CSRF token is missing or wrong.", code="csrf")
        keep_pace(f"user:{user.pk}")
        return user  # type: ignore[no-any-return]


members = Gate()
staff = Gate(staff_only=True)


def is_staff_call(request: HttpRequest) -> bool:
    """May this caller see what only operators see? A token says so by its scope, a session by its person."""
    token: ApiToken | None = getattr(request, "api_token", None)
    return bool(getattr(request.user, "is_staff", False)) and (token is None or token.allows("staff"))


def scoped(*scopes: str) -> Gate:
    """A gate whose tokens need exactly these scopes, whatever the method."""
    return Gate(*scopes)
