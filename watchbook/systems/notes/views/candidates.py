"""Candidate pages: list, adding, retrying, starting a run; and the keywords that are searched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.exports import export
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.lists import Shown
from watchbook.kit.paging import Page, keyset
from watchbook.systems.notes import actions, filters, options
from watchbook.systems.notes.access import work_required
from watchbook.systems.notes.forms import CandidatesForm, KeywordForm, add_form_error
from watchbook.systems.notes.models import Candidate, CandidateStatus, Keyword
from watchbook.systems.notes.rules import MAX_RETRY, NotesError
from watchbook.systems.notes.views import adapter_problem, head, reason_text, top_url


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
    form = CandidatesForm(request.POST)
    if form.is_valid():
        try:
            stored = actions.add_candidates({"items": form.items()})
        except NotesError as error:
            form.add_error("lines", _where(error))
        else:
            messages.success(request, _added(stored))
            return redirect("notes:candidates")
    return _show(request, form, status=422)


def _where(error: NotesError) -> str:
    """The sentence, with the number of the line where there is one."""
    found = error.details[0] if error.details else {}
    number = str(found.get("field", "")).removeprefix("items.").partition(".")[0]
    sentence = _(error.message)
    if not number.isdigit():
        return sentence
    return _("Line %(n)s: %(sentence)s") % {"n": int(number) + 1, "sentence": sentence}


def _added(stored: dict[str, Any]) -> str:
    added, known = stored["added"], stored["known"]
    words = ngettext("%(n)s candidate added.", "%(n)s candidates added.", added) % {"n": added}
    if known:
        words += " " + ngettext("%(n)s was already known.", "%(n)s were already known.", known) % {"n": known}
    return words


def _show(request: HttpRequest, form: CandidatesForm, status: int = 200) -> HttpResponse:
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
    }
    return render(request, "notes/candidates.html", context, status=status)


def _listing(request: HttpRequest) -> Shown[Candidate]:
    declared = filters.CANDIDATES_IN_STATE if request.GET.get("status") else filters.CANDIDATES
    return declared.show(Candidate.objects.all(), request.GET)


@work_required
@require_POST
def collect(request: HttpRequest) -> HttpResponse:
    closed = adapter_problem()
    if closed:
        messages.error(request, closed)
    elif not options.RUNNER.value:
        messages.warning(request, _("The built-in runner is disabled: NOTES_RUNNER is off."))
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


KEYWORDS_PER_PAGE = 50
STEPS = ("on", "off", "search")


@dataclass(frozen=True)
class KeywordLine:
    row: Keyword
    # How many candidates of the word are in each state.
    states: dict[str, int] = field(default_factory=dict)

    @property
    def error(self) -> str:
        """The last error is kept as `CODE: sentence`."""
        _code, _colon, sentence = self.row.last_error.partition(": ")
        return _(sentence) if sentence else self.row.last_error


@require_GET
def keywords(request: HttpRequest) -> HttpResponse:
    return _show_keywords(request, KeywordForm())


@work_required
@require_POST
def add_keyword(request: HttpRequest) -> HttpResponse:
    form = KeywordForm(request.POST)
    if form.is_valid():
        try:
            keyword, is_new = actions.add_keyword(form.cleaned_data["keyword"])
        except NotesError as error:
            add_form_error(form, error)
        else:
            words = _("Keyword added: %(word)s") if is_new else _("Keyword already exists and is enabled: %(word)s")
            messages.success(request, words % {"word": keyword.keyword})
            return redirect(top_url("keywords"))
    return _show_keywords(request, form, status=422)


@work_required
@require_POST
def keyword_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    if step not in STEPS:
        raise Http404
    keyword = get_object_or_404(Keyword, pk=pk)
    if step == "search":
        _search(request, keyword)
    else:
        actions.set_keyword_active(keyword, step == "on")
        words = _("Keyword enabled: %(word)s") if step == "on" else _("Keyword disabled: %(word)s")
        messages.success(request, words % {"word": keyword.keyword})
    return redirect("notes:keywords")


def _search(request: HttpRequest, keyword: Keyword) -> None:
    closed = adapter_problem()
    if closed:
        messages.error(request, closed)
        return
    actions.search_soon(keyword, user=person_of(request), request=request)
    messages.success(request, _("Search queued."))


def _show_keywords(request: HttpRequest, form: KeywordForm, status: int = 200) -> HttpResponse:
    page = keyset(Keyword.objects.all(), request.GET, size=KEYWORDS_PER_PAGE)
    context = {
        **head(request, "keywords"),
        "page": page,
        "lines": _lines(page),
        "every_minutes": options.SEARCH_EVERY.value * 60,
        "form": form,
    }
    return render(request, "notes/keywords.html", context, status=status)


def _lines(page: Page[Keyword]) -> list[KeywordLine]:
    words = [row.keyword for row in page]
    counted = Candidate.objects.filter(source_keyword__in=words).order_by()
    states: dict[str, dict[str, int]] = {}
    for word, state, count in counted.values_list("source_keyword", "status").annotate(n=Count("pk")):
        states.setdefault(word, {})[state] = count
    return [KeywordLine(row, states.get(row.keyword, {})) for row in page]
