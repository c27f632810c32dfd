"""Brings the pages of a website in step with its list of URLs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import TypeVar

from django.db.models import F, Q

from watchbook.base.clock import SHANGHAI
from watchbook.base.text import clean_text, cut
from watchbook.base.work import crash_point
from watchbook.core import url_lists
from watchbook.core.jobs.runner import JobContext
from watchbook.core.url_lists import ListedUrl, UrlList
from watchbook.systems.pages import options
from watchbook.systems.pages.models import (
    CHANGED,
    FIRST,
    LEFT,
    RETURNING,
    Fate,
    Mode,
    Page,
    RuleKind,
    Site,
    SiteDay,
    SiteRule,
    section_of,
    url_digest,
)
from watchbook.systems.pages.parse.rules import matches
from watchbook.systems.pages.store import counts as counting

BATCH = 400
LONGEST_URL = 2048
KNOWN_COLUMNS = (
    "pk", "url_digest", "lastmod", "is_listed", "is_excluded", "next_at", "priority", "failures", "looks", "changes",
)  # fmt: skip
# A page that was read so often and never differed: its lastmod says nothing.
ENOUGH_LOOKS = 5
T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of this length."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


@dataclass(frozen=True)
class SiteLists:
    """All lists of a website together. Complete: every one of them was read completely."""

    parts: tuple[UrlList, ...]
    version: str
    count: int
    is_complete: bool


def lists_of(site: Site) -> SiteLists | None:
    """Return the lists of a website; None if its first one is gone. A further list that is gone makes it incomplete."""
    first = url_lists.find(site.list_name, site.user) if site.list_name else None
    if first is None:
        return None
    others = [url_lists.find(name, site.user) for name in site.more_lists]
    parts = (first, *(one for one in others if one is not None))
    version = first.version
    if others and version:
        said = "\n".join(f"{part.name} {part.version}" for part in parts)
        version = sha256(said.encode()).hexdigest()
    is_complete = None not in others and all(part.is_complete and part.version for part in parts)
    return SiteLists(parts, version, sum(part.count for part in parts), is_complete)


def sync(ctx: JobContext, site: Site, found: SiteLists) -> dict[str, int]:
    """Add, update and mark pages as the lists have them now. Interrupted, it can run again from the beginning.

    A URL has left only if all lists were read completely and none names it. What a list names when it is read for the
    first time is not new.
    """
    is_first = not site.list_version
    counts = {"added": 0, "modified": 0, "removed": 0}
    seen: set[int] = set()
    limit, passed = options.MOST_URLS.value, 0
    rules = url_rules(site)
    for part in found.parts:
        is_known = bool(site.list_version) if part.name == site.list_name else part.name in site.list_versions
        for batch in batched(_usable(url_lists.read(part.name, site.user)), BATCH):
            within = batch[: max(limit - passed, 0)]
            passed += len(batch)
            seen.update(_stored(site, batch[len(within) :]))
            if not within:
                continue
            with ctx.writing():
                _sync_batch(site, within, rules, seen, counts, now=ctx.now, is_baseline=not is_known)
                crash_point("pages.sync.batch")
            ctx.report(**counts)
    if found.is_complete and not is_first:
        counts["removed"] = _mark_left(ctx, site, seen)
    with ctx.writing():
        site.list_version, site.list_count, site.synced_at = found.version, found.count, ctx.now
        site.list_versions = {part.name: part.version for part in found.parts if part.version}
        site.left_out_count = max(passed - limit, 0)
        site.save(update_fields=["list_version", "list_versions", "list_count", "synced_at", "left_out_count"])
    return counts


def _stored(site: Site, beyond: list[ListedUrl]) -> set[int]:
    """Pages of URLs beyond the limit: none is added, but one that was added before is still listed."""
    rows = Page.objects.filter(site=site, url_digest__in=[url_digest(each.url) for each in beyond])
    return set(rows.values_list("pk", flat=True)) if beyond else set()


def _usable(urls: Iterable[ListedUrl]) -> Iterator[ListedUrl]:
    for each in urls:
        if len(each.url) <= LONGEST_URL and each.url.startswith(("http://", "https://")):
            yield each


def _sync_batch(
    site: Site,
    batch: list[ListedUrl],
    rules: UrlRules,
    seen: set[int],
    counts: dict[str, int],
    *,
    now: datetime,
    is_baseline: bool,
) -> None:
    wanted = {url_digest(each.url): each for each in batch}
    rows = Page.objects.filter(site=site, url_digest__in=wanted)
    known = {page.url_digest: page for page in rows.only(*KNOWN_COLUMNS)}
    fresh = [
        _new_page(site, each, digest, now=now, is_baseline=is_baseline, is_excluded=rules.excludes(each.url))
        for digest, each in wanted.items()
        if digest not in known
    ]
    Page.objects.bulk_create(fresh)
    counting.added(fresh)
    returning = [page.pk for page in known.values() if not page.is_listed and page.pk not in seen]
    with counting.changing(Page.objects.filter(pk__in=returning)):
        _update_known(site, known, wanted, seen, counts, now)
    seen.update(page.pk for page in known.values())
    seen.update(
        Page.objects.filter(site=site, url_digest__in=[page.url_digest for page in fresh]).values_list("pk", flat=True)
    )
    counts["added"] += 0 if is_baseline else len(fresh)
    if fresh and not is_baseline:
        add_to_day(site, now, new=len(fresh))
        counting.add_to_sections(site, now, [page.section for page in fresh], "new")


def _update_known(
    site: Site,
    known: Mapping[str, Page],
    wanted: Mapping[str, ListedUrl],
    seen: set[int],
    counts: dict[str, int],
    now: datetime,
) -> None:
    for digest, page in known.items():
        if page.pk in seen:  # an earlier list names it, too
            continue
        lastmod = cut(clean_text(wanted[digest].lastmod), 60)
        if page.lastmod != lastmod or not page.is_listed:
            counts["modified"] += page.is_listed
            _update(site, page, lastmod, now)


def _new_page(site: Site, each: ListedUrl, digest: str, *, now: datetime, is_baseline: bool, is_excluded: bool) -> Page:
    is_read = not is_excluded and (site.mode == Mode.ALL or (site.mode == Mode.NEW and not is_baseline))
    return Page(
        site=site,
        url=each.url,
        url_digest=digest,
        section=section_of(each.url),
        lastmod=cut(clean_text(each.lastmod), 60),
        first_seen_at=now,
        changed_at=now,
        is_baseline=is_baseline,
        is_excluded=is_excluded,
        next_at=now if is_read else None,
        priority=FIRST if is_baseline else CHANGED,
    )


def _update(site: Site, page: Page, lastmod: str, now: datetime) -> None:
    """A new lastmod, or a URL that is listed again: the page is read first. One that waits keeps its place."""
    columns: dict[str, object] = {"lastmod": lastmod, "is_listed": True, "left_at": None, "fate": "", "moved_to": ""}
    if site.mode != Mode.NONE and not page.is_excluded:
        is_believed = not page.is_listed or page.changes > 0 or page.looks < ENOUGH_LOOKS
        is_waiting = page.priority != LEFT and not page.failures and page.next_at is not None and page.next_at <= now
        columns |= {
            "next_at": page.next_at if is_waiting else now,
            "priority": CHANGED if is_believed else RETURNING,
            "failures": 0,
        }
    Page.objects.filter(pk=page.pk).update(**columns)


def _mark_left(ctx: JobContext, site: Site, seen: set[int]) -> int:
    """Mark pages that the list names no more; each of them is asked once, unless a rule leaves it out."""
    listed = Page.objects.filter(site=site, is_listed=True, interval_minutes=None).order_by("pk")
    gone = [pk for pk in listed.values_list("pk", flat=True).iterator(5000) if pk not in seen]
    for batch in batched(gone, BATCH):
        with ctx.writing():
            left = Page.objects.filter(pk__in=batch)
            with counting.changing(left):
                left.update(is_listed=False, left_at=ctx.now, moved_to="", failures=0)
                left.filter(is_excluded=False).update(fate=Fate.UNKNOWN, next_at=ctx.now, priority=LEFT)
            crash_point("pages.sync.left")
    return len(gone)


@dataclass(frozen=True)
class UrlRules:
    """Which addresses of a website are read: one of `include` (all if empty) and none of `exclude` must fit."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def excludes(self, url: str) -> bool:
        if self.include and not any(matches(pattern, url) for pattern in self.include):
            return True
        return any(matches(pattern, url) for pattern in self.exclude)

    @property
    def digest(self) -> str:
        said = "\n".join([*self.include, "\t", *self.exclude])
        return sha256(said.encode()).hexdigest()[:16] if self.include or self.exclude else ""


