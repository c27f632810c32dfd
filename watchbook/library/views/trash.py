"""The trash of a space: what was taken away, by whom, and giving it back."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.ui.paging import keyset
from watchbook.library import access, actions
from watchbook.library.errors import NoLegalPlace
from watchbook.library.models import NodeType, PageNodeMeta, SpaceRole
from watchbook.library.store.news import page_path
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
    context = {**frame(user, found), "batches": batches, "folders": set(folders)}
    return render(request, "library/trash.html", context)


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
