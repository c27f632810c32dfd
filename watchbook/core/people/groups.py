"""Groups: their members and roles, each change with its line in the audit log.

A role of a group is given to each member where the system keeps its roles. `GivenRole` remembers which roles came from
groups and what was there before, so that leaving a group takes back what the group gave and nothing else.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base.invalid import InvalidInput
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.people import roles
from watchbook.core.people.models import NAME_LENGTH, GivenRole, Group, GroupMember, GroupRole

MOST_GROUPS = 1000
Place = tuple[str, str]


def folded(name: str) -> str:
    return cut(unicodedata.normalize("NFKC", " ".join(name.split())).casefold(), NAME_LENGTH)


def create(name: str, *, actor: Any, request: HttpRequest | None = None) -> Group:
    kept = _checked_name(name)
    if Group.objects.count() >= MOST_GROUPS:
        raise InvalidInput("name", _("There are already %(n)s groups.") % {"n": MOST_GROUPS})
    try:
        with transaction.atomic():
            group = Group.objects.create(name=kept, folded=folded(kept))
            audit.record("group.added", actor=actor, subject=kept, request=request)
    except IntegrityError:
        raise _taken() from None
    return group


def rename(group: Group, name: str, *, actor: Any, request: HttpRequest | None = None) -> None:
    kept = _checked_name(name)
    if kept == group.name:
        return
    before, group.name, group.folded = group.name, kept, folded(kept)
    try:
        with transaction.atomic():
            group.save(update_fields=["name", "folded"])
            audit.record("group.changed", actor=actor, subject=kept, request=request, before=before)
    except IntegrityError:
        raise _taken() from None


def delete(group: Group, *, actor: Any, request: HttpRequest | None = None) -> None:
    """Delete a group. Its members lose the roles that only this group gave."""
    with transaction.atomic():
        members = [member.user for member in group.members.select_related("user")]
        audit.record("group.removed", actor=actor, subject=group.name, request=request, members=len(members))
        group.delete()
        sync_all(members, actor=actor)


def add_member(
    group: Group, user: User, *, actor: Any, request: HttpRequest | None = None, by_sign_in: bool = False
) -> bool:
    """Put a user into the group; True if it was not there before."""
    with transaction.atomic():
        _row, is_new = GroupMember.objects.get_or_create(group=group, user=user, defaults={"by_sign_in": by_sign_in})
        if is_new:
            audit.record("group.member", actor=actor, subject=group.name, request=request, user=user.email, added=True)
            sync(user, actor=actor)
    return is_new


def remove_member(group: Group, user: User, *, actor: Any, request: HttpRequest | None = None) -> bool:
    with transaction.atomic():
        removed = GroupMember.objects.filter(group=group, user=user).delete()[0]
        if removed:
            audit.record("group.member", actor=actor, subject=group.name, request=request, user=user.email, added=False)
            sync(user, actor=actor)
    return bool(removed)


def set_role(group: Group, choice: roles.Choice, *, actor: Any, request: HttpRequest | None = None) -> None:
    """Give the group a role in one place; another role in the same place is replaced."""
    with transaction.atomic():
        GroupRole.objects.update_or_create(
            group=group, source=choice.source, place=choice.place, defaults={"role": choice.role}
        )
        audit.record(
            "group.role", actor=actor, subject=group.name, request=request, place=choice.place, role=choice.role
        )
        sync_all(_members(group), actor=actor)


def remove_role(role: GroupRole, *, actor: Any, request: HttpRequest | None = None) -> None:
    with transaction.atomic():
        group, place = role.group, role.place
        role.delete()
        audit.record("group.role", actor=actor, subject=group.name, request=request, place=place, role="")
        sync_all(_members(group), actor=actor)


def _members(group: Group) -> list[User]:
    return [member.user for member in group.members.select_related("user").order_by("pk")]


def sync_all(users: Iterable[User], *, actor: Any = None) -> None:
    for user in users:
        sync(user, actor=actor)


@transaction.atomic
def sync(user: User, *, actor: Any = None) -> None:
    """Give the user exactly the roles of the groups, and remove those that no group gives any more."""
    wanted = _wanted(user)
    kept = {(row.source, row.place): row for row in GivenRole.objects.select_for_update().filter(user=user)}
    # Inner places first: a role ends before the one that it needs.
    for key in sorted(set(kept) - set(wanted), key=_is_outer):
        _take_back(user, kept[key], actor)
    for key in sorted(wanted, key=_is_outer, reverse=True):
        _give(user, key, wanted[key], kept.get(key), actor)


def _wanted(user: User) -> dict[Place, str]:
    found: dict[Place, str] = {}

    def want(source: str, place_id: str, role: str) -> None:
        place = roles.place_of(source, place_id)
        if place is None:
            return
        if place.within:
            want(source, *place.within)
        if roles.strength(place, role) > roles.strength(place, found.get((source, place_id), "")):
            found[source, place_id] = role

    for row in GroupRole.objects.filter(group__members__user=user).order_by("pk"):
        want(row.source, row.place, row.role)
    return found


def _is_outer(key: Place) -> bool:
    place = roles.place_of(*key)
    return place is None or place.within is None


def _give(user: User, key: Place, role: str, kept: GivenRole | None, actor: Any) -> None:
    place = roles.place_of(*key)
    current = roles.role_of(user, *key)
    if place is None or current == role:
        return
    is_ours = kept is not None and current == kept.role
    if not is_ours and roles.strength(place, current) > roles.strength(place, role):
        return  # an administrator gave more by hand
    previous = kept.previous if kept is not None and is_ours else current
    roles.set_role(user, *key, role, actor=actor)
    GivenRole.objects.update_or_create(
        user=user, source=key[0], place=key[1], defaults={"role": role, "previous": previous}
    )


def _take_back(user: User, kept: GivenRole, actor: Any) -> None:
    # A role that was changed by hand since is not the group's any more.
    if roles.place_of(kept.source, kept.place) and roles.role_of(user, kept.source, kept.place) == kept.role:
        roles.set_role(user, kept.source, kept.place, kept.previous, actor=actor)
    kept.delete()


def _checked_name(name: str) -> str:
    kept = cut(" ".join(clean_text(name).split()), NAME_LENGTH)
    if not kept:
        raise InvalidInput("name", _("Enter a name."))
    return kept


def _taken() -> InvalidInput:
    return InvalidInput("name", _("There is already a group of this name."), "exists", is_conflict=True)
