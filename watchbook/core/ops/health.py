"""Health of this server: readiness checks, and the probes /healthz, /readyz and /metrics.

Health of every source and watched thing in groups, for the Health page, the API and the command.

All three ask the functions that systems declare in `Source.health` and `Source.health_items`; nothing is judged here.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.models import Min, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from watchbook.base import clock
from watchbook.base.store.folder import disk_usage
from watchbook.core import health as states
from watchbook.core import registry
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem, all_health, health_of, items_of, worst, worst_first
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun, State, Worker
from watchbook.core.notify import health as channels
from watchbook.core.ops import options
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.formatting import size_text

CHANNELS = "channels"
# States that the page counts and filters together, worst first.
SEGMENTS: dict[str, frozenset[str]] = {
    "failing": frozenset({states.FAILING, states.ERROR, states.BLOCKED}),
    "late": frozenset({states.LATE}),
    "incomplete": frozenset({states.INCOMPLETE, states.UNCONFIRMED}),
    "never": frozenset({states.NEVER}),
    "paused": frozenset({states.PAUSED}),
    "healthy": frozenset({states.HEALTHY}),
}


@dataclass(frozen=True)
class Group:
    """A source with everything it watches."""

    slug: str
    title: str
    icon: str
    url: str
    health: Health
    items: tuple[HealthItem, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Return how many things are in each segment."""
        return count_segments(self.items)

    @property
    def healthy(self) -> int:
        return self.counts["healthy"]

    @property
    def last_success_at(self) -> datetime | None:
        """Return the newest success of the source and of all things."""
        found = [self.health.last_success_at, *(item.health.last_success_at for item in self.items)]
        return max((at for at in found if at is not None), default=None)

    @property
    def last_failure(self) -> Health | None:
        """Return the newest failure of all things."""
        failed = [item.health for item in self.items if item.health.last_failure_at is not None]
        return max(failed, key=lambda health: health.last_failure_at or 0, default=None)

    @property
    def badge(self) -> Badge:
        return self.health.badge()


def count_segments(items: Iterable[HealthItem]) -> dict[str, int]:
    found = Counter(item.health.state for item in items)
    return {name: sum(found[state] for state in group) for name, group in SEGMENTS.items()}


def segment_title(name: str) -> str:
    if name == "all":
        return _("All")
    return str(badges.find("health", name).text)


def groups(viewer: User, *, is_whole_server: bool) -> list[Group]:
    """Return every source that declares its health, then the viewer's channels.

    `is_whole_server` includes what belongs to other users, for operators: names and states, without links.
    """
    user = None if is_whole_server else viewer
    found = [group for source in registry.sources() if (group := source_group(source, viewer, user)) is not None]
    own = worst_first(channels.items(viewer))
    if own:
        found.append(
            Group(CHANNELS, _("Channels"), "bell", reverse("channels"), worst(item.health for item in own), tuple(own))
        )
    return found


def source_group(source: registry.Source, viewer: User | None, user: User | None) -> Group | None:
    """Return one source with its things; None if it declares no health."""
    own = health_of(source, user)
    if own is None:
        return None
    items = tuple(_without_private_links(items_of(source, user), viewer))
    return Group(source.slug, _(source.title), source.icon, reverse(source.home_url), own, items)


def _without_private_links(items: Iterable[HealthItem], viewer: User | None) -> Iterator[HealthItem]:
    for item in items:
        if item.owner_id is None or (viewer is not None and item.owner_id == viewer.pk):
            yield item
        else:
            yield replace(item, health=replace(item.health, url="", detail=""), try_url="")


STUCK_AFTER = timedelta(seconds=60)


@dataclass(frozen=True)
class Check:
    """`name` is stable and for programs, `message` is for people."""

    name: str
    ok: bool
    message: str

    @property
    def title(self) -> str:
        titles = {
            "database": _("Database"),
            "workers": _("Workers"),
            "beat": _("Scheduler"),
            "queue": _("Queue"),
            "disk": _("Disk"),
        }
        return titles.get(self.name, self.name)


def readiness() -> list[Check]:
    """Everything that must hold for work to continue. Never raises because of the database."""
    checks = [_guarded("database", _database)]
    if checks[0].ok:
        checks += [_guarded("workers", _workers), _guarded("beat", _beat), _guarded("queue", _queue)]
    return [*checks, disk()]


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except DatabaseError as error:
        # The driver's words may hold addresses and user names; its class says enough here.
        return Check(name, False, _("The database does not answer (%(error)s).") % {"error": type(error).__name__})


def _database() -> Check:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM job_workers LIMIT 1")
    return Check("database", True, _("%(vendor)s answers.") % {"vendor": connection.display_name})


