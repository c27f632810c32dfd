"""Filters of the pages of a website, and the figures beside them; pages, API and exports share them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from watchbook.base.text import clean_text
from watchbook.core.api.errors import must_be_known
from watchbook.kit.lists import Choice, Column, Days, List, Search, by_time
from watchbook.systems.pages.models import (
    Fate,
    Page,
    PageEvent,
    PageQuerySet,
    PageVersion,
    Result,
    Site,
    SiteQuerySet,
)

PERIODS = {"today": timedelta(days=1), "7": timedelta(days=7), "30": timedelta(days=30)}
STATES: dict[str, Q] = {
    **{result: Q(is_listed=True, result=result) for result in Result.values},
    **{fate: Q(is_listed=False, fate=fate) for fate in Fate.values},
    "noindex": Q(is_listed=True, is_noindex=True),
    "excluded": Q(is_listed=True, is_excluded=True),
    "never": Q(is_listed=True, last_read_at=None),
}
SECTIONS = 40


@dataclass(frozen=True)
class Filters:
    """What a list of pages is narrowed to; an empty value leaves it open."""

    section: str = ""
    state: str = ""
    period: str = ""
    q: str = ""

    @classmethod
    def read(cls, asked: Mapping[str, Any]) -> Filters:
        """Read filters from an address; unknown words are left out."""
        state, period = str(asked.get("state", "")), str(asked.get("period", ""))
        return cls(
            clean_text(str(asked.get("section", "")))[:100],
            state if state in STATES or state == "due" else "",
            period if period in PERIODS else "",
            clean_text(str(asked.get("q", "")))[:200].strip(),
        )

    def check(self) -> Filters:
        """Refuse unknown words by name, for programs."""
        must_be_known("state", self.state, [*STATES, "due"])
        must_be_known("period", self.period, PERIODS)
        return self

    def apply(self, rows: PageQuerySet, now: datetime) -> PageQuerySet:
        if self.section:
            rows = rows.filter(section=self.section)
        if self.state == "due":
            rows = rows.filter(next_at__lte=now)
        elif self.state:
            rows = rows.filter(STATES[self.state])
        else:
            rows = rows.filter(Q(is_listed=True) | ~Q(fate=""))
        if self.period:
            rows = rows.filter(changed_at__gte=now - PERIODS[self.period], version_count__gt=0)
        for word in self.q.split()[:10]:
            rows = rows.filter(Q(title__icontains=word) | Q(url__icontains=word))
        return rows

    @property
    def is_set(self) -> bool:
        return any(asdict(self).values())


def completeness(site: Site, now: datetime) -> dict[str, Any]:
    """Count what is known, read, due, blocked and never read: together they prove that nothing is left out."""
    listed = Q(is_listed=True)
    return Page.objects.filter(site=site).aggregate(
        known=Count("pk", filter=listed),
        read=Count("pk", filter=listed & Q(last_read_at__isnull=False)),
        never_read=Count("pk", filter=listed & Q(last_read_at=None)),
        due=Count("pk", filter=Q(next_at__lte=now)),
        blocked=Count("pk", filter=listed & Q(result=Result.BLOCKED)),
        failed=Count("pk", filter=listed & Q(result=Result.FAILED)),
        redirect=Count("pk", filter=listed & Q(result=Result.REDIRECT)),
        missing=Count("pk", filter=listed & Q(result=Result.MISSING)),
        ok=Count("pk", filter=listed & Q(result=Result.OK)),
        excluded=Count("pk", filter=listed & Q(is_excluded=True)),
        noindex=Count("pk", filter=listed & Q(is_noindex=True)),
        moved=Count("pk", filter=Q(is_listed=False, fate=Fate.MOVED)),
        gone=Count("pk", filter=Q(is_listed=False, fate=Fate.GONE)),
        delisted=Count("pk", filter=Q(is_listed=False, fate=Fate.DELISTED)),
        asking=Count("pk", filter=Q(is_listed=False, fate=Fate.UNKNOWN)),
        last_read_at=Max("last_read_at"),
    )


def sections(site: Site) -> list[tuple[str, int]]:
    """Return the largest sections by path with their number of pages."""
    rows = Page.objects.filter(site=site, is_listed=True).values_list("section").annotate(n=Count("pk"))
    return list(rows.order_by("-n", "section")[:SECTIONS])


PAGE_COLUMNS = (
    "url", "title", "section", "status", "result", "fate", "moved_to", "is_listed", "is_noindex", "lastmod",
    "first_seen_at", "last_read_at", "changed_at", "version_count", "words_added", "words_removed", "error",
)  # fmt: skip
FIELD_TITLES = {
    "status": _("Status"),
    "final_url": _("Final address"),
    "title": _("Title"),
    "description": _("Description"),
    "h1": _("Main heading"),
    "canonical": _("Canonical"),
    "robots": _("Robots"),
    "language": _("Language"),
    "hreflang": _("Language versions"),
    "price": _("Price"),
    "currency": _("Currency"),
    "availability": _("Availability"),
    "published": _("Published"),
    "modified": _("Modified"),
    "author": _("Author"),
    "type": _("Document type"),
    "digest": _("Digest"),
    "text": _("Text"),
}
# Fields that people ask about, in the filter of changes
ASKED_FIELDS = ("title", "price", "text", "description", "h1", "canonical", "robots", "availability", "status")
KINDS = [
    (PageEvent.CHANGED, _("Changed")),
    *((fate.value, fate.label) for fate in (Fate.MOVED, Fate.GONE, Fate.DELISTED)),
    (PageEvent.RULE, _("Rule")),
]


def export_pages(rows: PageQuerySet) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of every page, most recently changed first."""
    yield from rows.order_by("-changed_at", "-pk").values_list(*PAGE_COLUMNS).iterator(1000)


