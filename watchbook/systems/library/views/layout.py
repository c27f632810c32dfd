"""Shared context of all pages of a space: tree, breadcrumb, permissions; and the choice of a target folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Case, Exists, OuterRef, Q, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.base.text import clean_text
from watchbook.core.accounts.models import User
from watchbook.systems.library import access, actions
from watchbook.systems.library.access import RUNS_WORKSPACE, SPACE_RANK
from watchbook.systems.library.models import (
    FolderMigrationControl,
    FolderMigrationJob,
    NodeType,
    Page,
    Space,
    SpaceMember,
    SpaceRole,
    WorkspaceMember,
    WorkspaceReleaseChannel,
    WorkspaceRole,
)
from watchbook.systems.library.models.pages import PageQuerySet
from watchbook.systems.library.models.tree import Crumb, children
from watchbook.systems.library.options import RELEASE_CHANNEL
from watchbook.systems.library.store import folders_enabled
from watchbook.systems.library.views import answers, given_id, given_ids, reader

# Children shown at first; the rest comes a piece at a time.
PIECE = 50


@dataclass
class Node:
    """One row of the tree. `below` is filled when it is open."""

    id: UUID
    title: str
    is_folder: bool
    has_children: bool
    is_open: bool = False
    is_current: bool = False
    below: Branch | None = None


@dataclass
class Branch:
    """One screen of children of a page, and the cursor of the next."""

    nodes: list[Node] = field(default_factory=list)
    next: str = ""
    parent_id: UUID | None = None


def tree_of(user: User, space: Space, way: Sequence[Crumb] = ()) -> Branch:
    """Return the top level and each level down to the current page. One query per level."""
    top = branch(user, space.pk, None)
    here = top
    for place, crumb in enumerate(way):
        is_last = place == len(way) - 1
        node = _on_the_way(user, here, crumb)
        if node is None:
            break
        node.is_current = is_last
        if node.has_children:
            node.is_open = True
            node.below = here = branch(user, space.pk, node.id)
    return top


def branch(user: User, space_id: UUID, parent_id: UUID | None) -> Branch:
    seen = access.sight(user)
    piece = children(space_id, parent_id, narrow=seen.narrow, limit=PIECE)
    return Branch([_node(page) for page in seen.show(piece.items)], piece.next, parent_id)


def _node(page: Page) -> Node:
    has_children: bool = page.has_children  # type: ignore[attr-defined]  # children() annotates it
    return Node(page.pk, page.title, page.node_type == NodeType.FOLDER, has_children)


def _on_the_way(user: User, here: Branch, crumb: Crumb) -> Node | None:
    """Return the row of this page; append it if it is not among the first children."""
    for node in here.nodes:
        if node.id == crumb.id:
            return node
    page = Page.objects.live().with_type().filter(pk=crumb.id).defer("content").first()
    if page is None:
        return None
    below = access.sight(user).rows(Page.objects.below(page.space_id, page.pk)).exists()
    node = Node(page.pk, crumb.title, page.node_type == NodeType.FOLDER, below)
    here.nodes.append(node)
    return node


@require_GET
@answers
def space_tree(request: HttpRequest, space_id: UUID) -> HttpResponse:
    return _draw(request, space_id=space_id)


@require_GET
@answers
def page_tree(request: HttpRequest, page_id: UUID) -> HttpResponse:
    return _draw(request, page_id=page_id)


def _draw(request: HttpRequest, *, space_id: UUID | None = None, page_id: UUID | None = None) -> HttpResponse:
    cursor = request.GET.get("cursor", "")
    piece = actions.list_children(reader(request), space_id=space_id, page_id=page_id, cursor=cursor, limit=PIECE)
    found = Branch([_node(page) for page in piece.items], piece.next, page_id)
    return render(request, "library/_tree_branch.html", {"branch": found, "space_id": space_id})


MOST = 200
# Pages and folders with these words, of which folders are shown.
MOST_TITLED = 400


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
    context["targets"] = targets_in(user, space, moved, words=words, below=below)
    if below is None and not words:
        context["top"] = top_of(space, moved)
    if request.GET.get("part") == "list":
        return render(request, "library/_targets.html", context)
    context["spaces"] = writable(user)
    name = "library/_move.html" if request.GET.get("part") else "library/move.html"
    return render(request, name, context)


def targets_in(
    user: User,
    space: Space,
    moved: Sequence[Page],
    *,
    words: str = "",
    below: UUID | None = None,
    first: UUID | None = None,
) -> list[Target]:
    """Folders in their order; `first` is ahead of them, so that it is among those that are shown."""
    rows = access.sight(user).rows(Page.objects.live().filter(space=space))
    if words:
        rows = rows.filter(pk__in=actions.titled(access.scopes_in(user, [space.pk]), words, MOST_TITLED))
        # A file may stand below a file; these are too many for a list, so they are found by name only.
        if not moved or any(page.node_type == NodeType.FOLDER for page in moved):
            rows = rows.folders()
    else:
        rows = rows.filter(parent_page_id=below).folders()
    order = ("sort_key", "id") if first is None else (Case(When(pk=first, then=0), default=1), "sort_key", "id")
    found = _with_folders(rows.with_type()).order_by(*order).defer("content")[:MOST]
    return [_target(page, moved) for page in found]


def top_of(space: Space, moved: Iterable[Page] = ()) -> Target:
    """The top level takes folders only, while folders are enabled."""
    has_files = any(page.node_type == NodeType.FILE for page in moved) or not moved
    reason = _("the top level holds only folders") if has_files and folders_enabled(space) else ""
    if not reason and moved and all(page.parent_page_id is None and page.space_id == space.pk for page in moved):
        reason = _("already here")
    return Target("top", space.name, reason)


def _with_folders(rows: PageQuerySet) -> PageQuerySet:
    below = Page.objects.live().folders().filter(parent_page_id=OuterRef("pk"), space_id=OuterRef("space_id"))
    return rows.annotate(has_folders=Exists(below))


def _target(page: Page, moved: Sequence[Page]) -> Target:
    is_folder = page.node_type == NodeType.FOLDER
    is_moved = any(one.pk == page.pk for one in moved)
    reason = _("is one of the pages to move") if is_moved else ""
    if moved and all(one.parent_page_id == page.pk for one in moved):
        reason = _("already here")
    has_folders: bool = page.has_folders and not is_moved  # type: ignore[attr-defined]
    return Target(str(page.pk), page.title, reason, is_folder, has_folders)


def writable(user: User) -> list[Space]:
    """Return the spaces in which the user can edit. One query."""
    runs = WorkspaceMember.objects.filter(user=user, role__in=access.RUNS_WORKSPACE).values("workspace_id")
    writes = SpaceMember.objects.filter(user=user).exclude(role=SpaceRole.READER).values("space_id")
    found = access.spaces_of(user).in_use().filter(Q(workspace_id__in=runs) | Q(pk__in=writes))
    return list(found.select_related("workspace").order_by("name", "pk")[:MOST])


@dataclass(frozen=True)
class Channel:
    """The release channel of the workspace and whether it is in use. Empty: unknown, read-only."""

    name: str
    is_archived: bool = False

    @property
    def is_ours(self) -> bool:
        return self.name == RELEASE_CHANNEL.value

    @property
    def is_open(self) -> bool:
        """May anything be changed here at all?"""
        return self.is_ours and not self.is_archived


def channel_of(workspace_id: UUID, *, is_archived: bool = False) -> Channel:
    try:
        # A missing table must not spoil the transaction of the page.
        with transaction.atomic():
            rows = WorkspaceReleaseChannel.objects.filter(workspace_id=workspace_id)
            return Channel(rows.values_list("release_channel", flat=True).first() or "", is_archived)
    except DatabaseError:
        return Channel("")


def frame(user: User, space: Space, way: Sequence[Crumb] = ()) -> dict[str, Any]:
    """The context of a page of this space; ask for the role before."""
    flags = space.workspace.flags()
    role = access.space_role(user, space)
    channel = channel_of(space.workspace_id, is_archived=space.is_archived)
    workspace_role = access.workspace_role(user, space.workspace_id)
    rank = SPACE_RANK[SpaceRole(role)]
    return {
        "space": space,
        "way": way,
        "tree": tree_of(user, space, way),
        "role": SpaceRole(role),
        "channel": channel,
        "flags": flags,
        "may_write": rank >= SPACE_RANK[SpaceRole.WRITER] and channel.is_open,
        "may_keep": channel.is_open,
        "may_manage": rank >= SPACE_RANK[SpaceRole.ADMIN],
        "runs_workspace": workspace_role in RUNS_WORKSPACE,
        "may_shelve": workspace_role == WorkspaceRole.OWNER and channel.is_ours,
        "work": job_at_work(space.pk),
    }


def job_at_work(space_id: UUID) -> FolderMigrationJob | None:
    held = FolderMigrationControl.objects.filter(active_space_id=space_id).select_related("job").first()
    return held.job if held else None
