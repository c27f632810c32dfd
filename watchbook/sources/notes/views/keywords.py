"""The words that are searched, when, and what they brought."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.core.ui.paging import Page, keyset
from watchbook.sources.notes import actions, options
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.forms import KeywordForm, complain
from watchbook.sources.notes.models import Candidate, Keyword
from watchbook.sources.notes.views.head import head, top_of, why_nothing_is_read

PER_PAGE = 50
STEPS = ("on", "off", "search")


@dataclass(frozen=True)
class Line:
    row: Keyword
    # How many candidates of the word are in each state.
    states: dict[str, int] = field(default_factory=dict)

    @property
    def trouble(self) -> str:
        """The last error is kept as `CODE: sentence`."""
        _code, _colon, sentence = self.row.last_error.partition(": ")
        return _(sentence) if sentence else self.row.last_error


@require_GET
def keywords(request: HttpRequest) -> HttpResponse:
    return _show(request, KeywordForm())


@staff_required
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    form = KeywordForm(request.POST)
    if form.is_valid():
        try:
            keyword, is_new = actions.add_keyword(form.cleaned_data["keyword"])
        except Trouble as trouble:
            complain(form, trouble)
        else:
            words = _("%(word)s is searched from now on.") if is_new else _("%(word)s was there already, and is on.")
            messages.success(request, words % {"word": keyword.keyword})
            return redirect(top_of("keywords"))
    return _show(request, form, status=422)


@staff_required
@require_POST
def step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    if step not in STEPS:
        raise Http404
    keyword = get_object_or_404(Keyword, pk=pk)
    if step == "search":
        _search(request, keyword)
    else:
        actions.set_keyword_active(keyword, step == "on")
        words = _("%(word)s is searched from now on.") if step == "on" else _("%(word)s is not searched any more.")
        messages.success(request, words % {"word": keyword.keyword})
    return redirect("notes:keywords")


def _search(request: HttpRequest, keyword: Keyword) -> None:
    closed = why_nothing_is_read()
    if closed:
        messages.error(request, closed)
        return
    actions.search_soon(keyword, user=request.user, request=request)
    messages.success(request, _("A search is in the queue."))


def _show(request: HttpRequest, form: KeywordForm, status: int = 200) -> HttpResponse:
    page = keyset(Keyword.objects.all(), request.GET, size=PER_PAGE)
    context = {
        **head(request, "keywords"),
        "page": page,
        "lines": _lines(page),
        "every_minutes": options.SEARCH_EVERY.value * 60,
        "form": form,
    }
    return render(request, "notes/keywords.html", context, status=status)


def _lines(page: Page[Keyword]) -> list[Line]:
    words = [row.keyword for row in page]
    counted = Candidate.objects.filter(source_keyword__in=words).order_by()
    states: dict[str, dict[str, int]] = {}
    for word, state, count in counted.values_list("source_keyword", "status").annotate(n=Count("pk")):
        states.setdefault(word, {})[state] = count
    return [Line(row, states.get(row.keyword, {})) for row in page]
