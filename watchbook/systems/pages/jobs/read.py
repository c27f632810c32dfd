"""The job that reads due pages of one website: list, robots.txt, then pages in order, within the request budget."""

from __future__ import annotations

from collections import Counter, deque
from datetime import datetime, time, timedelta

from django.utils.translation import gettext_noop

from watchbook.base import sandbox
from watchbook.base.clock import SHANGHAI
from watchbook.base.web.errors import Blocked, BudgetExceeded, WebError
from watchbook.base.work import Count, counted, crash_point
from watchbook.core.alerts.outage import Guard, HostDown
from watchbook.core.jobs.runner import NOTHING_TO_DO, GiveUp, JobContext, Outcome
from watchbook.systems.pages import fetch, schedule
from watchbook.systems.pages.jobs import host_of, is_waiting, plan_next
from watchbook.systems.pages.jobs.look import UNCLEAR, Look, ask_left, look_at
from watchbook.systems.pages.models import CHANGED, FIRST, IS_LISTED, LEFT, RETURNING, Fate, Page, Result, Site
from watchbook.systems.pages.parse.noise import shared_lines
from watchbook.systems.pages.parse.robots import Robots
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.store.lists import add_to_day, apply_url_rules, lists_of, requests_left, sync
from watchbook.systems.pages.store.pages import SOURCE, newest, store_failure
from watchbook.systems.pages.store.rules import apply_counts, notify_events, store_robots

PAGES_PER_RUN, OTHERS_EVERY = 50, 5
# A look needs a second one when the page changed.
MOST_PER_LOOK = 2
ROBOTS_EVERY, ROBOTS_LENGTH = timedelta(days=1), 100_000
SAMPLE = 40
DISALLOWED = gettext_noop("robots.txt does not allow this page.")
NO_LIST = gettext_noop("The list of this website was deleted.")


class _Stop(Exception):
    """The run stops asking; `reason` says why."""

    def __init__(self, reason: str, code: str) -> None:
        super().__init__(reason)
        self.reason, self.code = reason, code


def read_site(ctx: JobContext, site_id: int) -> Outcome:
    """Read what is due. The run fails when nothing could be read; pages that were not asked stay due."""
    site = Site.objects.live().select_related("user").filter(pk=site_id, is_paused=False).first()
    if site is None:
        return NOTHING_TO_DO
    tally: Counter[str] = Counter()
    _sync(ctx, site, tally)
    apply_url_rules(ctx, site)
    left = requests_left(site, ctx.now)
    site.total_weight = _total_weight(site)
    stop: _Stop | None = None
    with counted(most=left) as count:
        try:
            _read_due(ctx, site, tally, left, count)
        except _Stop as stopped:
            stop = stopped
    _learn_boilerplate(site)
    return _finish(ctx, site, tally, stop)


def _sync(ctx: JobContext, site: Site, tally: Counter[str]) -> None:
    if not site.list_name:
        return
    found = lists_of(site)
    if found is None:
        with ctx.writing():
            Site.objects.filter(pk=site.pk).update(is_paused=True, last_error=NO_LIST, last_failure_at=ctx.now)
        raise GiveUp(NO_LIST, "no_list")
    if found.version and found.version != site.list_version:
        tally.update(sync(ctx, site, found))


def _total_weight(site: Site) -> float:
    found = counts.of_site(site)
    return found.weight / counts.MICRO + schedule.weight(0, 0) * found.never_read


def _read_due(ctx: JobContext, site: Site, tally: Counter[str], left: int, count: Count) -> None:
    guard = Guard(SOURCE, scope=site.scope, link=f"/pages/sites/{site.pk}/")
    due = due_pages(site, ctx.now)
    if not due or not left:
        return
    robots = _robots(ctx, site, guard)
    spacing = robots.delay_seconds
    for page in due:
        spent = count.requests
        if spent >= left:
            return
        try:
            _read_one(ctx, site, page, robots, guard, tally, spacing, may_confirm=spent + MOST_PER_LOOK <= left)
        except BudgetExceeded:
            return
        ctx.report(**tally)


