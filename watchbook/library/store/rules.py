"""The hierarchy matrix, and nothing else decides where a page may stand.

| parent  | folder | file |
|---------|--------|------|
| top     | yes    | no   |
| folder  | yes    | yes  |
| file    | no     | yes  |

While folders are switched off the top level holds files too, and no new folders are made. A folder never stands below
a file, switched on or off: what is written meanwhile must be legal when the flag comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.library.errors import Conflict, Cycle, Hierarchy, NotFound
from watchbook.library.models import FOLDERS_ENABLED, NodeType, Page, Space, WorkspaceFlag
from watchbook.library.models.walk import ancestors_and_self

TOP = "top"
ALLOWED = {
    (TOP, NodeType.FOLDER): True,
    (TOP, NodeType.FILE): False,
    (NodeType.FOLDER, NodeType.FOLDER): True,
    (NodeType.FOLDER, NodeType.FILE): True,
    (NodeType.FILE, NodeType.FOLDER): False,
    (NodeType.FILE, NodeType.FILE): True,
}
# Deeper than anybody reads; keeps walks short.
DEEPEST = 100


@dataclass(frozen=True)
class Place:
    """Where a page is put: below `parent`, or at the top level of the space."""

    space: Space
    parent: Page | None = None

    @property
    def parent_id(self) -> UUID | None:
        return self.parent.pk if self.parent else None

    @property
    def kind(self) -> str:
        return self.parent.node_type if self.parent else TOP


def place_at(space: Space, parent_page_id: UUID | None) -> Place:
    """The place as it is now; call it when the space is locked. A parent that is gone or elsewhere is not there."""
    if parent_page_id is None:
        return Place(space)
    parent = Page.objects.live().with_type().filter(pk=parent_page_id, space=space).first()
    if parent is None:
        raise NotFound(_("There is no such folder in this space."))
    return Place(space, parent)


def folders_enabled(space: Space) -> bool:
    return WorkspaceFlag.objects.filter(workspace_id=space.workspace_id, name=FOLDERS_ENABLED, is_on=True).exists()


def is_legal(place: Place, node_type: str) -> bool:
    if place.kind == TOP and node_type == NodeType.FILE:
        return not folders_enabled(place.space)
    return ALLOWED[(place.kind, NodeType(node_type))]


def check_new(place: Place, node_type: str) -> None:
    """May a page of this type be made here?"""
    if node_type == NodeType.FOLDER and not folders_enabled(place.space):
        raise Conflict(_("Folders are switched off in this workspace."), code="folders_disabled")
    check_place(place, node_type)


def check_place(place: Place, node_type: str, moved: Page | None = None) -> None:
    """May a page of this type stand here? With `moved`, also: is the place not below the page itself?"""
    above = ancestors_and_self(place.parent.pk) if place.parent else set()
    if moved is not None and moved.pk in above:
        raise Cycle
    if not is_legal(place, node_type):
        raise Hierarchy(details={"parent": place.kind, "child": node_type})
    if len(above) >= DEEPEST:
        raise Conflict(_("The tree is too deep here."), code="too_deep")
