"""Files in and out, and the page that files an item of another system."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base.store.folder import scratch
from watchbook.core.accounts.models import User
from watchbook.core.stream.clip import Clip
from watchbook.systems.library import access, actions, options
from watchbook.systems.library.errors import Problem, Wrong
from watchbook.systems.library.models import Page, PageImport, Space, SpaceRole
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import answers, done, given, given_id, reader
from watchbook.systems.library.views.layout import frame, targets_in, writable

# Names in one message; the API and the command list all.
LISTED = 50
FORMATS = {
    "markdown": "Markdown", "obsidian": "Obsidian", "notion": "Notion", "outline": "Outline", "docmost": "Docmost",
    "docusaurus": "Docusaurus", "github wiki": "GitHub wiki", "bookstack": "BookStack", "html": "HTML", "docx": "Word",
}  # fmt: skip


@require_http_methods(["GET", "POST"])
@answers
def import_file(request: HttpRequest, space_id: UUID) -> HttpResponse:
    user = reader(request)
    space = access.space_for(user, space_id, SpaceRole.WRITER)
    parent = given_id(request, "parent")
    context: dict[str, Any] = {"megabytes": options.IMPORT_MEGABYTES.value, "most": options.IMPORT_PAGES.value}
    if request.method == "POST":
        try:
            made = _import(request, space, parent)
            if not isinstance(made, actions.ImportPlan):
                return made
            context |= {"plan": made, "facts": made.facts, "report_rows": report_rows(made.facts)}
            context |= {"titles": made.titles[:LISTED], "converted": converted_rows(made.facts)}
        except Wrong as problem:
            context["problem"] = problem
    if parent:
        context["parent"] = actions.open_page(user, parent)
    shown = {**frame(user, space), **context}
    # A part of the page is only replaced by a response that is no error.
    stays = request.headers.get("HX-Request") == "true"
    status = 422 if "problem" in context and not stays else 200
    return render(request, "library/import.html", {**shown, "stays": stays}, status=status)


def _import(request: HttpRequest, space: Space, parent: UUID | None) -> HttpResponse | actions.ImportPlan:
    """Import the uploaded file; with `check` only return the plan of it."""
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise Wrong("file", _("Choose a file."))
    if (file.size or 0) > options.IMPORT_MEGABYTES.value * 1_000_000:
        raise Wrong("file", _("The file is larger than the import limit."), code="too_large")
    with scratch("upload") as folder:
        path = folder / "file"
        with path.open("wb") as target:
            for chunk in file.chunks():
                target.write(chunk)
        act = actions.plan_import if given(request, "check") else actions.import_file
        made = act(reader(request), space.pk, path, str(file.name or ""), parent_page_id=parent)
    if isinstance(made, actions.ImportPlan):
        return made
    count = len(made.pages)
    words = ngettext("%(n)s page was imported.", "%(n)s pages were imported.", count) % {"n": count}
    return done(request, reverse("library:import_report", args=[made.log.pk]), words)


@dataclass(frozen=True)
class Row:
    """A line of a report: what, on which page, how often, and why. `page` is the id of that page if it was created."""

    kind: str
    item: str
    place: str
    reason: str
    count: int = 1
    page: str = ""


def report_rows(facts: dict[str, Any]) -> list[Row]:
    """Return what was skipped, could not be resolved, or was read in another encoding."""
    left_out = [Row("file", path, "", actions.skip_reason(reason)) for path, reason in facts["skipped"]]
    places, words = facts.get("places", {}), _("not in the file; stays as it is")
    links = [
        Row("link", target, path, words, count, places.get(path, ""))
        for (path, target), count in Counter(map(tuple, facts["unresolved"])).items()
    ]
    decoded = [Row("text", path, "", _("not UTF-8; read as Windows-1252")) for path in facts["decoded"]]
    return [*left_out, *links, *decoded]


def converted_rows(facts: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Return what the other program has, what it became, and how often."""
    words = {
        "database": (_("Database"), _("table, one page per row")),
        "callout": (_("Callout"), _("callout")),
        "mdx": (_("Import of a component"), _("skipped")),
    }
    return [(*words[name], count) for name, count in facts["converted"].items() if name in words]


@require_GET
@answers
def import_report(request: HttpRequest, import_id: UUID) -> HttpResponse:
    """The report of an import; with `form=csv` as a file."""
    user = reader(request)
    found = actions.open_import(user, import_id)
    rows = report_rows(found.report)
    if request.GET.get("form") == "csv":
        return _as_csv(found, rows)
    tops = access.readable(user).live().filter(pk__in=found.report.get("tops", [])).defer("content").in_order()
    context = {
        **frame(user, found.space), "log": found, "facts": found.report, "rows": rows, "tops": list(tops[:LISTED]),
        "converted": converted_rows(found.report),
        "problems": found.report["skipped_count"] + found.report["unresolved_count"],
        "format": FORMATS.get(found.format, found.format),
    }  # fmt: skip
    return render(request, "library/import_report.html", context)


def _as_csv(found: PageImport, rows: list[Row]) -> HttpResponse:
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="import-{found.created_at:%Y-%m-%d}.csv"'
    lines = csv.writer(answer)
    lines.writerow(["kind", "item", "page", "reason", "count"])
    # A leading apostrophe: a spreadsheet must not take a name for a formula.
    for row in rows:
        lines.writerow([*(_inert(value) for value in (row.kind, row.item, row.place, row.reason)), row.count])
    return answer


