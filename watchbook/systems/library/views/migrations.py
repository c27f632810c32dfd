"""Moving the files of the top level into a folder: the plan, the running job, and its rollback."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base import clock
from watchbook.kit.badges import Badge, find
from watchbook.kit.formatting import number_text
from watchbook.systems.library import actions
from watchbook.systems.library.models import FolderMigrationJob, ItemStatus, JobStatus, Phase, Reconciliation
from watchbook.systems.library.views import answers, done, given_id, reader
from watchbook.systems.library.views.layout import frame, targets_in
from watchbook.systems.library.views.workspaces import lines_of

SHOWN_MOVES, SHOWN_ITEMS, SHOWN_JOBS = 200, 200, 20
WORDS = {
    JobStatus.PENDING: "pending", JobStatus.RUNNING: "running", JobStatus.SUCCESS: "done", JobStatus.FAILED: "failed",
    JobStatus.ROLLED_BACK: "rolled_back", JobStatus.CANCELED: "cancelled",
}  # fmt: skip
ITEM_WORDS = {
    ItemStatus.PENDING: "pending", ItemStatus.SUCCESS: "done", ItemStatus.FAILED: "failed",
    ItemStatus.ROLLED_BACK: "rolled_back",
}  # fmt: skip


def job_badge(job: FolderMigrationJob) -> Badge:
    control = job.control
    if control.active_space_id and control.paused_at:
        return Badge(_("Paused"), "warn", "s-hold")
    if control.active_space_id and control.phase == Phase.ROLLBACK:
        return Badge(_("Rolling back"), "info", "s-work")
    return find("job", WORDS[JobStatus(job.status)])


def item_badge(status: str) -> Badge:
    if status == ItemStatus.CONFLICT:
        return Badge(ItemStatus.CONFLICT.label, "warn", "s-hold")
    return find("job", ITEM_WORDS.get(ItemStatus(status), status))


def code_words() -> dict[str, str]:
    """Return the reasons of failed items and blocked jobs as sentences."""
    return {
        "same_title": _("a page with this title already exists"),
        "folders_disabled": _("Folders are disabled in this workspace. Enable them first."),
        "job_active": _("A folder migration is already running in this space."),
        "nothing_to_move": _("This space has no pages at the top level. There is nothing to move."),
        "conflict_moved_since": _("not rolled back: a user moved this page after the migration"),
        "canceled": _("not moved: the job was cancelled"),
        "page_deleted": _("now in the trash"),
        "target_gone": _("the target folder no longer exists"),
        "not_a_file": _("no longer a page"),
    }


def words_for(code: str | None) -> str:
    return code_words().get(code, code) if code else ""


@require_http_methods(["GET", "POST"])
@answers
def migrations(request: HttpRequest, space_id: UUID) -> HttpResponse:
    """The plan, which stores nothing, and the jobs there were; POST starts one."""
    user, folder = reader(request), given_id(request, "folder")
    if request.method == "POST":
        job = actions.start_migration(user, space_id, folder_page_id=folder)
        return done(request, reverse("library:migration", args=[job.pk]), _("Started. You can leave this page."))
    plan = actions.plan_migration(user, space_id, folder_page_id=folder)
    jobs = [(job, job_badge(job)) for job in actions.list_migrations(user, space_id)[:SHOWN_JOBS]]
    context = {
        **frame(user, plan.space),
        "plan": plan,
        "moves": [(move, [words_for(code) for code in move.conflicts]) for move in plan.moves[:SHOWN_MOVES]],
        "conflicts": sum(1 for move in plan.moves if move.conflicts),
        "obstacles": [words_for(code) for code in plan.obstacles],
        "folder": folder,
        "folders": targets_in(reader(request), plan.space, ()),
        "jobs": jobs,
        "now": clock.now(),
    }
    return render(request, "library/migrations.html", context)


@require_GET
@answers
def migration(request: HttpRequest, job_id: UUID) -> HttpResponse:
    user = reader(request)
    job = actions.open_migration(user, job_id)
    status = request.GET.get("status", "")
    status = status if status in ItemStatus.values else ""
    items = actions.list_items(user, job_id, status=status)[:SHOWN_ITEMS]
    last = Reconciliation.objects.filter(job=job).order_by("-id").first()
    context = {
        **frame(user, job.space),
        **_work(job),
        "items": [(item, item_badge(item.status), words_for(item.error_code)) for item in items],
        "status": status,
        "statuses": [(value, item_badge(value).text) for value in ItemStatus.values],
        "last": last,
        "lines": lines_of(last.checks) if last else [],
    }
    return render(request, "library/migration.html", context)


@require_GET
@answers
def live(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The counts as they are now; when it is over, the whole page is asked for once more."""
    job = actions.open_migration(reader(request), job_id)
    answer = render(request, "library/_job.html", {**_work(job), "may_write": True})
    if job.control.active_space_id is None:
        answer.headers["HX-Refresh"] = "true"
    return answer


def _work(job: FolderMigrationJob) -> dict[str, Any]:
    counts = dict(job.items.values_list("status").annotate(n=Count("page_id")).values_list("status", "n"))
    is_back = job.control.phase == Phase.ROLLBACK
    left = counts.get(ItemStatus.SUCCESS if is_back else ItemStatus.PENDING, 0)
    return {
        "job": job,
        "badge": job_badge(job),
        "is_live": job.control.active_space_id is not None,
        "is_back": is_back,
        "is_paused": job.control.paused_at is not None,
        "done_count": job.total_count - left,
        "counts": [(item_badge(name).text, count) for name, count in sorted(counts.items())],
        "total": number_text(job.total_count),
        "now": clock.now(),
    }


@require_POST
@answers
def step(request: HttpRequest, job_id: UUID, name: str) -> HttpResponse:
    """Pause, resume, cancel, retry, roll back."""
    act, words = {
        "pause": (actions.pause_migration, _("Paused. The job stops before the next batch.")),
        "resume": (actions.resume_migration, _("Resumed.")),
        "cancel": (
            actions.cancel_migration,
            _("Cancelled. Moved pages stay where they are. Use Roll back to move them back."),
        ),
        "retry": (actions.retry_migration, _("Retrying failed pages.")),
        "rollback": (
            actions.rollback_migration,
            _("Rollback started. Folders are disabled; every page returns to its previous place."),
        ),
    }[name]
    act(reader(request), job_id)
    return done(request, reverse("library:migration", args=[job_id]), words)
