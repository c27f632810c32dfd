"""What a page said before: its versions, the difference of two, and going back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET, require_POST

from watchbook.core.ui.paging import keyset
from watchbook.library import actions
from watchbook.library.store.news import page_path
from watchbook.library.views.frame import frame
from watchbook.library.views.text import for_reading
from watchbook.library.views.ways import answers, done, reader

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
        "created": pgettext("version", "made"), "saved": _("saved"), "autosaved": _("saved by itself"),
        "restored": _("restored"), "imported": _("imported"), "clipped": _("clipped"), "copied": _("copied"),
    }  # fmt: skip


def _number(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@require_POST
@answers
def restore_version(request: HttpRequest, page_id: UUID, number: int) -> HttpResponse:
    actions.restore_version(reader(request), page_id, min(number, 2**31 - 1))
    return done(request, page_path(page_id), _("Version %(n)s is the newest again.") % {"n": number})
