"""API endpoints for pages: tree, text, versions, trash, pins, share links, import, export, clips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import FileResponse, HttpRequest
from ninja import File, Form, Query, Router, Schema, Status
from ninja.files import UploadedFile
from pydantic import Field

from watchbook.base.store.folder import scratch
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.shell import refuses, sends_file
from watchbook.systems.library import access, actions
from watchbook.systems.library.api.schemas import (
    BatchList,
    ChildList,
    ChildOut,
    DifferenceOut,
    ImportOut,
    ImportPlanOut,
    PageHead,
    PageList,
    PageOut,
    PageVersionList,
    PageVersionWhole,
    PageWhole,
    ShareList,
    ShareMade,
    ShareOut,
    batch_out,
    version_out,
)
from watchbook.systems.library.api.workspaces import CHANGING
from watchbook.systems.library.models import PageVersion, SpaceRole
from watchbook.systems.library.store import OLD_PARENT, ParentChoice

router = Router()


class PageIn(Schema):
    title: str
    node_type: str = "file"
    parent_page_id: UUID | None = None
    content: str = ""
    # A page that is marked as template: the new page has its text and tags.
    template_id: UUID | None = None


class PagePatch(Schema):
    version: int
    title: str | None = None
    content: str | None = None
    # Consecutive autosaves of one user are one version in the history.
    autosave: bool = False


class MoveIn(Schema):
    parent_page_id: UUID | None
    space_id: UUID | None = None
    after_page_id: UUID | None = None
    before_page_id: UUID | None = None


class ParentIn(Schema):
    # Absent: the old parent. Null: the top level.
    parent_page_id: UUID | None = None

    def choice(self) -> ParentChoice:
        return self.parent_page_id if "parent_page_id" in self.model_fields_set else OLD_PARENT


class BulkMoveIn(Schema):
    page_ids: list[UUID]
    parent_page_id: UUID | None
    space_id: UUID | None = None


class BulkIn(Schema):
    page_ids: list[UUID]


class ShareIn(Schema):
    expires_at: datetime | None = None


class ClipIn(Schema):
    kind: str
    id: str
    space_id: UUID
    parent_page_id: UUID | None = None


class SaveIn(Schema):
    url: str = Field(max_length=2048)
    space_id: UUID
    parent_page_id: UUID | None = None
    title: str = Field("", max_length=500)


class ChildrenQuery(PageQuery):
    order: str = "custom"


@router.get("/spaces/{uuid:space_id}/pages", response=PageList)
def pages(request: HttpRequest, space_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List all pages and folders of a space, except those in the trash."""
    user = person_of(request)
    space = access.space_for(user, space_id)
    rows = access.readable(user).live().filter(space=space).with_type().defer("content")
    return seen_pages(user, keyset(rows, page, by="id"))


@router.post("/spaces/{uuid:space_id}/pages", response={201: PageOut}, openapi_extra=CHANGING)
def add_page(request: HttpRequest, space_id: UUID, body: PageIn) -> Status[dict[str, Any]]:
    """Create a folder or page. 409 `hierarchy` if it is not allowed below this parent."""
    return Status(201, PageOut.of(actions.create_page(person_of(request), space_id, **body.dict())))


@router.get("/spaces/{uuid:space_id}/children", response=ChildList)
def top_level(request: HttpRequest, space_id: UUID, page: Query[ChildrenQuery]) -> dict[str, Any]:
    """List the top level of a space: pinned pages first, then in order."""
    return _children(request, page, space_id=space_id)


