"""The cookie pool, for operators. A cookie goes in and is never shown again."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.core.ui.paging import keyset
from watchbook.sources.notes import actions
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.forms import CookieForm, complain
from watchbook.sources.notes.models import Breaker, Cookie
from watchbook.sources.notes.views.head import head, top_of
from watchbook.sources.notes.views.pool import lines_of, summary
from watchbook.sources.notes.views.words import reason_text

PER_PAGE = 50


@staff_required
@require_GET
def cookies(request: HttpRequest) -> HttpResponse:
    return _show(request, CookieForm())


@sensitive_post_parameters("cookie")
@staff_required
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    form = CookieForm(request.POST)
    if form.is_valid():
        name = form.cleaned_data["cookie_name"]
        if Cookie.objects.filter(cookie_name=name).exists():
            form.add_error("cookie_name", _("A cookie of this name is in the pool. Open it to replace it."))
        else:
            try:
                actions.add_cookie(user=request.user, plain=form.cleaned_data.pop("cookie"), **_values(form))
            except Trouble as trouble:
                complain(form, trouble)
            else:
                messages.success(request, _("%(name)s is in the pool, sealed.") % {"name": name})
                return redirect(top_of("cookies"))
    if "cookie" not in form.errors:
        # The field is empty again whatever was wrong, and that has to be said.
        form.add_error("cookie", _("Paste it again: it is not kept."))
    return _show(request, form, status=422)


def _values(form: CookieForm) -> dict[str, Any]:
    given = form.cleaned_data
    return {
        "name": given["cookie_name"],
        "priority": given["priority"],
        "daily_limit": given["daily_limit"],
        "user_agent": given["user_agent"],
    }


@staff_required
@require_POST
def rotate(request: HttpRequest) -> HttpResponse:
    try:
        done = actions.rotate_keys(user=request.user)
    except Trouble as trouble:
        messages.error(request, _(trouble.message))
        return redirect("notes:cookies")
    words = ngettext("%(n)s cookie is sealed anew.", "%(n)s cookies are sealed anew.", done.rotated)
    messages.success(request, words % {"n": done.rotated})
    if done.unknown:
        left = ngettext(
            "The key of %(n)s cookie is not here: %(names)s. It stays as it is.",
            "The keys of %(n)s cookies are not here: %(names)s. They stay as they are.",
            len(done.unknown),
        )
        messages.warning(request, left % {"n": len(done.unknown), "names": ", ".join(done.unknown[:10])})
    return redirect("notes:cookies")


@staff_required
@require_POST
def close_breaker(request: HttpRequest) -> HttpResponse:
    breaker = Breaker.objects.filter(open_until__isnull=False).order_by("pk").first()
    if breaker is not None and actions.close_breaker(breaker.platform, user=request.user):
        messages.success(request, _("Closed. The platform is asked again."))
    else:
        messages.info(request, _("It was closed already."))
    return redirect("notes:cookies")


def _show(request: HttpRequest, form: CookieForm, status: int = 200) -> HttpResponse:
    shown = head(request, "cookies")
    page = keyset(Cookie.objects.all(), request.GET, by="priority", size=PER_PAGE)
    pool = summary(shown["now"])
    breaker = pool["breaker"]
    context = {
        **shown,
        "page": page,
        "lines": lines_of(page.items, shown["now"]),
        "pool": pool,
        "breaker_reason": reason_text("", breaker.reason) if breaker else "",
        "form": form,
    }
    return render(request, "notes/cookies.html", context, status=status)