@dataclass(frozen=True)
class Change:
    """An event with the fields of its page before and after it."""

    event: PageEvent
    old: Mapping[str, str]
    new: Mapping[str, str]
    words: tuple[int | None, int | None] = (None, None)

    @property
    def names(self) -> list[str]:
        return [name for name in self.event.fields.split(",") if name]

    def pair(self, name: str) -> tuple[str, str] | None:
        """A field before and after; None if it did not change."""
        return (self.old.get(name, ""), self.new.get(name, "")) if name in self.names else None


def with_values(events: Sequence[PageEvent]) -> list[Change]:
    """Read what the pages of these events said before and after. One query for any number of them."""
    wanted = {(event.page_id, event.version - back) for event in events if event.version for back in (0, 1)}
    numbers = {number for _page, number in wanted}
    rows = PageVersion.objects.filter(page__in={page for page, _number in wanted}, number__in=numbers).defer("data")
    known = {(row.page_id, row.number): row for row in rows}
    found = []
    for event in events:
        old, new = known.get((event.page_id, event.version - 1)), known.get((event.page_id, event.version))
        words = (new.words_added, new.words_removed) if new else (None, None)
        found.append(Change(event, old.fields if old else {}, new.fields if new else {}, words))
    return found


def _has_field(name: str) -> Q:
    if name == "title_or_price":
        return Q(fields__contains=",title,") | Q(fields__contains=",price,")
    return Q(fields__contains=f",{name},")


CHANGE_COLUMNS: dict[str, Callable[[Change], Any]] = {
    "id": lambda change: change.event.pk,
    "at": lambda change: change.event.at,
    "site": lambda change: change.event.site.name,
    "kind": lambda change: change.event.kind,
    "url": lambda change: change.event.page.url,
    "title": lambda change: change.event.page.title,
    "version": lambda change: change.event.version or None,
    "changed_fields": lambda change: ", ".join(change.names),
    "words_added": lambda change: change.words[0],
    "words_removed": lambda change: change.words[1],
    "old_title": lambda change: change.old.get("title", ""),
    "new_title": lambda change: change.new.get("title", ""),
    "old_price": lambda change: change.old.get("price", ""),
    "new_price": lambda change: change.new.get("price", ""),
    "moved_to": lambda change: change.event.page.moved_to,
    "rule": lambda change: change.event.rule,
}
CHANGES = List(
    "page_changes",
    filters=(
        Search("q", _("Title or address"), columns=("page__title", "page__url")),
        Choice("kind", _("What"), choices=KINDS),
        Choice(
            "field",
            _("Field"),
            choices=[("title_or_price", _("Title or price")), *((name, FIELD_TITLES[name]) for name in ASKED_FIELDS)],
            where=_has_field,
        ),
        Days("days", _("Date"), "at"),
    ),
    orders=by_time("at"),
    columns=tuple(Column(name, read) for name, read in CHANGE_COLUMNS.items()),
    prepare=with_values,
    size=50,
)


def events_of(sites: SiteQuerySet) -> QuerySet[PageEvent]:
    return PageEvent.objects.filter(site__in=sites).select_related("page", "site")
