"""One reading of one page: its text compared with the last version, and what became of a URL that left its list.

A difference is read twice: what differs between the two readings is noise and is learned; what stays is a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext_noop

from watchbook.base.web.response import Exchange, Validators
from watchbook.base.work import counted
from watchbook.systems.pages.fetch import Fetched, fetch_page
from watchbook.systems.pages.models import Fate, Page, PageVersion, Site
from watchbook.systems.pages.parse import PageRecord, Selectors
from watchbook.systems.pages.parse.noise import Mask, learn, similarity
from watchbook.systems.pages.store.evidence import FATE, keep, store_evidence
from watchbook.systems.pages.store.pages import (
    masking,
    newest,
    store_failure,
    store_fate,
    store_same,
    store_version,
    text_of,
)
from watchbook.systems.pages.store.rules import apply_rules, selectors_of
from watchbook.systems.pages.store.shots import want_shot

SAME_TEXT = 0.9
# Pages that were added within this time of a URL's leaving may be where it went.
AROUND = timedelta(days=7)
CANDIDATES = 50

FOR_NOW = gettext_noop("The URL redirects for now. Nothing is concluded from that.")
SAME, CHANGED, UNCLEAR = "unchanged", "changed", "unclear"


@dataclass(frozen=True)
class Look:
    """What a look found, as a function that stores it inside a transaction."""

    word: str
    store: Callable[[datetime], object]


def look_at(site: Site, page: Page, spacing: float | None, *, may_confirm: bool) -> Look:
    """Read a page and compare it with its newest version."""
    selectors = selectors_of(site, page.url)
    version, text = newest(page)
    is_read_alike = version is not None and version.selectors == selectors.digest
    validators = Validators(page.etag or None, page.last_modified or None) if is_read_alike else None

    def same(mask: Mask | None = None) -> Look:
        return Look(SAME, lambda now: _store_same(site, page, version, selectors, now, mask, count.requests))

    def store(now: datetime) -> PageVersion:
        made = store_version(
            site, page, record, now=now, mask=mask, validators=found.validators, before=(version, text),
            is_redirect=bool(found.hops), requests=count.requests, selectors=selectors,
        )  # fmt: skip
        apply_rules(site, page, made, record, (version, text))
        store_evidence(site, page, made.number, kept, now=now)
        want_shot(site, page, made)
        return made

    exchanges: list[Exchange] | None = [] if site.keeps_evidence else None
    with counted() as count:
        found = fetch_page(
            page.url, validators=validators, spacing_seconds=spacing, selectors=selectors, record=exchanges
        )
        mask = Mask.of(page.mask)
        if found.is_not_modified and version is not None:
            return same()
        record = _with_answer(page, found)
        if version is not None and is_same(site, mask, version.fields, text, record):
            return same()
        if may_confirm:
            again = fetch_page(page.url, spacing_seconds=spacing, selectors=selectors, record=exchanges)
            second = _with_answer(page, again)
            if second.fields.get("status") != record.fields.get("status"):
                return Look(UNCLEAR, lambda now: _store_unclear(site, page, now, count.requests))
            mask = learn(record.text, second.text, (record.fields, second.fields), mask)
            if version is not None and is_same(site, mask, version.fields, text, record):
                return same(mask)
    kept = keep(site, exchanges)
    return Look(CHANGED, store)


def _store_same(
    site: Site, page: Page, version: PageVersion | None, selectors: Selectors, now: datetime,
    mask: Mask | None, requests: int,
) -> None:  # fmt: skip
    store_same(site, page, now=now, mask=mask, requests=requests)
    if version is not None and version.selectors != selectors.digest:
        # Other selectors give the same text: later looks compare with this version as before.
        PageVersion.objects.filter(pk=version.pk).update(selectors=selectors.digest)


def _store_unclear(site: Site, page: Page, now: datetime, requests: int) -> None:
    """Two looks gave two statuses: nothing is concluded, and the page is read again soon."""
    store_same(site, page, now=now, requests=requests)
    Page.objects.filter(pk=page.pk).update(next_at=now + timedelta(minutes=30))


def is_same(site: Site, mask: Mask, fields: dict[str, str], text: str, record: PageRecord) -> bool:
    """Whether a page says what its version says, without noise."""
    masked = masking(site, mask)
    return masked.fields(fields) == masked.fields(record.fields) and masked.lines(text) == masked.lines(record.text)


def _with_answer(page: Page, found: Fetched) -> PageRecord:
    """The record with status and final address, which are fields like others."""
    record = found.record or PageRecord()
    status = str(found.hops[0][1] if found.hops else found.status)
    fields = {**record.fields, "status": str(found.status) if found.is_missing else status}
    if found.hops:
        fields["final_url"] = found.final_url
    return replace(record, fields=fields)


def ask_left(site: Site, page: Page, spacing: float | None) -> Look:
    """Ask a URL that left its list, and say what became of it; what is unclear is asked again later."""
    exchanges: list[Exchange] | None = [] if site.keeps_evidence else None
    with counted() as count:
        found = fetch_page(page.url, spacing_seconds=spacing, record=exchanges)
    if found.is_permanent and not found.is_missing:
        return _fate(site, page, Fate.MOVED, found, count.requests, exchanges, moved_to=found.final_url)
    if found.hops and not found.is_missing:
        return Look(UNCLEAR, lambda now: _ask_again(site, page, now, count.requests))
    if target := _same_page(site, page, found):
        return _fate(site, page, Fate.MOVED, found, count.requests, exchanges, moved_to=target)
    fate = Fate.GONE if found.is_missing else Fate.DELISTED
    return _fate(site, page, fate, found, count.requests, exchanges)


def _fate(
    site: Site,
    page: Page,
    fate: str,
    found: Fetched,
    requests: int,
    exchanges: list[Exchange] | None,
    *,
    moved_to: str = "",
) -> Look:
    status = found.hops[0][1] if found.hops else found.status
    kept = keep(site, exchanges)

    def store(now: datetime) -> None:
        store_fate(site, page, fate, now=now, status=status, moved_to=moved_to, requests=requests)
        store_evidence(site, page, FATE, kept, now=now)

    return Look(fate, store)


def _ask_again(site: Site, page: Page, now: datetime, requests: int) -> None:
    store_failure(site, page, FOR_NOW, now=now, is_blocked=False, requests=requests)


def _same_page(site: Site, page: Page, found: Fetched) -> str:
    """The address of a page that was added around then, with the same title and at least 90 % of the text."""
    title, text = page.title, newest(page)[1]
    if not found.is_missing and found.record is not None:
        title, text = found.record.fields.get("title", title), found.record.text or text
    if not title or not text or page.left_at is None:
        return ""
    since, text = page.left_at - AROUND, _without_noise(site, page, text)
    added = Page.objects.filter(site=site, is_listed=True, is_baseline=False, first_seen_at__gte=since, title=title)
    for other in added.exclude(pk=page.pk).order_by("-first_seen_at")[:CANDIDATES]:
        version = PageVersion.objects.filter(page=other).order_by("-number").first()
        if version is not None and similarity(text, _without_noise(site, other, text_of(version))) >= SAME_TEXT:
            return other.url
    return ""


def _without_noise(site: Site, page: Page, text: str) -> str:
    return masking(site, Mask.of(page.mask)).text(text) or text
