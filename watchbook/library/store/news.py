"""What the rest of the house hears of pages: search documents and stream entries, in the writer's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from watchbook.core.search import index
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.record import Entry, record
from watchbook.library.access import scope_of
from watchbook.library.models import Page
from watchbook.library.parse.html import to_text

SOURCE, KIND, SAVED = "library", "page", "saved"
SUMMARY = 300


def page_path(page_id: UUID) -> str:
    return f"/library/pages/{page_id}/"


def put(pages: Iterable[Page]) -> None:
    """Find these pages from now on, as they are now."""
    index.put(_document(page) for page in pages)


def remove(page_ids: Iterable[UUID]) -> None:
    index.remove(KIND, page_ids)


def forget(page_ids: Sequence[UUID]) -> None:
    """Gone for good: neither found nor told of any more."""
    remove(page_ids)
    StreamEntry.objects.filter(source=SOURCE, kind=SAVED, object_id__in=[str(pk) for pk in page_ids]).delete()


def tell(pages: Sequence[Page], user: Any) -> None:
    """One line per page, person and day: somebody who saves every minute is not news every minute."""
    record(_entry(page, user) for page in pages)


def _document(page: Page) -> index.Document:
    return index.Document(
        kind=KIND,
        object_id=str(page.pk),
        scope=scope_of(page.space_id),
        title=page.title,
        body=to_text(page.content),
        url_path=page_path(page.pk),
        occurred_at=page.updated_at,
        source=SOURCE,
    )


def _entry(page: Page, user: Any) -> Entry:
    return Entry(
        source=SOURCE,
        kind=SAVED,
        title=page.title,
        summary=to_text(page.content[: SUMMARY * 20])[:SUMMARY],
        url_path=page_path(page.pk),
        scope=scope_of(page.space_id),
        object_kind=KIND,
        object_id=str(page.pk),
        occurred_at=page.updated_at,
        event_key=f"{page.updated_at:%Y%m%d}:{getattr(user, 'pk', '') or ''}",
    )
