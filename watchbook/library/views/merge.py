"""Two people saved: both texts side by side, paragraph by paragraph, and one that is put together from them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from watchbook.core.ui.diff import Segment, segments
from watchbook.library import actions
from watchbook.library.errors import VersionConflict
from watchbook.library.models import Page, PageVersion
from watchbook.library.parse.html import clean, to_text
from watchbook.library.store.news import page_path
from watchbook.library.views.frame import frame
from watchbook.library.views.text import for_reading
from watchbook.library.views.ways import answers, done, given, given_number, reader

VOID = {"br", "hr", "img"}
THEIRS, YOURS, BOTH = "theirs", "yours", "both"


@dataclass(frozen=True)
class Piece:
    """A stretch that is the same in both, or two readings of one place with what is proposed."""

    number: int
    is_same: bool
    theirs: SafeString
    yours: SafeString
    proposed: str = ""
    difference: tuple[Segment, ...] = ()


@require_POST
@answers
def merge(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Shows both; with `merged` it saves what was chosen, on top of the version that was shown."""
    found = actions.open_page(reader(request), page_id)
    yours = clean(given(request, "content"))
    title, version = given(request, "title"), given_number(request, "version")
    if not given(request, "merged"):
        return _show(request, found, title, yours, version)
    shown = actions.open_version(reader(request), page_id, given_number(request, "shown"))
    chosen = {name.removeprefix("piece-"): value for name, value in request.POST.items() if name.startswith("piece-")}
    text = put_together(shown.content, yours, {key: str(value) for key, value in chosen.items()})
    try:
        actions.save_page(reader(request), page_id, version=shown.number, title=title, content=text)
    except VersionConflict:
        # Somebody was first once more: what was put together is now "yours".
        return _show(request, actions.open_page(reader(request), page_id), title, clean(text), shown.number)
    return done(request, page_path(page_id), _("Saved. Both texts are in the history."))


def _show(request: HttpRequest, found: Page, title: str, yours: str, version: int) -> HttpResponse:
    base = PageVersion.objects.filter(page=found, number=version).first()
    context: dict[str, Any] = {
        **frame(reader(request), found.space, actions.breadcrumb(reader(request), found.pk)),
        "page": found,
        "by": found.updated_by,
        "title": title,
        "yours": yours,
        "version": version,
        "pieces": pieces_of(found.content, yours, base.content if base else ""),
    }
    return render(request, "library/merge.html", context)


def pieces_of(theirs: str, yours: str, base: str = "") -> list[Piece]:
    kept = set(blocks(base))
    return [
        _piece(number, same, left, right, kept) for number, (same, left, right) in enumerate(_paired(theirs, yours))
    ]


def _piece(number: int, is_same: bool, left: list[str], right: list[str], base: set[str]) -> Piece:
    theirs, yours = "".join(left), "".join(right)
    if is_same:
        return Piece(number, True, for_reading(theirs), for_reading(yours))
    proposed = _proposed(left, right, base)
    return Piece(
        number, False, for_reading(theirs), for_reading(yours), proposed, segments(to_text(theirs), to_text(yours))
    )


def _proposed(left: list[str], right: list[str], base: set[str]) -> str:
    """What only one of the two changed is taken from that one; what both changed is kept twice."""
    is_left_old, is_right_old = (all(block in base for block in side) for side in (left, right))
    if is_left_old and is_right_old:
        return THEIRS if not left else YOURS  # one of them took it away
    if is_left_old == is_right_old:
        return BOTH
    return THEIRS if is_right_old else YOURS


def put_together(theirs: str, yours: str, chosen: dict[str, str]) -> str:
    """The text of the choices. A place without a choice keeps both: nothing is lost by an answer that is missing."""
    found: list[str] = []
    for number, (is_same, left, right) in enumerate(_paired(theirs, yours)):
        choice = THEIRS if is_same else chosen.get(str(number), BOTH)
        found += left if choice in (THEIRS, BOTH) else []
        found += right if choice in (YOURS, BOTH) and not is_same else []
    return "".join(found)


def _paired(theirs: str, yours: str) -> list[tuple[bool, list[str], list[str]]]:
    left, right = blocks(theirs), blocks(yours)
    steps = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(tag == "equal", left[a:b], right[c:d]) for tag, a, b, c, d in steps]


class _Blocks(HTMLParser):
    """Cuts cleaned markup between its outermost elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[str] = []
        self.open: list[str] = []
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(self.get_starttag_text() or "")
        self.depth += 0 if tag in VOID else 1
        self.cut()

    def handle_endtag(self, tag: str) -> None:
        self.open.append(f"</{tag}>")
        self.depth = max(0, self.depth - 1)
        self.cut()

    def handle_data(self, data: str) -> None:
        self.open.append(data)
        if self.depth == 0 and not data.strip():
            self.cut()

    def handle_entityref(self, name: str) -> None:
        self.open.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.open.append(f"&#{name};")

    def cut(self) -> None:
        if self.depth == 0 and self.open:
            self.found.append("".join(self.open))
            self.open = []


def blocks(content: str) -> list[str]:
    """The outermost elements of a cleaned text, in order; joined they are the text again."""
    reader_ = _Blocks()
    reader_.feed(content)
    reader_.close()
    reader_.depth = 0
    reader_.cut()
    return reader_.found
