"""Candidate pages: list, pasting links, retrying, starting a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.lists import Shown
from watchbook.systems.notes import actions, filters, options
from watchbook.systems.notes.access import work_required
from watchbook.systems.notes.actions.paste import ADDED, KNOWN, Pasted, add_pasted
from watchbook.systems.notes.forms import CandidatesForm, add_form_error
from watchbook.systems.notes.models import Candidate, CandidateStatus
from watchbook.systems.notes.rules import MAX_RETRY, NotesError
from watchbook.systems.notes.views import adapter_problem, head, reason_text


@dataclass(frozen=True)
class Line:
    row: Candidate

    @property
    def badge(self) -> Badge:
        return badges.find("candidate", self.row.status)

    @property
    def error(self) -> str:
        """Why it failed, while that is still what is to be said about it."""
        row = self.row
        if not row.last_error_code or row.status == CandidateStatus.COLLECTED:
            return ""
        return reason_text(row.last_error_code, row.last_error_reason, row.last_error_message)


@require_GET
def candidates(request: HttpRequest) -> HttpResponseBase:
    return export(request, _listing(request)) or _show(request, CandidatesForm())


@work_required
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Every link of the text is a candidate or is refused; what was refused stays in the field with its reason."""
    form = CandidatesForm(request.POST)
    if not form.is_valid():
        return _show(request, form, status=422)
    try:
        found = add_pasted(form.cleaned_data["lines"])
    except NotesError as error:
        add_form_error(form, error)
        return _show(request, form, status=422)
    if not found.refused:
        messages.success(request, _added(found))
        return redirect("notes:candidates")
    rest = CandidatesForm(initial={"lines": "\n".join(one.text for one in found.refused)})
    said = _added(found) if len(found.refused) < len(found.results) else ""
    return _show(request, rest, status=422, refused=found.refused, added=said)


def _added(found: Pasted) -> str:
    added, known = found.count(ADDED), found.count(KNOWN)
    words = ngettext("%(n)s candidate added.", "%(n)s candidates added.", added) % {"n": added}
    if known:
        words += " " + ngettext("%(n)s was already known.", "%(n)s were already known.", known) % {"n": known}
    return words


def _show(request: HttpRequest, form: CandidatesForm, status: int = 200, **report: Any) -> HttpResponse:
    listing = _listing(request)
    counts = dict(Candidate.objects.order_by().values_list("status").annotate(n=Count("pk")))
    context = {
        **head(request, "candidates"),
        "listing": listing,
        "page": listing.page,
        "lines": [Line(row) for row in listing.page],
        "total": sum(counts.values()),
        "failed_count": counts.get(CandidateStatus.FAILED, 0),
        "most_tries": MAX_RETRY,
        "form": form,
        **report,
    }
    return render(request, "notes/candidates.html", context, status=status)


def _listing(request: HttpRequest) -> Shown[Candidate]:
    declared = filters.CANDIDATES_IN_STATE if request.GET.get("status") else filters.CANDIDATES
    return declared.show(Candidate.objects.select_related("creator"), request.GET)


@work_required
@require_POST
def collect(request: HttpRequest) -> HttpResponse:
    closed = adapter_problem()
    if closed:
        messages.error(request, closed)
    elif not options.RUNNER.value:
        messages.warning(request, _("The built-in runner is disabled in the settings."))
    else:
        actions.collect_soon(user=person_of(request), request=request)
        messages.success(request, _("Run queued."))
    return redirect("notes:executions")


@work_required
@require_POST
def retry_failed(request: HttpRequest) -> HttpResponse:
    """The candidates that are named, or with `all` every failed one."""
    ids = set(request.POST.getlist("note_id"))
    count = actions.retry_failed(None if request.POST.get("all") else [one for one in ids if one.isprintable()])
    left = 0 if request.POST.get("all") else len(ids) - count
    if count:
        words = ngettext("%(n)s candidate is pending again.", "%(n)s candidates are pending again.", count)
        words %= {"n": count}
        if left:
            words += " " + _("Not failed, so not changed: %(n)s.") % {"n": left}
        messages.success(request, words)
    else:
        messages.info(request, _("No failed candidates selected."))
    return redirect(_back(request))


def _back(request: HttpRequest) -> str:
    """To the list that the button stood in."""
    place = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(place, allowed_hosts=None) and place.startswith(
        reverse("notes:candidates")
    )
    return place if is_ours else reverse("notes:candidates")
