"""The trash; archive, delete, restore and purge pages, spaces and workspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.kit.paging import keyset
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import NoAllowedParent, Wrong
from watchbook.systems.library.models import NodeType, Page, PageNodeMeta, Space, SpaceRole, Workspace
from watchbook.systems.library.options import TRASH_DAYS
from watchbook.systems.library.store import OLD_PARENT, TOP, ParentChoice
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.store.trash import stays_until
from watchbook.systems.library.views import answers, done, given, given_id, is_script, reader, workspaces
from watchbook.systems.library.views.layout import frame
from watchbook.systems.library.views.workspaces import archived_item

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
    """Ask once more, then delete the batch of this page permanently."""
    user = reader(request)
    found = access.page_for(user, page_id, SpaceRole.ADMIN, trashed=True)
    if request.method == "POST":
        actions.purge_page(user, page_id)
        words = _("%(title)s was deleted permanently.") % {"title": found.title}
        return done(request, reverse("library:trash", args=[found.space_id]), words)
    count = found.trash_batch.page_count if found.trash_batch else 1
    return render(request, "library/purge.html", {**frame(user, found.space), "page": found, "count": count})


@require_http_methods(["GET", "POST"])
@answers
def empty(request: HttpRequest, space_id: UUID) -> HttpResponse:
    """Ask once more, then delete the whole trash of the space permanently."""
    user = reader(request)
    found = access.space_for(user, space_id, SpaceRole.ADMIN)
    if request.method == "POST":
        actions.empty_trash(user, space_id)
        return done(request, reverse("library:trash", args=[space_id]), _("Trash emptied."))
    count = sum(actions.list_trash(user, space_id).values_list("page_count", flat=True))
    return render(request, "library/purge.html", {**frame(user, found), "count": count})


def _chosen_parent(request: HttpRequest) -> ParentChoice:
    if given(request, "parent") == TOP:
        return None
    return given_id(request, "parent") or OLD_PARENT


@require_POST
@answers
def restore(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Restore to the old parent; if it no longer exists, offer others."""
    user = reader(request)
    try:
        page = actions.restore_page(user, page_id, parent_page_id=_chosen_parent(request))
    except NoAllowedParent as problem:
        if is_script(request):
            raise
        found = access.page_for(user, page_id, SpaceRole.WRITER, trashed=True)
        targets = problem.details["targets"]
        context = {**frame(user, found.space), "page": found, "problem": problem, "targets": targets}
        return render(request, "library/restore.html", context, status=problem.status)
    return done(request, page_path(page.pk), _("%(title)s was restored.") % {"title": page.title})


@require_POST
@answers
def archive_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    archived = given(request, "on") != "0"
    found = actions.archive_workspace(reader(request), workspace_id, archived=archived)
    return done(request, reverse("library:workspace", args=[workspace_id]), _words(found.name, archived=archived))


@require_POST
@answers
def archive_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    archived = given(request, "on") != "0"
    found = actions.archive_space(reader(request), space_id, archived=archived)
    return done(request, reverse("library:space_settings", args=[space_id]), _words(found.name, archived=archived))


def _words(name: str, *, archived: bool) -> str:
    return (_("%(name)s is archived.") if archived else _("%(name)s is no longer archived.")) % {"name": name}


@require_POST
@answers
def delete_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    return _delete(request, workspace_id, actions.delete_workspace, workspaces.show_workspace)


@require_POST
@answers
def delete_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    return _delete(request, space_id, actions.delete_space, workspaces.show_space)


def _delete(
    request: HttpRequest, place_id: UUID, act: Callable[..., Any], show: Callable[..., HttpResponse]
) -> HttpResponse:
    """Delete, and show a wrong name beside its field."""
    try:
        act(reader(request), place_id, name=given(request, "name"))
    except Wrong as wrong:
        if is_script(request):
            raise
        return show(request, place_id, wrong=wrong)
    words = _("%(title)s moved to trash.") % {"title": given(request, "name")}
    return done(request, reverse("library:overview"), words)


@require_POST
@answers
def restore_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    found = actions.restore_workspace(reader(request), workspace_id)
    words = _("%(title)s was restored.") % {"title": found.name}
    return done(request, reverse("library:workspace", args=[workspace_id]), words)


@require_POST
@answers
def restore_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    found = actions.restore_space(reader(request), space_id)
    words = _("%(title)s was restored.") % {"title": found.name}
    return done(request, reverse("library:space", args=[space_id]), words)


@require_http_methods(["GET", "POST"])
@answers
def purge_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Ask for the name, then delete permanently."""
    found = access.owned_workspace(reader(request), workspace_id, trashed=True)
    return _purge(request, found, actions.purge_workspace, Page.objects.filter(space__workspace=found))


@require_http_methods(["GET", "POST"])
@answers
def purge_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    """Ask for the name, then delete permanently."""
    found = access.owned_space(reader(request), space_id, trashed=True)
    return _purge(request, found, actions.purge_space, Page.objects.filter(space=found))


def _purge(request: HttpRequest, found: Workspace | Space, act: Callable[..., None], pages: Any) -> HttpResponse:
    wrong = None
    if request.method == "POST":
        try:
            act(reader(request), found.pk, name=given(request, "name"))
        except Wrong as problem:
            if is_script(request):
                raise
            wrong = problem
        else:
            words = _("%(title)s was deleted permanently.") % {"title": found.name}
            return done(request, reverse("library:overview"), words)
    context = {"item": archived_item(found, set()), "count": pages.count(), "wrong": wrong}
    return render(request, "library/purge_workspace.html", context, status=wrong.status if wrong else 200)
