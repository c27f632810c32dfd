"""Keeps attachments: rows, blobs and their references, the quota of a workspace, thumbnails. Removes unused ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4

from django.db.models import Exists, OuterRef, Q, Sum
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.store import blobs
from watchbook.core.accounts.models import User
from watchbook.core.media.models import KeptFile
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.models import Attachment, AttachmentUse, Page, PageVersion, Thumbnail
from watchbook.systems.library.options import QUOTA_MEGABYTES
from watchbook.systems.library.store import check_channel, chunks

OWNER = "library_attachment"
PIECE = 200


@dataclass(frozen=True)
class FileFacts:
    """A file on disk and what was found in it."""

    path: Path
    name: str
    media_type: str
    size: int
    width: int | None = None
    height: int | None = None


def used_bytes(workspace_id: UUID) -> int:
    return Attachment.objects.filter(workspace_id=workspace_id).aggregate(n=Sum("size"))["n"] or 0


def check_quota(workspace_id: UUID, size: int) -> None:
    """Raises Wrong if the workspace has no room for so many bytes more. Call it under the lock of the space."""
    most = QUOTA_MEGABYTES.value * 1_000_000
    if most and used_bytes(workspace_id) + size > most:
        message = _("The workspace has no room for this: its limit is %(n)s MB.") % {"n": QUOTA_MEGABYTES.value}
        raise Wrong("file", message, code="quota")


def add(home: Page, facts: FileFacts, user: User | None) -> Attachment:
    """Keep a file in a folder, or as uploaded to a page."""
    check_quota(home.space.workspace_id, facts.size)
    made = _keep(uuid4(), home.space.workspace_id, facts, user)
    made.home = home
    made.save(force_insert=True)
    return made


def add_all(workspace_id: UUID, files: Sequence[tuple[UUID, FileFacts]], user: User | None) -> None:
    """Keep the files of an import; `settle` gives them their folders when these exist."""
    check_quota(workspace_id, sum(facts.size for _pk, facts in files))
    rows = [_keep(pk, workspace_id, facts, user) for pk, facts in files]
    Attachment.objects.bulk_create(rows, batch_size=PIECE)


def settle(homes: dict[UUID, UUID]) -> None:
    """Put attachments into folders or pages."""
    below: dict[UUID, list[UUID]] = {}
    for pk, home in homes.items():
        below.setdefault(home, []).append(pk)
    for home, ids in below.items():
        for some in chunks(ids):
            Attachment.objects.filter(pk__in=some).update(home_id=home)


def _keep(pk: UUID, workspace_id: UUID, facts: FileFacts, user: User | None) -> Attachment:
    blob = blobs.put(facts.path)
    blobs.refer(OWNER, pk, [blob.sha256])
    return Attachment(
        id=pk, workspace_id=workspace_id, sha256=blob.sha256, name=facts.name, media_type=facts.media_type,
        size=facts.size, width=facts.width, height=facts.height, created_by=user, created_at=clock.now(),
    )  # fmt: skip


def name_of(file: KeptFile) -> str:
    return f"picture-{file.pk}.{file.media_type.partition('/')[2][:10]}"


def adopt(workspace_id: UUID, files: Mapping[UUID, KeptFile], user: User | None) -> None:
    """Make attachments of files that a source kept: a row more for each, the content is stored once."""
    check_quota(workspace_id, sum(file.size or 0 for file in files.values()))
    for pk, file in files.items():
        blobs.refer(OWNER, pk, [file.sha256])
        Attachment.objects.create(
            id=pk, workspace_id=workspace_id, sha256=file.sha256, name=name_of(file), media_type=file.media_type,
            size=file.size or 0, width=file.width, height=file.height, created_by=user,
        )  # fmt: skip


def at_home(page: Page, ids: Sequence[UUID]) -> None:
    """Put attachments to the page that will show them."""
    Attachment.objects.filter(pk__in=ids).update(home=page)


def use_in(page: Page, ids: Sequence[UUID]) -> None:
    """Note that the first version of a new page shows these attachments."""
    at_home(page, ids)
    known = set(AttachmentUse.objects.filter(page=page).values_list("attachment_id", flat=True))
    rows = [AttachmentUse(page=page, attachment_id=pk, first_number=page.version) for pk in ids if pk not in known]
    AttachmentUse.objects.bulk_create(rows)


def keep_thumbnail(attachment: Attachment, side: int, path: Path) -> str:
    """Keep a thumbnail beside its attachment and return its digest."""
    blob = blobs.put(path)
    Thumbnail.objects.bulk_create(
        [Thumbnail(attachment=attachment, side=side, sha256=blob.sha256)], ignore_conflicts=True
    )
    kept = Thumbnail.objects.filter(attachment=attachment).values_list("sha256", flat=True)
    blobs.refer(OWNER, attachment.pk, [attachment.sha256, *kept])
    return blob.sha256


def follow(page_ids: Sequence[UUID], workspace_id: UUID) -> None:
    """Count the attachments of moved pages in the workspace that the pages are in now."""
    for some in chunks(list(page_ids)):
        rows = Attachment.objects.filter(
            Q(home__in=some) | Exists(AttachmentUse.objects.filter(attachment=OuterRef("pk"), page__in=some))
        )
        ids = list(rows.exclude(workspace_id=workspace_id).values_list("pk", flat=True))
        for part in chunks(ids):
            Attachment.objects.filter(pk__in=part).update(workspace_id=workspace_id)


def remove_from_folder(attachment: Attachment) -> None:
    """Take it out of its folder; it stays as long as a version of a page shows it."""
    Attachment.objects.filter(pk=attachment.pk).update(home=None)


def forget_uses(owned: Sequence[UUID]) -> int:
    """Delete some uses by versions that no longer exist, in these workspaces; return how many."""
    there = PageVersion.objects.filter(
        page=OuterRef("page"), number__gte=OuterRef("first_number"), number__lte=OuterRef("last_number")
    )
    ended = AttachmentUse.objects.exclude(last_number=None).filter(page__space__workspace_id__in=owned)
    found = dict(ended.exclude(Exists(there)).values_list("pk", "page__space__workspace_id")[:PIECE])
    if found:
        check_channel(found.values())
    return AttachmentUse.objects.filter(pk__in=found).delete()[0]


def remove_unused(owned: Sequence[UUID], before: datetime) -> int:
    """Delete some attachments of these workspaces that nothing shows, uploaded before this moment; return how many."""
    rows = Attachment.objects.unused().filter(Q(workspace_id__in=owned) | Q(workspace=None), created_at__lt=before)
    found = dict(rows.values_list("pk", "workspace_id")[:PIECE])
    if places := {pk for pk in found.values() if pk is not None}:
        check_channel(places)
    if found:
        Attachment.objects.filter(pk__in=found).delete()
        blobs.release(OWNER, found)
    return len(found)
