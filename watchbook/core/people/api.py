"""Endpoints of users, invitations and groups, for operators."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema, Status

from watchbook.base import clock
from watchbook.core.accounts import actions
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.api.auth import staff
from watchbook.core.api.errors import Invalid, NotFound
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.schemas import Answer, Listing, said
from watchbook.core.api.shell import refuses
from watchbook.core.people import groups, invitations, ownership, roles
from watchbook.core.people.models import Group, GroupMember, GroupRole, Invitation

router = Router(auth=staff)


class PersonOut(Answer):
    """An account on this server."""

    row = User
    id: UUID
    email: str
    is_operator: bool
    is_active: bool
    is_verified: bool
    created_at: datetime
    last_login_at: datetime | None
    groups: list[str] = said("Names of the groups.")


class PersonList(Listing[PersonOut]):
    """Accounts, oldest first."""


class HoldingOut(Answer):
    """One kind of thing that a user owns."""

    name: str
    source: str = said("Slug of the source; empty for the server itself.")
    count: int
    titles: list[str] = said("At most 20.")
    can_transfer: bool
    stays: bool = said("True: without a successor other members keep it.")


class PersonDetail(PersonOut):
    """An account with what it owns."""

    owns: list[HoldingOut]


class PersonChange(Schema):
    """Omitted fields stay as they are."""

    is_operator: bool | None = None
    is_active: bool | None = None


class PersonQuery(PageQuery):
    q: str = Field("", max_length=200, description="Part of the e-mail address.")


class RemovedOut(Answer):
    """What happened to the things of a removed account, as counts by kind."""

    transferred: dict[str, int]
    deleted: dict[str, int]
    kept: dict[str, int]


@router.get("/people", response=PersonList)
def list_people(request: HttpRequest, page: Query[PersonQuery]) -> dict[str, Any]:
    """List the accounts on this server."""
    rows = User.objects.prefetch_related("group_memberships__group")
    if page.q:
        rows = rows.filter(email__icontains=page.q)
    return keyset(rows, page, by="created_at", make=person_out)


@router.get("/people/{uuid:user_id}", response=PersonDetail)
def get_person(request: HttpRequest, user_id: UUID) -> dict[str, Any]:
    """Get an account with what it owns."""
    user = _user(user_id)
    owns = [
        {
            "name": each.name, "source": each.source, "count": each.count, "titles": list(each.shown),
            "can_transfer": each.can_transfer, "stays": each.stays,
        }
        for each in ownership.holdings(user)
    ]  # fmt: skip
    return person_out(user) | {"owns": owns}


@router.patch("/people/{uuid:user_id}", response=PersonOut)
def change_person(request: HttpRequest, user_id: UUID, body: PersonChange) -> dict[str, Any]:
    """Make a user an operator or a member, or enable and disable the account."""
    user = _user(user_id)
    if body.is_operator is not None:
        actions.set_role(user, operator=body.is_operator, actor=request.user, request=request)
    if body.is_active is not None:
        actions.set_active(user, active=body.is_active, actor=request.user, request=request)
    return person_out(_user(user_id))


@router.delete("/people/{uuid:user_id}", response=RemovedOut)
def remove_person(request: HttpRequest, user_id: UUID, successor: str = "") -> dict[str, Any]:
    """Remove an account. What it owns goes to `successor` (an e-mail address); without one it is deleted."""
    user = _user(user_id)
    to = ownership.successor_of(user, successor)
    removed = ownership.remove(user, successor=to, actor=request.user, request=request)
    return {"transferred": removed.transferred, "deleted": removed.deleted, "kept": removed.kept}


def _user(user_id: UUID) -> User:
    found = User.objects.prefetch_related("group_memberships__group").filter(pk=user_id).first()
    if found is None:
        raise NotFound
    return found


def person_out(user: User) -> dict[str, Any]:
    names = sorted(member.group.name for member in user.group_memberships.all())
    return PersonOut.of(user, is_operator=user.is_staff, groups=names)


class InvitationOut(Answer):
    """An invitation. Its link is returned once, when it is created or renewed."""

    row = Invitation
    id: UUID
    email: str = said("The only address that can accept it; empty for an open link.")
    name: str
    is_operator: bool
    group: str = said("Name of the group; empty for none.")
    source: str
    place: str = said("Where it gives a role; empty for none.")
    role: str
    state: str = said("pending, used, expired or revoked.")
    uses: int
    most_uses: int
    created_by: str
    created_at: datetime
    expires_at: datetime
    sent_at: datetime | None = said("When the mail server accepted the mail.")
    mail_error: str = said("What the mail server answered instead.")


class InvitationMade(InvitationOut):
    """A new invitation with its link, if it was not sent by mail."""

    link: str = said("Shown once. Empty if the mail server accepted the mail.")


class InvitationList(Listing[InvitationOut]):
    """Invitations, newest first."""


class InvitationIn(Schema):
    """With `email` the invitation is sent by mail and only this address can accept it."""

    email: str = Field("", max_length=254)
    name: str = Field("", max_length=100)
    is_operator: bool = False
    group_id: UUID | None = None
    source: str = Field("", max_length=40)
    place: str = Field("", max_length=100)
    role: str = Field("", max_length=40)
    days: int = 7
    uses: int = 1
    language: str = Field("", max_length=10)
    send: bool = Field(True, description="False: return the link instead of sending a mail.")


class InvitationQuery(PageQuery):
    state: str = Field("", max_length=10, description="pending: only those that can be accepted.")


@router.get("/invitations", response=InvitationList)
def list_invitations(request: HttpRequest, page: Query[InvitationQuery]) -> dict[str, Any]:
    """List invitations."""
    rows = Invitation.objects.select_related("created_by", "group")
    if page.state not in {"", "pending"}:
        raise Invalid(details=[{"field": "state", "message": "Use pending."}])
    if page.state:
        rows = rows.pending(clock.now())
    return keyset(rows, page, by="-created_at", make=invitation_out)


@router.post("/invitations", response={201: InvitationMade}, openapi_extra=refuses(409))
def invite(request: HttpRequest, body: InvitationIn) -> Status[dict[str, Any]]:
    """Invite a user by mail or by a link. The account is created when the invitation is accepted."""
    user = person_of(request)
    if body.language and body.language not in dict(settings.LANGUAGES):
        raise Invalid(details=[{"field": "language", "message": f"Use one of {', '.join(dict(settings.LANGUAGES))}."}])
    value = f"{body.source}|{body.place}|{body.role}" if body.place or body.source or body.role else ""
    wanted = invitations.Wanted(
        email=body.email, name=body.name, is_operator=body.is_operator, group=_group(body.group_id),
        place=roles.choice_of(user, value, of_server=False), days=body.days, uses=body.uses, language=body.language,
    )  # fmt: skip
    made, token = invitations.invite(wanted, actor=user, request=request)
    return Status(201, _made(made, token, send=body.send))


@router.post("/invitations/{uuid:invitation_id}/resend", response=InvitationMade, openapi_extra=refuses(409))
def resend_invitation(request: HttpRequest, invitation_id: UUID) -> dict[str, Any]:
    """Send the mail again with a new link, or return the new link. The old link no longer works."""
    row = _invitation(invitation_id)
    token = invitations.renew(row, actor=person_of(request), request=request)
    return _made(row, token, send=True)


@router.delete("/invitations/{uuid:invitation_id}", response={204: None})
def revoke_invitation(request: HttpRequest, invitation_id: UUID) -> Status[None]:
    """Revoke an invitation. Its link no longer works."""
    invitations.revoke(_invitation(invitation_id), actor=request.user, request=request)
    return Status(204, None)


def _made(row: Invitation, token: str, *, send: bool) -> dict[str, Any]:
    is_sent = bool(row.email) and send and invitations.send(row, token)
    return invitation_out(row) | {"link": "" if is_sent else invitations.link(token)}


def _invitation(invitation_id: UUID) -> Invitation:
    found = Invitation.objects.select_related("created_by", "group").filter(pk=invitation_id).first()
    if found is None:
        raise NotFound
    return found


def invitation_out(row: Invitation) -> dict[str, Any]:
    group = row.group.name if row.group else ""
    return InvitationOut.of(row, group=group, state=row.state(clock.now()), created_by=row.created_by.email)


class GroupRoleOut(Answer):
    """A role that every member of a group gets."""

    id: int
    source: str
    place: str
    role: str


class GroupOut(Answer):
    """A group with its members and roles."""

    id: UUID
    name: str
    created_at: datetime
    members: list[str] = said("E-mail addresses.")
    roles: list[GroupRoleOut]


class GroupList(Listing[GroupOut]):
    """All groups."""


class GroupIn(Schema):
    name: str = Field(max_length=200)


class GroupMemberIn(Schema):
    user_id: UUID


class GroupRoleIn(Schema):
    """A role in a place that the caller manages: `server`/`server`/`operator`, or one of a source."""

    source: str = Field(max_length=40)
    place: str = Field(max_length=100)
    role: str = Field(max_length=40)


@router.get("/groups", response=GroupList)
def list_groups(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List groups with their members and roles."""
    return keyset(Group.objects.prefetch_related("members__user", "roles"), page, by="created_at", make=group_out)