def _workers() -> Check:
    count = live_workers()
    if not count:
        return Check("workers", False, _("No worker has sent a heartbeat for %(n)s s.") % {"n": _alive_seconds()})
    return Check(
        "workers", True, ngettext("%(n)s worker is running.", "%(n)s workers are running.", count) % {"n": count}
    )


def live_workers() -> int:
    """Return the number of workers with a recent heartbeat or a renewed lease."""
    seen = set(_alive("worker").values_list("name", flat=True))
    working = JobRun.objects.filter(state=State.RUNNING, lease_until__gt=clock.now(), owner__startswith="worker@")
    return len(seen | set(working.values_list("owner", flat=True)))


def _beat() -> Check:
    if not _alive("beat").exists():
        return Check("beat", False, _("No scheduler has sent a heartbeat for %(n)s s.") % {"n": _alive_seconds()})
    return Check("beat", True, _("The scheduler is running."))


def _queue() -> Check:
    now = clock.now()
    stuck = stuck_queues(now)
    if not stuck:
        waiting = JobRun.objects.ready(now).count()
        return Check(
            "queue", True, ngettext("%(n)s run is queued.", "%(n)s runs are queued.", waiting) % {"n": waiting}
        )
    name, since = min(stuck.items(), key=lambda item: item[1])
    waited = int((now - since).total_seconds())
    return Check(
        "queue",
        False,
        _("%(queue)s is stuck: a run has been queued for %(n)s s.") % {"queue": name, "n": waited},
    )


def stuck_queues(now: datetime) -> dict[str, datetime]:
    """Queues with a ready run older than a minute in which nothing runs and nothing was started since."""
    early = now - STUCK_AFTER
    held = JobRun.objects.filter(exclusive_slot__isnull=False).values("exclusive_slot")
    waiting = (
        JobRun.objects.filter(state=State.QUEUED, due_at__lt=early)
        .exclude(exclusive__in=held, exclusive__gt="")
        .values_list("queue")
        .annotate(since=Min("due_at"))
    )
    oldest = dict(waiting)
    if not oldest:
        return {}
    active = JobRun.objects.filter(queue__in=oldest)
    moving = set(active.filter(state=State.RUNNING, lease_until__gt=now).values_list("queue", flat=True))
    moving |= set(active.filter(started_at__gt=early).values_list("queue", flat=True))
    return {name: since for name, since in oldest.items() if name not in moving}


def disk() -> Check:
    usage = disk_usage()
    facts = {"percent": round(usage.percent), "free": size_text(usage.free)}
    if usage.percent > options.DISK_PERCENT.value:
        return Check("disk", False, _("The disk is %(percent)s %% full (%(free)s free). Free up space.") % facts)
    return Check("disk", True, _("The disk is %(percent)s %% full (%(free)s free).") % facts)


def _alive(role: str) -> QuerySet[Worker]:
    return Worker.objects.filter(role=role, seen_at__gte=clock.now() - queue.ALIVE_FOR)


def _alive_seconds() -> int:
    return int(queue.ALIVE_FOR.total_seconds())


def may_see_detail(request: HttpRequest) -> bool:
    plain = _bearer(request)
    wanted = options.METRICS_TOKEN.value
    if plain and wanted and hmac.compare_digest(plain.encode(), wanted.encode()):
        return True
    try:
        return _is_staff_token(plain) if plain else _is_staff_session(request)
    except DatabaseError:
        # Sessions and tokens are in the database; without it no user can be recognised.
        return False


def _bearer(request: HttpRequest) -> str:
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _is_staff_token(plain: str) -> bool:
    token = tokens.find(plain)
    return token is not None and token.allows("staff") and token.user.is_staff


def _is_staff_session(request: HttpRequest) -> bool:
    return bool(request.user.is_authenticated and request.user.is_staff)


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process responds. It does not use the database."""
    return JsonResponse({"ok": True})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when jobs can run, else 503. Only operators get the causes."""
    checks = readiness()
    is_ready = all(check.ok for check in checks)
    answer: dict[str, object] = {"ok": is_ready}
    if may_see_detail(request):
        answer["checks"] = [{"name": check.name, "ok": check.ok, "message": check.message} for check in checks]
        answer["sources"] = _sources()
    return JsonResponse(answer, status=200 if is_ready else 503, json_dumps_params={"ensure_ascii": False})


def _sources() -> dict[str, dict[str, str]]:
    """Return state and reason of every source. A site that fails does not make this server unready."""
    try:
        found = all_health()
    except DatabaseError:
        return {}
    return {slug: {"state": each.state, "reason": each.reason} for slug, each in found.items()}


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not may_see_detail(request):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    from watchbook.core.ops.metrics import render  # the client library loads slowly and few servers use it

    try:
        return HttpResponse(render(), content_type="text/plain; version=0.0.4; charset=utf-8")
    except DatabaseError:
        return HttpResponse(status=503)
