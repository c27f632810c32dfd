"""What is done every few minutes: keywords searched, locks recovered, old leases forgotten."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

from watchbook.base.text import cut
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.notes import fetch, options
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.fetch.visit import SearchQuery
from watchbook.sources.notes.jobs import crawl
from watchbook.sources.notes.models import CookieLease, Keyword
from watchbook.sources.notes.parse.records import CardRecord
from watchbook.sources.notes.store import candidates
from watchbook.sources.notes.store.candidates import Found

PAGE_SIZE = 20
KEYWORDS_A_RUN = 50


def recover_locks(ctx: JobContext) -> Outcome:
    with ctx.writing():
        done = candidates.recover(ctx.now)
    return Outcome("done" if any(asdict(done).values()) else "nothing_to_do", asdict(done))


def any_keyword_due(now: datetime) -> bool:
    return bool(fetch.adapter_name()) and Keyword.objects.due(now).exists()


def search_due(ctx: JobContext) -> Outcome:
    """Every keyword whose time has come; what it finds is stored once per note."""
    due = list(Keyword.objects.due(ctx.now)[:KEYWORDS_A_RUN])
    if not due or not fetch.adapter_name():
        return NOTHING_TO_DO
    added = failed = 0
    for keyword in due:
        try:
            cards = search_keyword(keyword)
        except Trouble as trouble:
            failed += 1
            with ctx.writing():
                put_off(keyword, ctx.now, error=str(trouble))
            continue
        with ctx.writing():
            added += store_cards(keyword, cards, ctx.now)
        ctx.report(keywords=len(due), added=added, failed=failed)
    return Outcome("partly" if failed else "done", {"keywords": len(due), "added": added, "failed": failed})


def search_keyword(keyword: Keyword) -> list[CardRecord]:
    """The hits of the first pages. Raises Trouble."""
    cards: list[CardRecord] = []
    for number in range(1, options.SEARCH_PAGES.value + 1):
        page, _cookie = crawl.search(SearchQuery(keyword.keyword, number, PAGE_SIZE), platform=keyword.platform)
        cards += page.cards
        if not page.has_more:
            break
    return cards


def store_cards(keyword: Keyword, cards: list[CardRecord], now: datetime) -> int:
    """In the caller's transaction: candidates, and the keyword's next time."""
    base = options.PAGE_URL.value.rstrip("/")
    found = [
        Found(
            note_id=card.note_id,
            platform=keyword.platform,
            note_url=f"{base}/explore/{card.note_id}",
            source_keyword=keyword.keyword,
            xsec_token=card.xsec_token,
            xsec_source="pc_search",
            title=card.title,
        )
        for card in cards
    ]
    stored = candidates.store_found(found, now)
    put_off(keyword, now, found=stored.added)
    return stored.added


def put_off(keyword: Keyword, now: datetime, *, found: int = 0, error: str = "") -> None:
    Keyword.objects.filter(pk=keyword.pk).update(
        last_search_at=now,
        next_search_at=now + timedelta(minutes=options.SEARCH_EVERY.value),
        last_error=cut(error, 300),
        found_count=keyword.found_count + found,
    )


def forget_leases(ctx: JobContext) -> Outcome:
    before = ctx.now - timedelta(days=options.KEEP_LEASES_DAYS.value)
    with ctx.writing():
        gone = CookieLease.objects.filter(leased_at__lt=before).delete()[0]
    return Outcome("done" if gone else "nothing_to_do", {"leases": gone})
