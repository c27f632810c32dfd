"""Where a page could go: folders of a space, opened one by one, or found by name. Impossible ones say why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, OuterRef, Q, When
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.base.text import clean_text
from watchbook.library import access
from watchbook.library.models import NodeType, Page, Space, SpaceMember, SpaceRole, WorkspaceMember
from watchbook.library.models.pages import PageQuerySet
from watchbook.library.store.rules import folders_enabled
from watchbook.library.views.ways import answers, given_id, given_ids, reader

MOST = 200


@dataclass(frozen=True)
class Target:
    """A row of the list. `reason` says why it cannot be chosen."""

    value: str
    title: str
    reason: str = ""
    is_folder: bool = True
    has_folders: bool = False


@require_GET
@answers
def targets(request: HttpRequest, space_id: UUID) -> HttpResponse:
    """The dialog, its list after something was typed, or what is below one folder of it."""
    user = reader(request)
    moved = access.pages_for(user, given_ids(request, "page")[:500], SpaceRole.WRITER)
    space = access.space_for(user, given_id(request, "to") or space_id, SpaceRole.WRITER)
    words = clean_text(request.GET.get("q", ""))[:200].strip()
    below = given_id(request, "below")
    context: dict[str, Any] = {"space": space, "from_space": space_id, "moved": moved, "looked_for": words}
    context["targets"] = targets_in(space, moved, words=words, below=below)
    if below is None and not words:
        context["top"] = top_of(space, moved)
    if request.GET.get("part") == "list":
        return render(request, "library/_targets.html", context)
    context["spaces"] = writable(user)
    name = "library/_move.html" if request.GET.get("part") else "library/move.html"
    return render(request, name, context)


def targets_in(
    space: Space, moved: Sequence[Page], *, words: str = "", below: UUID | None = None, first: UUID | None = None
) -> list[Target]:
    """Folders in their order; `first` is ahead of them, so that it is among those that are shown."""
    rows = Page.objects.live().filter(space=space)
    if words:
        # Not icontains: where titles are compared byte by byte it tells A from a.
        low = rows.annotate(low_title=Lower("title"))
        rows = low.filter(Q(low_title__contains=words.lower()) | Q(title__contains=words))
        # A file may stand below a file; these are too many for a list, so they are found by name only.
        if not moved or any(page.node_type == NodeType.FOLDER for page in moved):
            rows = rows.folders()
    else:
        rows = rows.filter(parent_page_id=below).folders()
    order = ("sort_key", "id") if first is None else (Case(When(pk=first, then=0), default=1), "sort_key", "id")
    found = _with_folders(rows.with_type()).order_by(*order).defer("content")[:MOST]
    return [_target(page, moved) for page in found]


def top_of(space: Space, moved: Iterable[Page] = ()) -> Target:
    """The top level takes folders only, while folders are switched on."""
    has_files = any(page.node_type == NodeType.FILE for page in moved) or not moved
    reason = _("the top level takes folders only") if has_files and folders_enabled(space) else ""
    if not reason and moved and all(page.parent_page_id is None and page.space_id == space.pk for page in moved):
        reason = _("already here")
    return Target("top", space.name, reason)


def _with_folders(rows: PageQuerySet) -> PageQuerySet:
    below = Page.objects.live().folders().filter(parent_page_id=OuterRef("pk"), space_id=OuterRef("space_id"))
    return rows.annotate(has_folders=Exists(below))


def _target(page: Page, moved: Sequence[Page]) -> Target:
    is_folder = page.node_type == NodeType.FOLDER
    is_moved = any(one.pk == page.pk for one in moved)
    reason = _("is being moved itself") if is_moved else ""
    if moved and all(one.parent_page_id == page.pk for one in moved):
        reason = _("already here")
    has_folders: bool = page.has_folders and not is_moved  # type: ignore[attr-defined]
    return Target(str(page.pk), page.title, reason, is_folder, has_folders)


def writable(user: Any) -> list[Space]:
    """Spaces in which this person may write. One query."""
    runs = WorkspaceMember.objects.filter(user=user, role__in=access.RUNS_WORKSPACE).values("workspace_id")
    writes = SpaceMember.objects.filter(user=user).exclude(role=SpaceRole.READER).values("space_id")
    found = access.spaces_of(user).in_use().filter(Q(workspace_id__in=runs) | Q(pk__in=writes))
    return list(found.select_related("workspace").order_by("name", "pk")[:MOST])
