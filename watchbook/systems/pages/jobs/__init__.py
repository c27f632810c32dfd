"""Jobs of the pages system. Here: queueing due websites, and deleting old versions and deleted websites."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.db.models import Min
from django.utils.translation import gettext_noop

from watchbook.core.erase import erase
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.pages import options, schedule
from watchbook.systems.pages.models import (
    WHOLE_EVERY,
    Page,
    PageEvent,
    PageEvidence,
    PageShot,
    PageVersion,
    Site,
    WebClip,
)
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.store.clips import delete_clips
from watchbook.systems.pages.store.evidence import FATE, delete_evidence, delete_of_pages
from watchbook.systems.pages.store.lists import batched, lists_of, url_rules
from watchbook.systems.pages.store.pages import KIND
from watchbook.systems.pages.store.shots import delete_shots

READ_JOB = "pages.read"
# A website without a due page reads its list this often; that costs no request.
LIST_EVERY = timedelta(minutes=5)
BATCH = 500


def run_for(site: Site, *, user_id: object = None) -> JobRun:
    """A run that reads due pages of a website; one at a time for each host."""
    key = f"{READ_JOB}:{site.pk}@{site.next_at:%Y-%m-%dT%H:%M:%S}"
    exclusive = f"pages:{host_of(site)}"[:200]
    return queue.new_run(READ_JOB, {"site_id": site.pk}, key=key, exclusive=exclusive, requested_by_id=user_id)


def host_of(site: Site) -> str:
    return urlsplit(site.address).netloc[:200]


def anything_due(now: datetime) -> bool:
    return Site.objects.due(now).exists()


def enqueue_due(ctx: JobContext) -> Outcome:
    """Queue a run for every website that has due pages or a changed list."""
    runs = []
    for site in Site.objects.due(ctx.now).select_related("user").order_by("next_at")[:BATCH]:
        if is_waiting(site, ctx.now):
            runs.append(run_for(site))
        else:
            plan_next(site, ctx)
    made = queue.enqueue_many(runs) if runs else []
    closed = _close_broken_off(ctx, {run.key for run in runs} - {run.key for run in made})
    return Outcome("done", {"enqueued": len(made), "broken_off": closed}) if made or closed else NOTHING_TO_DO


BROKEN_OFF = gettext_noop("The last reading broke off.")


def _close_broken_off(ctx: JobContext, keys: set[str]) -> int:
    """Plan websites whose run ended without doing so: a crash must not stop a website for ever, nor silently."""
    ended = JobRun.objects.filter(key__in=keys).exclude(pk__in=JobRun.objects.live().values("pk"))
    closed = 0
    for run in ended:
        site = Site.objects.live().filter(pk=run.args["site_id"]).first()
        if site is None or run_for(site).key != run.key:
            continue  # planned in between
        failures = site.failures + 1
        with ctx.writing():
            closed += Site.objects.filter(pk=site.pk, next_at=site.next_at).update(
                failures=failures, last_error=BROKEN_OFF, last_failure_at=ctx.now,
                next_at=ctx.now + schedule.retry_after(failures),
            )  # fmt: skip
    return closed


def is_waiting(site: Site, now: datetime) -> bool:
    """Whether a website has a due page, other rules than before, or a list that changed."""
    if url_rules(site).digest != site.url_rules:
        return True
    if Page.objects.filter(site=site).due(now).exists():
        return True
    found = lists_of(site)
    return found is not None and found.version != site.list_version


def plan_next(site: Site, ctx: JobContext) -> None:
    """Set when to read a website again: at its next due page, or at its list."""
    next_page = Page.objects.filter(site=site, next_at__isnull=False).aggregate(at=Min("next_at"))["at"]
    moments = [moment for moment in (next_page, ctx.now + LIST_EVERY if site.list_name else None) if moment]
    site.next_at = max(min(moments, default=ctx.now + timedelta(days=1)), ctx.now + timedelta(seconds=30))
    with ctx.writing():
        Site.objects.filter(pk=site.pk).update(next_at=site.next_at)


def delete_old(ctx: JobContext) -> Outcome:
    """Delete versions and readings older than the retention options, and websites that were deleted."""
    removed = {"versions": _delete_versions(ctx), "clips": _delete_clips(ctx), "sites": 0}
    removed["evidence"] = _delete_evidence(ctx)
    removed["screenshots"] = _delete_shots(ctx)
    for site in Site.objects.exclude(deleted_at=None):
        _delete_pages(ctx, site)
        with ctx.writing():
            site.delete()
        removed["sites"] += 1
    return Outcome("done", removed) if any(removed.values()) else NOTHING_TO_DO


def _delete_versions(ctx: JobContext) -> int:
    """Delete whole chains only: a later text is made of the earlier ones since the last whole text."""
    before, removed = ctx.now - timedelta(days=options.KEEP_VERSIONS_DAYS.value), 0
    old = PageVersion.objects.filter(read_at__lt=before, number__gt=WHOLE_EVERY, is_whole=True)
    for page_id, number in old.order_by("pk").values_list("page_id", "number").iterator(BATCH):
        newest = PageVersion.objects.filter(page=page_id).order_by("-number").values_list("number", flat=True).first()
        if newest is None or newest - number < WHOLE_EVERY:
            continue
        with ctx.writing():
            delete_evidence(PageEvidence.objects.filter(page=page_id, number__gt=FATE, number__lt=number))
            delete_shots(PageShot.objects.filter(page=page_id, number__lt=number))
            removed += PageVersion.objects.filter(page=page_id, number__lt=number).delete()[0]
    return removed


def _delete_evidence(ctx: JobContext) -> int:
    before, removed = ctx.now - timedelta(days=options.EVIDENCE_DAYS.value), 0
    old = PageEvidence.objects.filter(kept_at__lt=before)
    while ids := list(old.values_list("pk", flat=True)[:BATCH]):
        with ctx.writing():
            removed += delete_evidence(PageEvidence.objects.filter(pk__in=ids))
    return removed


def _delete_shots(ctx: JobContext) -> int:
    before, removed = ctx.now - timedelta(days=options.SCREENSHOT_DAYS.value), 0
    old = PageShot.objects.filter(taken_at__lt=before)
    while ids := list(old.values_list("pk", flat=True)[:BATCH]):
        with ctx.writing():
            removed += delete_shots(PageShot.objects.filter(pk__in=ids))
    return removed


def _delete_clips(ctx: JobContext) -> int:
    before, removed = ctx.now - timedelta(days=options.KEEP_CLIPS_DAYS.value), 0
    ids = list(WebClip.objects.filter(read_at__lt=before).values_list("pk", flat=True))
    for batch in batched(ids, BATCH):
        with ctx.writing():
            removed += delete_clips(batch)
    return removed


def _delete_pages(ctx: JobContext, site: Site) -> None:
    pks = list(Page.objects.filter(site=site).values_list("pk", flat=True))
    for batch in batched(pks, BATCH):
        with ctx.writing():
            erase(KIND, [str(pk) for pk in batch])
            delete_of_pages(batch)
            delete_shots(PageShot.objects.filter(page__in=batch))
            PageEvent.objects.filter(page__in=batch).delete()
            PageVersion.objects.filter(page__in=batch).delete()
            with counts.changing(Page.objects.filter(pk__in=batch)):
                Page.objects.filter(pk__in=batch).delete()
