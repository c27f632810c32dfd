"""Every request is answered in its reader's language, zone and theme."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone, translation

from watchbook.core.ui import reader


class Reader:
    """Stands after the session, so that an account's wishes win over what the browser asks for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Without a session cookie there is nobody to look up: probes and tokens cost no query.
        known = settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated
        user = request.user if known else None
        if language := reader.language_of(user):
            translation.activate(language)
            request.LANGUAGE_CODE = translation.get_language()
        request.theme = reader.theme_of(request, user)  # type: ignore[attr-defined]
        with timezone.override(reader.zone_of(user)):
            return self.get_response(request)
