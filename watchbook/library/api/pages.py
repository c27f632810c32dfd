"""Pages: the tree, texts, versions, trash, pins, links, import, export, clips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import FileResponse, HttpRequest
from ninja import File, Form, Query, Router, Schema, Status
from ninja.files import UploadedFile

from watchbook.base.store.scratch import scratch
from watchbook.core.api.document import refuses, sends_file
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.library import access, actions
from watchbook.library.api.places import CHANGING
from watchbook.library.api.shapes import (
    BatchList,
    ChildList,
    ChildOut,
    DifferenceOut,
    ImportOut,
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
from watchbook.library.models import Page, PageVersion, SpaceRole

router = Router()


class PageIn(Schema):
    title: str
    node_type: str = "file"
    parent_page_id: UUID | None = None
    content: str = ""


class PagePatch(Schema):
    version: int
    title: str | None = None
    content: str | None = None
    # Autosaves of one person that follow each other are one version in the history.
    autosave: bool = False


class MoveIn(Schema):
    parent_page_id: UUID | None
    space_id: UUID | None = None
    after_page_id: UUID | None = None
    before_page_id: UUID | None = None


class ParentIn(Schema):
    parent_page_id: UUID | None = None


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


class ChildrenQuery(PageQuery):
    order: str = "custom"


@router.get("/spaces/{uuid:space_id}/pages", response=PageList)
def pages(request: HttpRequest, space_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """Every live page of the space, flat: `id, parent_page_id, node_type, title, version`."""
    space = access.space_for(request.user, space_id)
    rows = Page.objects.live().filter(space=space).with_type().defer("content")
    return keyset(rows, page, by="id", make=PageHead.of)


@router.post("/spaces/{uuid:space_id}/pages", response={201: PageOut}, openapi_extra=CHANGING)
def add_page(request: HttpRequest, space_id: UUID, body: PageIn) -> Status[dict[str, Any]]:
    """A folder or file. 409 `hierarchy` where the matrix refuses it."""
    return Status(201, PageOut.of(actions.create_page(request.user, space_id, **body.dict())))


@router.get("/spaces/{uuid:space_id}/children", response=ChildList)
def top_level(request: HttpRequest, space_id: UUID, page: Query[ChildrenQuery]) -> dict[str, Any]:
    """The top level of a space: pins first, then in order."""
    return _children(request, page, space_id=space_id)


@router.get("/spaces/{uuid:space_id}/trash", response=BatchList)
def trash(request: HttpRequest, space_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """Batches in the trash, the newest first."""
    return keyset(actions.list_trash(request.user, space_id), page, by="-deleted_at", make=batch_out)


@router.delete("/spaces/{uuid:space_id}/trash", response={204: None}, openapi_extra=CHANGING)
def empty_trash(request: HttpRequest, space_id: UUID) -> Status[None]:
    """All that is in the trash of the space, for good; for admins of the space."""
    actions.empty_trash(request.user, space_id)
    return Status(204, None)


@router.post("/spaces/{uuid:space_id}/import", response={201: ImportOut}, openapi_extra=CHANGING)
def import_file(
    request: HttpRequest, space_id: UUID, file: File[UploadedFile], parent_page_id: Form[UUID | None] = None
) -> Status[dict[str, Any]]:
    """A zip of Markdown files or one Markdown file, as multipart field `file`; all of it or nothing."""
    access.space_for(request.user, space_id, SpaceRole.WRITER)
    with scratch("upload") as folder:
        path = folder / "upload"
        with path.open("wb") as out:
            for chunk in file.chunks():
                out.write(chunk)
        made = actions.import_file(request.user, space_id, path, file.name or "", parent_page_id=parent_page_id)
    return Status(201, {"page_count": len(made), "items": [PageHead.of(page) for page in made[:200]]})


@router.get("/spaces/{uuid:space_id}/export", openapi_extra=sends_file("application/zip", "A zip of Markdown files."))
def export(request: HttpRequest, space_id: UUID) -> FileResponse:
    """The whole space as a zip of Markdown files; importing it gives the same tree."""
    file, name = actions.export_space(request.user, space_id)
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


@router.get("/pages/{uuid:page_id}", response=PageWhole)
def page(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """One page with its text and the way to it."""
    found = actions.open_page(request.user, page_id)
    way = [{"id": crumb.id, "title": crumb.title} for crumb in actions.breadcrumb(request.user, page_id)]
    return PageWhole.of(found, workspace_id=found.space.workspace_id, breadcrumb=way)


@router.patch("/pages/{uuid:page_id}", response=PageOut, openapi_extra=CHANGING)
def save(request: HttpRequest, page_id: UUID, body: PagePatch) -> dict[str, Any]:
    """Save on top of `version`. 409 `version_conflict` brings the text that is there, yours and the common base."""
    given = body.dict()
    return PageOut.of(actions.save_page(request.user, page_id, **given))


@router.delete("/pages/{uuid:page_id}", response={204: None}, openapi_extra=CHANGING)
def trash_page(request: HttpRequest, page_id: UUID) -> Status[None]:
    """To the trash, with all that is below it."""
    actions.trash_page(request.user, page_id)
    return Status(204, None)


@router.get("/pages/{uuid:page_id}/children", response=ChildList)
def children(request: HttpRequest, page_id: UUID, page: Query[ChildrenQuery]) -> dict[str, Any]:
    """Pins first, then in `order`: custom, updated or title."""
    return _children(request, page, page_id=page_id)


@router.post("/pages/{uuid:page_id}/move", response=PageOut, openapi_extra=CHANGING)
def move(request: HttpRequest, page_id: UUID, body: MoveIn) -> dict[str, Any]:
    """Below `parent_page_id` (null is the top level); at the end, or beside a sibling. 409 `hierarchy` or `cycle`."""
    return PageOut.of(actions.move_page(request.user, page_id, **body.dict()))


@router.post("/pages/{uuid:page_id}/duplicate", response={201: PageOut}, openapi_extra=CHANGING)
def duplicate(request: HttpRequest, page_id: UUID, body: ParentIn | None = None) -> Status[dict[str, Any]]:
    """The page with all below it once more, behind itself or below `parent_page_id`."""
    parent = body.parent_page_id if body else None
    return Status(201, PageOut.of(actions.duplicate_page(request.user, page_id, parent_page_id=parent)))


@router.post("/pages/{uuid:page_id}/restore", response=PageOut, openapi_extra=CHANGING)
def restore(request: HttpRequest, page_id: UUID, body: ParentIn | None = None) -> dict[str, Any]:
    """Out of the trash, to its old place or below `parent_page_id`. 409 `no_legal_place` offers targets."""
    parent = body.parent_page_id if body else None
    return PageOut.of(actions.restore_page(request.user, page_id, parent_page_id=parent))


def _switch(step: Callable[[Any, UUID], Any], name: str, words: str) -> None:
    def call(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
        step(request.user, page_id)
        return PageOut.of(actions.open_page(request.user, page_id))

    call.__name__, call.__doc__ = name, words
    path = f"/pages/{{uuid:page_id}}/{name}"
    router.post(path, response=PageOut, openapi_extra=CHANGING, url_name=f"library-{name}")(call)


_switch(lambda user, pk: actions.pin_page(user, pk, pinned=True), "pin", "On top of its siblings, for everybody.")
_switch(lambda user, pk: actions.pin_page(user, pk, pinned=False), "unpin", "Back among its siblings.")
_switch(lambda user, pk: actions.set_favourite(user, pk, kept=True), "favourite", "At hand, for you alone.")
_switch(lambda user, pk: actions.set_favourite(user, pk, kept=False), "unfavourite", "Not at hand any more.")


@router.get("/favourites", response=PageList)
def favourites(request: HttpRequest) -> dict[str, Any]:
    """Pages you keep at hand."""
    return {"items": [PageHead.of(page) for page in actions.list_favourites(request.user)], "next": None}


@router.get("/pages/{uuid:page_id}/versions", response=PageVersionList)
def versions(request: HttpRequest, page_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """Every save, the newest first, without the texts; of autosaves that belong together, the last one."""
    return keyset(actions.list_versions(request.user, page_id), page, by="-number", make=version_out)


@router.get("/pages/{uuid:page_id}/versions/{int:number}", response=PageVersionWhole)
def version(request: HttpRequest, page_id: UUID, number: int) -> dict[str, Any]:
    """One version with its text."""
    found: PageVersion = actions.open_version(request.user, page_id, number)
    return {**version_out(found), "content": found.content}


@router.get("/pages/{uuid:page_id}/versions/{int:number}/changes", response=DifferenceOut)
def changes(request: HttpRequest, page_id: UUID, number: int, since: int | None = None) -> dict[str, Any]:
    """What changed, word by word, since the version before or the version `since`."""
    old = since if since is not None else actions.version_before(request.user, page_id, number)
    return asdict(actions.compare_versions(request.user, page_id, old, number))


@router.post("/pages/{uuid:page_id}/versions/{int:number}/restore", response=PageOut, openapi_extra=CHANGING)
def restore_version(request: HttpRequest, page_id: UUID, number: int) -> dict[str, Any]:
    """An old version becomes the newest one."""
    return PageOut.of(actions.restore_version(request.user, page_id, number))


@router.get("/pages/{uuid:page_id}/shares", response=ShareList)
def shares(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Read-only links that were not revoked; never their tokens."""
    return {"items": [ShareOut.of(link) for link in actions.list_shares(request.user, page_id)[:200]], "next": None}


