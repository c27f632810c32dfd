"""Who may do what, asked in one place. Not a member: as if it were not there. Too low a role: not allowed.

Owners and admins of a workspace are admins of all its spaces; a member has the role the space gives him, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from watchbook.library.errors import NotAllowed, NotFound
from watchbook.library.models import Page, Space, SpaceRole, Workspace, WorkspaceMember, WorkspaceRole
from watchbook.library.models.places import SpaceQuerySet

PlaceState = Literal["in_use", "archived", "deleted"]
WORKSPACE_RANK = {WorkspaceRole.MEMBER: 1, WorkspaceRole.ADMIN: 2, WorkspaceRole.OWNER: 3}
SPACE_RANK = {SpaceRole.READER: 1, SpaceRole.WRITER: 2, SpaceRole.ADMIN: 3}
BATCH = 500
RUNS_WORKSPACE = (WorkspaceRole.OWNER, WorkspaceRole.ADMIN)


def workspace_role(user: Any, workspace_id: UUID) -> str:
    """Empty for somebody who does not belong to it."""
    role = WorkspaceMember.objects.filter(workspace_id=workspace_id, user=user).values_list("role", flat=True).first()
    return role or ""


def space_role(user: Any, space: Space) -> str:
    """The stronger of what the workspace and what the space gives; empty for nobody."""
    role = workspace_role(user, space.workspace_id)
    if not role or role in RUNS_WORKSPACE:
        return SpaceRole.ADMIN if role else ""
    return space.members.filter(user=user).values_list("role", flat=True).first() or ""


def workspace_for(user: Any, workspace_id: UUID, need: WorkspaceRole = WorkspaceRole.MEMBER) -> Workspace:
    """The workspace, for somebody with at least this role."""
    workspace = Workspace.objects.there().filter(pk=workspace_id).first()
    role = workspace_role(user, workspace_id) if workspace else ""
    if workspace is None or not role:
        raise NotFound
    _need(WORKSPACE_RANK[WorkspaceRole(role)] >= WORKSPACE_RANK[need])
    return workspace


def space_for(user: Any, space_id: UUID, need: SpaceRole = SpaceRole.READER) -> Space:
    """The space, for somebody with at least this role."""
    space = Space.objects.there().filter(pk=space_id).select_related("workspace").first()
    role = space_role(user, space) if space else ""
    if space is None or not role:
        raise NotFound
    _need(SPACE_RANK[SpaceRole(role)] >= SPACE_RANK[need])
    return space


def page_for(user: Any, page_id: UUID, need: SpaceRole = SpaceRole.READER, *, trashed: bool = False) -> Page:
    """A live page (or a trashed one) of a space in which this person has at least this role."""
    rows = Page.objects.there().with_type().select_related("space__workspace").filter(pk=page_id)
    page = rows.filter(deleted_at__isnull=not trashed).first()
    role = space_role(user, page.space) if page else ""
    if page is None or not role:
        raise NotFound
    _need(SPACE_RANK[SpaceRole(role)] >= SPACE_RANK[need])
    return page


def pages_for(user: Any, page_ids: Sequence[UUID], need: SpaceRole) -> list[Page]:
    """Live pages in the given order, in a few queries; one that is not for this person refuses all."""
    found: dict[UUID, Page] = {}
    for start in range(0, len(page_ids), BATCH):
        rows = Page.objects.there().live().with_type().select_related("space__workspace")
        found |= rows.in_bulk(list(page_ids[start : start + BATCH]))
    roles = {space.pk: space_role(user, space) for space in {page.space for page in found.values()}}
    if any(pk not in found or not roles[found[pk].space_id] for pk in page_ids):
        raise NotFound
    _need(all(SPACE_RANK[SpaceRole(role)] >= SPACE_RANK[need] for role in roles.values()))
    return [found[pk] for pk in page_ids]


def owned_workspace(user: Any, workspace_id: UUID, *, trashed: bool = False) -> Workspace:
    """A workspace for its owner, also from the trash; with `trashed` only from there."""
    workspace = Workspace.objects.filter(pk=workspace_id, purged_at=None).first()
    role = workspace_role(user, workspace_id) if workspace else ""
    if workspace is None or not role or (workspace.deleted_at and role != WorkspaceRole.OWNER):
        raise NotFound
    _need(role == WorkspaceRole.OWNER)
    if trashed and not workspace.deleted_at:
        raise NotFound
    return workspace


def owned_space(user: Any, space_id: UUID, *, trashed: bool = False) -> Space:
    """A space for an owner of its workspace, also from the trash; with `trashed` only from there.

    Who may not read it does not learn of it.
    """
    space = Space.objects.filter(pk=space_id, purged_at=None, workspace__deleted_at=None).select_related("workspace")
    found = space.first()
    role = workspace_role(user, found.workspace_id) if found else ""
    if found is None or not space_role(user, found) or (found.deleted_at and role != WorkspaceRole.OWNER):
        raise NotFound
    _need(role == WorkspaceRole.OWNER)
    if trashed and not found.deleted_at:
        raise NotFound
    return found


def spaces_of(user: Any) -> SpaceQuerySet:
    """Every space this person may read, archived ones too."""
    mine = WorkspaceMember.objects.filter(user=user)
    runs = mine.filter(role__in=RUNS_WORKSPACE).values("workspace_id")
    belongs = mine.values("workspace_id")
    there = Space.objects.there()
    return there.filter(Q(workspace_id__in=runs) | Q(workspace_id__in=belongs, members__user=user)).distinct()


def workspaces_of(user: Any, state: PlaceState) -> QuerySet[Workspace]:
    """Workspaces this person belongs to, by state; those in the trash only for their owners."""
    if state == "deleted":
        owned = Workspace.objects.filter(members__user=user, members__role=WorkspaceRole.OWNER, purged_at=None)
        return owned.exclude(deleted_at=None)
    return Workspace.objects.of(user).filter(archived_at__isnull=state == "in_use")


def spaces_in(user: Any, workspace_id: UUID, state: PlaceState) -> QuerySet[Space]:
    """Spaces of one workspace that this person may read, by state; those in the trash only for owners."""
    if state == "deleted":
        is_owner = workspace_role(user, workspace_id) == WorkspaceRole.OWNER
        gone = Space.objects.filter(workspace_id=workspace_id, purged_at=None).exclude(deleted_at=None)
        return gone if is_owner else gone.none()
    return spaces_of(user).filter(workspace_id=workspace_id, archived_at__isnull=state == "in_use")


def scope_of(space_id: UUID) -> str:
    """Who sees the search documents and stream entries of a space."""
    return f"space:{space_id}"


def scopes_of(user: Any) -> list[str]:
    """For the house: the scopes of all spaces this person may read. One query."""
    return [scope_of(pk) for pk in spaces_of(user).values_list("pk", flat=True)]


def _need(is_enough: bool) -> None:
    if not is_enough:
        raise NotAllowed(_("Your role here does not allow this."))
