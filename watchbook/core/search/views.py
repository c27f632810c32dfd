"""The search page and what can be done on it: save a search, pause it, remove it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.search import saved as actions
from watchbook.core.search.forms import AskForm, SaveForm
from watchbook.core.search.models import QUERY_LENGTH, SavedSearch
from watchbook.core.search.pages import answer, kinds_of


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    return _show(request, AskForm(request.GET))


@require_POST
def save_search(request: HttpRequest) -> HttpResponse:
    form = SaveForm(request.POST, user=request.user)
    if form.is_valid() and _save(request, form):
        messages.success(request, _("Saved. Each new match is told once, from now on."))
        return redirect(f"{reverse('search')}?{urlencode({'q': form.cleaned_data['q']})}")
    asked = AskForm({"q": request.POST.get("q", ""), "source": request.POST.get("source", "")})
    return _show(request, asked, form, status=422)


@require_POST
def pause_search(request: HttpRequest, pk: int) -> HttpResponse:
    saved = get_object_or_404(SavedSearch.objects.of(request.user), pk=pk)
    actions.set_active(saved, active=not saved.is_active)
    return redirect("search")


@require_POST
def remove_search(request: HttpRequest, pk: int) -> HttpResponse:
    saved = get_object_or_404(SavedSearch.objects.of(request.user), pk=pk)
    saved.delete()
    messages.success(request, _("Removed: %(name)s") % {"name": saved.name})
    return redirect("search")


def _save(request: HttpRequest, form: SaveForm) -> bool:
    data = form.cleaned_data
    slug = AskForm({"source": data["source"]})
    slug.is_valid()
    kinds = kinds_of(slug.cleaned_data["source"]) if slug.cleaned_data["source"] else []
    try:
        actions.save(request.user, name=data["name"], query=data["q"], kinds=kinds, channels=data["channels"])
    except ValidationError as error:
        for name, texts in error.message_dict.items():
            field = {"query": "name", "kinds": "name"}.get(name, name)
            form.add_error(field, texts)
        return False
    return True


def _show(request: HttpRequest, ask: AskForm, save: SaveForm | None = None, status: int = 200) -> HttpResponse:
    ask.is_valid()
    found = answer(ask, viewer_scopes(request.user))
    context: dict[str, Any] = {"ask": ask, "found": found}
    if found.query:
        start = {"q": found.query.text, "source": ask.cleaned_data.get("source", ""), "name": found.query.text[:60]}
        context["save"] = save or SaveForm(initial=start, user=request.user)
        context["saved_count"] = SavedSearch.objects.of(request.user).count()
    else:
        context["saved"] = SavedSearch.objects.of(request.user).prefetch_related("channels")
    context["longest"] = QUERY_LENGTH
    return render(request, "search/search.html", context, status=status)