@router.post("/pages/{uuid:page_id}/shares", response={201: ShareMade}, openapi_extra=CHANGING)
def share(request: HttpRequest, page_id: UUID, body: ShareIn | None = None) -> Status[dict[str, Any]]:
    """A read-only link. `token` is shown only now."""
    link, token = actions.share_page(request.user, page_id, expires_at=body.expires_at if body else None)
    return Status(201, ShareMade.of(link, token=token))


@router.delete("/shares/{uuid:link_id}", response={204: None}, openapi_extra=CHANGING)
def revoke(request: HttpRequest, link_id: UUID) -> Status[None]:
    """The link stops working at once."""
    actions.revoke_share(request.user, link_id)
    return Status(204, None)


@router.post("/pages/bulk-move", response=PageList, openapi_extra=refuses(404, 409, 423))
def bulk_move(request: HttpRequest, body: BulkMoveIn) -> dict[str, Any]:
    """All or none. A page below another one of them stays in its subtree."""
    moved = actions.bulk_move(request.user, body.page_ids, parent_page_id=body.parent_page_id, space_id=body.space_id)
    return {"items": [PageHead.of(page) for page in moved], "next": None}


@router.post("/pages/bulk-trash", response=BatchList, openapi_extra=refuses(404, 409, 423))
def bulk_trash(request: HttpRequest, body: BulkIn) -> dict[str, Any]:
    """All or none; one batch for each chosen subtree."""
    return {"items": [batch_out(batch) for batch in actions.bulk_trash(request.user, body.page_ids)], "next": None}


@router.post("/clip", response={201: PageOut}, openapi_extra=refuses(404, 409, 423))
def clip(request: HttpRequest, body: ClipIn) -> Status[dict[str, Any]]:
    """An item of any system as a page that says where it is from."""
    made = actions.clip(
        request.user, kind=body.kind, object_id=body.id, space_id=body.space_id, parent_page_id=body.parent_page_id
    )
    return Status(201, PageOut.of(made))


def _children(request: HttpRequest, page: ChildrenQuery, **where: UUID) -> dict[str, Any]:
    found = actions.list_children(request.user, cursor=page.cursor, limit=page.limit, order=page.order, **where)
    return {"items": [ChildOut.of(child) for child in found.items], "next": found.next or None}
