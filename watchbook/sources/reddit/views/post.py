"""One post: its text as it reads now, every version, and the difference between any two."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.core.ui.diff import Difference, compare
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.actions import Version
from watchbook.sources.reddit.models import FoundBy, PostRaw
from watchbook.sources.reddit.places import community_path, post_path, reddit_link
from watchbook.sources.reddit.views.head import head, post_or_404
from watchbook.sources.reddit.views.posts import lines_of
from watchbook.sources.reddit.views.words import REASONS, post_badges, removed_text, title_text

REPOSTS = 10


@dataclass(frozen=True)
class Shown:
    """A version with its words for the page."""

    version: Version
    is_current: bool

    @property
    def number(self) -> int:
        return self.version.number

    @property
    def name(self) -> str:
        return (_("version %(n)s, current") if self.is_current else _("version %(n)s")) % {"n": self.number}

    @property
    def reason(self) -> str:
        return str(REASONS.get(self.version.reason, self.version.reason))

    @property
    def text(self) -> str:
        """Title and text together: both are compared."""
        return f"{self.version.title}\n\n{self.version.content}".strip()


@dataclass(frozen=True)
class Compared:
    old: Shown
    new: Shown
    diff: Difference
    side: SafeString


@require_GET
def post(request: HttpRequest, post_id: str) -> HttpResponse:
    row = post_or_404(post_id)
    found = [Shown(one, is_current=one.valid_to is None) for one in actions.versions(row.source_post_id)]
    last = found[-1].number if found else 1
    chosen = _number(request, "to", last)
    by_number = {one.number: one for one in found}
    if found and chosen not in by_number:
        raise Http404
    context: dict[str, Any] = {
        **head(request, "posts"),
        "row": row,
        "path": post_path(row.source_post_id),
        "community_path": community_path(row.subreddit),
        "title": title_text(row),
        "badges": post_badges(row),
        "removed": removed_text(row),
        "versions": found[::-1],
        "chosen": by_number.get(chosen),
        "compared": _compared(row, by_number, _number(request, "from", max(chosen - 1, 1)), chosen),
        "found_by": FoundBy(row.found_by).label if row.found_by in FoundBy.values else row.found_by,
        "link": _link(row),
        "edited_at": _edited_at(row),
        "source_url": reddit_link(row.source_post_id),
        "reposts": [] if row.blanked_at else lines_of(list(actions.same_text(row)[:REPOSTS])),
    }
    return render(request, "reddit/post.html", context)


def _compared(row: PostRaw, versions: dict[int, Shown], old: int, new: int) -> Compared | None:
    """Nothing to compare where words were blanked, or where there are not two versions."""
    if row.blanked_at or old not in versions or new not in versions or old == new:
        return None
    first, second = versions[min(old, new)], versions[max(old, new)]
    side = render_to_string("reddit/_diff_side.html", {"new": second, "edited_at": _edited_at(row)})
    return Compared(first, second, compare(first.text, second.text), side)


def _number(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else otherwise


def _link(row: PostRaw) -> str:
    """Where a link post leads; only what a browser may open."""
    url = str(row.extra_data.get("url", ""))
    return url if url.startswith(("http://", "https://")) else ""


def _edited_at(row: PostRaw) -> datetime | None:
    """When Reddit says that it was last edited; an edit within the first minutes leaves no mark there."""
    try:
        return datetime.fromisoformat(str(row.extra_data.get("edited_at", "")))
    except ValueError:
        return None
