"""Screenshots of versions and what differs from the one before: pictures among the blobs, within limits."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, QuerySet, Sum

from watchbook.base.files import Facts
from watchbook.base.store import blobs
from watchbook.base.store.models import Blob
from watchbook.core.jobs import queue
from watchbook.systems.pages import options
from watchbook.systems.pages.models import Page, PageShot, PageVersion, Site

OWNER = "web_page_shot"
JOB = "pages.screenshot"
MEGABYTE = 1_000_000


def is_wanted(site: Site) -> bool:
    return site.takes_screenshots and bool(options.CHROMIUM.value)


def has_room(site: Site) -> bool:
    used = PageShot.objects.filter(site=site).aggregate(sum=Sum(F("size") + F("difference_size")))["sum"] or 0
    return bool(used < options.SCREENSHOT_MEGABYTES.value * MEGABYTE)


def want_shot(site: Site, page: Page, version: PageVersion) -> None:
    """Queue a screenshot in the transaction of a new version. Pages that do not exist have none."""
    if is_wanted(site) and version.status < 400 and not version.is_restart:
        key = f"{JOB}:{page.pk}:{version.number}"
        queue.enqueue_many([queue.new_run(JOB, {"page_id": page.pk, "number": version.number}, key=key)])


def shot_before(page: Page, number: int) -> PageShot | None:
    return PageShot.objects.filter(page=page, number__lt=number).order_by("-number").first()


def store_shot(
    page: Page, number: int, picture: Blob, facts: Facts, difference: tuple[Blob, float] | None, *, now: datetime
) -> PageShot:
    """Record a screenshot, in the caller's transaction."""
    made, percent = difference or (None, None)
    values = {
        "site_id": page.site_id, "taken_at": now, "sha256": picture.sha256, "size": picture.size,
        "width": facts.width or 0, "height": facts.height or 0, "changed_percent": percent,
        "difference": made.sha256 if made else "", "difference_size": made.size if made else 0,
    }  # fmt: skip
    row, _is_new = PageShot.objects.update_or_create(page=page, number=number, defaults=values)
    blobs.refer(OWNER, row.pk, [each.sha256 for each in (picture, made) if each])
    return row


def delete_shots(rows: QuerySet[PageShot]) -> int:
    """Delete screenshots with their references to blobs, in the caller's transaction."""
    ids = list(rows.values_list("pk", flat=True))
    PageShot.objects.filter(pk__in=ids).delete()
    blobs.release(OWNER, ids)
    return len(ids)
