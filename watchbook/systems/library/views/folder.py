"""A folder or the top level of a space: its pages, pinned ones first, and bulk actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.models import User
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.models import FOLDERS_ENABLED, NodeType, Page, PageOrigin, Space
from watchbook.systems.library.models.tree import ORDERS, Crumb
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import answers, as_id, done, given, given_id, given_ids, is_script, reader
from watchbook.systems.library.views.layout import frame

PIECE = 100
MOST_ATTACHMENTS = 500


@dataclass(frozen=True)
class Row:
    """A child as a line of the table."""

    page: Page
    count: int
    saved_by: str
    origin: PageOrigin | None

    @property
    def is_folder(self) -> bool:
        return self.page.node_type == NodeType.FOLDER


@require_GET
@answers
def space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    found = access.space_for(reader(request), space_id)
    return show_folder(request, found, None, ())


def show_folder(request: HttpRequest, space: Space, page: Page | None, way: Sequence[Crumb]) -> HttpResponse:
    order = request.GET.get("order", "custom")
    piece = actions.list_children(
        reader(request), space_id=space.pk, page_id=page.pk if page else None, limit=PIECE,
        order=order if order in ORDERS else "custom", cursor=request.GET.get("cursor", ""),
    )  # fmt: skip
    user = reader(request)
    rows = rows_of(user, piece.items)
    shown = frame(reader(request), space, way)
    context = {
        **shown,
        "page": page,
        "rows": rows,
        "pins": [row for row in rows if row.page.is_pinned],
        "order": order if order in ORDERS else "custom",
        "next": piece.next,
        "total": access.sight(user).rows(Page.objects.below(space.pk, page.pk if page else None)).count(),
        "may_folder": shown["may_write"] and shown["flags"][FOLDERS_ENABLED],
        "may_file": shown["may_write"] and (page is not None or not shown["flags"][FOLDERS_ENABLED]),
        "is_watching": page is not None and actions.is_watching(reader(request), page),
        "is_favourite": page is not None and page.favourites.filter(user=reader(request)).exists(),
        "trashed": _trashed(request, space),
        "attachments": list(page.attachments.order_by("name", "pk")[:MOST_ATTACHMENTS]) if page else [],
        "may_upload": shown["may_write"] and page is not None,
        "tags": actions.tags_of(page) if page else [],
        "templates": actions.list_templates(user, space.workspace_id) if shown["may_write"] else [],
    }
    return render(request, "library/folder.html", context)


def rows_of(user: User, pages: Sequence[Page]) -> list[Row]:
    """Add counts, authors and origins to the pages, in three queries."""
    ids = [page.pk for page in pages]
    below = access.sight(user).rows(Page.objects.live().filter(parent_page_id__in=ids))
    counts = dict(below.values_list("parent_page_id").annotate(n=Count("pk")).order_by())
    people = User.objects.in_bulk({page.updated_by_id for page in pages if page.updated_by_id})
    origins = PageOrigin.objects.in_bulk(ids)
    return [
        Row(page, counts.get(page.pk, 0), _email(people.get(page.updated_by_id)), origins.get(page.pk))
        for page in pages
    ]


def _email(person: User | None) -> str:
    return person.email if person else ""


def _trashed(request: HttpRequest, space: Space) -> Page | None:
    """Return the page that was trashed a moment ago, for the Undo button."""
    try:
        wanted = UUID(request.GET.get("trashed", ""))
    except ValueError:
        return None
    rows = access.readable(reader(request)).filter(pk=wanted, space=space, deleted_at__isnull=False)
    return rows.defer("content").first()


@require_POST
@answers
def create(request: HttpRequest, space_id: UUID) -> HttpResponse:
    page = actions.create_page(
        reader(request), space_id, title=given(request, "title"),
        node_type=given(request, "node_type") or NodeType.FILE, parent_page_id=given_id(request, "parent"),
        template_id=given_id(request, "template") if given(request, "node_type") != NodeType.FOLDER else None,
    )  # fmt: skip
    if is_script(request):
        return done(request, page_path(page.pk), _("Page created."))
    return redirect(page_path(page.pk))


@require_POST
@answers
def bulk(request: HttpRequest, space_id: UUID) -> HttpResponse:
    """Move, trash or pin what is selected."""
    ids = given_ids(request, "page")
    act = {"move": _move, "trash": _trash, "pin": _pin, "unpin": _pin}.get(given(request, "act"))
    if act is None:
        raise Wrong("act", _("Choose an action."))
    if not ids:
        raise Wrong("page", _("Select at least one page."))
    access.space_for(reader(request), space_id)
    return act(request, space_id, ids)


def _move(request: HttpRequest, space_id: UUID, ids: list[UUID]) -> HttpResponse:
    if not given(request, "parent"):
        raise Wrong("parent", _("Choose a target."))
    where = given(request, "parent")
    target = given_id(request, "to") or space_id
    parent = None if where == "top" else as_id(where, "parent")
    moved = actions.bulk_move(reader(request), ids, parent_page_id=parent, space_id=target)
    words = ngettext("%(n)s page was moved.", "%(n)s pages were moved.", len(moved)) % {"n": len(moved)}
    address = page_path(parent) if parent else reverse("library:space", args=[target])
    return done(request, address, words)


def _trash(request: HttpRequest, space_id: UUID, ids: list[UUID]) -> HttpResponse:
    batches = actions.bulk_trash(reader(request), ids)
    count = sum(batch.page_count for batch in batches)
    words = ngettext("%(n)s page moved to trash.", "%(n)s pages moved to trash.", count) % {"n": count}
    return done(request, _here(request, space_id), words)


def _pin(request: HttpRequest, space_id: UUID, ids: list[UUID]) -> HttpResponse:
    is_pin = given(request, "act") == "pin"
    if len(ids) > PIECE:
        raise Wrong("page", _("Choose 1 to %(n)s pages.") % {"n": PIECE})
    for page_id in ids:
        actions.pin_page(reader(request), page_id, pinned=is_pin)
    words = _("Pinned for all members of this space.") if is_pin else _("Unpinned.")
    return done(request, _here(request, space_id), words)


def _here(request: HttpRequest, space_id: UUID) -> str:
    """The folder in which they were selected."""
    folder = given_id(request, "folder")
    return page_path(folder) if folder else reverse("library:space", args=[space_id])
