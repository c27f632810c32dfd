"""Creator pages: the list with its filters, one creator with its settings and gap, deleting it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export
from watchbook.systems.notes import filters, options
from watchbook.systems.notes.access import work_required
from watchbook.systems.notes.actions import keywords as actions
from watchbook.systems.notes.forms import CreatorForm, CreatorSettings, add_form_error
from watchbook.systems.notes.models import Candidate, CandidateStatus, Creator
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.store.creators import platform_id
from watchbook.systems.notes.views import adapter_problem, head, top_url
from watchbook.systems.notes.views.keywords import hours_text

STEPS = ("on", "off", "check", "full")


@dataclass(frozen=True)
class CreatorLine:
    row: Creator
    pending: int = 0
    collected: int = 0

    @property
    def error(self) -> str:
        """The last error is kept as `CODE: sentence`."""
        _code, _colon, sentence = self.row.last_error.partition(": ")
        return _(sentence) if sentence else self.row.last_error

    @property
    def every_seconds(self) -> int:
        return (self.row.every_minutes or options.CREATOR_EVERY.value) * 60


@require_GET
def creators(request: HttpRequest) -> HttpResponseBase:
    listing = filters.CREATORS.show(Creator.objects.all(), request.GET)
    return export(request, listing) or _show(request, CreatorForm())


@work_required
@require_POST
def add_creator(request: HttpRequest) -> HttpResponse:
    form = CreatorForm(request.POST)
    if form.is_valid():
        try:
            row, is_new = actions.add_creator(form.cleaned_data["creator"], user=person_of(request), **form.values())
        except NotesError as error:
            add_form_error(form, error)
        else:
            words = _("Creator added: %(name)s") if is_new else _("Creator already exists and is enabled: %(name)s")
            messages.success(request, words % {"name": row.title})
            return redirect(top_url("creators"))
    return _show(request, form, status=422)


@require_GET
def creator(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Creator, pk=pk)
    initial = {"label": row.label, "every_hours": hours_text(row.every_minutes)}
    return _show_one(request, row, CreatorSettings(initial=initial))


@work_required
@require_POST
def settings(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Creator, pk=pk)
    form = CreatorSettings(request.POST)
    if not form.is_valid():
        return _show_one(request, row, form, status=422)
    actions.change_creator(row, form.values(), user=person_of(request))
    messages.success(request, _("Creator saved: %(name)s") % {"name": row.title})
    return redirect("notes:creator", row.pk)


def _show_one(request: HttpRequest, row: Creator, form: CreatorSettings, status: int = 200) -> HttpResponse:
    [line] = _lines([row])
    latest = Candidate.objects.filter(creator=row).order_by("-created_at", "-pk")[:10]
    context = {**head(request, "creators"), "row": row, "line": line, "latest": latest, "form": form}
    return render(request, "notes/creator.html", context, status=status)


@work_required
@require_POST
def creator_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    if step not in STEPS:
        raise Http404
    row = get_object_or_404(Creator, pk=pk)
    if step in ("on", "off"):
        actions.change_creator(row, {"is_active": step == "on"}, user=person_of(request))
        words = _("Creator resumed: %(name)s") if step == "on" else _("Creator paused: %(name)s")
        messages.success(request, words % {"name": row.title})
    elif closed := adapter_problem():
        messages.error(request, closed)
    else:
        actions.check_soon(row, full=step == "full", user=person_of(request), request=request)
        messages.success(request, _("Check queued."))
    return redirect("notes:creator", row.pk) if step == "full" else redirect("notes:creators")


@work_required
@require_POST
def delete_creator(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Creator, pk=pk)
    actions.delete_creator(row, user=person_of(request))
    messages.success(request, _("Creator deleted: %(name)s") % {"name": row.title})
    return redirect("notes:creators")


@work_required
@require_GET
def profile(request: HttpRequest, pk: int) -> HttpResponse:
    """Open the profile on the platform. Its ID is in no page."""
    user_id = platform_id(get_object_or_404(Creator, pk=pk))
    if not user_id:
        raise Http404
    url = f"{options.PAGE_URL.value.rstrip('/')}/user/profile/{user_id}"
    return HttpResponseRedirect(url, headers={"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})


def _show(request: HttpRequest, form: CreatorForm, status: int = 200) -> HttpResponse:
    listing = filters.CREATORS.show(Creator.objects.all(), request.GET)
    context: dict[str, Any] = {
        **head(request, "creators"),
        "listing": listing,
        "page": listing.page,
        "lines": _lines(listing.page),
        "total": Creator.objects.count(),
        "every_seconds": options.CREATOR_EVERY.value * 60,
        "form": form,
    }
    return render(request, "notes/creators.html", context, status=status)


def _lines(rows: Iterable[Creator]) -> list[CreatorLine]:
    """One query for the candidates of all rows."""
    counted = Candidate.objects.filter(creator__in=[row.pk for row in rows]).order_by().values("creator_id")
    counts = {
        one["creator_id"]: (one["pending"], one["collected"])
        for one in counted.annotate(
            pending=Count("pk", filter=Q(status=CandidateStatus.PENDING)),
            collected=Count("pk", filter=Q(status=CandidateStatus.COLLECTED)),
        )
    }
    return [CreatorLine(row, *counts.get(row.pk, (0, 0))) for row in rows]
