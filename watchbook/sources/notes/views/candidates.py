"""Notes that were found and are to be collected: by state, by the word that found them, with the reason of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.paging import keyset, with_values
from watchbook.sources.notes import actions
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.forms import CandidatesForm
from watchbook.sources.notes.models import Candidate, CandidateStatus, Keyword
from watchbook.sources.notes.rules import MAX_RETRY
from watchbook.sources.notes.views.head import head
from watchbook.sources.notes.views.wanted import Wanted, wanted_of
from watchbook.sources.notes.views.words import reason_text

PER_PAGE = 30
KEYWORDS_OFFERED = 200


@dataclass(frozen=True)
class Line:
    row: Candidate

    @property
    def badge(self) -> Badge:
        return badges.find("candidate", self.row.status)

    @property
    def trouble(self) -> str:
        """Why it failed, while that is still what is to be said about it."""
        row = self.row
        if not row.last_error_code or row.status == CandidateStatus.COLLECTED:
            return ""
        return reason_text(row.last_error_code, row.last_error_reason, row.last_error_message)


@dataclass(frozen=True)
class Chip:
    badge: Badge
    count: int
    query: str
    is_on: bool


@require_GET
def candidates(request: HttpRequest) -> HttpResponse:
    return _show(request, CandidatesForm())


@staff_required
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    form = CandidatesForm(request.POST)
    if form.is_valid():
        try:
            stored = actions.add_candidates({"items": form.items()})
        except Trouble as trouble:
            form.add_error("lines", _where(trouble))
        else:
            messages.success(request, _added(stored))
            return redirect("notes:candidates")
    return _show(request, form, status=422)


def _where(trouble: Trouble) -> str:
    """The sentence, with the number of the line where there is one."""
    found = trouble.details[0] if trouble.details else {}
    number = str(found.get("field", "")).removeprefix("items.").partition(".")[0]
    sentence = _(trouble.message)
    if not number.isdigit():
        return sentence
    return _("Line %(n)s: %(sentence)s") % {"n": int(number) + 1, "sentence": sentence}


def _added(stored: dict[str, Any]) -> str:
    added, known = stored["added"], stored["known"]
    words = ngettext("%(n)s candidate is added.", "%(n)s candidates are added.", added) % {"n": added}
    if known:
        words += " " + ngettext("%(n)s was known already.", "%(n)s were known already.", known) % {"n": known}
    return words


def _show(request: HttpRequest, form: CandidatesForm, status: int = 200) -> HttpResponse:
    wanted = wanted_of(request.GET, status=tuple(CandidateStatus.values))
    # In a state they stand by the time that they came into the queue, which has an index; all of them by when found.
    page = keyset(_narrowed(wanted), request.GET, by="queued_at" if wanted.status else "created_at", size=PER_PAGE)
    counts = dict(Candidate.objects.order_by().values_list("status").annotate(n=Count("pk")))
    context = {
        **head(request, "candidates"),
        "wanted": wanted,
        "page": page,
        "lines": [Line(row) for row in page],
        "chips": _chips(request, wanted, counts),
        "total": sum(counts.values()),
        "failed_count": counts.get(CandidateStatus.FAILED, 0),
        "keywords": _keywords(wanted),
        "most_tries": MAX_RETRY,
        "form": form,
    }
    return render(request, "notes/candidates.html", context, status=status)


def _narrowed(wanted: Wanted) -> Any:
    rows = Candidate.objects.filter(wanted.between("created_at"))
    if wanted.status:
        rows = rows.filter(status=wanted.status)
    if wanted.keyword:
        rows = rows.filter(source_keyword=wanted.keyword)
    if wanted.q:
        # Not icontains: where titles are compared byte by byte it tells A from a.
        rows = rows.alias(folded=Lower("title"))
        rows = rows.filter(Q(note_id=wanted.q) | Q(folded__contains=wanted.q.lower()))
    return rows


def _chips(request: HttpRequest, wanted: Wanted, counts: dict[str, int]) -> list[Chip]:
    return [
        Chip(
            badges.find("candidate", state),
            counts.get(state, 0),
            with_values(request.GET, status="" if wanted.status == state else state),
            wanted.status == state,
        )
        for state in CandidateStatus.values
    ]


def _keywords(wanted: Wanted) -> list[str]:
    found = list(Keyword.objects.order_by("pk").values_list("keyword", flat=True)[:KEYWORDS_OFFERED])
    return found if not wanted.keyword or wanted.keyword in found else [wanted.keyword, *found]
