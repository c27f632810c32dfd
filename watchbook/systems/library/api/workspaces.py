"""API endpoints for workspaces, spaces, members, features and release channels."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router, Schema, Status

from watchbook.core.accounts.access import person_of
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.shell import refuses
from watchbook.systems.library import access, actions
from watchbook.systems.library.api.migrations import ReconciliationNow, ReconciliationOut, reconciliation_out
from watchbook.systems.library.api.schemas import (
    InvitedOut,
    MemberList,
    MemberOut,
    SpaceList,
    SpaceOut,
    WorkspaceList,
    WorkspaceOut,
    space_out,
    workspace_out,
)
from watchbook.systems.library.errors import NoAccount, Wrong
from watchbook.systems.library.models import SpaceRole, WorkspaceRole
from watchbook.systems.library.store.reconcile import title_of

router = Router()

# Errors of every change: a conflict with the stored data, or another release channel owns the workspace.
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
    state: access.ContainerState = "in_use"


@router.get("/workspaces", response=WorkspaceList)
def workspaces(request: HttpRequest, page: Query[PlacesQuery]) -> dict[str, Any]:
    """List your workspaces. `state`: in_use, archived or deleted (in the trash, owners only)."""
    rows = access.workspaces_of(person_of(request), page.state)
    return keyset(rows, page, by="created_at", make=lambda row: workspace_out(row, person_of(request)))


@router.post("/workspaces", response={201: WorkspaceOut})
def add_workspace(request: HttpRequest, body: WorkspaceIn) -> Status[dict[str, Any]]:
    """Create a workspace. You become its owner. Folders and sharing are enabled unless `flags` disables them."""
    made = actions.create_workspace(person_of(request), body.name, flags=body.flags)
    return Status(201, workspace_out(made, person_of(request)))


@router.get("/workspaces/{uuid:workspace_id}", response=WorkspaceOut)
def workspace(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """Get a workspace with your role, its features and its release channel."""
    return workspace_out(access.workspace_for(person_of(request), workspace_id), person_of(request))


@router.patch("/workspaces/{uuid:workspace_id}", response=WorkspaceOut, openapi_extra=CHANGING)
def rename_workspace(request: HttpRequest, workspace_id: UUID, body: NameIn) -> dict[str, Any]:
    """Rename it."""
    return workspace_out(actions.rename_workspace(person_of(request), workspace_id, body.name), person_of(request))


@router.delete("/workspaces/{uuid:workspace_id}", response={204: None}, openapi_extra=CHANGING)
def delete_workspace(request: HttpRequest, workspace_id: UUID, name: str) -> Status[None]:
    """Move a workspace with all its spaces to the trash. Owners only. `name` must match its name."""
    actions.delete_workspace(person_of(request), workspace_id, name=name)
    return Status(204, None)


@router.get("/workspaces/{uuid:workspace_id}/members", response=MemberList)
def members(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """List the members of a workspace."""
    found = access.workspace_for(person_of(request), workspace_id).members.select_related("user").order_by("pk")
    return {"items": [_member_out(member) for member in found], "next": None}


@router.post(
    "/workspaces/{uuid:workspace_id}/members", response={200: InvitedOut, 201: MemberOut}, openapi_extra=CHANGING
)
def set_member(request: HttpRequest, workspace_id: UUID, body: MemberIn) -> Status[dict[str, Any]]:
    """Add a member by `email` or `user_id`, or change the role: owner, admin or member.

    An address without an account is invited as admin or member: the response is 200, with the link if no mail was sent.
    """
    user = person_of(request)
    access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    try:
        person = _person(body)
    except NoAccount:
        if not body.email:
            raise
        invitation, link = actions.invite_member(user, workspace_id, email=body.email, role=body.role)
        return Status(200, InvitedOut.of(invitation, link=link))
    return Status(201, _member_out(actions.set_member(user, workspace_id, person=person, role=body.role)))


@router.delete("/workspaces/{uuid:workspace_id}/members/{uuid:user_id}", response={204: None}, openapi_extra=CHANGING)
def remove_member(request: HttpRequest, workspace_id: UUID, user_id: UUID) -> Status[None]:
    """Remove a member from a workspace and all its spaces."""
    access.workspace_for(person_of(request), workspace_id)
    actions.remove_member(person_of(request), workspace_id, person=actions.member_person(workspace_id, user_id))
    return Status(204, None)


@router.patch("/workspaces/{uuid:workspace_id}/flags", response=WorkspaceOut, openapi_extra=CHANGING)
def set_flags(request: HttpRequest, workspace_id: UUID, body: FlagsIn) -> dict[str, Any]:
    """Enable or disable `folders_enabled` and `sharing_enabled`. Omitted features stay unchanged."""
    given = {name: value for name, value in body.dict().items() if value is not None}
    return workspace_out(actions.set_flags(person_of(request), workspace_id, given), person_of(request))


@router.put("/workspaces/{uuid:workspace_id}/release-channel", response=WorkspaceOut, openapi_extra=CHANGING)
def set_channel(request: HttpRequest, workspace_id: UUID, body: ReleaseChannelIn) -> dict[str, Any]:
    """Transfer a workspace to `prod` or `staging`. Only the deployment that owns it can do this."""
    found = actions.set_release_channel(person_of(request), workspace_id, body.release_channel)
    return workspace_out(found, person_of(request))


@router.get("/workspaces/{uuid:workspace_id}/reconciliation", response=ReconciliationNow)
def reconciliation(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """Run the consistency check without storing the result. Also returns the last stored result."""
    _found, checks = actions.check_workspace(person_of(request), workspace_id)
    last = actions.last_reconciliation(person_of(request), workspace_id)
    return {
        "ok": all(check.is_ok for check in checks),
        "checks": [{**check.as_json(), "title": title_of(check.name)} for check in checks],
        "stored": reconciliation_out(last) if last else None,
    }


@router.post(
    "/workspaces/{uuid:workspace_id}/reconciliation", response={201: ReconciliationOut}, openapi_extra=CHANGING
)
def store_reconciliation(request: HttpRequest, workspace_id: UUID) -> Status[dict[str, Any]]:
    """Run the consistency check and store the result."""
    return Status(201, reconciliation_out(actions.store_reconciliation(person_of(request), workspace_id)))


@router.get("/workspaces/{uuid:workspace_id}/spaces", response=SpaceList)
def spaces(request: HttpRequest, workspace_id: UUID, page: Query[PlacesQuery]) -> dict[str, Any]:
    """List the spaces you can view. `state`: in_use, archived or deleted (in the trash, owners only)."""
    access.workspace_for(person_of(request), workspace_id)
    rows = access.spaces_in(person_of(request), workspace_id, page.state)
    return keyset(rows, page, by="created_at", make=lambda row: space_out(row, person_of(request)))


@router.post("/workspaces/{uuid:workspace_id}/spaces", response={201: SpaceOut}, openapi_extra=CHANGING)
def add_space(request: HttpRequest, workspace_id: UUID, body: NameIn) -> Status[dict[str, Any]]:
    """Create a space. Owners and admins only."""
    return Status(201, space_out(actions.create_space(person_of(request), workspace_id, body.name), person_of(request)))


@router.get("/spaces/{uuid:space_id}", response=SpaceOut)
def space(request: HttpRequest, space_id: UUID) -> dict[str, Any]:
    """Get a space with your role."""
    return space_out(access.space_for(person_of(request), space_id), person_of(request))


@router.patch("/spaces/{uuid:space_id}", response=SpaceOut, openapi_extra=CHANGING)
def rename_space(request: HttpRequest, space_id: UUID, body: NameIn) -> dict[str, Any]:
    """Rename it."""
    return space_out(actions.rename_space(person_of(request), space_id, body.name), person_of(request))


@router.delete("/spaces/{uuid:space_id}", response={204: None}, openapi_extra=CHANGING)
def delete_space(request: HttpRequest, space_id: UUID, name: str) -> Status[None]:
    """Move a space with all its pages to the trash. Workspace owners only. `name` must match its name."""
    actions.delete_space(person_of(request), space_id, name=name)
    return Status(204, None)


@router.get("/spaces/{uuid:space_id}/members", response=MemberList)
def space_members(request: HttpRequest, space_id: UUID) -> dict[str, Any]:
    """List the members of a space."""
    found = access.space_for(person_of(request), space_id).members.select_related("user").order_by("pk")
    return {"items": [_member_out(member) for member in found], "next": None}


@router.post("/spaces/{uuid:space_id}/members", response={201: MemberOut}, openapi_extra=CHANGING)
def set_space_member(request: HttpRequest, space_id: UUID, body: MemberIn) -> Status[dict[str, Any]]:
    """Add a workspace member to a space, or change the role: admin, writer or reader."""
    access.space_for(person_of(request), space_id, SpaceRole.ADMIN)
    made = actions.set_space_member(person_of(request), space_id, person=_person(body), role=body.role)
    return Status(201, _member_out(made))


@router.delete("/spaces/{uuid:space_id}/members/{uuid:user_id}", response={204: None}, openapi_extra=CHANGING)
def remove_space_member(request: HttpRequest, space_id: UUID, user_id: UUID) -> Status[None]:
    """Remove a member from a space."""
    found = access.space_for(person_of(request), space_id)
    actions.remove_space_member(person_of(request), space_id, person=actions.member_person(found.workspace_id, user_id))
    return Status(204, None)


def _person(body: MemberIn) -> Any:
    if not body.email and body.user_id is None:
        raise Wrong("email", _("Give the e-mail or user_id of the member."))
    return actions.find_person(email=body.email, user_id=body.user_id)


def _member_out(member: Any) -> dict[str, Any]:
    return MemberOut.of(member, email=member.user.email)


@router.post("/workspaces/{uuid:workspace_id}/archive", response={204: None}, openapi_extra=CHANGING)
def archive_workspace(request: HttpRequest, workspace_id: UUID) -> Status[None]:
    """Archive a workspace with all its spaces: hidden from lists and read-only. Owners only."""
    actions.archive_workspace(person_of(request), workspace_id)
    return Status(204, None)


@router.post("/workspaces/{uuid:workspace_id}/unarchive", response={204: None}, openapi_extra=CHANGING)
def unarchive_workspace(request: HttpRequest, workspace_id: UUID) -> Status[None]:
    """Unarchive a workspace. Owners only."""
    actions.archive_workspace(person_of(request), workspace_id, archived=False)
    return Status(204, None)


@router.post("/workspaces/{uuid:workspace_id}/restore", response={204: None}, openapi_extra=CHANGING)
def restore_workspace(request: HttpRequest, workspace_id: UUID) -> Status[None]:
    """Restore a workspace from the trash. Owners only."""
    actions.restore_workspace(person_of(request), workspace_id)
    return Status(204, None)


@router.post("/workspaces/{uuid:workspace_id}/purge", response={204: None}, openapi_extra=CHANGING)
def purge_workspace(request: HttpRequest, workspace_id: UUID, body: NameIn) -> Status[None]:
    """Delete a workspace in the trash permanently. Owners only. `name` must match its name."""
    actions.purge_workspace(person_of(request), workspace_id, name=body.name)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/archive", response={204: None}, openapi_extra=CHANGING)
def archive_space(request: HttpRequest, space_id: UUID) -> Status[None]:
    """Archive a space: hidden from lists and read-only. Workspace owners only."""
    actions.archive_space(person_of(request), space_id)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/unarchive", response={204: None}, openapi_extra=CHANGING)
def unarchive_space(request: HttpRequest, space_id: UUID) -> Status[None]:
    """Unarchive a space. Workspace owners only."""
    actions.archive_space(person_of(request), space_id, archived=False)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/restore", response={204: None}, openapi_extra=CHANGING)
def restore_space(request: HttpRequest, space_id: UUID) -> Status[None]:
    """Restore a space from the trash. Workspace owners only."""
    actions.restore_space(person_of(request), space_id)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/purge", response={204: None}, openapi_extra=CHANGING)
def purge_space(request: HttpRequest, space_id: UUID, body: NameIn) -> Status[None]:
    """Delete a space in the trash permanently. Workspace owners only. `name` must match its name."""
    actions.purge_space(person_of(request), space_id, name=body.name)
    return Status(204, None)


@router.post("/pages/{uuid:page_id}/purge", response={204: None}, openapi_extra=CHANGING)
def purge(request: HttpRequest, page_id: UUID) -> Status[None]:
    """Delete a page in the trash permanently, with the pages deleted together with it. Space admins only."""
    actions.purge_page(person_of(request), page_id)
    return Status(204, None)
