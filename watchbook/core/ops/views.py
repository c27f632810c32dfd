"""Operations pages for operators: health and figures, backups."""

from __future__ import annotations

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.base.store.folder import disk_usage
from watchbook.core import registry
from watchbook.core.accounts import audit
from watchbook.core.accounts.access import staff_required
from watchbook.core.alerts.models import Alert
from watchbook.core.health import all_health
from watchbook.core.jobs import actions, dispatch
from watchbook.core.jobs.models import JobRun, State, Worker
from watchbook.core.notify.models import Delivery
from watchbook.core.notify.models import State as DeliveryState
from watchbook.core.ops import backup, health, options

BACKUP_JOB = "ops.backup"


@staff_required
@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """Is everything well, and if not, what is it."""
    now = clock.now()
    checks = health.readiness()
    shown = {
        "now": now,
        "checks": checks,
        "is_ready": all(check.ok for check in checks),
        "workers": Worker.objects.order_by("role", "name"),
        "alive_since": now - dispatch.ALIVE_FOR,
        "running": JobRun.objects.filter(state=State.RUNNING).count(),
        "waiting": JobRun.objects.ready(now).count(),
        "pending": Delivery.objects.filter(state=DeliveryState.PENDING).count(),
        "alerts": Alert.objects.filter(live_slot__isnull=False).count(),
        "disk": disk_usage(),
        "sources": [(registry.source(slug), each) for slug, each in all_health().items()],
    }
    return render(request, "ops/overview.html", shown)


@staff_required
@require_GET
def backups(request: HttpRequest) -> HttpResponse:
    running = JobRun.objects.live().filter(name=BACKUP_JOB).order_by("-pk").first()
    shown = {
        "backups": backup.listed(),
        "running": running,
        "is_daily": options.BACKUP_DAILY.value,
        "keep": options.BACKUP_KEEP.value,
        "folder": backup.folder(),
        "can_run": BACKUP_JOB in registry.jobs(),
    }
    return render(request, "ops/backups.html", shown)


@staff_required
@require_POST
def back_up_now(request: HttpRequest) -> HttpResponse:
    try:
        actions.run_soon(BACKUP_JOB, user=request.user, request=request)
    except actions.ManualRunNotAllowed:
        raise Http404 from None
    messages.success(request, _("Backup started. It appears here after verification."))
    return redirect("ops_backups")


@staff_required
@require_GET
def download(request: HttpRequest, name: str) -> HttpResponseBase:
    """Download a backup. It contains all data, so the audit log records who downloaded it."""
    path = backup.find(name)
    if path is None:
        raise Http404
    audit.record("export.made", subject=name, request=request)
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/x-tar")
