"""Versions of a page, the difference of two, restoring one; and merging after an editing conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.kit.diff import Segment, segments
from watchbook.kit.paging import keyset
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import VersionConflict
from watchbook.systems.library.models import Page, PageVersion, SpaceRole
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.parse.merge import Part, merge_title, merged_text
from watchbook.systems.library.parse.merge import merge as merge_texts
from watchbook.systems.library.store.pages import clean_content
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.store.text import is_sent_again
from watchbook.systems.library.views import answers, done, editor, given, given_number, reader
from watchbook.systems.library.views.layout import frame
from watchbook.systems.library.views.page import for_reading

PER_PAGE = 50


@require_GET
@answers
def history(request: HttpRequest, page_id: UUID) -> HttpResponse:
    user = reader(request)
    found = actions.open_page(user, page_id)
    versions = keyset(actions.list_versions(user, page_id), request.GET, by="number", size=PER_PAGE)
    words = reasons()
    for each in versions:
        each.reason_words = words.get(each.reason, each.reason)
    context: dict[str, Any] = {
        **frame(user, found.space, actions.breadcrumb(user, page_id)),
        "page": found,
        "versions": versions,
        "version_count": actions.list_versions(user, page_id).count(),
    }
    if versions.items:
        new = _number(request, "new") or versions.items[0].number
        old = _number(request, "old") or actions.version_before(user, page_id, new)
        shown = actions.open_version(user, page_id, new)
        context |= {"old": old, "new": new, "shown": shown, "text": for_reading(shown.content)}
        if old != new:
            context["diff"] = actions.compare_versions(user, page_id, old, new)
    return render(request, "library/history.html", context)


def reasons() -> dict[str, str]:
    return {
        "created": pgettext("version", "created"), "saved": _("saved"), "autosaved": _("autosaved"),
        "restored": _("restored"), "imported": _("imported"), "clipped": _("clipped"), "copied": _("copied"),
    }  # fmt: skip


def _number(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@require_POST
@answers
def restore_version(request: HttpRequest, page_id: UUID, number: int) -> HttpResponse:
    actions.restore_version(reader(request), page_id, min(number, 2**31 - 1))
    return done(request, page_path(page_id), _("Version %(n)s restored.") % {"n": number})


@require_http_methods(["GET", "POST"])
@answers
def source(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Compare a clip with its source as it is now; POST saves that, merged with what members changed."""
    user = reader(request)
    page = actions.open_page(user, page_id)
    if request.method == "POST":
        try:
            actions.update_clip(user, page_id)
        except VersionConflict as conflict:
            yours = conflict.details["yours"]
            return _show(request, page, yours["title"], yours["content"], yours["version"])
        return done(request, page_path(page_id), _("Updated from the source. The version before is in the history."))
    state, difference = actions.compare_source(user, page_id)
    context = {
        **frame(user, page.space, actions.breadcrumb(user, page_id)), "page": page, "source": state,
        "diff": difference, "system": actions.system_name(state.origin.source), "old": _("Saved text"),
        "new": _("Source now"),
    }  # fmt: skip
    return render(request, "library/source.html", context)


@dataclass(frozen=True)
class Piece:
    """A part as it is shown: merged text, or two readings with what each changed."""

    number: int
    is_conflict: bool
    theirs: SafeString
    yours: SafeString
    base: SafeString | None = None
    their_changes: tuple[Segment, ...] = ()
    your_changes: tuple[Segment, ...] = ()


@require_POST
@answers
def merge(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Show the merged text; with `merged` save the choices on top of the version that was shown."""
    # Only those who can save: the versions that are merged may not be for viewers.
    found = access.page_for(reader(request), page_id, SpaceRole.WRITER)
    yours = clean_content(editor.written(request))
    title, version = given(request, "title"), given_number(request, "version")
    if not given(request, "merged"):
        return _show(request, found, title, yours, version)
    shown = actions.open_version(reader(request), page_id, given_number(request, "shown"))
    base = _version(found, version)
    chosen = {name.removeprefix("piece-"): value for name, value in request.POST.items() if name.startswith("piece-")}
    again = is_sent_again(found, reader(request), version, until=shown.number)
    parts = merge_texts(base.content if base else None, shown.content, yours, is_again=again)
    text = merged_text(parts, {key: str(value) for key, value in chosen.items()})
    try:
        actions.save_page(reader(request), page_id, version=shown.number, title=title, content=text)
    except VersionConflict:
        # Someone else saved once more: the merged text is now yours, based on the version that was shown.
        return _show(request, actions.open_page(reader(request), page_id), title, clean_content(text), shown.number)
    return done(request, page_path(page_id), _("Saved. Both versions are in the history."))


def _version(found: Page, number: int) -> PageVersion | None:
    return PageVersion.objects.filter(page=found, number=number).first()


def _show(request: HttpRequest, found: Page, title: str, yours: str, version: int) -> HttpResponse:
    base = _version(found, version)
    again = is_sent_again(found, reader(request), version, until=found.version)
    parts = merge_texts(base.content if base else None, found.content, yours, is_again=again)
    merged, is_conflict = merge_title(base.title if base else None, found.title, title, is_again=again)
    context: dict[str, Any] = {
        **frame(reader(request), found.space, actions.breadcrumb(reader(request), found.pk)),
        "page": found,
        "by": found.updated_by,
        "title": merged,
        "is_title_conflict": is_conflict,
        "yours": yours,
        "version": version,
        "pieces": [_piece(number, part) for number, part in enumerate(parts)],
        "merged": sum(not part.is_conflict for part in parts),
        "conflicts": sum(part.is_conflict for part in parts) + is_conflict,
    }
    return render(request, "library/merge.html", context)


def _piece(number: int, part: Part) -> Piece:
    theirs, yours = "".join(part.theirs), "".join(part.yours)
    if not part.is_conflict:
        return Piece(number, False, for_reading(theirs), for_reading(""))
    if not part.base:
        return Piece(number, True, for_reading(theirs), for_reading(yours))
    base = "".join(part.base)
    changes = (segments(to_text(base), to_text(side)) for side in (theirs, yours))
    return Piece(number, True, for_reading(theirs), for_reading(yours), for_reading(base), *changes)
