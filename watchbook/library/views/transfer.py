"""Files in and out, and the page that files an item of another system."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from watchbook.base.store.scratch import scratch
from watchbook.library import access, actions, options
from watchbook.library.errors import Problem, Wrong
from watchbook.library.models import Page, Space, SpaceRole
from watchbook.library.store.news import page_path
from watchbook.library.views.frame import frame
from watchbook.library.views.targets import targets_in, writable
from watchbook.library.views.ways import answers, done, given, given_id, reader


@require_http_methods(["GET", "POST"])
@answers
def import_file(request: HttpRequest, space_id: UUID) -> HttpResponse:
    user = reader(request)
    space = access.space_for(user, space_id, SpaceRole.WRITER)
    parent = given_id(request, "parent")
    context: dict[str, Any] = {"megabytes": options.IMPORT_MEGABYTES.value, "most": options.IMPORT_PAGES.value}
    if request.method == "POST":
        try:
            return _import(request, space, parent)
        except Wrong as problem:
            context["problem"] = problem
    if parent:
        context["parent"] = actions.open_page(user, parent)
    shown = {**frame(user, space), **context}
    return render(request, "library/import.html", shown, status=422 if "problem" in context else 200)


def _import(request: HttpRequest, space: Space, parent: UUID | None) -> HttpResponse:
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise Wrong("file", _("Choose a file."))
    if (file.size or 0) > options.IMPORT_MEGABYTES.value * 1_000_000:
        raise Wrong("file", _("It holds more than may be imported at once."), code="too_large")
    with scratch("upload") as folder:
        path = folder / "file"
        with path.open("wb") as target:
            for chunk in file.chunks():
                target.write(chunk)
        made = actions.import_file(reader(request), space.pk, path, str(file.name or ""), parent_page_id=parent)
    words = ngettext("%(n)s page was imported.", "%(n)s pages were imported.", len(made)) % {"n": len(made)}
    address = page_path(made[0].pk) if made else reverse("library:space", args=[space.pk])
    return done(request, address, words)


@require_GET
@answers
def export(request: HttpRequest, space_id: UUID) -> HttpResponseBase:
    """The whole space as a zip of Markdown files."""
    file, name = actions.export_space(reader(request), space_id)
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


@require_http_methods(["GET", "POST"])
@answers
def clip(request: HttpRequest) -> HttpResponse:
    """Which space and folder an item of another system is filed in."""
    user, kind, object_id = reader(request), given(request, "kind")[:60], given(request, "id")[:200]
    try:
        item = actions.see_clip(user, kind, object_id)
    except Problem:
        raise Http404 from None
    if request.method == "POST":
        space_id = given_id(request, "space")
        if space_id is None:
            raise Wrong("space", _("Choose a space."))
        where = given(request, "parent")
        parent = given_id(request, "parent") if where != "top" else None
        made = actions.clip(user, kind=kind, object_id=object_id, space_id=space_id, parent_page_id=parent)
        return done(request, page_path(made.pk), _("Filed in the library."))
    spaces = writable(user)
    chosen = _chosen(request, spaces)
    clips = actions.clips_folder(chosen.pk) if chosen else None
    context = {
        "item": item, "kind": kind, "object_id": object_id, "spaces": spaces, "space": chosen,
        "targets": targets_in(chosen, (), first=clips) if chosen else [], "clips": str(clips or ""),
        "known": _known(user, kind, object_id), "system": actions.system_name(item.source),
    }  # fmt: skip
    return render(request, "library/clip.html", context)


def _chosen(request: HttpRequest, spaces: list[Space]) -> Space | None:
    wanted = request.GET.get("space", "")
    return next((space for space in spaces if str(space.pk) == wanted), spaces[0] if spaces else None)


def _known(user: Any, kind: str, object_id: str) -> Page | None:
    """Where it was filed before, as far as this person may see it."""
    rows = Page.objects.live().filter(origin__kind=kind, origin__object_id=object_id, space__in=access.spaces_of(user))
    return rows.select_related("space").defer("content").order_by("-created_at").first()