@router.get("/spaces/{uuid:space_id}/trash", response=BatchList)
def trash(request: HttpRequest, space_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List the trash of a space, newest first."""
    return keyset(actions.list_trash(person_of(request), space_id), page, by="-deleted_at", make=batch_out)


@router.delete("/spaces/{uuid:space_id}/trash", response={204: None}, openapi_extra=CHANGING)
def empty_trash(request: HttpRequest, space_id: UUID) -> Status[None]:
    """Delete everything in the trash of a space permanently. Requires the role admin in the space."""
    actions.empty_trash(person_of(request), space_id)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/import", response={200: ImportPlanOut, 201: ImportOut}, openapi_extra=CHANGING)
def import_file(
    request: HttpRequest,
    space_id: UUID,
    file: File[UploadedFile],
    parent_page_id: Form[UUID | None] = None,
    dry_run: Form[bool] = False,
) -> Status[dict[str, Any]]:
    """Import Markdown with attachments, an export of another program, HTML or Word, as multipart field `file`.

    `dry_run` only lists.
    """
    access.space_for(person_of(request), space_id, SpaceRole.WRITER)
    with scratch("upload") as folder:
        path = folder / "upload"
        with path.open("wb") as out:
            for chunk in file.chunks():
                out.write(chunk)
        act = actions.plan_import if dry_run else actions.import_file
        made = act(person_of(request), space_id, path, file.name or "", parent_page_id=parent_page_id)
    skipped = made.report.skipped
    facts = made.log.report if isinstance(made, actions.Imported) else made.facts
    report = {
        "format": facts["format"],
        "attachment_count": facts["pictures"] + facts["attachments"],
        "skipped_count": len(skipped),
        "skipped": [{"path": path, "reason": reason} for path, reason in skipped[:1000]],
        "decoded": made.report.decoded[:1000],
        "unresolved_count": len(made.report.unresolved),
        "unresolved": [{"path": path, "target": target} for path, target in made.report.unresolved[:1000]],
    }
    if isinstance(made, actions.ImportPlan):
        count = len(made.titles) + bool(made.folder)
        planned = {"dry_run": True, "page_count": count, "titles": made.titles[:200], "folder_title": made.folder}
        return Status(200, planned | report)
    items = [PageHead.of(page) for page in made.pages[:200]]
    return Status(201, {"page_count": len(made.pages), "import_id": made.log.pk, "items": items, **report})


@router.get(
    "/spaces/{uuid:space_id}/export",
    openapi_extra=sends_file("application/zip", "A zip of Markdown files, or one HTML, EPUB or PDF file."),
)
def export(request: HttpRequest, space_id: UUID, form: str = "markdown") -> FileResponse:
    """Export a space: `form` is markdown (a zip; importing it creates the same pages), html, epub or pdf."""
    file, name = actions.export_space(person_of(request), space_id, form)
    return FileResponse(file, as_attachment=True, filename=name)


@router.get(
    "/pages/{uuid:page_id}/export",
    openapi_extra=sends_file("application/zip", "A zip of Markdown files, or one HTML, EPUB or PDF file."),
)
def export_page(request: HttpRequest, page_id: UUID, form: str = "markdown") -> FileResponse:
    """Export a page or folder with everything below it: `form` is markdown (a zip), html, epub or pdf.

    409 `no_chromium` if the operator named no Chromium that prints PDF.
    """
    file, name = actions.export_page(person_of(request), page_id, form)
    return FileResponse(file, as_attachment=True, filename=name)


@router.get("/pages/{uuid:page_id}", response=PageWhole)
def page(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Get a page with its text and breadcrumb."""
    found = actions.open_page(person_of(request), page_id)
    way = [{"id": crumb.id, "title": crumb.title} for crumb in actions.breadcrumb(person_of(request), page_id)]
    return PageWhole.of(found, workspace_id=found.space.workspace_id, breadcrumb=way)


@router.patch("/pages/{uuid:page_id}", response=PageOut, openapi_extra=CHANGING)
def save(request: HttpRequest, page_id: UUID, body: PagePatch) -> dict[str, Any]:
    """Save a page on top of `version`. 409 `version_conflict` returns the saved text, yours and the common base."""
    given = body.dict()
    return PageOut.of(actions.save_page(person_of(request), page_id, **given))


@router.delete("/pages/{uuid:page_id}", response={204: None}, openapi_extra=CHANGING)
def trash_page(request: HttpRequest, page_id: UUID) -> Status[None]:
    """Move a page and all pages below it to the trash."""
    actions.trash_page(person_of(request), page_id)
    return Status(204, None)


@router.get("/pages/{uuid:page_id}/children", response=ChildList)
def children(request: HttpRequest, page_id: UUID, page: Query[ChildrenQuery]) -> dict[str, Any]:
    """List the children of a page: pinned pages first, then in `order`: custom, updated or title."""
    return _children(request, page, page_id=page_id)


@router.post("/pages/{uuid:page_id}/move", response=PageOut, openapi_extra=CHANGING)
def move(request: HttpRequest, page_id: UUID, body: MoveIn) -> dict[str, Any]:
    """Move a page below `parent_page_id` (null: top level), at the end or beside a sibling."""
    return PageOut.of(actions.move_page(person_of(request), page_id, **body.dict()))


@router.post("/pages/{uuid:page_id}/duplicate", response={201: PageOut}, openapi_extra=CHANGING)
def duplicate(request: HttpRequest, page_id: UUID, body: ParentIn | None = None) -> Status[dict[str, Any]]:
    """Copy a page and all pages below it, after the original or below `parent_page_id` (null: top level)."""
    parent = body.choice() if body else OLD_PARENT
    return Status(201, PageOut.of(actions.duplicate_page(person_of(request), page_id, parent_page_id=parent)))


@router.post("/pages/{uuid:page_id}/restore", response=PageOut, openapi_extra=CHANGING)
def restore(request: HttpRequest, page_id: UUID, body: ParentIn | None = None) -> dict[str, Any]:
    """Restore a page from the trash. Without `parent_page_id` to its old folder; null: to the top level.

    409 `no_legal_place` lists folders.
    """
    parent = body.choice() if body else OLD_PARENT
    return PageOut.of(actions.restore_page(person_of(request), page_id, parent_page_id=parent))


def _switch(step: Callable[[Any, UUID], Any], name: str, words: str) -> None:
    def call(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
        step(person_of(request), page_id)
        return PageOut.of(actions.open_page(person_of(request), page_id))

    call.__name__, call.__doc__ = name, words
    path = f"/pages/{{uuid:page_id}}/{name}"
    router.post(path, response=PageOut, openapi_extra=CHANGING, url_name=f"library-{name}")(call)


_switch(lambda user, pk: actions.pin_page(user, pk, pinned=True), "pin", "Pin a page for all members of the space.")
_switch(lambda user, pk: actions.pin_page(user, pk, pinned=False), "unpin", "Unpin a page.")
_switch(lambda user, pk: actions.set_favourite(user, pk, kept=True), "favourite", "Add a page to your favourites.")
_switch(
    lambda user, pk: actions.set_favourite(user, pk, kept=False), "unfavourite", "Remove a page from your favourites."
)


@router.get("/favourites", response=PageList)
def favourites(request: HttpRequest) -> dict[str, Any]:
    """List your favourites."""
    return {"items": [PageHead.of(page) for page in actions.list_favourites(person_of(request))], "next": None}


@router.get("/pages/{uuid:page_id}/backlinks", response=PageList)
def backlinks(request: HttpRequest, page_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List the pages that link to a page, the last saved first. Links are kept by id and survive moves and renames."""
    rows = actions.list_backlinks(person_of(request), page_id).with_type()
    return seen_pages(person_of(request), keyset(rows, page, by="-updated_at"))


@router.get("/pages/{uuid:page_id}/versions", response=PageVersionList)
def versions(request: HttpRequest, page_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List the versions of a page without their text, newest first. A series of autosaves is one version."""
    return keyset(actions.list_versions(person_of(request), page_id), page, by="-number", make=version_out)


@router.get("/pages/{uuid:page_id}/versions/{int:number}", response=PageVersionWhole)
def version(request: HttpRequest, page_id: UUID, number: int) -> dict[str, Any]:
    """Get a version with its text."""
    found: PageVersion = actions.open_version(person_of(request), page_id, number)
    return {**version_out(found), "content": found.content}


@router.get("/pages/{uuid:page_id}/versions/{int:number}/changes", response=DifferenceOut)
def changes(request: HttpRequest, page_id: UUID, number: int, since: int | None = None) -> dict[str, Any]:
    """Compare a version word by word with the previous version, or with the version `since`."""
    old = since if since is not None else actions.version_before(person_of(request), page_id, number)
    return asdict(actions.compare_versions(person_of(request), page_id, old, number))


@router.post("/pages/{uuid:page_id}/versions/{int:number}/restore", response=PageOut, openapi_extra=CHANGING)
def restore_version(request: HttpRequest, page_id: UUID, number: int) -> dict[str, Any]:
    """Restore an old version as the newest version."""
    return PageOut.of(actions.restore_version(person_of(request), page_id, number))


@router.get("/pages/{uuid:page_id}/shares", response=ShareList)
def shares(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """List the share links of a page that are not revoked. Tokens are not included."""
    return {
        "items": [ShareOut.of(link) for link in actions.list_shares(person_of(request), page_id)[:200]],
        "next": None,
    }


@router.post("/pages/{uuid:page_id}/shares", response={201: ShareMade}, openapi_extra=CHANGING)
def share(request: HttpRequest, page_id: UUID, body: ShareIn | None = None) -> Status[dict[str, Any]]:
    """Create a share link. `token` is returned only once."""
    link, token = actions.share_page(person_of(request), page_id, expires_at=body.expires_at if body else None)
    return Status(201, ShareMade.of(link, token=token))


@router.delete("/shares/{uuid:link_id}", response={204: None}, openapi_extra=CHANGING)
def revoke(request: HttpRequest, link_id: UUID) -> Status[None]:
    """Revoke a share link. It stops working immediately."""
    actions.revoke_share(person_of(request), link_id)
    return Status(204, None)


@router.post("/pages/bulk-move", response=PageList, openapi_extra=refuses(404, 409, 423))
def bulk_move(request: HttpRequest, body: BulkMoveIn) -> dict[str, Any]:
    """Move all given pages, or none. A page below another given page moves with it."""
    moved = actions.bulk_move(
        person_of(request), body.page_ids, parent_page_id=body.parent_page_id, space_id=body.space_id
    )
    return {"items": [PageHead.of(page) for page in moved], "next": None}


@router.post("/pages/bulk-trash", response=BatchList, openapi_extra=refuses(404, 409, 423))
def bulk_trash(request: HttpRequest, body: BulkIn) -> dict[str, Any]:
    """Move all given pages to the trash, or none. Each given page is one deletion."""
    return {
        "items": [batch_out(batch) for batch in actions.bulk_trash(person_of(request), body.page_ids)],
        "next": None,
    }


@router.post("/clip", response={201: PageOut}, openapi_extra=refuses(404, 409, 423))
def clip(request: HttpRequest, body: ClipIn) -> Status[dict[str, Any]]:
    """Save an item of a source to the library as a page with its origin."""
    made = actions.clip(
        person_of(request),
        kind=body.kind,
        object_id=body.id,
        space_id=body.space_id,
        parent_page_id=body.parent_page_id,
    )
    return Status(201, PageOut.of(made))


@router.post("/save", response={201: PageOut}, openapi_extra=refuses(404, 409, 423))
def save_address(request: HttpRequest, body: SaveIn) -> Status[dict[str, Any]]:
    """Read a web page now and save it to the library with its origin. 422 with the reason if it cannot be read."""
    made = actions.save_address(
        person_of(request),
        body.url,
        space_id=body.space_id,
        parent_page_id=body.parent_page_id,
        title=body.title,
    )
    return Status(201, PageOut.of(made))


def seen_pages(user: User, found: dict[str, Any]) -> dict[str, Any]:
    """Return a page of rows with the titles that the user sees."""
    return {**found, "items": [PageHead.of(page) for page in access.sight(user).show(found["items"])]}


def _children(request: HttpRequest, page: ChildrenQuery, **where: UUID) -> dict[str, Any]:
    found = actions.list_children(person_of(request), cursor=page.cursor, limit=page.limit, order=page.order, **where)
    return {"items": [ChildOut.of(child) for child in found.items], "next": found.next or None}
