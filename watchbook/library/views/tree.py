"""The tree at the left: open along the way to the page that is read, the rest is fetched when somebody opens it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from watchbook.library import actions
from watchbook.library.models import NodeType, Page, Space
from watchbook.library.models.children import children
from watchbook.library.models.walk import Crumb
from watchbook.library.views.ways import answers, reader

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
    """Children of one page: a piece of them, and where to go on."""

    nodes: list[Node] = field(default_factory=list)
    next: str = ""
    parent_id: UUID | None = None


def tree_of(space: Space, way: Sequence[Crumb] = ()) -> Branch:
    """The top level, and each level on the way to the current page. As many queries as the way is long."""
    top = branch(space.pk, None)
    here = top
    for place, crumb in enumerate(way):
        is_last = place == len(way) - 1
        node = _on_the_way(here, crumb)
        if node is None:
            break
        node.is_current = is_last
        if node.has_children:
            node.is_open = True
            node.below = here = branch(space.pk, node.id)
    return top


def branch(space_id: UUID, parent_id: UUID | None, cursor: str = "") -> Branch:
    piece = children(space_id, parent_id, cursor=cursor, limit=PIECE)
    return Branch([_node(page) for page in piece.items], piece.next, parent_id)


def _node(page: Page) -> Node:
    has_children: bool = page.has_children  # type: ignore[attr-defined]  # children() annotates it
    return Node(page.pk, page.title, page.node_type == NodeType.FOLDER, has_children)


def _on_the_way(here: Branch, crumb: Crumb) -> Node | None:
    """The row of this page; one that is not among the first children is put behind them."""
    for node in here.nodes:
        if node.id == crumb.id:
            return node
    page = Page.objects.live().with_type().filter(pk=crumb.id).defer("content").first()
    if page is None:
        return None
    below = Page.objects.below(page.space_id, page.pk).exists()
    node = Node(page.pk, page.title, page.node_type == NodeType.FOLDER, below)
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
    return render(request, "library/_branch.html", {"branch": found, "space_id": space_id})
