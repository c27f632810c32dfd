"""What a user owns, and removal of an account: everything is listed, then transferred or deleted, and counted.

Every system declares its own things with `registry.Owned`; core declares channels, saved searches and tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.core import registry
from watchbook.core.accounts import actions
from watchbook.core.accounts.models import ApiToken, User, normalise_email
from watchbook.core.people.models import Invitation

MODULE = "watchbook.core.people.ownership"
SHOWN = 20
OWNED = (
    registry.Owned("api_tokens", gettext_lazy("API tokens"), f"{MODULE}:token_titles"),
    registry.Owned("invitations", gettext_lazy("Pending invitations"), f"{MODULE}:invitation_titles"),
)


def token_titles(user: User) -> list[str]:
    return [token.name or str(token) for token in ApiToken.objects.of(user).usable(clock.now())]


def invitation_titles(user: User) -> list[str]:
    return [str(each) for each in Invitation.objects.pending(clock.now()).filter(created_by=user)]


@dataclass(frozen=True)
class Holding:
    """One kind of thing that a user owns."""

    name: str
    source: str
    title: str
    titles: tuple[str, ...]
    can_transfer: bool
    stays: bool

    @property
    def count(self) -> int:
        return len(self.titles)

    @property
    def shown(self) -> tuple[str, ...]:
        return self.titles[:SHOWN]

    @property
    def left_out(self) -> int:
        return max(0, self.count - SHOWN)


def holdings(user: User) -> list[Holding]:
    """Return what the user owns, kind by kind, without empty kinds."""
    found = []
    for source, kind in registry.owned_kinds():
        titles = tuple(registry.load(kind.listed)(user)) if not kind.is_hidden else ()
        if titles:
            found.append(Holding(kind.name, source, str(kind.title), titles, bool(kind.transfer), kind.stays))
    return found


@dataclass(frozen=True)
class Removed:
    """What happened to the things of a removed account: counts by kind."""

    transferred: dict[str, int]
    deleted: dict[str, int]
    kept: dict[str, int]


def successor_of(user: User, email: str) -> User | None:
    """Return the active account that gets the things; None for an empty address."""
    if not email.strip():
        return None
    found = User.objects.filter(email=normalise_email(email), is_active=True).exclude(pk=user.pk).first()
    if found is None:
        raise InvalidInput("successor", _("There is no other active account with this address."))
    return found


def remove(user: User, *, successor: User | None, actor: Any, request: HttpRequest | None = None) -> Removed:
    """Delete an account. Its things go to the successor; without one, and where none can be given, they are deleted."""
    if successor is not None and successor.pk == user.pk:
        raise InvalidInput("successor", _("There is no other active account with this address."))
    with transaction.atomic():
        actions.check_can_leave(user)
        result = _empty(user, successor)
        more: dict[str, Any] = {"to": successor.email} if successor else {}
        for name in ("transferred", "deleted", "kept"):
            if counts := getattr(result, name):
                more[name] = [f"{kind}: {count}" for kind, count in counts.items()]
        actions.delete(user, actor=actor, request=request, **more)
    return result


def _empty(user: User, successor: User | None) -> Removed:
    result = Removed({}, {}, {})
    for _source, kind in registry.owned_kinds():
        count = len(registry.load(kind.listed)(user))
        if not count:
            continue
        if successor is not None and kind.transfer:
            registry.load(kind.transfer)(user, successor)
            where = result.transferred
        else:
            if kind.delete:
                registry.load(kind.delete)(user)
            where = result.kept if kind.stays else result.deleted
        where[kind.name] = where.get(kind.name, 0) + count
    return result
