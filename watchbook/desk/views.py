"""Home, the list of keys, the two switches in the top bar, and the end of the first steps."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.accounts.access import safe_next
from watchbook.desk.home import home_page
from watchbook.kit.reader import THEME_COOKIE, THEMES, keep_in_cookie


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "desk/home.html", home_page(request))


@require_GET
def keys(request: HttpRequest) -> HttpResponse:
    return render(request, "desk/keys.html")


@login_not_required
@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    """Kept on the account when there is one, and in a cookie for the sign-in page."""
    language = request.POST.get("language", "")
    response = HttpResponseRedirect(safe_next(request, request.POST.get("next", "")))
    if language in dict(settings.LANGUAGES):
        _remember(request, "language", language)
        keep_in_cookie(response, settings.LANGUAGE_COOKIE_NAME, language)
    return response


@login_not_required
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """An empty theme follows the reader's system again."""
    theme = request.POST.get("theme", "")
    response = HttpResponseRedirect(safe_next(request, request.POST.get("next", "")))
    if theme in THEMES:
        _remember(request, "theme", theme)
        keep_in_cookie(response, THEME_COOKIE, theme)
    return response


@require_POST
def finish_onboarding(request: HttpRequest) -> HttpResponse:
    _remember(request, "has_completed_onboarding", True)
    return redirect("home")


def _remember(request: HttpRequest, name: str, value: str | bool) -> None:
    user = request.user
    if user.is_authenticated and getattr(user, name) != value:
        setattr(user, name, value)
        user.save(update_fields=[name])
