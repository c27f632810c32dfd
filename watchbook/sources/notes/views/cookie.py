"""One cookie of the pool: its state, its uses, and what an operator does with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.core.ui.paging import keyset
from watchbook.sources.notes import actions, vault
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.forms import LimitsForm, ReplaceForm, complain
from watchbook.sources.notes.models import Cookie, CookieLease
from watchbook.sources.notes.rules import COOL, COUNTED, DEAD, HEAVY
from watchbook.sources.notes.views.head import head, top_of
from watchbook.sources.notes.views.pool import lines_of
from watchbook.sources.notes.views.words import reason_text

PER_PAGE = 30
CHARGES = {
    COUNTED: pgettext_lazy("charge", "one error"),
    COOL: pgettext_lazy("charge", "cools"),
    HEAVY: pgettext_lazy("charge", "one error, cools"),
    DEAD: pgettext_lazy("charge", "invalid"),
}


@dataclass(frozen=True)
class Use:
    row: CookieLease

    @property
    def charge(self) -> str:
        return str(CHARGES.get(self.row.charge, self.row.charge))


@staff_required
@require_GET
def cookie(request: HttpRequest, pk: int) -> HttpResponse:
    return _show(request, get_object_or_404(Cookie, pk=pk))


@sensitive_post_parameters("cookie")
@staff_required
@require_POST
def replace(request: HttpRequest, pk: int) -> HttpResponse:
    """A new secret under the same name, with a clean record."""
    row = get_object_or_404(Cookie, pk=pk)
    form = ReplaceForm(request.POST)
    if form.is_valid():
        plain = form.cleaned_data.pop("cookie")
        try:
            actions.add_cookie(row.cookie_name, plain, platform=row.platform, user=request.user)
        except Trouble as trouble:
            complain(form, trouble)
        else:
            messages.success(request, _("Replaced. Nothing of the past is held against it."))
            return redirect(top_of("cookie", pk))
    return _show(request, row, replacing=form, status=422)


@staff_required
@require_POST
def limits(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Cookie, pk=pk)
    form = LimitsForm(request.POST)
    if form.is_valid():
        try:
            actions.change_cookie(row.cookie_name, user=request.user, **form.cleaned_data)
        except Trouble as trouble:
            complain(form, trouble)
        else:
            messages.success(request, _("Saved."))
            return redirect(top_of("cookie", pk))
    return _show(request, row, limiting=form, status=422)


@staff_required
@require_POST
def step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    steps = {"on": _enable, "off": _disable, "reset": _reset, "probe": _probe}
    if step not in steps:
        raise Http404
    row = get_object_or_404(Cookie, pk=pk)
    try:
        steps[step](request, row)
    except Trouble as trouble:
        messages.error(request, _(trouble.message))
    return redirect("notes:cookie", pk)


def _enable(request: HttpRequest, row: Cookie) -> None:
    actions.switch_cookie(row.cookie_name, on=True, user=request.user)
    messages.success(request, _("It is in turn again."))


def _disable(request: HttpRequest, row: Cookie) -> None:
    actions.switch_cookie(row.cookie_name, on=False, user=request.user)
    messages.success(request, _("It is out of turn. Its state and counts stay."))


def _reset(request: HttpRequest, row: Cookie) -> None:
    actions.reset_cookie(row.cookie_name, user=request.user)
    messages.success(request, _("Active again, with nothing held against it."))


def _probe(request: HttpRequest, row: Cookie) -> None:
    found = actions.probe_cookie(row.cookie_name, user=request.user)
    if found["success"]:
        messages.success(request, _("The platform answered: the cookie works."))
    else:
        messages.warning(request, reason_text(found["code"], found["reason"]))


def _show(
    request: HttpRequest,
    row: Cookie,
    *,
    replacing: ReplaceForm | None = None,
    limiting: LimitsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = head(request, "cookies")
    [line] = lines_of([row], shown["now"])
    page = keyset(CookieLease.objects.filter(cookie=row), request.GET, by="leased_at", size=PER_PAGE)
    start = {name: getattr(row, name) for name in ("priority", "daily_limit", "user_agent")}
    context: dict[str, Any] = {
        **shown,
        "line": line,
        "cookie": row,
        "page": page,
        "uses": [Use(lease) for lease in page],
        "pool_closed": _(vault.why_closed()) if vault.why_closed() else "",
        "is_current_key": not vault.why_closed() and row.encryption_key_id == vault.current_key_id(),
        "replacing": replacing or ReplaceForm(),
        "limiting": limiting or LimitsForm(initial=start),
    }
    return render(request, "notes/cookie.html", context, status=status)
