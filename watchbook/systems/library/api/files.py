"""API endpoints for attachments: upload, list, facts, content, removal from a folder."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import File, Query, Router, Status
from ninja.files import UploadedFile

from watchbook.core.accounts.access import person_of
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.shell import sends_file
from watchbook.systems.library import actions
from watchbook.systems.library.api.schemas import AttachmentList, AttachmentOut
from watchbook.systems.library.api.workspaces import CHANGING
from watchbook.systems.library.content import as_json, send

router = Router()


@router.post("/pages/{uuid:page_id}/files", response={201: AttachmentOut}, openapi_extra=CHANGING)
def upload(request: HttpRequest, page_id: UUID, file: File[UploadedFile]) -> Status[dict[str, Any]]:
    """Upload an attachment to a page or folder, as multipart field `file`. Its type is found by content."""
    actions.open_page(person_of(request), page_id)
    return Status(201, as_json(actions.upload(person_of(request), page_id, file.chunks(), file.name or "")))


@router.get("/pages/{uuid:page_id}/files", response=AttachmentList)
def attachments(request: HttpRequest, page_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List the attachments in a folder, or shown on a page or uploaded to it, oldest first."""
    return keyset(actions.list_attachments(person_of(request), page_id), page, by="created_at", make=as_json)


@router.get("/files/{uuid:file_id}", response=AttachmentOut)
def attachment(request: HttpRequest, file_id: UUID) -> dict[str, Any]:
    """Get name, type, size and dimensions of an attachment."""
    return as_json(actions.open_attachment(person_of(request), file_id))


@router.get(
    "/files/{uuid:file_id}/content", openapi_extra=sends_file("application/octet-stream", "The bytes of the file.")
)
def content(request: HttpRequest, file_id: UUID) -> HttpResponseBase:
    """Download an attachment."""
    response = send(request, actions.open_attachment(person_of(request), file_id))
    response.headers["Content-Type"] = "application/octet-stream"
    return response


@router.delete("/files/{uuid:file_id}", response={204: None}, openapi_extra=CHANGING)
def remove(request: HttpRequest, file_id: UUID) -> Status[None]:
    """Remove an attachment from its folder or page. It is deleted when no version of a page shows it."""
    actions.remove_attachment(person_of(request), file_id)
    return Status(204, None)
