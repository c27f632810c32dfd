"""Links of a page for its rail, and pages that name it without a link."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.core.accounts.models import User
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page
from watchbook.systems.library.parse.links import mark_broken
from watchbook.systems.library.views import answers, reader
from watchbook.systems.library.views.layout import frame


def with_links(user: User, page: Page, text: str) -> dict[str, Any]:
    """Return the links of a page and its text, in which links to pages that are gone or hidden are marked."""
    found = actions.links_of(user, page)
    shown = mark_safe(mark_broken(text, found.broken, broken_link()))  # noqa: S308 - the text is clean, the words are ours
    return {"links": found, "text": shown}


def broken_link() -> str:
    """Return what is said at a link that leads nowhere for this user."""
    return _("This page is in the trash, was deleted, or is not shared with you.")


@require_GET
@answers
def mentions(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Pages that name this page without a link, searched when asked for; with htmx only the list."""
    user = reader(request)
    found = actions.open_page(user, page_id)
    context = {"page": found, "mentions": actions.unlinked_mentions(user, page_id)}
    if request.headers.get("HX-Request"):
        return render(request, "library/_mentions.html", context)
    context |= {**frame(user, found.space, actions.breadcrumb(user, page_id)), "links": actions.links_of(user, found)}
    return render(request, "library/mentions.html", context)
