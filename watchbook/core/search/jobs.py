"""Telling people about new documents that match their saved searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import F
from django.urls import reverse
from django.utils import translation
from django.utils.translation import ngettext

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.notify.outbox import Notice, tell
from watchbook.core.search import index
from watchbook.core.search import query as queries
from watchbook.core.search.dialects import dialect
from watchbook.core.search.models import SavedSearch, SavedSearchMatch, SearchDocument
from watchbook.core.search.query import Query
from watchbook.core.search.tokens import searchable

BATCH = 500
LISTED = 20


@dataclass(frozen=True)
class Watch:
    """A saved search, ready to be compared."""

    saved: SavedSearch
    query: Query
    scopes: frozenset[str]

    def wants(self, document: SearchDocument, title: str, body: str) -> bool:
        if document.pk <= self.saved.last_document_id or document.scope not in self.scopes:
            return False
        if self.saved.kinds and document.kind not in self.saved.kinds:
            return False
        return self.query.is_found(title, body)


def anything_new(now: datetime) -> bool:
    """Is there a document that an active saved search has not looked at?"""
    return SavedSearch.objects.active().filter(last_document_id__lt=SearchDocument.objects.last_id()).exists()


def match_saved(ctx: JobContext) -> Outcome:
    """Compare new documents with every saved search; a match is told once, in the transaction that remembers it."""
    watches = _watches()
    place = min((watch.saved.last_document_id for watch in watches), default=0)
    seen = told = 0
    settled = True
    while watches and (documents := list(SearchDocument.objects.since(place)[:BATCH])):
        found = _matches(watches, documents)
        with ctx.writing():
            told += sum(_tell(saved, matched, ctx.now) for saved, matched in found)
            settled = settled and _advance(watches, documents, ctx.now)
        place, seen = documents[-1].pk, seen + len(documents)
        ctx.report(documents=seen, told=told)
    return Outcome("done", {"documents": seen, "told": told}) if seen else NOTHING_TO_DO


def rebuild_index(ctx: JobContext) -> Outcome:
    """Make the word index anew, after a change of the tokenizer or a restored database."""
    return Outcome("done", {"documents": index.rebuild(lambda done: ctx.report(documents=done))})


def _watches() -> list[Watch]:
    active = SavedSearch.objects.active().select_related("user").prefetch_related("channels").order_by("pk")
    return [Watch(saved, queries.read(saved.query), frozenset(viewer_scopes(saved.user))) for saved in active]


def _matches(
    watches: Sequence[Watch], documents: Sequence[SearchDocument]
) -> list[tuple[SavedSearch, list[SearchDocument]]]:
    """Compared before the transaction begins: reading takes a while, and SQLite has one writer at a time."""
    texts = [(document, searchable(document.title), searchable(document.body)) for document in documents]
    found = [
        (watch.saved, [each for each, title, body in texts if watch.wants(each, title, body)]) for watch in watches
    ]
    return [(saved, matched) for saved, matched in found if matched]


def _tell(saved: SavedSearch, documents: Sequence[SearchDocument], now: datetime) -> int:
    """Once for all documents that were not told before. Returns how many there were."""
    before = set(
        SavedSearchMatch.objects.filter(
            saved_search=saved, document_id__in=[each.pk for each in documents]
        ).values_list("document_id", flat=True)
    )
    fresh = [document for document in documents if document.pk not in before]
    if not fresh:
        return 0
    SavedSearchMatch.objects.bulk_create(
        [SavedSearchMatch(saved_search=saved, document_id=each.pk, matched_at=now) for each in fresh], batch_size=500
    )
    SavedSearch.objects.filter(pk=saved.pk).update(match_count=F("match_count") + len(fresh), last_match_at=now)
    channels = list(saved.channels.all())
    if channels:
        tell(channels, _notice(saved, fresh))
    return len(fresh)


def _advance(watches: Sequence[Watch], documents: Sequence[SearchDocument], now: datetime) -> bool:
    """Move past documents that no slower writer can slip in front of. False when some are still unsettled."""
    border = now - timedelta(seconds=dialect().settle_seconds)
    settled = [each.pk for each in takewhile(lambda each: each.indexed_at <= border, documents)]
    if settled:
        last = settled[-1]
        behind = [watch.saved.pk for watch in watches if watch.saved.last_document_id < last]
        SavedSearch.objects.filter(pk__in=behind, last_document_id__lt=last).update(last_document_id=last)
        # What lies behind a search is never looked at again.
        SavedSearchMatch.objects.filter(saved_search__in=behind, document_id__lte=last).delete()
    return len(settled) == len(documents)


def _notice(saved: SavedSearch, documents: Sequence[SearchDocument]) -> Notice:
    with translation.override(saved.user.language or settings.LANGUAGE_CODE):
        subject = ngettext("%(n)s new match: %(name)s", "%(n)s new matches: %(name)s", len(documents)) % {
            "n": len(documents),
            "name": saved.name,
        }
    return Notice(
        event_id=f"saved-search:{saved.pk}:{documents[-1].pk}",
        source="search",
        kind="saved_search",
        subject=subject,
        lines=[_line(document) for document in documents[:LISTED]],
        payload={
            "saved_search": {"id": saved.pk, "name": saved.name, "query": saved.query},
            "count": len(documents),
            "items": [_item(document) for document in documents],
        },
        link=f"{reverse('search')}?{urlencode({'q': saved.query})}",
        thread=f"saved-search:{saved.pk}",
    )


def _line(document: SearchDocument) -> str:
    return f"{document.title or document.object_id}  {_address(document)}".strip()


def _item(document: SearchDocument) -> dict[str, str]:
    return {
        "kind": document.kind,
        "id": document.object_id,
        "source": document.source,
        "title": document.title,
        "url": _address(document),
        "occurred_at": document.occurred_at.isoformat(),
    }


def _address(document: SearchDocument) -> str:
    path = document.url_path
    return f"{settings.PUBLIC_URL}{path}" if path.startswith("/") else path
