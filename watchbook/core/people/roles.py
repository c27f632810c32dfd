"""Roles that groups and invitations give: on this server, and in the places that systems declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from watchbook.base.invalid import InvalidInput
from watchbook.core import registry
from watchbook.core.accounts import actions
from watchbook.core.accounts.models import User
from watchbook.core.registry import RolePlace, Roles

MODULE = "watchbook.core.people.roles"
SERVER_NAME, SERVER_PLACE, OPERATOR = "server", "server", "operator"
SERVER = Roles(
    places=f"{MODULE}:server_places",
    place=f"{MODULE}:server_place",
    role_of=f"{MODULE}:server_role_of",
    set_role=f"{MODULE}:set_server_role",
)


def server_places(user: User) -> list[RolePlace]:
    return [_server()] if user.is_staff else []


def server_place(place_id: str) -> RolePlace | None:
    return _server() if place_id == SERVER_PLACE else None


def server_role_of(user: User, place_id: str) -> str:
    is_operator = User.objects.filter(pk=user.pk, is_staff=True).exists()
    return OPERATOR if is_operator and place_id == SERVER_PLACE else ""


def set_server_role(user: User, place_id: str, role: str, *, actor: Any) -> None:
    actions.set_role(user, operator=role == OPERATOR, actor=actor)


def _server() -> RolePlace:
    return RolePlace(SERVER_PLACE, _("This server"), ((OPERATOR, _("Operator")),))


@dataclass(frozen=True)
class Choice:
    """One role in one place, as forms offer it."""

    source: str
    place: str
    role: str
    place_title: str
    role_title: str

    @property
    def value(self) -> str:
        return f"{self.source}|{self.place}|{self.role}"

    @property
    def title(self) -> str:
        return f"{self.place_title} · {self.role_title}"


def choices(user: User, *, of_server: bool = True) -> list[Choice]:
    """Return every role that this user may give."""
    found = []
    for source, roles in registry.roles().items():
        if source == SERVER_NAME and not of_server:
            continue
        for place in registry.load(roles.places)(user):
            found += [Choice(source, place.id, role, place.title, title) for role, title in place.roles]
    return found


def choice_of(user: User, value: str, *, of_server: bool = True) -> Choice | None:
    """Return the choice of a form; None for nothing. Raise InvalidInput for one that is not offered."""
    if not value:
        return None
    for each in choices(user, of_server=of_server):
        if each.value == value:
            return each
    raise InvalidInput("place", _("You cannot give this role."))


def may_give(user: User, source: str, place: str, role: str) -> bool:
    return any((each.source, each.place, each.role) == (source, place, role) for each in choices(user))


def place_of(source: str, place_id: str) -> RolePlace | None:
    """Return the place, or None if it or its system no longer exists."""
    roles = registry.roles().get(source)
    return registry.load(roles.place)(place_id) if roles else None


def title_of(source: str, place_id: str, role: str, *, viewer: User) -> str:
    """Return a title for one role; a place that the viewer does not manage stays unnamed."""
    roles = registry.roles().get(source)
    place = place_of(source, place_id)
    if roles is None or place is None:
        return _("A place that no longer exists")
    known = {each.id for each in registry.load(roles.places)(viewer)}
    title = place.title if place_id in known else _("A place that you do not manage")
    return f"{title} · {dict(place.roles).get(role, role)}"


def role_of(user: User, source: str, place_id: str) -> str:
    role: str = registry.load(registry.roles()[source].role_of)(user, place_id)
    return role


def set_role(user: User, source: str, place_id: str, role: str, *, actor: Any = None) -> None:
    registry.load(registry.roles()[source].set_role)(user, place_id, role, actor=actor)


def strength(place: RolePlace, role: str) -> int:
    """Return the rank of a role; one that a group cannot give, such as the owner, is stronger than all others."""
    names = [name for name, _title in place.roles]
    if not role:
        return -1
    return names.index(role) if role in names else len(names)


def give(user: User, source: str, place_id: str, role: str, *, actor: Any = None) -> None:
    """Give a role and what it needs first, unless the user has a stronger one."""
    place = place_of(source, place_id)
    if place is None:
        raise InvalidInput("place", _("This place no longer exists."))
    if place.within:
        give(user, source, *place.within, actor=actor)
    if strength(place, role_of(user, source, place_id)) < strength(place, role):
        set_role(user, source, place_id, role, actor=actor)