@router.post("/groups", response={201: GroupOut}, openapi_extra=refuses(409))
def add_group(request: HttpRequest, body: GroupIn) -> Status[dict[str, Any]]:
    """Create a group."""
    return Status(201, group_out(groups.create(body.name, actor=request.user, request=request)))


@router.patch("/groups/{uuid:group_id}", response=GroupOut, openapi_extra=refuses(409))
def rename_group(request: HttpRequest, group_id: UUID, body: GroupIn) -> dict[str, Any]:
    """Rename a group."""
    group = get_object_or_404(Group, pk=group_id)
    groups.rename(group, body.name, actor=request.user, request=request)
    return group_out(group)


@router.delete("/groups/{uuid:group_id}", response={204: None})
def remove_group(request: HttpRequest, group_id: UUID) -> Status[None]:
    """Delete a group. Its members lose the roles that only this group gave."""
    groups.delete(get_object_or_404(Group, pk=group_id), actor=request.user, request=request)
    return Status(204, None)


@router.post("/groups/{uuid:group_id}/members", response=GroupOut)
def add_group_member(request: HttpRequest, group_id: UUID, body: GroupMemberIn) -> dict[str, Any]:
    """Put a user into a group, with all its roles."""
    group = get_object_or_404(Group, pk=group_id)
    user = User.objects.filter(pk=body.user_id).first()
    if user is None:
        raise Invalid(details=[{"field": "user_id", "message": "There is no such user."}])
    groups.add_member(group, user, actor=request.user, request=request)
    return group_out(group)


