"""The page view: a folder as a list, a page as its text, the actions on it, and its share links."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.kit.formatting import moment_text
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import NotFound, VersionConflict
from watchbook.systems.library.models import NodeType, Page, ShareLink, SpaceRole
from watchbook.systems.library.parse.html import clean, to_text
from watchbook.systems.library.parse.links import FILE_PATH
from watchbook.systems.library.parse.markdown import to_markdown
from watchbook.systems.library.parse.reading import Heading, with_anchors, with_boxes, with_roles
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import (
    answers,
    done,
    editor,
    given,
    given_id,
    given_number,
    is_script,
    reader,
    together,
)
from watchbook.systems.library.views.folder import rows_of, show_folder
from watchbook.systems.library.views.layout import frame
from watchbook.systems.library.views.links import with_links
from watchbook.systems.library.views.order import about

# The cleaner writes attributes in double quotes, whatever stood there before.
_IMAGE = re.compile(r'<img((?:\s+[a-z]+="[^"]*")*)\s*/?>')
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
_WORD = re.compile("[\u3400-\u9fff]|[^\\W\u3400-\u9fff]+")


def for_reading(content: str) -> SafeString:
    return shown(content)[0]


def shown(content: str) -> tuple[SafeString, list[Heading]]:
    """Return the text as readers see it, and its outline."""
    text, outline = with_anchors(with_boxes(with_roles(_IMAGE.sub(_as_shown, clean(content)))))
    return mark_safe(text), outline  # noqa: S308 - cleaned by the allow-list


def words_in(content: str) -> int:
    """Count words; each Chinese character counts as one."""
    return sum(1 for _found in _WORD.finditer(to_text(content)))


def _as_shown(found: re.Match[str]) -> str:
    """Our own pictures are shown; one of another server is a link, so that reading a page asks no other server."""
    address, words = _picture(found)
    if address.startswith(FILE_PATH):
        return found[0].replace("<img", '<img loading="lazy"', 1)
    return str(format_html('<a class="far-image" href="{}" rel="noopener noreferrer">{}</a>', address, words))


def _picture(found: re.Match[str]) -> tuple[str, str]:
    """Return address and description of a picture."""
    parts = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found[1])}
    return parts.get("src", ""), parts.get("alt") or _("picture")


RAIL = 6
INSIDE = 50


@require_GET
@answers
def page(request: HttpRequest, page_id: UUID) -> HttpResponse:
    try:
        found = actions.open_page(reader(request), page_id)
    except NotFound:
        # Stream and mails keep leading here; users who may read the space find the page where it is now.
        trashed = actions.open_trashed(reader(request), page_id)
        messages.info(request, _("%(title)s moved to trash.") % {"title": trashed.title})
        return redirect("library:trash", space_id=trashed.space_id)
    way = actions.breadcrumb(reader(request), page_id)
    if found.node_type == NodeType.FOLDER:
        return show_folder(request, found.space, found, way)
    around = frame(reader(request), found.space, way)
    context = {**around, **_file(request, found), "may_file": around["may_write"], "may_folder": False}
    context |= together.comments_of(request, found)
    context |= about(request, found)
    context |= with_links(reader(request), found, context["text"])
    if around["may_write"]:
        context |= _writing(request, found, context["links"].broken)
        context["suggested"] = actions.list_suggestions(reader(request), page_id).count()
        context["shares"] = actions.list_shares(reader(request), page_id).count()
    return render(request, "library/page.html", context)


def _file(request: HttpRequest, found: Page) -> dict[str, Any]:
    inside = actions.list_children(reader(request), page_id=found.pk, limit=INSIDE)
    source = actions.source_state(reader(request), found)
    origin = source.origin if source else None
    text, outline = shown(found.content)
    return {
        "page": found,
        "text": text,
        "outline": outline,
        "word_count": words_in(found.content),
        "rows": rows_of(reader(request), inside.items),
        "next": inside.next,
        **_history(request, found),
        "origin": origin,
        "source": source,
        "system": actions.system_name(origin.source) if origin else "",
        "is_watching": actions.is_watching(reader(request), found),
        "is_favourite": found.favourites.filter(user=reader(request)).exists(),
    }


def _writing(request: HttpRequest, found: Page, broken: list[str]) -> dict[str, Any]:
    """What the editor needs; with `view=markdown` the text as Markdown, in a field that works without a script."""
    addresses = editor.addresses(found, broken)
    if request.GET.get("view") == "markdown":
        return {"markdown": to_markdown(found.content), "addresses": addresses, "words": {}}
    return {"addresses": addresses, "words": editor.words()}


def _history(request: HttpRequest, found: Page) -> dict[str, Any]:
    """The newest versions, beside the text."""
    return {"page": found, "versions": actions.list_versions(reader(request), found.pk)[:RAIL]}


@require_POST
@answers
def save(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Save what the editor sends every few seconds, or the plain form without a script."""
    try:
        saved = actions.save_page(
            reader(request), page_id, version=given_number(request, "version"),
            title=given(request, "title"), content=editor.written(request), autosave=given(request, "auto") == "1",
        )  # fmt: skip
    except VersionConflict as conflict:
        if not is_script(request):
            raise
        told = {"code": conflict.code, "message": conflict.message, "by": conflict.details["current"]["updated_by"]}
        return JsonResponse({"error": told}, status=conflict.status)
    if not is_script(request):
        return done(request, page_path(page_id), _("Saved."))
    # Someone else saved before: the editor gets what it does not show yet.
    is_merged = saved.version > given_number(request, "version") + saved.is_written
    merged = {"title": saved.title, "content": saved.content} if is_merged else {}
    if is_merged and "markdown" in request.POST:
        merged["markdown"] = to_markdown(saved.content)
    return JsonResponse(
        {
            **merged,
            "version": saved.version,
            "saved": _("Saved %(time)s") % {"time": moment_text(saved.updated_at, "time")},
            "when": render_to_string("library/_saved.html", {"page": saved}, request),
            "by": _("by %(name)s") % {"name": saved.updated_by.email} if saved.updated_by else "",
            "words": words_in(saved.content),
            # Not only the new one: autosaves are joined, so an older row may be gone.
            "history": render_to_string("library/_versions.html", _history(request, saved), request),
        }
    )


