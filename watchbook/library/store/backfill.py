"""The seed's steps 2 and 3: a channel for every workspace, a meta row and a baseline for every old page.

No parent and no text is touched. An empty page with children becomes a folder where the matrix allows one; a page with
words of its own stays a file whatever hangs below it, because a folder would hide them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction

from watchbook.base import clock
from watchbook.base.crash import crash_point
from watchbook.library.channels import PROD
from watchbook.library.errors import WrongChannel
from watchbook.library.models import (
    NodeType,
    Page,
    PageNodeMeta,
    PageParentBaseline,
    Space,
    Workspace,
    WorkspaceReleaseChannel,
)
from watchbook.library.options import RELEASE_CHANNEL
from watchbook.library.parse.html import to_text
from watchbook.library.store.guard import owned_workspaces
from watchbook.library.store.lock import take
from watchbook.library.store.trash import chunks

BATCH = 500


@dataclass
class Filled:
    """What a backfill did. `kept_as_files` are empty pages with children that stand below a file."""

    channels: int = 0
    folders: int = 0
    files: int = 0
    kept_as_files: int = 0
    skipped_workspaces: int = 0

    def as_json(self) -> dict[str, int]:
        return dict(vars(self))


def backfill(progress: Callable[[dict[str, Any]], None] = lambda figures: None) -> Filled:
    """Safe to repeat and to interrupt: each batch is a transaction, and what has a row is passed over."""
    filled = Filled(channels=_fill_channels())
    owned = set(owned_workspaces())
    filled.skipped_workspaces = Workspace.objects.exclude(pk__in=owned).count()
    for space in Space.objects.in_use().filter(workspace_id__in=owned).order_by("pk"):
        _fill_space(space, filled, progress)
    return filled


def _fill_channels() -> int:
    """Old workspaces belong to prod. Another deployment leaves them to it."""
    if RELEASE_CHANNEL.value != PROD:
        return 0
    try:
        with transaction.atomic():
            missing = Workspace.objects.filter(release_channel_row=None).values_list("pk", flat=True)
            rows = [WorkspaceReleaseChannel(workspace_id=pk, release_channel=PROD) for pk in missing]
            WorkspaceReleaseChannel.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)
            return len(rows)
    except DatabaseError:
        raise WrongChannel from None


def _fill_space(space: Space, filled: Filled, progress: Callable[[dict[str, Any]], None]) -> None:
    """Parents before children: what a page may be depends on what its parent became."""
    missing = _without_meta(space)
    for some in chunks(missing):
        with transaction.atomic():
            take(space.pk, structural=False)
            _fill_batch(space, list(some), filled)
            crash_point("library.backfill.batch")
        progress({"folders": filled.folders, "files": filled.files})


def _without_meta(space: Space) -> list[UUID]:
    """Pages of the space that have no meta row, from the top level downwards; what hangs nowhere comes last."""
    parents = dict(Page.objects.filter(space=space).values_list("pk", "parent_page_id"))
    below: dict[UUID | None, list[UUID]] = {}
    for pk, parent in parents.items():
        below.setdefault(parent if parent in parents else None, []).append(pk)
    ordered: dict[UUID, None] = {}
    level = below.get(None, [])
    while level:
        ordered |= dict.fromkeys(level)
        level = [child for pk in level for child in below.get(pk, []) if child not in ordered]
    ordered |= dict.fromkeys(parents)
    known = set(PageNodeMeta.objects.filter(page__space=space).values_list("page_id", flat=True))
    return [pk for pk in ordered if pk not in known]


def _fill_batch(space: Space, ids: list[UUID], filled: Filled) -> None:
    """The pages as they are under the lock: somebody may have written into an empty one since it was listed."""
    rows = Page.objects.filter(pk__in=ids, space=space, node_meta=None).only("parent_page", "content")
    pages = {page.pk: page for page in rows}
    holding = set(Page.objects.live().filter(parent_page_id__in=ids).values_list("parent_page_id", flat=True))
    above = {page.parent_page_id for page in pages.values()}
    types: dict[UUID, str] = dict(PageNodeMeta.objects.filter(page_id__in=above).values_list("page_id", "node_type"))
    for page in (pages[pk] for pk in ids if pk in pages):
        wants = page.pk in holding and is_empty(page.content)
        may = page.parent_page_id is None or types.get(page.parent_page_id) == NodeType.FOLDER
        types[page.pk] = NodeType.FOLDER if wants and may else NodeType.FILE
        filled.kept_as_files += wants and not may
        filled.folders += types[page.pk] == NodeType.FOLDER
        filled.files += types[page.pk] == NodeType.FILE
    _write(space, list(pages.values()), types)


def _write(space: Space, pages: list[Page], types: dict[UUID, str]) -> None:
    now = clock.now()
    PageNodeMeta.objects.bulk_create(
        [
            PageNodeMeta(page_id=page.pk, workspace_id=space.workspace_id, space_id=space.pk,
                         node_type=types[page.pk], created_at=now, updated_at=now)
            for page in pages
        ],
    )  # fmt: skip
    PageParentBaseline.objects.bulk_create(
        [
            PageParentBaseline(page_id=page.pk, workspace_id=space.workspace_id, parent_page_id=page.parent_page_id,
                               taken_at=now)
            for page in pages
        ],
        ignore_conflicts=True,
    )  # fmt: skip


def is_empty(content: str) -> bool:
    """No words and no picture."""
    return "<img" not in content and not to_text(content)
