"""Workspaces and spaces out of use and back, and what is in the trash removed for good."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Status

from watchbook.library import actions
from watchbook.library.api.places import CHANGING, NameIn

router = Router()


@router.post("/workspaces/{uuid:workspace_id}/archive", response={204: None}, openapi_extra=CHANGING)
def archive_workspace(request: HttpRequest, workspace_id: UUID) -> Status[None]:
    """Out of the lists and read only, with all its spaces; for owners."""
    actions.archive_workspace(request.user, workspace_id)
    return Status(204, None)


@router.post("/workspaces/{uuid:workspace_id}/unarchive", response={204: None}, openapi_extra=CHANGING)
def unarchive_workspace(request: HttpRequest, workspace_id: UUID) -> Status[None]:
    """In use again; for owners."""
    actions.archive_workspace(request.user, workspace_id, archived=False)
    return Status(204, None)


@router.post("/workspaces/{uuid:workspace_id}/restore", response={204: None}, openapi_extra=CHANGING)
def restore_workspace(request: HttpRequest, workspace_id: UUID) -> Status[None]:
    """Out of the trash, as it was; for owners."""
    actions.restore_workspace(request.user, workspace_id)
    return Status(204, None)


@router.post("/workspaces/{uuid:workspace_id}/purge", response={204: None}, openapi_extra=CHANGING)
def purge_workspace(request: HttpRequest, workspace_id: UUID, body: NameIn) -> Status[None]:
    """What is in the trash, for good, with all its spaces; for owners. `name` is its name."""
    actions.purge_workspace(request.user, workspace_id, name=body.name)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/archive", response={204: None}, openapi_extra=CHANGING)
def archive_space(request: HttpRequest, space_id: UUID) -> Status[None]:
    """Out of the lists and read only; for owners of the workspace."""
    actions.archive_space(request.user, space_id)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/unarchive", response={204: None}, openapi_extra=CHANGING)
def unarchive_space(request: HttpRequest, space_id: UUID) -> Status[None]:
    """In use again; for owners of the workspace."""
    actions.archive_space(request.user, space_id, archived=False)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/restore", response={204: None}, openapi_extra=CHANGING)
def restore_space(request: HttpRequest, space_id: UUID) -> Status[None]:
    """Out of the trash, as it was; for owners of the workspace."""
    actions.restore_space(request.user, space_id)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/purge", response={204: None}, openapi_extra=CHANGING)
def purge_space(request: HttpRequest, space_id: UUID, body: NameIn) -> Status[None]:
    """What is in the trash, for good, with all its pages; for owners of the workspace. `name` is its name."""
    actions.purge_space(request.user, space_id, name=body.name)
    return Status(204, None)


@router.post("/pages/{uuid:page_id}/purge", response={204: None}, openapi_extra=CHANGING)
def purge(request: HttpRequest, page_id: UUID) -> Status[None]:
    """What was trashed with this page, for good; for admins of the space."""
    actions.purge_page(request.user, page_id)
    return Status(204, None)
