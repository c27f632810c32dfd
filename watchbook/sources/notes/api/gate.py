"""Who may call: a token with the scope notes, or an operator's session. Reading is also for the scope read."""

from __future__ import annotations

from django.http import HttpRequest

from watchbook.core.accounts.models import ApiToken, User
from watchbook.core.api.errors import NotAllowed
from watchbook.core.api.gate import Gate


class Working(Gate):
    """Whoever spends cookies or writes: a token made for that, or an operator at a page."""

    def __init__(self) -> None:
        super().__init__("notes")

    def __call__(self, request: HttpRequest) -> User:
        user = super().__call__(request)
        if not hasattr(request, "api_token") and not user.is_staff:
            raise NotAllowed
        return user


class Reading(Gate):
    """Lists: the scope read, or notes."""

    def _check_scopes(self, request: HttpRequest, token: ApiToken) -> None:
        if not (token.allows("read") or token.allows("notes")):
            raise NotAllowed(details={"scopes": ["notes", "read"]})


working = Working()
reading = Reading()