def url_rules(site: Site) -> UrlRules:
    rows = SiteRule.objects.filter(site=site, kind__in=[RuleKind.INCLUDE, RuleKind.EXCLUDE]).order_by("pattern")
    found = list(rows.values_list("kind", "pattern"))
    return UrlRules(
        tuple(pattern for kind, pattern in found if kind == RuleKind.INCLUDE),
        tuple(pattern for kind, pattern in found if kind == RuleKind.EXCLUDE),
    )


def apply_url_rules(ctx: JobContext, site: Site) -> None:
    """Compare all pages with include and exclude rules that are new. Interrupted, it runs again from the beginning."""
    rules = url_rules(site)
    if rules.digest == site.url_rules:
        return
    pages = Page.objects.filter(site=site).order_by("pk").values_list("pk", "url", "is_excluded")
    for batch in batched(pages.iterator(5000), BATCH):
        judged = [(pk, rules.excludes(url), was) for pk, url, was in batch]
        out = [pk for pk, is_out, was in judged if is_out and not was]
        back = [pk for pk, is_out, was in judged if was and not is_out]
        if out or back:
            with ctx.writing(), counting.changing(Page.objects.filter(pk__in=[*out, *back])):
                Page.objects.filter(pk__in=out).update(is_excluded=True, next_at=None)
                Page.objects.filter(pk__in=back).update(is_excluded=False)
    with ctx.writing():
        plan_mode(site, ctx.now)
        site.url_rules = rules.digest
        site.save(update_fields=["url_rules"])


def add_to_day(site: Site, now: datetime, **counts: int) -> None:
    """Count what happened on a day."""
    day = now.astimezone(SHANGHAI).date()
    SiteDay.objects.get_or_create(site=site, day=day)
    columns = {name: F(name) + count for name, count in counts.items() if count}
    if columns:
        SiteDay.objects.filter(site=site, day=day).update(**columns)


def requests_left(site: Site, now: datetime) -> int:
    """Return the requests that this day still allows."""
    row = SiteDay.objects.filter(site=site, day=now.astimezone(SHANGHAI).date()).first()
    return max(site.daily_requests - (row.requests if row else 0), 0)


def plan_mode(site: Site, now: datetime) -> None:
    """Make pages due, or not, after the mode of a website changed."""
    pages = Page.objects.filter(site=site, is_listed=True, interval_minutes=None, is_excluded=False)
    if site.mode == Mode.ALL:
        pages.filter(next_at=None).update(next_at=now, priority=FIRST)
    elif site.mode == Mode.NONE:
        pages.update(next_at=None)
    else:
        # A page that is due as returning may have a new lastmod that was not believed: it is still read.
        pages.filter(Q(priority=FIRST) | Q(priority=RETURNING, next_at__gt=now)).update(next_at=None)
