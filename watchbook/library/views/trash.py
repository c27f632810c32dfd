"""The trash of a space: what was taken away, by whom, until when it stays; giving it back, and removing it for good."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.core.ui.paging import keyset
from watchbook.library import access, actions
from watchbook.library.errors import NoLegalPlace
from watchbook.library.models import NodeType, PageNodeMeta, SpaceRole
from watchbook.library.options import TRASH_DAYS
from watchbook.library.store.news import page_path
from watchbook.library.store.purge import stays_until
from watchbook.library.views.frame import frame
from watchbook.library.views.ways import answers, done, given_id, is_script, reader

PER_PAGE = 50


@require_GET
@answers
def trash(request: HttpRequest, space_id: UUID) -> HttpResponse:
    user = reader(request)
    found = access.space_for(user, space_id)
    batches = keyset(actions.list_trash(user, space_id), request.GET, by="deleted_at", size=PER_PAGE)
    pages = [batch.page_id for batch in batches]
    folders = PageNodeMeta.objects.filter(page_id__in=pages, node_type=NodeType.FOLDER).values_list(
        "page_id", flat=True
    )
    shown = frame(user, found)
    for batch in batches:
        batch.until = stays_until(batch.deleted_at)
    context = {
        **shown, "batches": batches, "folders": set(folders), "days": TRASH_DAYS.value,
        # An archived space is as it is; its trash, too.
        "may_purge": shown["may_manage"] and shown["channel"].is_open,
    }  # fmt: skip
    return render(request, "library/trash.html", context)


@require_http_methods(["GET", "POST"])
@answers
def purge(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Asks once more, then removes for good what was trashed with this page."""
    user = reader(request)
    found = access.page_for(user, page_id, SpaceRole.ADMIN, trashed=True)
    if request.method == "POST":
        actions.purge_page(user, page_id)
        words = _("%(title)s is removed for good.") % {"title": found.title}
        return done(request, reverse("library:trash", args=[found.space_id]), words)
    count = found.trash_batch.page_count if found.trash_batch else 1
    return render(request, "library/purge.html", {**frame(user, found.space), "page": found, "count": count})


@require_http_methods(["GET", "POST"])
@answers
def empty(request: HttpRequest, space_id: UUID) -> HttpResponse:
    """Asks once more, then removes the whole trash of the space for good."""
    user = reader(request)
    found = access.space_for(user, space_id, SpaceRole.ADMIN)
    if request.method == "POST":
        actions.empty_trash(user, space_id)
        return done(request, reverse("library:trash", args=[space_id]), _("The trash is empty."))
    count = sum(actions.list_trash(user, space_id).values_list("page_count", flat=True))
    return render(request, "library/purge.html", {**frame(user, found), "count": count})


@require_POST
@answers
def restore(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """To its old place; when that is gone, the person chooses another of those offered."""
    user = reader(request)
    try:
        page = actions.restore_page(user, page_id, parent_page_id=given_id(request, "parent"))
    except NoLegalPlace as problem:
        if is_script(request):
            raise
        found = access.page_for(user, page_id, SpaceRole.WRITER, trashed=True)
        targets = problem.details["targets"]
        context = {**frame(user, found.space), "page": found, "problem": problem, "targets": targets}
        return render(request, "library/restore.html", context, status=problem.status)
    return done(request, page_path(page.pk), _("%(title)s is back.") % {"title": page.title})
