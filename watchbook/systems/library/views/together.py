"""Comments beside a page, who is here, watching, and suggested edits. Every form works without a script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.kit.diff import Difference, compare
from watchbook.systems.library import actions
from watchbook.systems.library.access import space_role
from watchbook.systems.library.errors import VersionConflict
from watchbook.systems.library.models import NodeType, Page, PageVersion, SpaceRole, Suggestion
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.parse.markdown import to_markdown
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import answers, done, editor, given, given_number, reader
from watchbook.systems.library.views.layout import frame


def comments_of(request: HttpRequest, page: Page) -> dict[str, Any]:
    """What the list of comments shows."""
    user = reader(request)
    role = space_role(user, page.space)
    return {
        "page": page,
        "threads": actions.list_threads(user, page.pk),
        "resolved": actions.list_threads(user, page.pk, resolved=True),
        "may_resolve": role in (SpaceRole.WRITER, SpaceRole.ADMIN),
        "me": user,
    }


@require_POST
@answers
def comments(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Add a comment."""
    page = actions.open_page(reader(request), page_id)
    actions.add_comment(reader(request), page_id, words=given(request, "text"), quote=given(request, "quote"))
    return _list(request, page)


@require_POST
@answers
def reply(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    comment = actions.reply_to(reader(request), thread_id, words=given(request, "text"))
    return _list(request, comment.thread.page)


@require_POST
@answers
def resolve(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    thread = actions.resolve_thread(reader(request), thread_id, resolved=given(request, "on") != "0")
    return _list(request, thread.page)


def _list(request: HttpRequest, page: Page) -> HttpResponse:
    if request.headers.get("HX-Request") == "true":
        return render(request, "library/_comments.html", comments_of(request, page))
    return redirect(f"{page_path(page.pk)}#comments")


@require_POST
@answers
def here(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Note that the reader is on the page; the answer shows the others."""
    others = actions.be_here(reader(request), page_id)
    return render(request, "library/_here.html", {"others": others, "names": ", ".join(one.email for one in others)})


@require_POST
@answers
def watch(request: HttpRequest, page_id: UUID) -> HttpResponse:
    watched = given(request, "on") == "1"
    actions.set_watch(reader(request), page_id, watched=watched)
    words = _("You are notified of changes and comments.") if watched else _("You no longer watch this.")
    return done(request, page_path(page_id), words)


@require_http_methods(["GET", "POST"])
@answers
def suggest(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """A form with the page as Markdown, for members who cannot edit it."""
    user = reader(request)
    page = actions.open_page(user, page_id)
    if request.method == "POST":
        actions.suggest_edit(
            user, page_id, version=given_number(request, "version"), title=given(request, "title"),
            content=editor.written(request),
        )  # fmt: skip
        return done(request, page_path(page_id), _("Sent to the editors of this page."))
    if page.node_type == NodeType.FOLDER:
        return redirect(page_path(page_id))
    context = frame(user, page.space, actions.breadcrumb(user, page_id))
    return render(request, "library/suggest.html", {**context, "page": page, "markdown": to_markdown(page.content)})


@dataclass(frozen=True)
class Shown:
    """A suggested edit and what it changes."""

    suggestion: Suggestion
    difference: Difference
    old_title: str
    old_name: str
    new_name: str


@require_GET
@answers
def suggestions(request: HttpRequest, page_id: UUID) -> HttpResponse:
    user = reader(request)
    rows = list(actions.list_suggestions(user, page_id))
    page = actions.open_page(user, page_id)
    numbers = {row.version for row in rows}
    bases = {one.number: one for one in PageVersion.objects.filter(page=page, number__in=numbers)}
    shown = [_shown(row, bases.get(row.version), page) for row in rows]
    context = frame(user, page.space, actions.breadcrumb(user, page_id))
    return render(request, "library/suggestions.html", {**context, "page": page, "suggestions": shown})


def _shown(row: Suggestion, base: PageVersion | None, page: Page) -> Shown:
    old = base.content if base else page.content
    names = _("Version %(n)s") % {"n": base.number if base else page.version}, _("Suggested edit")
    return Shown(row, compare(to_text(old), to_text(row.content)), base.title if base else page.title, *names)


@require_POST
@answers
def decide(request: HttpRequest, suggestion_id: UUID) -> HttpResponse:
    """Accept or reject a suggested edit."""
    user = reader(request)
    if given(request, "accept") != "1":
        page = actions.reject_suggestion(user, suggestion_id)
        return done(request, f"{page_path(page.pk)}suggestions/", _("Rejected."))
    try:
        page = actions.accept_suggestion(user, suggestion_id)
    except VersionConflict as conflict:
        conflict.message = _("The page has changed in the same place. Reject the edit, or make it by hand.")
        raise
    return done(request, page_path(page.pk), _("Accepted. The edit is saved."))