def due_pages(site: Site, now: datetime) -> list[Page]:
    """What one run reads: by priority, but every fifth place is for the others, longest waiting first.

    A sitemap that gives all its pages a new lastmod every day would otherwise keep every other page waiting for ever.
    """
    rows = Page.objects.filter(site=site).due(now).order_by("next_at", "pk")
    waiting = [deque(rows.filter(priority=each)[:PAGES_PER_RUN]) for each in (CHANGED, LEFT, RETURNING, FIRST)]
    found: list[Page] = []
    while len(found) < PAGES_PER_RUN and (busy := [group for group in waiting if group]):
        is_for_others = len(busy) > 1 and len(found) % OTHERS_EVERY == OTHERS_EVERY - 1
        group = busy[1 + len(found) // OTHERS_EVERY % (len(busy) - 1)] if is_for_others else busy[0]
        found.append(group.popleft())
    return found


def _robots(ctx: JobContext, site: Site, guard: Guard) -> Robots:
    """The rules of the site, read once a day. Each other text is kept as a version of the page robots.txt."""
    if site.robots_at is None or site.robots_at < ctx.now - ROBOTS_EVERY:
        with counted() as count:
            try:
                guard.check(host_of(site))
                text = fetch.fetch_robots(site.address)
            except HostDown as down:
                raise _Stop(down.reason, "outage") from down
            except WebError as error:
                _charge(ctx, site, count.requests)
                raise _outage(guard, site, error) from error
        with ctx.writing():
            if site.robots_at is not None and text[:ROBOTS_LENGTH] != site.robots:
                store_robots(site, text[:ROBOTS_LENGTH], now=ctx.now)
            site.robots, site.robots_at = text[:ROBOTS_LENGTH], ctx.now
            site.save(update_fields=["robots", "robots_at"])
            add_to_day(site, ctx.now, requests=count.requests)
    return fetch.robots_of(site.robots)


def _charge(ctx: JobContext, site: Site, requests: int) -> None:
    with ctx.writing():
        add_to_day(site, ctx.now, requests=requests)


def _outage(guard: Guard, site: Site, error: WebError) -> _Stop:
    try:
        guard.failed(host_of(site), error)
    except HostDown as down:
        return _Stop(down.reason, error.code)
    return _Stop(error.message, error.code)


def _read_one(
    ctx: JobContext,
    site: Site,
    page: Page,
    robots: Robots,
    guard: Guard,
    tally: Counter[str],
    spacing: float | None,
    *,
    may_confirm: bool,
) -> None:
    if not robots.allows(page.url):
        tally["blocked"] += 1
        with ctx.writing():
            store_failure(site, page, DISALLOWED, now=ctx.now, is_blocked=True)
        return
    host = host_of(site)
    with counted() as count:
        try:
            guard.check(host)
            found = _look(site, page, spacing, may_confirm=may_confirm)
        except HostDown as down:
            raise _Stop(down.reason, "outage") from down
        except BudgetExceeded:
            _charge(ctx, site, count.requests)
            raise
        except (WebError, sandbox.TaskError) as error:
            _failed(ctx, site, page, guard, error, tally, count.requests)
            return
    guard.succeeded(host)
    crash_point("pages.fetched")
    tally["pages_read"] += 1
    tally[found.word] += found.word != UNCLEAR
    with ctx.writing():
        found.store(ctx.now)
        crash_point("pages.stored")


def _look(site: Site, page: Page, spacing: float | None, *, may_confirm: bool) -> Look:
    if not page.is_listed and page.fate == Fate.UNKNOWN:
        return ask_left(site, page, spacing)
    return look_at(site, page, spacing, may_confirm=may_confirm)


def _failed(
    ctx: JobContext, site: Site, page: Page, guard: Guard, error: Exception, tally: Counter[str], requests: int
) -> None:
    """Record a failed look. An outage stops the run after three attempts and is not counted against the page."""
    message, code = str(getattr(error, "message", error)), str(getattr(error, "code", "failed"))
    down: HostDown | None = None
    try:
        kind = guard.failed(host_of(site), error)
    except HostDown as raised:
        kind, down = "outage", raised
    is_blocked = isinstance(error, Blocked | fetch.Wall)
    tally["failed"] += 1
    with ctx.writing():
        store_failure(site, page, message, now=ctx.now, is_blocked=is_blocked, is_outage=bool(kind), requests=requests)
        if not tally["pages_read"]:
            Site.objects.filter(pk=site.pk).update(last_error=message, last_failure_at=ctx.now)
    if down is not None:
        raise _Stop(message, code)


def _learn_boilerplate(site: Site) -> None:
    """Lines that most of the recently read pages share."""
    if not site.masks_noise:
        return
    recent = Page.objects.filter(IS_LISTED, site=site, last_read_at__isnull=False).order_by("-last_read_at")
    read = [page for page in recent[: 2 * SAMPLE] if page.result == Result.OK][:SAMPLE]
    site.boilerplate = shared_lines([newest(page)[1] for page in read])


def _finish(ctx: JobContext, site: Site, tally: Counter[str], stop: _Stop | None) -> Outcome:
    is_failure = bool(stop) or (tally["failed"] and not tally["pages_read"])
    fresh = Site.objects.get(pk=site.pk)
    reason = (stop.reason if stop else "") or fresh.last_error
    columns: dict[str, object] = {"boilerplate": site.boilerplate}
    if tally["pages_read"]:
        columns |= {"last_success_at": ctx.now}
    if is_failure:
        columns |= {"failures": fresh.failures + 1, "last_error": reason[:500], "last_failure_at": ctx.now}
    elif tally["pages_read"]:
        columns |= {"failures": 0, "last_error": ""}
    with ctx.writing():
        Site.objects.filter(pk=site.pk).update(**columns)
        apply_counts(site, ctx.now)
        notify_events(site)
    plan_next(site, ctx)
    _wait(ctx, site, is_failure=bool(is_failure))
    done = {name: count for name, count in tally.items() if count}
    if is_failure:
        ctx.progress.update(done)
        raise GiveUp(reason, stop.code if stop else "not_read")
    if not done:
        return NOTHING_TO_DO
    return Outcome("partly" if tally["failed"] else "done", done)


def _wait(ctx: JobContext, site: Site, *, is_failure: bool) -> None:
    """Wait after a failed run, and until tomorrow when the budget of the day is used up."""
    at: datetime | None = None
    if is_failure:
        at = ctx.now + schedule.retry_after(1)
    elif not requests_left(site, ctx.now):
        tomorrow = ctx.now.astimezone(SHANGHAI).date() + timedelta(days=1)
        at = datetime.combine(tomorrow, time(), SHANGHAI)
    if at is not None:
        with ctx.writing():
            Site.objects.filter(pk=site.pk).update(next_at=at)


def run_due_now(rounds: int = 20) -> dict[str, int]:
    """Read every due website here and now, as commands and tests do."""
    from watchbook.base import clock
    from watchbook.core.jobs import runner

    total: Counter[str] = Counter()
    for _round in range(rounds):
        due = [site for site in Site.objects.due(clock.now()).select_related("user") if is_waiting(site, clock.now())]
        for site in due:
            run = runner.run_now("pages.read", {"site_id": site.pk}, exclusive=f"pages:{host_of(site)}"[:200])
            total.update({name: count for name, count in run.progress.items() if isinstance(count, int)})
            total["runs"] += 1
        if not due:
            break
    return dict(total)
