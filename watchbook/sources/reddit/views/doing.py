"""What operators do: crawl now, visit one community, switch it, wish another tier. All of it is in the audit log."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.core.accounts.access import staff_required
from watchbook.core.accounts.redirects import is_safe
from watchbook.sources.reddit import actions, options
from watchbook.sources.reddit.places import HOME, community_path
from watchbook.sources.reddit.views.head import community_or_404, is_operator, live_work


@staff_required
@require_POST
def crawl(request: HttpRequest) -> HttpResponse:
    if _may_ask(request):
        _say(request, actions.crawl_soon(request=request))
    return redirect(HOME)


@staff_required
@require_POST
def visit(request: HttpRequest, name: str) -> HttpResponse:
    row = community_or_404(name)
    if _may_ask(request):
        _say(request, actions.visit_soon(row.community_name, request=request))
    return redirect(community_path(row.community_name))


@staff_required
@require_POST
def switch(request: HttpRequest, name: str) -> HttpResponse:
    """On when `on` is given, else off. Back to where it was pressed."""
    row = community_or_404(name)
    is_on = request.POST.get("on") == "1"
    actions.set_active(row.community_name, is_on, actor=request.user)
    on, off = _("%(name)s is watched again; its next visit is due now."), _("%(name)s is not visited any more.")
    words = on if is_on else off
    messages.success(request, words % {"name": row.community_name})
    back = request.POST.get("next", "")
    return redirect(back if is_safe(back) and back.startswith(HOME) else community_path(row.community_name))


@staff_required
@require_POST
def wish(request: HttpRequest, name: str) -> HttpResponse:
    row = community_or_404(name)
    try:
        changed = actions.set_wish(row.community_name, request.POST.get("tier", ""), actor=request.user)
    except actions.WrongValue as error:
        messages.error(request, error.message)
    else:
        words = _("Saved. It is visited at least every %(n)s hours.")
        messages.success(request, words % {"n": changed.crawl_frequency_hours})
    return redirect(community_path(row.community_name))


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The crawl that goes on, swapped every two seconds; the page is loaded anew when it has ended."""
    if not getattr(request, "htmx", False):
        return redirect(HOME)
    work = live_work()
    if work is None:
        return HttpResponse(headers={"HX-Refresh": "true"})
    context = {"work": work, "now": clock.now(), "is_operator": is_operator(request)}
    return render(request, "reddit/_work.html", context)


def _may_ask(request: HttpRequest) -> bool:
    if not options.is_live():
        messages.error(request, _("REDDIT_CLIENT_ID and REDDIT_CLIENT_SECRET are not set: nothing is fetched."))
    return options.is_live()


def _say(request: HttpRequest, run: Any) -> None:
    if run is None:
        messages.info(request, _("It waits or runs already."))
        return
    messages.success(request, _("It is in the queue."))