@router.delete("/groups/{uuid:group_id}/members/{uuid:user_id}", response={204: None})
def remove_group_member(request: HttpRequest, group_id: UUID, user_id: UUID) -> Status[None]:
    """Remove a user from a group, with the roles that only this group gave."""
    member = GroupMember.objects.select_related("group", "user").filter(group_id=group_id, user_id=user_id).first()
    if member is None:
        raise NotFound
    groups.remove_member(member.group, member.user, actor=request.user, request=request)
    return Status(204, None)


@router.post("/groups/{uuid:group_id}/roles", response=GroupOut)
def add_group_role(request: HttpRequest, group_id: UUID, body: GroupRoleIn) -> dict[str, Any]:
    """Give a group a role in one place. It replaces the group's role in the same place."""
    group = get_object_or_404(Group, pk=group_id)
    choice = roles.choice_of(person_of(request), f"{body.source}|{body.place}|{body.role}")
    if choice is not None:
        groups.set_role(group, choice, actor=request.user, request=request)
    return group_out(group)


@router.delete("/groups/{uuid:group_id}/roles/{int:role_id}", response={204: None})
def remove_group_role(request: HttpRequest, group_id: UUID, role_id: int) -> Status[None]:
    """Take a role away from a group."""
    role = GroupRole.objects.select_related("group").filter(pk=role_id, group_id=group_id).first()
    if role is None:
        raise NotFound
    groups.remove_role(role, actor=request.user, request=request)
    return Status(204, None)


def _group(group_id: UUID | None) -> Group | None:
    if group_id is None:
        return None
    found = Group.objects.filter(pk=group_id).first()
    if found is None:
        raise Invalid(details=[{"field": "group_id", "message": "There is no such group."}])
    return found


def group_out(group: Group) -> dict[str, Any]:
    members = sorted(member.user.email for member in group.members.all())
    given = [{"id": row.pk, "source": row.source, "place": row.place, "role": row.role} for row in group.roles.all()]
    return GroupOut.of(group, members=members, roles=given)
