"""Filters of the pages of a website, and the figures beside them; pages, API and exports share them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.kit.lists import Choice, Column, Days, List, Order, Search, Shown, by_time
from watchbook.kit.lists.filters import Span
from watchbook.kit.lists.shown import SCANNED, Total
from watchbook.kit.paging import Page as KeysetPage
from watchbook.kit.paging import keyset, keyset_among
from watchbook.systems.pages.models import (
    HAS_LEFT,
    IS_LISTED,
    Fate,
    Page,
    PageEvent,
    PageQuerySet,
    PageVersion,
    Result,
    SectionCount,
    Site,
    SiteQuerySet,
)
from watchbook.systems.pages.store import counts

PERIODS = {"today": timedelta(days=1), "7": timedelta(days=7), "30": timedelta(days=30)}
STATES: dict[str, Q] = {
    **{result: IS_LISTED & Q(result=result) for result in Result.values},
    **{fate: HAS_LEFT & Q(fate=fate) for fate in Fate.values},
    "noindex": IS_LISTED & Q(is_noindex__in=[True]),
    "excluded": IS_LISTED & Q(is_excluded__in=[True]),
    "never": IS_LISTED & Q(last_read_at=None),
}
SECTIONS = 40
# Ordered by when they are due, unlike the other states
DUE = "due"


LAST_CHANGE = Days("days", _("Changed"), "changed_at")


def _changed(span: Span) -> Q:
    return LAST_CHANGE.condition(span) & Q(version_count__gt=0)


DAYS = replace(LAST_CHANGE, where=_changed)


@dataclass(frozen=True)
class Filters:
    """What a list of pages is narrowed to; an empty value leaves it open. `period` is for programs, `days` for all."""

    section: str = ""
    state: str = ""
    period: str = ""
    q: str = ""
    days: Span | None = None

    @classmethod
    def chosen(cls, values: Mapping[str, Any], period: str = "") -> Filters:
        """The filters of a list (`Chosen.values`)."""
        section, state, q, days = (values.get(name) for name in ("section", "state", "q", "days"))
        return cls(section or "", state or "", period, q or "", days)

    def apply(self, rows: PageQuerySet, now: datetime) -> PageQuerySet:
        if self.section:
            rows = rows.filter(section=self.section)
        if self.is_due:
            rows = rows.filter(next_at__lte=now)
        elif self.state:
            rows = rows.filter(STATES[self.state])
        else:
            rows = rows.filter(Q(is_listed=True) | ~Q(fate=""))
        if self.period:
            rows = rows.filter(changed_at__gte=now - PERIODS[self.period], version_count__gt=0)
        if self.days:
            rows = rows.filter(DAYS.condition(self.days))
        for word in self.q.split()[:10]:
            rows = rows.filter(Q(title__icontains=word) | Q(url__icontains=word))
        return rows

    @property
    def is_due(self) -> bool:
        return self.state == DUE

    @property
    def is_indexed(self) -> bool:
        """Whether an index has exactly these rows in their order, and a counter their number."""
        return not (self.q or self.period or self.days or (self.section and self.state))

    @property
    def null(self) -> str:
        """The column that is NULL in all these rows and is in their index before the time of change."""
        return "last_read_at" if self.state == "never" else ""

    def wider(self, site: Site) -> Filters:
        """The shortest list by time of change with an index that has all these rows."""
        wider = replace(self, q="", period="", days=None, state="" if self.is_due else self.state)
        if wider.section and wider.state:
            in_state = _counted(counts.of_site(site), wider.state)
            is_smaller = counts.of_site(site, wider.section).total <= in_state
            wider = replace(wider, state="") if is_smaller else replace(wider, section="")
        return wider


@dataclass(frozen=True)
class Found:
    """A page of a list of pages, how many rows it has, and whether only a part of the website was searched for it."""

    page: KeysetPage[Page]
    total: Total
    is_part: bool = False


def find(site: Site, filters: Filters, asked: Mapping[str, Any], now: datetime, size: int) -> Found:
    """A page of the list that these filters ask for, newest change first; due pages in the order of their time.

    The cost does not grow with the website: rows come from an index in their order, and numbers from counters. What has
    neither is looked for among the next 10,000 pages.
    """
    rows = filters.apply(Page.objects.filter(site=site), now)
    if filters.is_due and filters.is_indexed:
        page = keyset(rows, asked, by="next_at", size=size, is_rising=True, has_ties=True)
        return Found(page, up_to(rows))
    if filters.is_indexed:
        page = keyset(rows, asked, by="changed_at", size=size, has_ties=True, null=filters.null)
        found = counts.of_site(site, filters.section)
        return Found(page, Total(_counted(found, filters.state) if filters.state else found.total))
    page, is_part = find_among(site, filters, asked, now, size)
    if filters.section and filters.state and not (filters.q or filters.period or filters.days or filters.is_due):
        return Found(page, Total(_counted(counts.of_site(site, filters.section), filters.state)), is_part)
    is_whole = not is_part and not asked.get("older")
    return Found(page, up_to(rows) if is_whole else Total(len(page), is_more=True), is_part)


def find_among(
    site: Site, filters: Filters, asked: Mapping[str, Any], now: datetime, size: int
) -> tuple[KeysetPage[Page], bool]:
    """A page of a list without an index, and whether only a part of the website was searched for it."""
    pages, wider = Page.objects.filter(site=site), filters.wider(site)
    return keyset_among(
        filters.apply(pages, now), wider.apply(pages, now), asked, by="changed_at", size=size, most=SCANNED,
        null=wider.null,
    )  # fmt: skip


def up_to(rows: QuerySet[Any]) -> Total:
    """Count rows up to 10,000."""
    count = rows.order_by()[: SCANNED + 1].count()
    return Total(min(count, SCANNED), is_more=count > SCANNED)


def _counted(found: SectionCount, state: str) -> int:
    return int(getattr(found, "never_read" if state == "never" else state))


def completeness(site: Site, now: datetime) -> dict[str, Any]:
    """Count what is known, read, due, blocked and never read: together they prove that nothing is missing.

    All come from counters but `due`, which changes with the time and is counted up to 10,000.
    """
    found = counts.of_site(site)
    pages = Page.objects.filter(IS_LISTED, site=site, last_read_at__isnull=False)
    due = up_to(Page.objects.filter(site=site, next_at__lte=now))
    return {
        **{name: getattr(found, name) for name in counts.COUNTED if name != Result.UNREAD},
        "never_read": found.never_read,
        "due": due.count,
        "has_more_due": due.is_more,
        "last_read_at": pages.order_by("-last_read_at").values_list("last_read_at", flat=True).first(),
    }


def sections(site: Site) -> list[tuple[str, int]]:
    """Return the largest sections by path with their number of pages."""
    rows = SectionCount.objects.filter(site=site, known__gt=0).exclude(section=counts.WHOLE)
    return list(rows.order_by("-known", "section").values_list("section", "known")[:SECTIONS])


PAGE_COLUMNS = (
    "url", "title", "section", "status", "result", "fate", "moved_to", "is_listed", "is_noindex", "lastmod",
    "first_seen_at", "last_read_at", "changed_at", "version_count", "words_added", "words_removed", "error",
)  # fmt: skip
FIELD_TITLES = {
    "status": _("Status"),
    "final_url": _("Final address"),
    "refresh": _("Meta refresh"),
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


STATE_TITLES: dict[str, Any] = {
    "ok": _("200 OK"),
    "redirect": pgettext_lazy("web page", "Redirect"),
    "missing": pgettext_lazy("web page", "Not found"),
    "failed": _("Error now"),
    "blocked": pgettext_lazy("web page", "Blocked"),
    "never": _("Never read"),
    "unread": pgettext_lazy("web page", "Not read yet"),
    DUE: _("Due now"),
    "excluded": _("Not read by rule"),
    "noindex": "noindex",
    "moved": pgettext_lazy("fate", "Moved"),
    "gone": pgettext_lazy("fate", "Gone"),
    "delisted": pgettext_lazy("fate", "No longer listed"),
    "asking": pgettext_lazy("fate", "Not known yet"),
}


def pages_of(site: Site, asked: Mapping[str, Any], now: datetime, period: str = "") -> tuple[Shown[Page], Filters]:
    """The list of the pages of a website as the address asks for it, and its filters for `find`.

    The page of the list and its number come from `find`: indexes and counters answer, however large the website is.
    """
    by_change = Order("newest", _("Newest first"), "changed_at")
    by_due = Order("newest", _("Newest first"), "next_at", is_rising=True)
    declared = List(
        f"{site.name} pages",
        filters=(
            Search("q", _("Title or address"), where=lambda _text: Q()),
            Choice("section", pgettext_lazy("web", "Section"), choices=lambda: _named_sections(site), is_open=True,
                   counted=False, where=lambda _name: Q()),
            Choice("state", _("State"), choices=tuple(STATE_TITLES.items()), counted=False, where=lambda _name: Q()),
            DAYS,
        ),
        orders=(by_due if asked.get("state") == DUE else by_change,),
        columns=tuple(Column(name) for name in PAGE_COLUMNS),
    )  # fmt: skip
    filters = Filters.chosen(declared.show(Page.objects.none(), asked).chosen.values, period)
    return declared.show(
        filters.apply(Page.objects.filter(site=site), now).only(*PAGE_COLUMNS, "next_at"), asked
    ), filters


def _named_sections(site: Site) -> list[tuple[str, str]]:
    return [(name, name) for name, _count in sections(site)]


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
