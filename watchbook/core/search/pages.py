"""What the search page shows, gathered in a bounded number of queries."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.utils.translation import gettext as _

from watchbook.core import registry
from watchbook.core.search import query as queries
from watchbook.core.search.find import BadCursor, Count, Hit, Page, count, find
from watchbook.core.search.forms import AskForm
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.query import Query

PER_PAGE = 30
SIZE_IS_KEPT_SECONDS = 300


@dataclass(frozen=True)
class Row:
    """A hit with the words and the icon of its system."""

    hit: Hit
    icon: str
    place: str

    @property
    def body(self) -> str:
        return "".join(part.text for part in self.hit.body_parts)


@dataclass(frozen=True)
class Chip:
    """A filter by system. The number is empty when not all were counted."""

    slug: str
    title: str
    number: int | None
    is_current: bool


@dataclass(frozen=True)
class Found:
    """The answer to what the form asked."""

    query: Query
    rows: tuple[Row, ...]
    next: str
    chips: tuple[Chip, ...]
    count: Count | None
    milliseconds: int
    items: int

    @property
    def shown_items(self) -> str:
        return f"{self.items:,}"


def answer(form: AskForm, scopes: Sequence[str]) -> Found:
    asked = queries.read(form.cleaned_data.get("q", ""))
    slug = form.cleaned_data.get("source", "")
    cursor = form.cleaned_data.get("cursor", "")
    begun = time.perf_counter()
    page = _page(asked, form, scopes, kinds_of(slug) if slug else None, cursor)
    counted = count(asked, scopes=scopes, since=form.since_moment) if asked and not cursor else None
    return Found(
        query=asked,
        rows=tuple(_row(hit) for hit in page.items),
        next=page.next,
        chips=_chips(slug, counted),
        count=counted,
        milliseconds=round((time.perf_counter() - begun) * 1000),
        items=size(scopes),
    )


def kinds_of(slug: str) -> list[str]:
    return [kind.name for kind in registry.source(slug).search_kinds]


def size(scopes: Sequence[str]) -> int:
    """How many documents this person searches. Counting a million rows takes a while, so it is kept for minutes."""
    key = "search-size:" + hashlib.sha256("\n".join(sorted(scopes)).encode()).hexdigest()[:32]
    return int(cache.get_or_set(key, SearchDocument.objects.visible_to(scopes).count, SIZE_IS_KEPT_SECONDS) or 0)


def _page(asked: Query, form: AskForm, scopes: Sequence[str], kinds: list[str] | None, cursor: str) -> Page[Hit]:
    try:
        return find(asked, scopes=scopes, kinds=kinds, since=form.since_moment, limit=PER_PAGE, before=cursor or None)
    except BadCursor:
        return find(asked, scopes=scopes, kinds=kinds, since=form.since_moment, limit=PER_PAGE)


def _row(hit: Hit) -> Row:
    for source in registry.sources():
        if source.slug == hit.source:
            kinds = {kind.name: _(kind.title) for kind in source.search_kinds}
            return Row(hit, source.icon, place_of(_(source.title), kinds.get(hit.kind, "")))
    return Row(hit, "search", hit.source)


def place_of(system: str, kind: str) -> str:
    """System and kind; the kind alone where it names the system itself: "Reddit posts", not "Reddit, Reddit posts"."""
    if kind.casefold().startswith(system.casefold().removesuffix("s")):
        return kind
    return f"{system}, {kind}" if kind else system


def _chips(current: str, counted: Count | None) -> tuple[Chip, ...]:
    chips = [Chip("", _("Everything"), _number(counted, None), not current)]
    for source in registry.sources():
        if source.search_kinds:
            number = _number(counted, {kind.name for kind in source.search_kinds})
            chips.append(Chip(source.slug, _(source.title), number, current == source.slug))
    return tuple(chips)


def _number(counted: Count | None, kinds: set[str] | None) -> int | None:
    if counted is None or not counted.is_whole:
        return None
    return sum(number for kind, number in counted.by_kind.items() if kinds is None or kind in kinds)
