"""What can be done with selected items of any list: save them to the library, mark their entries as read.

Boxes are named `item` and have the value KIND:ID, as the page that saves them reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from watchbook.base.text import clean_text
from watchbook.core.accounts.access import person_of, safe_next
from watchbook.core.accounts.models import User
from watchbook.core.stream import clip, reading

Item = tuple[str, str]
MOST_SAVED = 50
MOST_SELECTED = 200


@require_POST
def selected_items(request: HttpRequest) -> HttpResponse:
    """Save the selected items of a list, or mark their entries in the inbox as read."""
    items, act = selected(request), request.POST.get("act", "")
    if act not in ("save", "read"):
        raise Http404
    target = safe_next(request, None, "stream")
    if not items:
        messages.warning(request, _("Select at least one row."))
        return redirect(target)
    if act == "save":
        return save(request, items, target, asked=len(items))
    messages.success(request, read_words(mark_read(person_of(request), items)))
    return redirect(target)


def selected(request: HttpRequest) -> list[Item]:
    """The selected items (kind, id), each once."""
    pairs = [clean_text(text).partition(":") for text in request.POST.getlist("item")[:MOST_SELECTED]]
    return list(dict.fromkeys((kind, object_id[:200]) for kind, _colon, object_id in pairs if kind and object_id))


def mark_read(user: User, items: Sequence[Item]) -> int:
    """Mark every entry about these items as read and return how many were unread."""
    reader = reading.reader_of(user)
    by_kind: dict[str, list[str]] = {}
    for kind, object_id in items:
        by_kind.setdefault(kind, []).append(object_id)
    about = reduce(or_, (Q(object_kind=kind, object_id__in=ids) for kind, ids in by_kind.items()))
    count, _is_left = reading.mark_rows_read(user, reader.entries.filter(about), until=reader.newest)
    return count


def read_words(count: int) -> str:
    if not count:
        return _("Nothing in the inbox was unread.")
    return ngettext("%(n)s entry marked as read.", "%(n)s entries marked as read.", count) % {"n": count}


def save(request: HttpRequest, items: Iterable[Item], target: str, *, asked: int) -> HttpResponse:
    """Open the page that saves these items. What cannot be saved is counted."""
    kinds = clip.clippable_kinds()
    wanted = list(dict.fromkeys(item for item in items if item[0] in kinds))[:MOST_SAVED]
    address = clip.clips_url(wanted)
    if not address:
        messages.warning(request, _("None of the selected entries can be saved."))
        return redirect(target)
    if (left := asked - len(wanted)) > 0:
        messages.warning(
            request,
            ngettext(
                "%(n)s selected entry was skipped: it cannot be saved, is a repeat, or exceeds the limit of %(most)s.",
                "%(n)s selected entries were skipped: not saveable, repeats, or over the limit of %(most)s.",
                left,
            )
            % {"n": left, "most": MOST_SAVED},
        )
    return redirect(address)
