"""Actions on attachments: upload, open, thumbnail, remove."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.base import files
from watchbook.base.files import SIDES, safe_name
from watchbook.base.store import blobs
from watchbook.base.store.folder import scratch
from watchbook.core.accounts.models import User
from watchbook.systems.library import access
from watchbook.systems.library.errors import NotFound, Problem, Wrong
from watchbook.systems.library.models import Attachment, AttachmentUse, NodeType, SpaceRole, Thumbnail
from watchbook.systems.library.options import ATTACHMENT_MEGABYTES
from watchbook.systems.library.store import attachments, fresh, publish, writing, writing_workspace
from watchbook.systems.library.store.attachments import FileFacts


def upload(user: User, page_id: UUID, chunks: Iterable[bytes], name: str) -> Attachment:
    """Keep a file in a folder or for a page. For editors. Its type is found by content."""
    page = access.page_for(user, page_id, SpaceRole.WRITER)
    with scratch("attachment") as folder:
        path = folder / "file"
        facts = inspect(path, _write(path, chunks), name)
        with writing(page.space_id, structural=False):
            return attachments.add(fresh(page), facts, user)


def _write(path: Path, chunks: Iterable[bytes]) -> int:
    most = ATTACHMENT_MEGABYTES.value * 1_000_000
    size = 0
    with path.open("wb") as out:
        for chunk in chunks:
            size += len(chunk)
            if size > most:
                message = _("The file is larger than %(n)s MB.") % {"n": ATTACHMENT_MEGABYTES.value}
                raise Wrong("file", message, code="too_large")
            out.write(chunk)
    if not size:
        raise Wrong("file", _("The file is empty."), code="empty")
    return size


def inspect(path: Path, size: int, name: str) -> FileFacts:
    """Return type and dimensions of a file. What cannot be read as a picture is kept, but not shown as one."""
    found = files.inspect(path, name)
    return FileFacts(path, safe_name(name), found.media_type, size, found.width, found.height)


def open_attachment(user: User, attachment_id: UUID) -> Attachment:
    """Return an attachment of a page that the user can view."""
    found = access.attachments_of(user).filter(pk=attachment_id).first()
    if found is None:
        raise NotFound
    return found


def open_shared(token: str, attachment_id: UUID) -> Attachment:
    """Return an attachment that the page behind a share link shows now."""
    page = publish.opened(token)
    uses = AttachmentUse.objects.filter(page=page, attachment_id=attachment_id) if page else None
    shown = access.viewer_sight(page.space).uses(uses) if page and uses is not None else None
    use = shown.select_related("attachment").first() if shown is not None else None
    if use is None:
        raise NotFound
    return use.attachment


def list_attachments(user: User, page_id: UUID) -> Any:
    """QuerySet of the attachments in a folder, or shown on a page or uploaded to it; oldest first."""
    page = access.page_for(user, page_id)
    seen = access.sight(user)
    shown = seen.uses(AttachmentUse.objects.filter(page=page)).values("attachment_id")
    mine = Attachment.objects.filter(home=page).values("pk")
    if page.space_id in seen.approved and page.node_type != NodeType.FOLDER:
        mine = mine.none()
    return Attachment.objects.filter(pk__in=shown.union(mine)).order_by("created_at", "pk")


def remove_attachment(user: User, attachment_id: UUID) -> Attachment:
    """Take an attachment out of its folder. Pages that show it keep it. For editors of the folder."""
    found = open_attachment(user, attachment_id)
    if found.home_id is None:
        raise NotFound
    page = access.page_for(user, found.home_id, SpaceRole.WRITER)
    with writing(page.space_id, structural=False):
        attachments.remove_from_folder(found)
    return found


def thumbnail(attachment: Attachment, wanted: str) -> tuple[str, str]:
    """Return digest and type of the picture to send; the attachment itself where none smaller can be made."""
    side = next((side for side in SIDES if str(side) == wanted), 0)
    if not side:
        raise Wrong("size", _("Use one of: %(sizes)s.") % {"sizes": ", ".join(map(str, SIDES))})
    kept = Thumbnail.objects.filter(attachment=attachment, side=side).values_list("sha256", flat=True).first()
    if kept:
        return kept, "image/webp"
    if attachment.is_picture:
        with scratch("thumbnail") as folder:
            if _made := _draw(attachment, side, folder):
                return _made, "image/webp"
    return attachment.sha256, attachment.media_type


def _draw(attachment: Attachment, side: int, folder: Path) -> str:
    target = folder / "thumbnail"
    try:
        source = blobs.local_file(attachment.sha256, folder)
        is_made = files.make_thumbnail(source, attachment.media_type, side, target)
        if not is_made or attachment.workspace_id is None:
            return ""
        with writing_workspace(attachment.workspace_id):
            return attachments.keep_thumbnail(attachment, side, target)
    except (blobs.BlobError, Problem):
        return ""  # another channel, archived or unreadable: the picture itself is sent