@require_POST
@answers
def rename(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Change the title, whatever the text is now."""
    found = actions.open_page(reader(request), page_id)
    actions.save_page(reader(request), page_id, version=found.version, title=given(request, "title"))
    return done(request, page_path(page_id), _("Renamed."))


@require_POST
@answers
def move(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Move by drag and drop: below `parent` (empty: top level), after `after` or before `before`."""
    found = actions.open_page(reader(request), page_id)
    before = _place_of(found)
    actions.move_page(
        reader(request), page_id, parent_page_id=given_id(request, "parent"),
        after_page_id=given_id(request, "after"), before_page_id=given_id(request, "before"),
    )  # fmt: skip
    undo = f"{reverse('library:move', args=[page_id])}?{before}"
    return done(request, page_path(page_id), _("%(title)s was moved.") % {"title": found.title}, undo=undo)


def _place_of(found: Page) -> str:
    """Return the current position as parameters for Undo."""
    siblings = Page.objects.below(found.space_id, found.parent_page_id).exclude(pk=found.pk)
    ahead = siblings.filter(sort_key__lte=found.sort_key).order_by("-sort_key", "-id").first()
    behind = None if ahead else siblings.in_order().first()
    parts = {"parent": found.parent_page_id, "after": ahead and ahead.pk, "before": behind and behind.pk}
    return "&".join(f"{name}={value}" for name, value in parts.items() if value)


@require_POST
@answers
def duplicate(request: HttpRequest, page_id: UUID) -> HttpResponse:
    made = actions.duplicate_page(reader(request), page_id)
    return done(request, page_path(made.pk), _("Page duplicated. This is the copy."))


@require_POST
@answers
def trash(request: HttpRequest, page_id: UUID) -> HttpResponse:
    found = actions.open_page(reader(request), page_id)
    actions.trash_page(reader(request), page_id)
    above = page_path(found.parent_page_id) if found.parent_page_id else reverse("library:space", args=[found.space_id])
    if is_script(request):
        undo = reverse("library:restore", args=[page_id])
        return done(request, above, _("%(title)s moved to trash.") % {"title": found.title}, undo=undo)
    return redirect(f"{above}?trashed={page_id}")


@require_POST
@answers
def pin(request: HttpRequest, page_id: UUID) -> HttpResponse:
    pinned = given(request, "on") == "1"
    actions.pin_page(reader(request), page_id, pinned=pinned)
    words = _("Pinned for all members of this space.") if pinned else _("Unpinned.")
    return done(request, page_path(page_id), words)


@require_POST
@answers
def favourite(request: HttpRequest, page_id: UUID) -> HttpResponse:
    kept = given(request, "on") == "1"
    actions.set_favourite(reader(request), page_id, kept=kept)
    words = _("Added to favourites.") if kept else _("Removed from favourites.")
    return done(request, page_path(page_id), words)


DAYS = {"7": 7, "30": 30, "365": 365}


@never_cache
@require_http_methods(["GET", "POST"])
@answers
def share(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """The links that open, and a new one; its address is in this one answer and nowhere else."""
    user = reader(request)
    page = access.page_for(user, page_id, SpaceRole.WRITER)
    context: dict[str, Any] = {"page": page, "now": clock.now()}
    if request.method == "POST":
        days = DAYS.get(given(request, "days"))
        until = clock.now() + timedelta(days=days) if days else None
        _link, token = actions.share_page(user, page_id, expires_at=until)
        context["address"] = settings.PUBLIC_URL + reverse("library:shared", args=[token])
    context["links"] = list(actions.list_shares(user, page_id)[:100])
    context |= frame(user, page.space, actions.breadcrumb(user, page_id))
    return render(request, "library/share.html", context)


@require_POST
@answers
def revoke(request: HttpRequest, link_id: UUID) -> HttpResponse:
    link = ShareLink.objects.filter(pk=link_id).only("page_id").first()
    actions.revoke_share(reader(request), link_id)
    address = reverse("library:share", args=[link.page_id]) if link else reverse("library:overview")
    return done(request, address, _("Revoked. This address answers nothing any more."))


@login_not_required  # the token in the address is the proof
@never_cache
@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    try:
        page = actions.open_share(token)
    except NotFound:
        raise Http404 from None
    # The pictures of a shared page open with its token, not with an account.
    shown = for_reading(page.content).replace(f'="{FILE_PATH}', f'="/library/shared/{token}/files/')
    text = mark_safe(shown)  # noqa: S308 - cleaned, and the token is from the address of a page that was found
    answer = render(request, "library/shared.html", {"page": page, "text": text})
    answer.headers["X-Robots-Tag"] = "noindex"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer
