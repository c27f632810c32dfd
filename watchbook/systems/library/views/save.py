"""Saving a page of the web: the form that a bookmark or the share menu of a phone opens, and reading a source again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from watchbook.base.text import clean_text, cut
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.core.accounts.models import User
from watchbook.core.sources import records
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import NotAllowed, NotFound, Problem, Wrong
from watchbook.systems.library.models import Page
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import answers, done, given, given_id, reader
from watchbook.systems.library.views.layout import targets_in, writable
from watchbook.systems.library.views.transfer import chosen_space, first_space

# Opens the form beside the page that is read; the address is all that leaves the browser.
BOOKMARKLET = (
    "javascript:void(open('%s?url='+encodeURIComponent(location.href)+'&title='+encodeURIComponent(document.title)))"
)


@require_http_methods(["GET", "POST"])
@answers
def save(request: HttpRequest) -> HttpResponse:
    """Show an address and choose a space and folder; POST reads the page and saves it. GET requests nothing."""
    url = _address(request)
    if request.method == "POST":
        try:
            return _save(request, url)
        except (NotFound, NotAllowed):
            raise
        except Problem as problem:
            context = {**_form(request, url), "problem": problem}
            return render(request, "library/save.html", context, status=problem.status)
    return render(request, "library/save.html", _form(request, url))


def _address(request: HttpRequest) -> str:
    """The address that was given; other apps name it in a text, with words around it."""
    for name in ("url", "text"):
        if found := records.read(given(request, name)).url:
            return found
    return ""


def _form(request: HttpRequest, url: str) -> dict[str, Any]:
    user = reader(request)
    spaces = writable(user)
    chosen = chosen_space(request, spaces)
    clips = actions.clips_folder(user, chosen.pk) if chosen and url else None
    return {
        "url": url, "title": cut(" ".join(clean_text(given(request, "title")).split()), 500), "spaces": spaces,
        "space": chosen, "clips": str(clips or ""), "known": _known(user, url) if url else None,
        "targets": targets_in(user, chosen, (), first=clips) if chosen and url else [],
        "bookmarklet": BOOKMARKLET % f"{settings.PUBLIC_URL.rstrip('/')}{reverse('library:save_address')}",
    }  # fmt: skip


def _save(request: HttpRequest, url: str) -> HttpResponse:
    if not url:
        raise Wrong("url", _("Enter the address of a web page."))
    space_id = given_id(request, "space") if given(request, "space") != "first" else None
    if space_id is None and given(request, "space") != "first":
        raise Wrong("space", _("Choose a space."))
    parent = given_id(request, "parent") if given(request, "parent") != "top" else None
    place = space_id or (lambda: first_space(request))
    made = actions.save_address(
        reader(request), url, space_id=place, parent_page_id=parent, title=given(request, "title")
    )
    return done(request, page_path(made.pk), _("Saved to library."))


def _known(user: User, url: str) -> Page | None:
    """Return a page that was saved from this address, if the user can view it."""
    try:
        address = check_url(url).url
    except WebError:
        return None
    rows = access.readable(user).live().filter(origin__link=address)
    return rows.select_related("space").defer("content").order_by("-created_at").first()


@require_POST
@answers
def read_source(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Read the web page that a clip was saved from again, and say whether it changed."""
    state = actions.read_source(reader(request), page_id)
    if state.has_changed:
        return done(
            request, reverse("library:source", args=[page_id]), _("The web page has changed since it was saved.")
        )
    return done(request, page_path(page_id), _("The web page has not changed since it was saved."))
