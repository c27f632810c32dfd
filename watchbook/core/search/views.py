"""The search page: its form, its results, and saving, pausing and deleting a saved search."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.core import registry
from watchbook.core.accounts.access import person_of, viewer_scopes
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search import query as queries
from watchbook.core.search import reindex
from watchbook.core.search import saved as actions
from watchbook.core.search.compiling import known_kinds, type_names
from watchbook.core.search.find import Count, Hit, Page, count, find
from watchbook.core.search.models import NAME_LENGTH, QUERY_LENGTH, SavedSearch, SearchDocument
from watchbook.core.search.query import Query
from watchbook.kit.charts import Chart, Series, bars
from watchbook.kit.formatting import number_text
from watchbook.kit.paging import InvalidCursor

EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 31)


class AskForm(forms.Form):
    """The address of the search page. Whatever cannot be read counts as not asked."""

    q = forms.CharField(required=False, strip=True)
    source = forms.CharField(required=False, max_length=40)
    since = forms.DateField(
        required=False, label=gettext_lazy("Seen since"), widget=forms.DateInput(attrs={"type": "date"})
    )
    cursor = forms.CharField(required=False, max_length=60)

    def clean_source(self) -> str:
        slug: str = self.cleaned_data["source"]
        return slug if slug in {source.slug for source in registry.sources()} else ""

    def clean_since(self) -> date | None:
        day: date | None = self.cleaned_data["since"]
        if day is not None and not EARLIEST <= day <= LATEST:
            raise forms.ValidationError(gettext_lazy("Enter a date between 1970 and 2199."))
        return day

    @property
    def since_moment(self) -> datetime | None:
        """The beginning of that day where the reader is."""
        day = self.cleaned_data.get("since")
        return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone()) if day else None


class SaveForm(forms.Form):
    """Fields of a saved search."""

    # A paused channel is not offered for new searches; where it was chosen before, it stays chosen.
    shows_paused = False

    q = forms.CharField(max_length=QUERY_LENGTH, label=gettext_lazy("Query"))
    source = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)
    name = forms.CharField(max_length=NAME_LENGTH, label=gettext_lazy("Name"))
    channels = forms.ModelMultipleChoiceField(
        NotificationChannel.objects.none(),
        required=False,
        label=gettext_lazy("Channel"),
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = NotificationChannel.objects.of(user).order_by("name", "pk")
        self.fields["channels"].queryset = own if self.shows_paused else own.filter(is_active=True)  # type: ignore[attr-defined]
        self.fields["q"].widget.attrs |= {
            "hx-get": reverse("preview_search"),
            "hx-trigger": "input changed delay:400ms",
            "hx-target": "#preview",
            "hx-swap": "outerHTML",
            "hx-include": "closest form",
        }


class EditForm(SaveForm):
    """Fields of a saved search that exists, with the types of items that it matches."""

    shows_paused = True
    kinds = forms.MultipleChoiceField(
        required=False,
        label=gettext_lazy("Types"),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Nothing chosen: all types."),
    )
    field_order = ("name", "q", "kinds", "channels")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["source"]
        kinds: Any = self.fields["kinds"]
        kinds.choices = [
            (kind.name, place_of(_(source.title), _(kind.title)))
            for source in registry.sources()
            for kind in source.search_kinds
        ]


PER_PAGE = 30
SIZE_IS_KEPT_SECONDS = 300


@dataclass(frozen=True)
class Row:
    """A hit with the words and the icon of its system."""

    hit: Hit
    icon: str
    place: str

    @property
    def body(self) -> str:
        return "".join(part.text for part in self.hit.body_parts)


@dataclass(frozen=True)
class SourceFilter:
    """A filter by system. The number is empty when not all were counted."""

    slug: str
    title: str
    number: int | None
    is_current: bool


@dataclass(frozen=True)
class Found:
    """The answer to what the form asked."""

    query: Query
    rows: tuple[Row, ...]
    next: str
    filters: tuple[SourceFilter, ...]
    count: Count | None
    milliseconds: int
    items: int

    @property
    def shown_items(self) -> str:
        return f"{self.items:,}"


def answer(form: AskForm, scopes: Sequence[str]) -> Found:
    asked = queries.read(form.cleaned_data.get("q", ""))
    slug = form.cleaned_data.get("source", "")
    cursor = form.cleaned_data.get("cursor", "")
    begun = perf_counter()
    page = _page(asked, form, scopes, kinds_of(slug) if slug else None, cursor)
    counted = None
    if asked and not cursor:
        counted = count(asked, scopes=scopes, since=form.since_moment, recent_since=actions.preview_since())
    return Found(
        query=asked,
        rows=tuple(_row(hit) for hit in page.items),
        next=page.next,
        filters=_filters(slug, counted),
        count=counted,
        milliseconds=round((perf_counter() - begun) * 1000),
        items=size(scopes),
    )


def kinds_of(slug: str) -> list[str]:
    return [kind.name for kind in registry.source(slug).search_kinds]


def help_rows() -> list[tuple[str, str]]:
    """The query language in a short table: what is typed, what it finds."""
    place = next((source.slug for source in registry.sources() if source.search_kinds), "")
    types = ", ".join(type_names())
    return [
        ("a b", _("both words, in any order")),
        ("a OR b", _("one of the two; OR joins its neighbours")),
        ("-a", _("without this word")),
        ('"a b"', _("the exact phrase")),
        ("(a b) OR c", _("brackets group")),
        ("a*", _("words that begin so")),
        ("title:a", _("in the title")),
        ('author:"a b"', _("by this author")),
        (f"in:{place}", _("from this source; a part of it follows after a slash")),
        ("type:…", types),
        ("site:example.com", _("from this website and its subdomains")),
        ("after:2026-03 before:2026-04-15", _("published from the first date on, before the second")),
        ("score>=100", _("a number: >=, >, <=, <, =")),
    ]


def size(scopes: Sequence[str]) -> int:
    """How many documents this person searches. Counting a million rows takes a while, so it is kept for minutes."""
    key = "search-size:" + hashlib.sha256("\n".join(sorted(scopes)).encode()).hexdigest()[:32]
    return int(cache.get_or_set(key, SearchDocument.objects.visible_to(scopes).count, SIZE_IS_KEPT_SECONDS) or 0)


def _page(asked: Query, form: AskForm, scopes: Sequence[str], kinds: list[str] | None, cursor: str) -> Page[Hit]:
    try:
        return find(asked, scopes=scopes, kinds=kinds, since=form.since_moment, limit=PER_PAGE, before=cursor or None)
    except InvalidCursor:
        return find(asked, scopes=scopes, kinds=kinds, since=form.since_moment, limit=PER_PAGE)


def _row(hit: Hit) -> Row:
    for source in registry.sources():
        if source.slug == hit.source:
            kinds = {kind.name: _(kind.title) for kind in source.search_kinds}
            return Row(hit, source.icon, place_of(_(source.title), kinds.get(hit.kind, "")))
    return Row(hit, "search", hit.source)


def place_of(system: str, kind: str) -> str:
    """Return source and kind, or the kind alone where its title begins with the name of the source."""
    if kind.casefold().startswith(system.casefold().removesuffix("s")):
        return kind
    return f"{system}, {kind}" if kind else system


def _filters(current: str, counted: Count | None) -> tuple[SourceFilter, ...]:
    filters = [SourceFilter("", _("Everything"), _number(counted, None), not current)]
    for source in registry.sources():
        if source.search_kinds:
            number = _number(counted, {kind.name for kind in source.search_kinds})
            filters.append(SourceFilter(source.slug, _(source.title), number, current == source.slug))
    return tuple(filters)


def _number(counted: Count | None, kinds: set[str] | None) -> int | None:
    if counted is None or not counted.is_whole:
        return None
    return sum(number for kind, number in counted.by_kind.items() if kinds is None or kind in kinds)


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    return _show(request, AskForm(request.GET))


@require_GET
def preview_search(request: HttpRequest) -> HttpResponse:
    """What the query of the form would have matched, counted by the search itself."""
    asked = AskForm(request.GET)
    asked.is_valid()
    query = queries.read(asked.cleaned_data.get("q", ""))
    return render(request, "search/_preview.html", {"preview": _preview(request, asked, query)})


def _counted_preview(asked: AskForm, counted: Count | None) -> actions.Preview | None:
    """The preview, where counting the hits has answered it: all were counted, or as many as are counted are recent."""
    if counted is None or asked.cleaned_data.get("source") or asked.since_moment:
        return None
    if not counted.is_whole and counted.recent < counted.total:
        return None
    return actions.Preview(counted.recent, counted.is_whole, actions.PREVIEW_DAYS)


def _preview(request: HttpRequest, asked: AskForm, query: Query) -> actions.Preview:
    slug = asked.cleaned_data.get("source", "")
    # The form of a saved search sends types, the search page its source.
    kinds = kinds_of(slug) if slug else [kind for kind in request.GET.getlist("kinds") if kind in known_kinds()]
    return actions.preview(person_of(request), query, kinds)


@require_POST
def save_search(request: HttpRequest) -> HttpResponse:
    form = SaveForm(request.POST, user=person_of(request))
    if form.is_valid() and _save(request, form):
        messages.success(request, _("Search saved. You get one notification for each new match."))
        return redirect(f"{reverse('search')}?{urlencode({'q': form.cleaned_data['q']})}")
    asked = AskForm({"q": request.POST.get("q", ""), "source": request.POST.get("source", "")})
    return _show(request, asked, form, status=422)


@require_http_methods(["GET", "POST"])
def edit_search(request: HttpRequest, pk: int) -> HttpResponse:
    """Change name, query, types and channels."""
    saved = get_object_or_404(SavedSearch.objects.of(person_of(request)).select_related("user"), pk=pk)
    start = {"name": saved.name, "q": saved.query, "kinds": saved.kinds, "channels": saved.channels.all()}
    form = EditForm(request.POST if request.method == "POST" else None, initial=start, user=saved.user)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            actions.change(saved, name=data["name"], query=data["q"], kinds=data["kinds"], channels=data["channels"])
        except ValidationError as error:
            _show_errors(form, error, {"query": "q"})
        else:
            messages.success(request, _("Saved."))
            return redirect("search")
    context = {
        "saved": saved,
        "form": form,
        "preview": actions.preview(saved.user, queries.read(form["q"].value() or ""), form["kinds"].value() or ()),
        "mentions": _mentions(saved),
    }
    return render(request, "search/edit.html", context, status=422 if form.errors else 200)


def _mentions(saved: SavedSearch) -> Chart:
    """Draw the matches of the last days."""
    found = actions.mentions(saved.user, queries.read(saved.query), saved.kinds)
    total = sum(matches or 0 for _day, matches in found)
    label = ngettext("%(n)s match in %(days)s days", "%(n)s matches in %(days)s days", total) % {
        "n": number_text(total),
        "days": len(found),
    }
    series = Series(pgettext("chart", "matches"), [matches for _day, matches in found], "c-h1")
    return bars([day for day, _matches in found], [series], label=label)


def _show_errors(form: SaveForm, error: ValidationError, fields: dict[str, str]) -> None:
    for name, texts in error.message_dict.items():
        form.add_error(fields.get(name, name), texts)


@require_POST
def pause_search(request: HttpRequest, pk: int) -> HttpResponse:
    saved = get_object_or_404(SavedSearch.objects.of(person_of(request)), pk=pk)
    actions.set_active(saved, active=not saved.is_active)
    return redirect("search")


@require_POST
def remove_search(request: HttpRequest, pk: int) -> HttpResponse:
    saved = get_object_or_404(SavedSearch.objects.of(person_of(request)), pk=pk)
    actions.remove(saved)
    messages.success(request, _("Deleted: %(name)s") % {"name": saved.name})
    return redirect("search")


def _save(request: HttpRequest, form: SaveForm) -> bool:
    data = form.cleaned_data
    slug = AskForm({"source": data["source"]})
    slug.is_valid()
    kinds = kinds_of(slug.cleaned_data["source"]) if slug.cleaned_data["source"] else []
    try:
        actions.save(person_of(request), name=data["name"], query=data["q"], kinds=kinds, channels=data["channels"])
    except ValidationError as error:
        _show_errors(form, error, {"query": "name", "kinds": "name"})
        return False
    return True


def _show(request: HttpRequest, ask: AskForm, save: SaveForm | None = None, status: int = 200) -> HttpResponse:
    ask.is_valid()
    found = answer(ask, viewer_scopes(request.user))
    context: dict[str, Any] = {"ask": ask, "found": found}
    if found.query:
        start = {"q": found.query.text, "source": ask.cleaned_data.get("source", ""), "name": found.query.text[:60]}
        context["save"] = save or SaveForm(initial=start, user=person_of(request))
        context["preview"] = _counted_preview(ask, found.count) or _preview(request, ask, found.query)
        context["saved_count"] = SavedSearch.objects.of(person_of(request)).count()
    else:
        context["saved"] = SavedSearch.objects.of(person_of(request)).prefetch_related("channels")
    context |= {"longest": QUERY_LENGTH, "help": help_rows(), "reindexing": reindex.progress()}
    return render(request, "search/search.html", context, status=status)
