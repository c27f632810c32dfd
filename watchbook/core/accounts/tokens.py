"""Tokens that programs carry: `wb_`, eight characters that name the row, 32 random bytes. Only a digest is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import models, transaction
from django.http import HttpRequest

from watchbook.base import clock
from watchbook.base.text import cut
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import ApiToken, Purpose, User

SCOPES = ("read", "write", "notes", "staff")
DAYS = 365
MOST_DAYS = 3650
USE_IS_WRITTEN_EVERY = timedelta(minutes=1)

_SHAPE = re.compile(r"wb_([a-z0-9]{8})[A-Za-z0-9_-]{43}\Z")
_ID_CHARACTERS = string.ascii_lowercase + string.digits


class CannotMake(ValueError):
    """The token that was asked for cannot be given: unknown scope, a scope its owner lacks, or a silly lifetime."""


def scopes_for(user: User) -> tuple[str, ...]:
    """What a token of this person may hold at most."""
    return tuple(scope for scope in SCOPES if scope != "staff" or user.is_staff)


@transaction.atomic
def make(
    user: User,
    scopes: Iterable[str],
    days: int | None = DAYS,
    *,
    name: str = "",
    purpose: str = Purpose.API,
    actor: Any = None,
    request: HttpRequest | None = None,
) -> tuple[ApiToken, str]:
    """A new token and its plain text, which nobody can read again. `days` None: it does not expire."""
    wanted = sorted(set(scopes))
    _check(user, wanted, days)
    prefix = "".join(secrets.choice(_ID_CHARACTERS) for _ in range(8))
    plain = f"wb_{prefix}{secrets.token_urlsafe(32)}"
    now = clock.now()
    token = ApiToken.objects.create(
        user=user,
        name=cut(" ".join(name.split()), 100),
        purpose=purpose,
        prefix=prefix,
        digest=_digest(plain),
        scopes=wanted,
        created_at=now,
        expires_at=now + timedelta(days=days) if days else None,
    )
    audit.record(
        "token.made",
        actor=actor or user,
        subject=str(token),
        request=request,
        owner=user.email,
        scopes=wanted,
        purpose=purpose,
    )
    return token, plain


def _check(user: User, scopes: list[str], days: int | None) -> None:
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise CannotMake(f"There is no scope {', '.join(unknown)}. Scopes are {', '.join(SCOPES)}.")
    if not scopes:
        raise CannotMake("A token needs at least one scope.")
    if "staff" in scopes and not user.is_staff:
        raise CannotMake("Only an operator's token can have the scope staff.")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise CannotMake(f"A token lives from 1 to {MOST_DAYS} days.")


def find(plain: str, *, purpose: str = Purpose.API) -> ApiToken | None:
    """The usable token behind the text, with its user; None for anything else. Garbage costs no query."""
    shape = _SHAPE.match(plain) if len(plain) == 54 else None
    if shape is None:
        return None
    now = clock.now()
    usable = ApiToken.objects.usable(now).select_related("user")
    token = usable.filter(prefix=shape.group(1), purpose=purpose).first()
    if token is None or not hmac.compare_digest(token.digest, _digest(plain)):
        return None
    _note_use(token)
    return token


def _note_use(token: ApiToken) -> None:
    """A busy token writes once a minute, whatever the number of processes."""
    now = clock.now()
    stale = now - USE_IS_WRITTEN_EVERY
    if token.last_used_at is not None and token.last_used_at > stale:
        return
    old = models.Q(last_used_at=None) | models.Q(last_used_at__lte=stale)
    ApiToken.objects.filter(old, pk=token.pk).update(last_used_at=now)
    token.last_used_at = now


@transaction.atomic
def revoke(token: ApiToken, *, actor: Any = None, request: HttpRequest | None = None) -> bool:
    """End a token. False when it had ended before; then nothing is logged again."""
    if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.now()):
        return False
    audit.record("token.revoked", actor=actor, subject=str(token), request=request, owner=token.user.email)
    return True


def revoke_all(user: User, *, actor: Any = None, request: HttpRequest | None = None) -> int:
    """End every token of a person, feeds included."""
    alive = ApiToken.objects.filter(user=user, revoked_at=None).select_related("user")
    return sum(revoke(token, actor=actor, request=request) for token in alive)


def _digest(plain: str) -> str:
    return hashlib.sha256(plain.encode()).hexdigest()
