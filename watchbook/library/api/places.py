"""Workspaces, members, flags, channels, spaces."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from watchbook.core.api.document import refuses
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.library import access, actions
from watchbook.library.api.shapes import (
    MemberList,
    MemberOut,
    ReconciliationNow,
    ReconciliationOut,
    SpaceList,
    SpaceOut,
    WorkspaceList,
    WorkspaceOut,
    reconciliation_out,
    space_out,
    workspace_out,
)
from watchbook.library.errors import Wrong
from watchbook.library.models import SpaceRole, WorkspaceRole
from watchbook.library.store.reconcile import title_of

router = Router()

# What every change may meet: it does not fit what is there, or another release channel owns the workspace.
CHANGING = refuses(409, 423)


class WorkspaceIn(Schema):
    name: str
    flags: dict[str, bool] | None = None


class NameIn(Schema):
    name: str


class MemberIn(Schema):
    email: str = ""
    user_id: UUID | None = None
    role: str


class FlagsIn(Schema):
    model_config = {"extra": "forbid"}

    folders_enabled: bool | None = None
    sharing_enabled: bool | None = None


class ReleaseChannelIn(Schema):
    release_channel: str


class PlacesQuery(PageQuery):
    state: access.PlaceState = "in_use"


@router.get("/workspaces", response=WorkspaceList)
def workspaces(request: HttpRequest, page: Query[PlacesQuery]) -> dict[str, Any]:
    """Workspaces you belong to. `state`: in_use, archived, or deleted for those in the trash that you own."""
    rows = access.workspaces_of(request.user, page.state)
    return keyset(rows, page, by="created_at", make=lambda row: workspace_out(row, request.user))


@router.post("/workspaces", response={201: WorkspaceOut})
def add_workspace(request: HttpRequest, body: WorkspaceIn) -> Status[dict[str, Any]]:
    """A new workspace; you own it. Folders and sharing are on unless `flags` says otherwise."""
    made = actions.create_workspace(request.user, body.name, flags=body.flags)
    return Status(201, workspace_out(made, request.user))


@router.get("/workspaces/{uuid:workspace_id}", response=WorkspaceOut)
def workspace(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """One workspace with your role, its flags and its channel."""
    return workspace_out(access.workspace_for(request.user, workspace_id), request.user)


@router.patch("/workspaces/{uuid:workspace_id}", response=WorkspaceOut, openapi_extra=CHANGING)
def rename_workspace(request: HttpRequest, workspace_id: UUID, body: NameIn) -> dict[str, Any]:
    """A new name."""
    return workspace_out(actions.rename_workspace(request.user, workspace_id, body.name), request.user)


@router.delete("/workspaces/{uuid:workspace_id}", response={204: None}, openapi_extra=CHANGING)
def delete_workspace(request: HttpRequest, workspace_id: UUID, name: str) -> Status[None]:
    """To the trash, with all its spaces; for owners. `name` is its name, so that no other one is meant."""
    actions.delete_workspace(request.user, workspace_id, name=name)
    return Status(204, None)


@router.get("/workspaces/{uuid:workspace_id}/members", response=MemberList)
def members(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """Who belongs to it."""
    found = access.workspace_for(request.user, workspace_id).members.select_related("user").order_by("pk")
    return {"items": [_member_out(member) for member in found], "next": None}


@router.post("/workspaces/{uuid:workspace_id}/members", response={201: MemberOut}, openapi_extra=CHANGING)
def set_member(request: HttpRequest, workspace_id: UUID, body: MemberIn) -> Status[dict[str, Any]]:
    """Add somebody by `email` or `user_id`, or change the role: owner, admin or member."""
    access.workspace_for(request.user, workspace_id, WorkspaceRole.ADMIN)
    made = actions.set_member(request.user, workspace_id, person=_person(body), role=body.role)
    return Status(201, _member_out(made))


@router.delete("/workspaces/{uuid:workspace_id}/members/{uuid:user_id}", response={204: None}, openapi_extra=CHANGING)
def remove_member(request: HttpRequest, workspace_id: UUID, user_id: UUID) -> Status[None]:
    """Take somebody out of the workspace and all its spaces."""
    access.workspace_for(request.user, workspace_id)
    actions.remove_member(request.user, workspace_id, person=actions.member_person(workspace_id, user_id))
    return Status(204, None)


@router.patch("/workspaces/{uuid:workspace_id}/flags", response=WorkspaceOut, openapi_extra=CHANGING)
def set_flags(request: HttpRequest, workspace_id: UUID, body: FlagsIn) -> dict[str, Any]:
    """Switch `folders_enabled` and `sharing_enabled`; those not named stay as they are."""
    given = {name: value for name, value in body.dict().items() if value is not None}
    return workspace_out(actions.set_flags(request.user, workspace_id, given), request.user)


@router.put("/workspaces/{uuid:workspace_id}/release-channel", response=WorkspaceOut, openapi_extra=CHANGING)
def set_channel(request: HttpRequest, workspace_id: UUID, body: ReleaseChannelIn) -> dict[str, Any]:
    """Hand it over to `prod` or `staging`; only the deployment that owns it now can."""
    found = actions.set_release_channel(request.user, workspace_id, body.release_channel)
    return workspace_out(found, request.user)


@router.get("/workspaces/{uuid:workspace_id}/reconciliation", response=ReconciliationNow)
def reconciliation(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """The checks as they come out now, and the last stored result."""
    _workspace, checks = actions.check_workspace(request.user, workspace_id)
    last = actions.last_reconciliation(request.user, workspace_id)
    return {
        "ok": all(check.is_ok for check in checks),
        "checks": [{**check.as_json(), "title": title_of(check.name)} for check in checks],
        "stored": reconciliation_out(last) if last else None,
    }


@router.post(
    "/workspaces/{uuid:workspace_id}/reconciliation", response={201: ReconciliationOut}, openapi_extra=CHANGING
)
def store_reconciliation(request: HttpRequest, workspace_id: UUID) -> Status[dict[str, Any]]:
    """The checks as they come out now, stored."""
    return Status(201, reconciliation_out(actions.store_reconciliation(request.user, workspace_id)))


@router.get("/workspaces/{uuid:workspace_id}/spaces", response=SpaceList)
def spaces(request: HttpRequest, workspace_id: UUID, page: Query[PlacesQuery]) -> dict[str, Any]:
    """Its spaces that you may read. `state`: in_use, archived, or deleted for the trash of an owner."""
    access.workspace_for(request.user, workspace_id)
    rows = access.spaces_in(request.user, workspace_id, page.state)
    return keyset(rows, page, by="created_at", make=lambda row: space_out(row, request.user))


@router.post("/workspaces/{uuid:workspace_id}/spaces", response={201: SpaceOut}, openapi_extra=CHANGING)
def add_space(request: HttpRequest, workspace_id: UUID, body: NameIn) -> Status[dict[str, Any]]:
    """A new space; for owners and admins."""
    return Status(201, space_out(actions.create_space(request.user, workspace_id, body.name), request.user))


@router.get("/spaces/{uuid:space_id}", response=SpaceOut)
def space(request: HttpRequest, space_id: UUID) -> dict[str, Any]:
    """One space with your role."""
    return space_out(access.space_for(request.user, space_id), request.user)


@router.patch("/spaces/{uuid:space_id}", response=SpaceOut, openapi_extra=CHANGING)
def rename_space(request: HttpRequest, space_id: UUID, body: NameIn) -> dict[str, Any]:
    """A new name."""
    return space_out(actions.rename_space(request.user, space_id, body.name), request.user)


@router.delete("/spaces/{uuid:space_id}", response={204: None}, openapi_extra=CHANGING)
def delete_space(request: HttpRequest, space_id: UUID, name: str) -> Status[None]:
    """To the trash, with all its pages; for owners of the workspace. `name` is its name."""
    actions.delete_space(request.user, space_id, name=name)
    return Status(204, None)


@router.get("/spaces/{uuid:space_id}/members", response=MemberList)
def space_members(request: HttpRequest, space_id: UUID) -> dict[str, Any]:
    """Who has a role of its own in it."""
    found = access.space_for(request.user, space_id).members.select_related("user").order_by("pk")
    return {"items": [_member_out(member) for member in found], "next": None}


@router.post("/spaces/{uuid:space_id}/members", response={201: MemberOut}, openapi_extra=CHANGING)
def set_space_member(request: HttpRequest, space_id: UUID, body: MemberIn) -> Status[dict[str, Any]]:
    """Give a member of the workspace a role: admin, writer or reader."""
    access.space_for(request.user, space_id, SpaceRole.ADMIN)
    made = actions.set_space_member(request.user, space_id, person=_person(body), role=body.role)
    return Status(201, _member_out(made))


@router.delete("/spaces/{uuid:space_id}/members/{uuid:user_id}", response={204: None}, openapi_extra=CHANGING)
def remove_space_member(request: HttpRequest, space_id: UUID, user_id: UUID) -> Status[None]:
    """Take the role in this space away."""
    found = access.space_for(request.user, space_id)
    actions.remove_space_member(request.user, space_id, person=actions.member_person(found.workspace_id, user_id))
    return Status(204, None)


def _person(body: MemberIn) -> Any:
    if not body.email and body.user_id is None:
        raise Wrong("email", "Name the person by email or user_id.")
    return actions.find_person(email=body.email, user_id=body.user_id)


def _member_out(member: Any) -> dict[str, Any]:
    return MemberOut.of(member, email=member.user.email)
