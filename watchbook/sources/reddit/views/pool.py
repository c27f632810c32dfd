"""Loading a pool: a file that an operator brings, or the sample that ships with the program."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.forms import PoolForm
from watchbook.sources.reddit.models import CommunityPool
from watchbook.sources.reddit.places import HOME
from watchbook.sources.reddit.pool import SAMPLE
from watchbook.sources.reddit.views.head import head


@staff_required
@require_http_methods(["GET", "POST"])
def pool(request: HttpRequest) -> HttpResponse:
    form = PoolForm(request.POST, request.FILES) if request.method == "POST" else PoolForm()
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["file"].name
        return _loaded(request, actions.load_entries(form.entries, name, actor=request.user))
    context: dict[str, Any] = {
        **head(request, "communities"),
        "form": form,
        "pool_count": CommunityPool.objects.count(),
        "off_count": CommunityPool.objects.filter(is_active=False).count(),
    }
    return render(request, "reddit/pool.html", context, status=422 if form.errors else 200)


@staff_required
@require_POST
def sample(request: HttpRequest) -> HttpResponse:
    return _loaded(request, actions.load_pool(SAMPLE, actor=request.user))


def _loaded(request: HttpRequest, tally: dict[str, int]) -> HttpResponse:
    words = _("%(added)s communities added, %(updated)s updated, %(total)s in the pool. The first visits are due now.")
    messages.success(request, words % tally)
    return redirect(HOME)
