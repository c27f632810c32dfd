"""Counters of pages per website and section, kept in the transaction that changes the pages.

`changing(rows)` locks the rows, reads the state of each before and after the change, and adds the difference: it does
not matter what changed them, or whether they were deleted. `added(pages)` counts new rows. The database adds to the
counters, so that writers beside each other lose nothing; a rollback takes the counts back as well.

`recount` counts again. It holds the row of the whole website, which every writer needs before it commits: what it reads
is what the counters must say at that moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Round

from watchbook.base.clock import SHANGHAI
from watchbook.base.store import rows as table_rows
from watchbook.systems.pages.models import Fate, Page, Result, SectionCount, SectionDay, Site

WHOLE = ""
MICRO = 1_000_000
# Which pages each counter counts; the sum of weights is beside them.
COUNTED: dict[str, Q] = {
    "known": Q(is_listed=True),
    "read": Q(is_listed=True, last_read_at__isnull=False),
    **{result: Q(is_listed=True, result=result) for result in Result.values},
    "excluded": Q(is_listed=True, is_excluded=True),
    "noindex": Q(is_listed=True, is_noindex=True),
    **{fate: Q(is_listed=False, fate=fate) for fate in Fate.values},
}
NAMES = (*COUNTED, "weight")
PER_DAY = ("new", "changed", "removed")
COLUMNS = (
    "pk", "site_id", "section", "is_listed", "last_read_at", "result", "is_excluded", "is_noindex", "fate", "weight",
)  # fmt: skip
Totals = dict[tuple[int, str], Counter[str]]


def _counted(row: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The counters that count a page, as `COUNTED` lists them."""
    if not row["is_listed"]:
        if row["fate"]:
            yield row["fate"], 1
        return
    yield "known", 1
    yield row["result"], 1
    for name, is_so in (
        ("read", row["last_read_at"] is not None), ("excluded", row["is_excluded"]), ("noindex", row["is_noindex"])
    ):  # fmt: skip
        if is_so:
            yield name, 1
    yield "weight", round(row["weight"] * MICRO)


def _totals(found: Iterable[Mapping[str, Any]]) -> Totals:
    totals: Totals = defaultdict(Counter)
    for row in found:
        for name, number in _counted(row):
            totals[row["site_id"], row["section"]][name] += number
            totals[row["site_id"], WHOLE][name] += number
    return totals


def added(pages: Iterable[Page]) -> None:
    """Count pages that were inserted in this transaction."""
    _add(_totals({name: getattr(page, name) for name in COLUMNS} for page in pages))


@contextmanager
def changing(rows: QuerySet[Page]) -> Iterator[set[int]]:
    """Count what the body does to these rows; gives the keys of those that are there. Needs a transaction."""
    before = list(rows.select_for_update().order_by("pk").values(*COLUMNS))
    keys = {row["pk"] for row in before}
    yield keys
    difference = _totals(Page.objects.filter(pk__in=keys).values(*COLUMNS))
    for key, counts in _totals(before).items():
        difference[key].subtract(counts)
    _add(difference)


def _add(totals: Totals) -> None:
    # Sorted: writers that need several rows lock them in the same order.
    made = [
        (site_id, section, *(counts[name] for name in NAMES))
        for (site_id, section), counts in sorted(totals.items())
        if any(counts.values())
    ]
    table_rows.increment(SectionCount, made, unique=("site", "section"), add=NAMES)


def add_to_sections(site: Site, now: datetime, sections: Iterable[str], column: str) -> None:
    """Count what happened to pages of these sections on a day: new, changed or removed."""
    day = now.astimezone(SHANGHAI).date()
    made = [
        (site.pk, section, day, *(count if name == column else 0 for name in PER_DAY))
        for section, count in sorted(Counter(sections).items())
    ]
    table_rows.increment(SectionDay, made, unique=("site", "section", "day"), add=PER_DAY)


def of_site(site: Site, section: str = WHOLE) -> SectionCount:
    """The counters of a website or of one section; zeros if it has no pages."""
    found = SectionCount.objects.filter(site=site, section=section).first()
    return found or SectionCount(site=site, section=section)


def of_sites(sites: Iterable[Site]) -> dict[int, SectionCount]:
    """The counters of websites, by their keys. One query."""
    found = {row.site_id: row for row in SectionCount.objects.filter(site__in=list(sites), section=WHOLE)}
    return {site.pk: found.get(site.pk) or SectionCount(site=site) for site in sites}


def recount(site: Site, *, repair: bool) -> list[str]:
    """Compare the counters of a website with its pages; returns the sections that differ, "" for the whole website."""
    with transaction.atomic():
        whole_row = SectionCount.objects.select_for_update().filter(site=site, section=WHOLE)
        # Only if it is not there: an insert that finds it takes a weaker lock first, and two of them would wait for
        # each other on MariaDB.
        if not whole_row.exists():
            SectionCount.objects.bulk_create([SectionCount(site=site, section=WHOLE)], ignore_conflicts=True)
        whole_row.get()
        wanted = {row.pop("section"): row for row in _naive(site)}
        whole: Counter[str] = Counter(dict.fromkeys(NAMES, 0))
        for row in wanted.values():
            whole.update(row)
        wanted[WHOLE] = dict(whole)
        stored = {row.pop("section"): row for row in SectionCount.objects.filter(site=site).values("section", *NAMES)}
        zeros = dict.fromkeys(NAMES, 0)
        names = sorted({*wanted, *stored})
        wrong = [name for name in names if wanted.get(name, zeros) != stored.get(name, zeros)]
        if repair and wrong:
            SectionCount.objects.filter(site=site, section__in=wrong).exclude(section=WHOLE).delete()
            SectionCount.objects.filter(site=site, section=WHOLE).update(**wanted[WHOLE])
            SectionCount.objects.bulk_create(
                [SectionCount(site=site, section=name, **wanted[name]) for name in wrong if name and name in wanted],
                batch_size=500,
            )
    return wrong


def _naive(site: Site) -> list[dict[str, Any]]:
    """Count all pages of a website by section."""
    counted: dict[str, Any] = {f"n_{name}": Count("pk", filter=which) for name, which in COUNTED.items()}
    weight = Sum(Round(F("weight") * MICRO), filter=Q(is_listed=True), default=0.0)
    found = (
        Page.objects.filter(site=site).order_by().values("section").annotate(**counted, n_weight=Coalesce(weight, 0.0))
    )
    return [
        {"section": row["section"], **{name: round(row[f"n_{name}"]) for name in NAMES}} for row in found.iterator(2000)
    ]


def examine() -> str:
    """What `watchbook doctor` says against the counters; empty if they are right."""
    sites = Site.objects.live().defer("boilerplate", "robots").order_by("pk")
    wrong = [site.pk for site in sites if recount(site, repair=False)]
    if not wrong:
        return ""
    named = ", ".join(map(str, wrong[:5]))
    return f"Counters of websites differ from their pages: {named}. `watchbook pages recount` corrects them."
