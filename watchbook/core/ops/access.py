"""Who may read figures and causes: operators signed in, operators' API tokens, and the metrics token."""

from __future__ import annotations

import hmac

from django.db import DatabaseError
from django.http import HttpRequest

from watchbook.core.accounts import tokens
from watchbook.core.ops import options


def may_see_detail(request: HttpRequest) -> bool:
    plain = _bearer(request)
    wanted = options.METRICS_TOKEN.value
    if plain and wanted and hmac.compare_digest(plain.encode(), wanted.encode()):
        return True
    try:
        return _is_staff_token(plain) if plain else _is_staff_session(request)
    except DatabaseError:
        # Sessions and tokens live in the database; without it nobody can be told apart from a stranger.
        return False


def _bearer(request: HttpRequest) -> str:
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _is_staff_token(plain: str) -> bool:
    token = tokens.find(plain)
    return token is not None and token.allows("staff") and token.user.is_staff


def _is_staff_session(request: HttpRequest) -> bool:
    return bool(request.user.is_authenticated and request.user.is_staff)
