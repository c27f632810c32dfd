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
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import cut
from watchbook.core import registry
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import ApiToken, Purpose, User

DAYS = 365
MOST_DAYS = 3650
USE_IS_WRITTEN_EVERY = timedelta(minutes=1)

_SHAPE = re.compile(r"wb_([a-z0-9]{8})[A-Za-z0-9_-]{43}\Z")
_ID_CHARACTERS = string.ascii_lowercase + string.digits


def scopes() -> dict[str, str | Promise]:
    """Return every scope with its title: the shared ones and those that systems declare."""
    declared = {scope.name: scope.title for source in registry.sources() for scope in source.token_scopes}
    return {
        "read": _("Read data (read)"),
        "write": _("Change data (write)"),
        **declared,
        "staff": _("Administration (staff)"),
    }


def permissions() -> dict[str, registry.TokenScope]:
    """Return the scopes that an operator gives to single members."""
    declared = [scope for source in registry.sources() for scope in source.token_scopes]
    return {scope.name: scope for scope in declared if scope.holders and scope.set_allowed}


def scopes_for(user: User) -> tuple[str, ...]:
    """Return the scopes that a token of this user may have."""
    declared = {scope.name: scope.allowed for source in registry.sources() for scope in source.token_scopes}
    refused = {name for name, allowed in declared.items() if allowed and not registry.load(allowed)(user)}
    return tuple(scope for scope in scopes() if scope not in refused and (scope != "staff" or user.is_staff))


def may_use(token: ApiToken, *wanted: str) -> bool:
    """Whether the token has these scopes and its user still may use them."""
    return token.allows(*wanted) and all(scope in {"read", "write"} or _may_have(token.user, scope) for scope in wanted)


def _may_have(user: User, scope: str) -> bool:
    return scope in scopes_for(user)


@transaction.atomic
def make(
    user: User,
    wanted: Iterable[str],
    days: int | None = DAYS,
    *,
    name: str = "",
    purpose: str = Purpose.API,
    actor: Any = None,
    request: HttpRequest | None = None,
) -> tuple[ApiToken, str]:
    """A new token and its plain text, which cannot be read again. `days` None: it does not expire."""
    chosen = sorted(set(wanted))
    _check(user, chosen, days)
    prefix = "".join(secrets.choice(_ID_CHARACTERS) for _place in range(8))
    plain = f"wb_{prefix}{secrets.token_urlsafe(32)}"
    now = clock.now()
    token = ApiToken.objects.create(
        user=user,
        name=cut(" ".join(name.split()), 100),
        purpose=purpose,
        prefix=prefix,
        digest=_digest(plain),
        scopes=chosen,
        created_at=now,
        expires_at=now + timedelta(days=days) if days else None,
    )
    audit.record(
        "token.made",
        actor=actor or user,
        subject=str(token),
        request=request,
        owner=user.email,
        scopes=chosen,
        purpose=purpose,
    )
    return token, plain


def _check(user: User, wanted: list[str], days: int | None) -> None:
    unknown = [scope for scope in wanted if scope not in scopes()]
    if unknown:
        raise InvalidInput("scopes", f"There is no scope {', '.join(unknown)}. Scopes are {', '.join(scopes())}.")
    if not wanted:
        raise InvalidInput("scopes", "A token needs at least one scope.")
    if "staff" in wanted and not user.is_staff:
        raise InvalidInput("scopes", "Only an operator's token can have the scope staff.")
    if set(wanted) - set(scopes_for(user)):
        refused = ", ".join(sorted(set(wanted) - set(scopes_for(user))))
        raise InvalidInput("scopes", f"This user may not have the scope {refused}. An operator can allow it.")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise InvalidInput("days", f"A token is valid for 1 to {MOST_DAYS} days.")


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
