"""Keyword pages: the list with its filters, one keyword with its settings, deleting it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export
from watchbook.systems.notes import filters, options
from watchbook.systems.notes.access import work_required
from watchbook.systems.notes.actions import keywords as actions
from watchbook.systems.notes.forms import KeywordForm, SearchForm, add_form_error
from watchbook.systems.notes.models import Candidate, Keyword, SearchSort, SearchType, TimeRange
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.views import adapter_problem, head, top_url

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

    @property
    def narrowed(self) -> list[str]:
        """How the search differs from a plain one, in words."""
        row, shown = self.row, []
        if row.sort != SearchSort.GENERAL:
            shown.append(row.get_sort_display())
        if row.note_type != SearchType.ALL:
            shown.append(row.get_note_type_display())
        if row.time_range != TimeRange.ANY:
            shown.append(row.get_time_range_display())
        return shown

    @property
    def every_seconds(self) -> int:
        return (self.row.every_minutes or options.SEARCH_EVERY.value) * 60


@require_GET
def keywords(request: HttpRequest) -> HttpResponseBase:
    listing = filters.KEYWORDS.show(Keyword.objects.all(), request.GET)
    return export(request, listing) or _show(request, KeywordForm())


@work_required
@require_POST
def add_keyword(request: HttpRequest) -> HttpResponse:
    form = KeywordForm(request.POST)
    if form.is_valid():
        try:
            keyword, is_new = actions.add_keyword(
                form.cleaned_data["keyword"], user=person_of(request), **form.values()
            )
        except NotesError as error:
            add_form_error(form, error)
        else:
            words = _("Keyword added: %(word)s") if is_new else _("Keyword already exists and is enabled: %(word)s")
            messages.success(request, words % {"word": keyword.keyword})
            return redirect(top_url("keywords"))
    return _show(request, form, status=422)


@work_required
@require_POST
def keyword_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    if step not in STEPS:
        raise Http404
    keyword = get_object_or_404(Keyword, pk=pk)
    if step == "search":
        _search(request, keyword)
    else:
        actions.set_keyword_active(keyword, step == "on", user=person_of(request))
        words = _("Keyword resumed: %(word)s") if step == "on" else _("Keyword paused: %(word)s")
        messages.success(request, words % {"word": keyword.keyword})
    return redirect("notes:keywords")


def _search(request: HttpRequest, keyword: Keyword) -> None:
    closed = adapter_problem()
    if closed:
        messages.error(request, closed)
        return
    actions.search_soon(keyword, user=person_of(request), request=request)
    messages.success(request, _("Search queued."))


@work_required
@require_http_methods(["GET", "POST"])
def keyword(request: HttpRequest, pk: int) -> HttpResponse:
    """One keyword: how it is searched, and deleting it."""
    row = get_object_or_404(Keyword, pk=pk)
    form = SearchForm(request.POST) if request.method == "POST" else SearchForm(initial=_initial(row))
    if form.is_bound and form.is_valid():
        actions.change_keyword(row, form.values(), user=person_of(request))
        messages.success(request, _("Keyword saved: %(word)s") % {"word": row.keyword})
        return redirect("notes:keywords")
    [line] = _lines([row])
    context = {**head(request, "keywords"), "line": line, "row": row, "form": form}
    return render(request, "notes/keyword.html", context, status=422 if form.errors else 200)


@work_required
@require_POST
def delete_keyword(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Keyword, pk=pk)
    actions.delete_keyword(row, user=person_of(request))
    messages.success(request, _("Keyword deleted: %(word)s") % {"word": row.keyword})
    return redirect("notes:keywords")


def _initial(row: Keyword) -> dict[str, Any]:
    names = ("sort", "note_type", "time_range")
    return {**{name: getattr(row, name) for name in names}, "every_hours": hours_text(row.every_minutes)}


def hours_text(minutes: int | None) -> str:
    """Minutes as hours for a field: 90 is 1.5; empty for the setting of this server."""
    if not minutes:
        return ""
    return f"{(Decimal(minutes) / 60).quantize(Decimal('0.01')).normalize():f}"


def _show(request: HttpRequest, form: KeywordForm, status: int = 200) -> HttpResponse:
    listing = filters.KEYWORDS.show(Keyword.objects.all(), request.GET)
    context = {
        **head(request, "keywords"),
        "listing": listing,
        "page": listing.page,
        "lines": _lines(listing.page),
        "total": Keyword.objects.count(),
        "every_seconds": options.SEARCH_EVERY.value * 60,
        "form": form,
    }
    return render(request, "notes/keywords.html", context, status=status)


def _lines(rows: Iterable[Keyword]) -> list[KeywordLine]:
    words = [row.keyword for row in rows]
    counted = Candidate.objects.filter(source_keyword__in=words).order_by()
    states: dict[str, dict[str, int]] = {}
    for word, state, count in counted.values_list("source_keyword", "status").annotate(n=Count("pk")):
        states.setdefault(word, {})[state] = count
    return [KeywordLine(row, states.get(row.keyword, {})) for row in rows]
