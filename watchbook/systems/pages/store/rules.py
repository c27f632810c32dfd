"""Rules of a website: what of a page is compared, and which rules a version or a day made true."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, time
from urllib.parse import urljoin

from watchbook.base.clock import SHANGHAI
from watchbook.base.web.response import Validators
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.pages.models import Page, PageEvent, PageVersion, RuleKind, Site, SiteRule, url_digest
from watchbook.systems.pages.parse import PageRecord, Selectors
from watchbook.systems.pages.parse.noise import Mask
from watchbook.systems.pages.parse.patterns import matches
from watchbook.systems.pages.parse.rules import Condition, parse_condition
from watchbook.systems.pages.store.pages import KIND, SOURCE, page_path, store_version
from watchbook.systems.pages.store.texts import newest

ROBOTS = "robots.txt"


def selectors_of(site: Site, url: str) -> Selectors:
    """The selectors of all rules that fit an address. One query."""
    rows = SiteRule.objects.filter(site=site, kind__in=[RuleKind.ONLY, RuleKind.IGNORE]).order_by("condition", "pk")
    fitting = [rule for rule in rows if matches(rule.pattern, url)]
    return Selectors(
        tuple(rule.condition for rule in fitting if rule.kind == RuleKind.ONLY),
        tuple(rule.condition for rule in fitting if rule.kind == RuleKind.IGNORE),
    )


def apply_rules(
    site: Site, page: Page, version: PageVersion, found: PageRecord, before: tuple[PageVersion | None, str]
) -> None:
    """Record each rule that this version made true. A page of the first list had no chance to become anything."""
    old, old_text = before
    if version.is_restart or (old is None and page.is_baseline):
        return
    past = (old.fields, old_text) if old else None
    true = [
        rule
        for rule in SiteRule.objects.filter(site=site, kind=RuleKind.NOTIFY).order_by("pk")
        if matches(rule.pattern, page.url) and parse_condition(rule.condition).crosses(past, (found.fields, found.text))
    ]
    for rule in true:
        _store(site, page, rule, str(rule), at=version.read_at, version=version.number)


def store_robots(site: Site, text: str, *, now: datetime) -> None:
    """Keep a changed robots.txt as a version of its own page, with the text before as the first one. No request."""
    url = urljoin(site.address, "/robots.txt")
    page, _made = Page.objects.get_or_create(
        site=site,
        url_digest=url_digest(url),
        defaults={
            "url": url, "section": "/", "title": ROBOTS, "first_seen_at": now, "changed_at": now, "is_listed": False,
            "is_baseline": True,
        },
    )  # fmt: skip
    for said in (text,) if page.version_count else (site.robots, text):
        before = newest(page)
        found = PageRecord({"status": "200", "title": ROBOTS}, said, len(said.encode()))
        version = store_version(
            site, page, found, now=now, mask=Mask(), validators=Validators(), before=before, is_redirect=False
        )
        apply_rules(site, page, version, found, before)


def apply_counts(site: Site, now: datetime) -> None:
    """Record each rule about a number of pages that is exceeded today, once a day."""
    today = now.astimezone(SHANGHAI).date()
    for rule in SiteRule.objects.filter(site=site, kind=RuleKind.NOTIFY, condition__startswith="more ").order_by("pk"):
        wanted = parse_condition(rule.condition)
        if rule.notified_on == today:
            continue
        count, newest = count_today(site, wanted, rule.pattern, now)
        if newest is not None and count > int(wanted.value):
            rule.notified_on = today
            rule.save(update_fields=["notified_on"])
            _store(site, newest, rule, f"{rule} ({count})", at=now)


def count_today(site: Site, wanted: Condition, pattern: str, now: datetime) -> tuple[int, Page | None]:
    """Return how many pages a rule counts today, and the newest of them."""
    since = datetime.combine(now.astimezone(SHANGHAI).date(), time(), SHANGHAI)
    found: Iterable[tuple[int, str]]
    if wanted.field == "new":
        new = Page.objects.filter(site=site, first_seen_at__gte=since, is_baseline=False)
        found = new.order_by("first_seen_at", "pk").values_list("pk", "url").iterator(2000)
    else:
        events = PageEvent.objects.filter(site=site, at__gte=since, kind=wanted.field)
        found = events.order_by("at", "pk").values_list("page_id", "page__url").iterator(2000)
    fitting = [pk for pk, url in found if matches(wanted.under or pattern, url)]
    counted = set(fitting)
    return len(counted), Page.objects.get(pk=fitting[-1]) if fitting else None


def _store(site: Site, page: Page, rule: SiteRule, words: str, *, at: datetime, version: int = 0) -> None:
    PageEvent.objects.create(site=site, page=page, kind=PageEvent.RULE, version=version, rule=words[:500], at=at)
    moment = f"{version}" if version else f"{at.astimezone(SHANGHAI):%Y%m%d}"
    record([
        Entry(
            source=SOURCE, kind="rule", title=page.title or page.path, summary=f"{words}: {page.path}",
            url_path=f"{page_path(page)}?to={version}" if version else page_path(page), scope=site.scope,
            object_kind=KIND, object_id=str(page.pk), occurred_at=at, event_key=f"rule:{rule.pk}:{moment}",
            data={"url": page.url, "version": version or None, "rule": words, "site": site.pk},
        )
    ])  # fmt: skip
