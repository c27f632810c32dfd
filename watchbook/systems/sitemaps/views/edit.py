"""Pages that add, change, delete and restore a monitor, and its actions: check, pause, resume, retry."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import groupby
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base import clock, sandbox
from watchbook.base.invalid import InvalidInput
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.core.accounts import access
from watchbook.core.accounts.access import person_of, safe_next
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.forms import BulkForm, ImportForm, MonitorForm, name_of
from watchbook.systems.sitemaps.jobs.read import Preview, SiteFound
from watchbook.systems.sitemaps.models import MonitorTask, url_digest
from watchbook.systems.sitemaps.parse.imports import MOST_BYTES, NAMES, InvalidFile, read_file
from watchbook.systems.sitemaps.parse.records import Unreadable
from watchbook.systems.sitemaps.records import error_message, error_text, file_error
from watchbook.systems.sitemaps.views import group_notes, header_context, kind_text, own_monitor

CHECKS, CHECK_SECONDS = 60, 600
PROOF_SALT, PROOF_SECONDS = "sitemaps.preview", 900
NOTES_KEPT = 20
CANNOT_READ = (WebError, Unreadable, sandbox.TaskError)


@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Check the address, show the form with the result, then save the monitor."""
    if request.method == "GET":
        form = MonitorForm(user=person_of(request))
        form.initial["sitemap_url"] = request.GET.get("url", "")[:2048]
        return render(request, "sitemaps/add.html", {"form": form})
    typed = _posted(request)
    form = MonitorForm(typed, user=person_of(request))
    preview = _signed_preview(request)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        if request.POST.get("step") == "check":
            context |= _check_address(request, form)
        else:
            answer = _save(request, form, preview)
            if answer is not None:
                return answer
    if preview is not None and "found" not in context:
        context |= _found(request, preview)
    # A swapped part is an answer like any other; a browser would write an error into its console.
    refused = bool(form.errors) and not getattr(request, "htmx", False)
    return render(request, "sitemaps/add.html", context, status=422 if refused else 200)


def _posted(request: HttpRequest) -> Any:
    """Return the posted values. A chosen sitemap replaces the address of the site."""
    typed = request.POST.copy()
    if typed.get("chosen") and typed.get("offered_for") == typed.get("sitemap_url"):
        typed["sitemap_url"] = str(typed["chosen"])
    return typed


def _check_address(request: HttpRequest, form: MonitorForm) -> dict[str, Any]:
    if not access.allow_use("sitemap-preview", str(person_of(request).pk), most=CHECKS, seconds=CHECK_SECONDS):
        form.add_error("sitemap_url", _("Too many checks. Try again in 10 minutes."))
        return {}
    try:
        preview = actions.preview(person_of(request), form.cleaned_data["sitemap_url"])
    except SiteFound as site:
        return {"offered": site.sitemaps}
    except (InvalidInput, *CANNOT_READ) as error:
        return _add_error(request, form, error)
    if not form["name"].value():
        form.data["name"] = name_of(preview.url)  # type: ignore[index]
    return _found(request, preview)


def _save(request: HttpRequest, form: MonitorForm, preview: Preview | None) -> HttpResponse | None:
    """Save the monitor. Returns None if the form has errors."""
    try:
        monitor, preview = actions.add_monitor(person_of(request), form.values(), preview)
    except SiteFound:
        form.add_error(
            "sitemap_url",
            _("This is a web page, not a sitemap. Check the address to see the sitemaps that the site lists."),
        )
    except (InvalidInput, *CANNOT_READ) as error:
        _add_error(request, form, error)
    else:
        messages.success(request, _("Saved. The first check is the baseline. Later changes are notified."))
        return _redirect(request, reverse("sitemaps:monitor", args=[monitor.pk]))
    return None


def _add_error(request: HttpRequest, form: MonitorForm, error: Any) -> dict[str, Any]:
    """Add an error to its field. For a duplicate, return the existing monitor."""
    field, address = getattr(error, "field", "sitemap_url"), form.cleaned_data["sitemap_url"]
    form.add_error({"channel_ids": "channels"}.get(field, field) or None, error_text(error_message(error)))
    if getattr(error, "code", "") != "already_watched":
        return {}
    digest = url_digest(check_url(address).url)
    return {"watched": MonitorTask.objects.of(person_of(request)).filter(live_url_digest=digest).first()}


def _redirect(request: HttpRequest, address: str) -> HttpResponse:
    if getattr(request, "htmx", False):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)


def _found(request: HttpRequest, preview: Preview) -> dict[str, Any]:
    kept = asdict(preview) | {"notes": preview.notes[:NOTES_KEPT]}
    proof = signing.dumps({"user": str(person_of(request).pk), "preview": kept}, salt=PROOF_SALT, compress=True)
    return {"found": preview, "kind": kind_text(preview.kind), "notes": group_notes(preview.notes), "proof": proof}


