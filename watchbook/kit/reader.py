"""The reader of a page: language, time zone, theme (from account, cookie or browser), and messages to the reader."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import check_for_language

THEMES = ("", "light", "dark")
THEME_COOKIE = "watchbook_theme"
# The marks that HTML wants; Django's own codes are lower case.
HTML_LANG = {"en": "en", "zh-hans": "zh-Hans"}
_YEAR = 365 * 24 * 3600


def language_of(user: Any) -> str:
    """The language that the account asks for, or empty."""
    wanted = getattr(user, "language", "")
    return wanted if wanted in dict(settings.LANGUAGES) and check_for_language(wanted) else ""


def zone_of(user: Any) -> ZoneInfo:
    name = getattr(user, "time_zone", "") or settings.TIME_ZONE
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo(settings.TIME_ZONE)


def theme_of(request: HttpRequest, user: Any) -> str:
    """light, dark, or empty for what the reader's system says."""
    wanted = getattr(user, "theme", "") if user else request.COOKIES.get(THEME_COOKIE, "")
    return wanted if wanted in THEMES else ""


def keep_in_cookie(response: HttpResponseBase, name: str, value: str) -> None:
    if value:
        response.set_cookie(
            name, value, max_age=_YEAR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE, httponly=True
        )
    else:
        response.delete_cookie(name, samesite="Lax")


def done(request: HttpRequest, response: HttpResponse, text: str, *, undo_url: str = "") -> HttpResponse:
    """Confirm an action: a toast after an htmx request, else a message. A POST to `undo_url` undoes it."""
    if getattr(request, "htmx", False):
        # Headers are ASCII; json.dumps escapes everything else.
        response.headers["HX-Trigger"] = json.dumps({"toast": {"text": str(text), "undo": undo_url}})
    else:
        messages.success(request, text)
    return response