def _inert(value: str) -> str:
    return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


@require_POST
@answers
def undo_import(request: HttpRequest, import_id: UUID) -> HttpResponse:
    found = actions.open_import(reader(request), import_id)
    actions.undo_import(reader(request), import_id)
    return done(request, reverse("library:trash", args=[found.space_id]), _("The import was moved to the trash."))


@require_GET
@answers
def export(request: HttpRequest, space_id: UUID) -> HttpResponseBase:
    """The whole space as a zip of Markdown files, or with `form=html` as one HTML file."""
    file, name = actions.export_space(reader(request), space_id, given(request, "form") or "markdown")
    return FileResponse(file, as_attachment=True, filename=name)


@require_GET
@answers
def export_page(request: HttpRequest, page_id: UUID) -> HttpResponseBase:
    """A page or folder with everything below it."""
    file, name = actions.export_page(reader(request), page_id, given(request, "form") or "markdown")
    return FileResponse(file, as_attachment=True, filename=name)


@require_http_methods(["GET", "POST"])
@answers
def clip(request: HttpRequest) -> HttpResponse:
    """Choose a space and folder, then save an item of a source, or several together (`item=kind:id`)."""
    user = reader(request)
    pairs = _asked_items(request)
    asked = pairs[:MOST_CLIPS]
    found = [(kind, object_id, item) for kind, object_id in asked if (item := _seen(user, kind, object_id))]
    if not found:
        raise Http404
    if left := len(pairs) - len(found):
        words = ngettext(
            "%(n)s item was skipped: it no longer exists, or more than %(most)s were selected.",
            "%(n)s items were skipped: they no longer exist, or more than %(most)s were selected.",
            left,
        )
        messages.warning(request, words % {"n": left, "most": MOST_CLIPS})
    if request.method == "POST":
        return _clip_all(request, found)
    spaces = writable(user)
    chosen = chosen_space(request, spaces)
    clips = actions.clips_folder(user, chosen.pk) if chosen else None
    kind, object_id, item = found[0]
    context = {
        "item": item, "kind": kind, "object_id": object_id, "spaces": spaces, "space": chosen,
        "targets": targets_in(user, chosen, (), first=clips) if chosen else [], "clips": str(clips or ""),
        "known": _known(user, kind, object_id) if len(found) == 1 else None, "system": actions.system_name(item.source),
        "items": [(f"{kind}:{object_id}", item) for kind, object_id, item in found] if len(pairs) > 1 else [],
    }  # fmt: skip
    return render(request, "library/clip.html", context)


MOST_CLIPS = 50


def _asked_items(request: HttpRequest) -> list[tuple[str, str]]:
    """Return kind and id of each item."""
    given_items = request.POST.getlist("item") or request.GET.getlist("item")
    if not given_items:
        return [(given(request, "kind")[:60], given(request, "id")[:200])]
    pairs = [text.replace("\0", "").partition(":") for text in given_items]
    return list(dict.fromkeys((kind[:60], object_id[:200]) for kind, _colon, object_id in pairs))


def _seen(user: User, kind: str, object_id: str) -> Clip | None:
    try:
        return actions.see_clip(user, kind, object_id)
    except Problem:
        return None


def _clip_all(request: HttpRequest, found: list[tuple[str, str, Clip]]) -> HttpResponse:
    """Save each item in a transaction of its own; what was refused is named."""
    space_id = first_space(request) if given(request, "space") == "first" else given_id(request, "space")
    if space_id is None:
        raise Wrong("space", _("Choose a space."))
    parent = given_id(request, "parent") if given(request, "parent") != "top" else None
    made: list[Page] = []
    for kind, object_id, item in found:
        try:
            made.append(
                actions.clip(reader(request), kind=kind, object_id=object_id, space_id=space_id, parent_page_id=parent)
            )
        except Problem as problem:
            if len(found) == 1:
                raise
            messages.warning(
                request, _("Not saved: %(title)s. %(reason)s") % {"title": item.title, "reason": str(problem)}
            )
    if len(found) == 1:
        return done(request, page_path(made[0].pk), _("Saved to library."))
    words = ngettext("%(n)s item was saved.", "%(n)s items were saved.", len(made)) % {"n": len(made)}
    folder = made[0].parent_page_id if made else None
    return done(request, page_path(folder) if folder else reverse("library:space", args=[space_id]), words)


def first_space(request: HttpRequest) -> UUID:
    """Create a workspace with a space for a user who can edit none yet, so that the first item has a place."""
    user = reader(request)
    if spaces := writable(user):
        return spaces[0].pk
    workspace = actions.create_workspace(user, _("My library"))
    return actions.create_space(user, workspace.pk, _("Saved items")).pk


def chosen_space(request: HttpRequest, spaces: list[Space]) -> Space | None:
    wanted = request.GET.get("space", "")
    return next((space for space in spaces if str(space.pk) == wanted), spaces[0] if spaces else None)


def _known(user: User, kind: str, object_id: str) -> Page | None:
    """Return the page that already holds this item, if the user can view it."""
    rows = access.readable(user).live().filter(origin__kind=kind, origin__object_id=object_id)
    return rows.select_related("space").defer("content").order_by("-created_at").first()
