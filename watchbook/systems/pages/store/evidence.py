"""What was sent and received with each version: a WARC file among the blobs, within the limits of its website."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db.models import QuerySet, Sum

from watchbook.base import clock
from watchbook.base.store import blobs
from watchbook.base.store.folder import scratch
from watchbook.base.store.models import Blob
from watchbook.base.web.response import Exchange
from watchbook.systems.pages import options
from watchbook.systems.pages.models import Page, PageEvidence, Site
from watchbook.systems.pages.parse.warc import PackedPage, write_wacz, write_warc

OWNER = "web_page_evidence"
MEGABYTE = 1_000_000
# The number of the answer that decided what became of a URL
FATE = 0


@dataclass(frozen=True)
class Kept:
    """A WARC file that is stored and belongs to no version yet. One that never does is deleted by the cleanup."""

    blob: Blob
    exchanges: int


def used_bytes(site: Site) -> int:
    return PageEvidence.objects.filter(site=site).aggregate(sum=Sum("size"))["sum"] or 0


def keep(site: Site, exchanges: Sequence[Exchange] | None) -> Kept | None:
    """Store what was sent and received, outside of any transaction. None: not wanted, no room, or storage fails.

    A version without evidence is better than no version.
    """
    if not exchanges or used_bytes(site) >= options.EVIDENCE_MEGABYTES.value * MEGABYTE:
        return None
    with scratch("evidence") as folder:
        path = folder / "data.warc.gz"
        write_warc(path, exchanges, clock.now())
        try:
            return Kept(blobs.put(path), len(exchanges))
        except blobs.PlaceFailed:
            return None


def store_evidence(site: Site, page: Page, number: int, kept: Kept | None, *, now: datetime) -> None:
    """Record the evidence of a version, in the transaction of the version."""
    if kept is None:
        return
    values = {"site": site, "kept_at": now, "sha256": kept.blob.sha256, "size": kept.blob.size}
    row, _is_new = PageEvidence.objects.update_or_create(
        page=page, number=number, defaults={**values, "exchanges": kept.exchanges}
    )
    blobs.refer(OWNER, row.pk, [kept.blob.sha256])


def delete_evidence(rows: QuerySet[PageEvidence]) -> int:
    """Delete evidence with its references to blobs, in the caller's transaction."""
    ids = list(rows.values_list("pk", flat=True))
    PageEvidence.objects.filter(pk__in=ids).delete()
    blobs.release(OWNER, ids)
    return len(ids)


def delete_of_pages(page_ids: Iterable[int]) -> int:
    return delete_evidence(PageEvidence.objects.filter(page__in=list(page_ids)))


@contextmanager
def packed(evidence: PageEvidence, form: str) -> Iterator[Path]:
    """The file to download: the WARC file itself, or a WACZ that is made now. Raises BlobError if it is damaged."""
    page: Page = evidence.page
    with scratch("evidence") as folder:
        warc = blobs.local_file(evidence.sha256, folder)
        if form == "warc":
            yield warc
            return
        target = folder / "packed.wacz"
        write_wacz(target, warc, PackedPage(page.url, page.title, evidence.kept_at))
        yield target
