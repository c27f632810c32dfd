"""One page: a folder as its list, a file as its text; and what a person does with it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.ui.moments import moment_text
from watchbook.library import actions
from watchbook.library.errors import NotFound, VersionConflict
from watchbook.library.models import NodeType, Page, PageOrigin
from watchbook.library.store.news import page_path
from watchbook.library.views.folder import rows_of, show_folder
from watchbook.library.views.frame import frame
from watchbook.library.views.text import for_editing, for_reading, words_in
from watchbook.library.views.ways import answers, done, given, given_id, given_number, is_script, reader

RAIL = 6
INSIDE = 50


@require_GET
@answers
def page(request: HttpRequest, page_id: UUID) -> HttpResponse:
    try:
        found = actions.open_page(reader(request), page_id)
    except NotFound:
        # Stream and mails keep leading here; whoever may read the space finds the page where it is now.
        trashed = actions.open_trashed(reader(request), page_id)
        messages.info(request, _("%(title)s is in the trash.") % {"title": trashed.title})
        return redirect("library:trash", space_id=trashed.space_id)
    way = actions.breadcrumb(reader(request), page_id)
    if found.node_type == NodeType.FOLDER:
        return show_folder(request, found.space, found, way)
    shown = frame(reader(request), found.space, way)
    context = {**shown, **_file(request, found), "may_file": shown["may_write"], "may_folder": False}
    if shown["may_write"]:
        context["shares"] = actions.list_shares(reader(request), page_id).count()
    return render(request, "library/file.html", context)


def _file(request: HttpRequest, found: Page) -> dict[str, Any]:
    inside = actions.list_children(reader(request), page_id=found.pk, limit=INSIDE)
    origin = PageOrigin.objects.filter(page=found).select_related("clipped_by").first()
    return {
        "page": found,
        "text": for_reading(found.content),
        "editable": for_editing(found.content),
        "word_count": words_in(found.content),
        "rows": rows_of(inside.items),
        "next": inside.next,
        **_history(request, found),
        "origin": origin,
        "system": actions.system_name(origin.source) if origin else "",
        "is_favourite": found.favourites.filter(user=reader(request)).exists(),
    }


def _history(request: HttpRequest, found: Page) -> dict[str, Any]:
    """The newest versions, beside the text."""
    return {"page": found, "versions": actions.list_versions(reader(request), found.pk)[:RAIL]}


@require_POST
@answers
def save(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """What the editor sends every few seconds; also the form itself where there is no script."""
    try:
        saved = actions.save_page(
            reader(request), page_id, version=given_number(request, "version"),
            title=given(request, "title"), content=given(request, "content"), autosave=given(request, "auto") == "1",
        )  # fmt: skip
    except VersionConflict as conflict:
        if not is_script(request):
            raise
        told = {"code": conflict.code, "message": conflict.message, "by": conflict.details["current"]["updated_by"]}
        return JsonResponse({"error": told}, status=conflict.status)
    if not is_script(request):
        return done(request, page_path(page_id), _("Saved."))
    return JsonResponse(
        {
            "version": saved.version,
            "saved": _("Saved %(time)s") % {"time": moment_text(saved.updated_at, "time")},
            "when": render_to_string("library/_saved.html", {"page": saved}, request),
            "by": _("by %(name)s") % {"name": saved.updated_by.email} if saved.updated_by else "",
            "words": words_in(saved.content),
            # Not only the new one: what was saved by itself is joined, so an older row may be gone.
            "history": render_to_string("library/_versions.html", _history(request, saved), request),
        }
    )


@require_POST
@answers
def rename(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Only the title, on top of whatever the text is by now."""
    found = actions.open_page(reader(request), page_id)
    actions.save_page(reader(request), page_id, version=found.version, title=given(request, "title"))
    return done(request, page_path(page_id), _("Renamed."))


@require_POST
@answers
def move(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """By drag and drop: below `parent` (empty: the top level), behind `after` or before `before`."""
    found = actions.open_page(reader(request), page_id)
    before = _place_of(found)
    actions.move_page(
        reader(request), page_id, parent_page_id=given_id(request, "parent"),
        after_page_id=given_id(request, "after"), before_page_id=given_id(request, "before"),
    )  # fmt: skip
    undo = f"{reverse('library:move', args=[page_id])}?{before}"
    return done(request, page_path(page_id), _("%(title)s was moved.") % {"title": found.title}, undo=undo)


def _place_of(found: Page) -> str:
    """Where it stands now, as the Undo sends it back: below its parent, behind the sibling it stood behind."""
    siblings = Page.objects.below(found.space_id, found.parent_page_id).exclude(pk=found.pk)
    ahead = siblings.filter(sort_key__lte=found.sort_key).order_by("-sort_key", "-id").first()
    behind = None if ahead else siblings.in_order().first()
    parts = {"parent": found.parent_page_id, "after": ahead and ahead.pk, "before": behind and behind.pk}
    return "&".join(f"{name}={value}" for name, value in parts.items() if value)


@require_POST
@answers
def duplicate(request: HttpRequest, page_id: UUID) -> HttpResponse:
    made = actions.duplicate_page(reader(request), page_id)
    return done(request, page_path(made.pk), _("This is the copy."))


@require_POST
@answers
def trash(request: HttpRequest, page_id: UUID) -> HttpResponse:
    found = actions.open_page(reader(request), page_id)
    actions.trash_page(reader(request), page_id)
    above = page_path(found.parent_page_id) if found.parent_page_id else reverse("library:space", args=[found.space_id])
    if is_script(request):
        undo = reverse("library:restore", args=[page_id])
        return done(request, above, _("%(title)s is in the trash.") % {"title": found.title}, undo=undo)
    return redirect(f"{above}?trashed={page_id}")


@require_POST
@answers
def pin(request: HttpRequest, page_id: UUID) -> HttpResponse:
    pinned = given(request, "on") == "1"
    actions.pin_page(reader(request), page_id, pinned=pinned)
    words = _("Pinned for everybody in this space.") if pinned else _("No longer pinned.")
    return done(request, page_path(page_id), words)


@require_POST
@answers
def favourite(request: HttpRequest, page_id: UUID) -> HttpResponse:
    kept = given(request, "on") == "1"
    actions.set_favourite(reader(request), page_id, kept=kept)
    words = _("Among your favourites.") if kept else _("No longer among your favourites.")
    return done(request, page_path(page_id), words)