def _signed_preview(request: HttpRequest) -> Preview | None:
    """Return the signed preview of this user, so that saving does not check the address twice."""
    try:
        kept = signing.loads(request.POST.get("proof", ""), salt=PROOF_SALT, max_age=PROOF_SECONDS)
    except signing.BadSignature:
        return None
    return Preview(**kept["preview"]) if kept["user"] == str(person_of(request).pk) else None


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    shown = header_context(found)
    form = MonitorForm(request.POST if request.method == "POST" else None, user=person_of(request), monitor=found)
    context: dict[str, Any] = {**shown, "form": form, "name": found.name}
    if request.method == "POST" and form.is_valid():
        before = found.sitemap_url
        try:
            actions.change_monitor(found, form.values())
        except SiteFound as site:
            form.add_error("sitemap_url", _("This is a web page, not a sitemap. The site lists these sitemaps:"))
            context["offered"] = site.sitemaps
        except (InvalidInput, *CANNOT_READ) as error:
            context |= _add_error(request, form, error)
        else:
            is_moved = found.sitemap_url != before
            messages.success(request, _("Saved. The next check creates a new baseline.") if is_moved else _("Saved."))
            return _redirect(request, reverse("sitemaps:monitor", args=[found.pk]))
    return render(request, "sitemaps/edit.html", context, status=422 if form.errors else 200)


@require_POST
def delete(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """Delete the monitor and offer to undo it."""
    found = own_monitor(request, monitor_id)
    actions.delete(found)
    return redirect(f"{reverse('sitemaps:monitors')}?deleted={found.pk}")


@require_POST
def restore(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    gone = MonitorTask.objects.filter(user=person_of(request), deleted_at__isnull=False)
    found = get_object_or_404(gone, pk=monitor_id)
    try:
        actions.restore(found)
    except InvalidInput as error:
        messages.error(request, error.message)
        return redirect("sitemaps:monitors")
    messages.success(request, _("%(name)s restored.") % {"name": found.name})
    return redirect("sitemaps:monitor", found.pk)


@require_POST
def step(request: HttpRequest, monitor_id: UUID, name: str) -> HttpResponse:
    """Run an action: check, pause, resume or retry."""
    found = own_monitor(request, monitor_id)
    act, words = {
        "check": (actions.check_now, _("Check queued.")),
        "pause": (actions.pause, _("Paused. Watchbook sends no requests to the site until you resume.")),
        "resume": (actions.resume, _("Resumed. Check queued.")),
        "retry": (actions.retry, _("Resumed. Check queued.")),
    }[name]
    try:
        act(found)
    except InvalidInput as error:
        messages.warning(request, error.message)
    else:
        messages.success(request, words)
    return redirect("sitemaps:monitor", found.pk)


BULK = {
    "check": actions.check_now,
    "pause": actions.pause,
    "resume": actions.resume,
    "delete": actions.delete,
}


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Run an action for the selected monitors. What an action refuses is counted with its reason."""
    if request.POST.get("act") == "edit":
        return _bulk_edit(request)
    act = BULK.get(request.POST.get("act", ""))
    if act is None:
        raise Http404
    selected, missing = _selected(request)
    done, refused = 0, [_("The monitor does not exist.")] * missing
    for found in selected:
        try:
            act(found)
            done += 1
        except InvalidInput as error:
            refused.append(error.message)
    words = ngettext("Done for %(n)s monitor.", "Done for %(n)s monitors.", done) % {"n": done}
    if refused:
        words += " " + _("Not done for %(n)s: %(reasons)s") % {"n": len(refused), "reasons": " ".join(set(refused))}
    (messages.warning if refused or not done else messages.success)(request, words)
    return redirect(safe_next(request, None, "sitemaps:monitors"))


def _selected(request: HttpRequest) -> tuple[list[MonitorTask], int]:
    """Return the selected monitors, and how many of the given ids are not monitors of this person."""
    given = list(dict.fromkeys(request.POST.getlist("pk")))
    known = {str(one.pk): one for one in MonitorTask.objects.of(person_of(request)).order_by("created_at", "pk")}
    found = [monitor for pk, monitor in known.items() if pk in given]
    return found, len(given) - len(found)


def _bulk_edit(request: HttpRequest) -> HttpResponse:
    """Change what was filled in for all selected monitors, or for none."""
    form = BulkForm(request.POST)
    selected, _missing = _selected(request)
    if form.is_valid():
        given = {name: value for name, value in form.cleaned_data.items() if value}
        tags = {"add": given.pop("add_tags", ""), "remove": given.pop("remove_tags", "")}
        try:
            done = actions.edit_many(selected, given, **tags)
            messages.success(request, ngettext("Changed %(n)s monitor.", "Changed %(n)s monitors.", done) % {"n": done})
        except InvalidInput as error:
            messages.error(request, error.message)
    else:
        messages.error(request, _("The text is too long."))
    return redirect(safe_next(request, None, "sitemaps:monitors"))


@require_http_methods(["GET", "POST"])
def import_file(request: HttpRequest) -> HttpResponse:
    """Add the monitors of a CSV or OPML file and show what became of each line."""
    form = ImportForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form, "columns": NAMES}
    if request.method == "POST" and form.is_valid():
        try:
            report = actions.import_monitors(
                person_of(request), read_file(form.cleaned_data["file"].read(MOST_BYTES + 1))
            )
            context |= {"report": report, "counts": Counter(line.result for line in report)}
        except InvalidFile as error:
            form.add_error("file", file_error(error))
    return render(request, "sitemaps/import.html", context, status=422 if form.errors else 200)


@require_GET
def opml(request: HttpRequest) -> HttpResponse:
    """All monitors as OPML: folders are outlines, tags are categories."""
    rows = MonitorTask.objects.of(person_of(request)).order_by("folder", "name", "pk")
    folders = [(name, list(found)) for name, found in groupby(rows, key=lambda monitor: monitor.folder)]
    answer = render(request, "sitemaps/monitors.opml", {"folders": folders, "now": clock.now()})
    answer["Content-Type"] = "text/x-opml; charset=utf-8"
    answer["Content-Disposition"] = 'attachment; filename="monitors.opml"'
    return answer
