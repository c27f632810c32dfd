"""Health of this server: readiness checks, and the probes /healthz, /readyz and /metrics."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.models import Min, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from watchbook.base import clock
from watchbook.base.store.folder import disk_usage
from watchbook.core.accounts import tokens
from watchbook.core.health import all_health
from watchbook.core.jobs import dispatch
from watchbook.core.jobs.models import JobRun, State, Worker
from watchbook.core.ops import options
from watchbook.kit.formatting import size_text

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
    """Everything that must hold for work to go on. Never raises because of the database."""
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
    return Worker.objects.filter(role=role, seen_at__gte=clock.now() - dispatch.ALIVE_FOR)


def _alive_seconds() -> int:
    return int(dispatch.ALIVE_FOR.total_seconds())


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
