"""Pages of notes. Here: what all of them share, texts of states and counts, and the page header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.overview import ShownRun
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.formatting import number_text
from watchbook.systems.notes import fetch, options, rules
from watchbook.systems.notes.access import may_work
from watchbook.systems.notes.fetch import refusals
from watchbook.systems.notes.health import health
from watchbook.systems.notes.jobs.crawl import STOPPED
from watchbook.systems.notes.jobs.maintenance import SOURCE
from watchbook.systems.notes.models import Candidate, CandidateStatus, Execution, ExecutionStatus
from watchbook.systems.notes.rules import COLLECT_WORKFLOW, COMMENTS_WORKFLOW, CREATORS_WORKFLOW, LOST, NotesError
from watchbook.systems.notes.store import oldest_valid_heartbeat
from watchbook.systems.notes.store.pool import CANNOT_OPEN

COUNTS = {
    "liked": pgettext_lazy("count", "Liked"),
    "collected": pgettext_lazy("count", "Saved"),
    "comment": pgettext_lazy("count", "Comments"),
    "share": pgettext_lazy("count", "Shared"),
}
# Reasons that are not the platform's own words.
OWN_REASONS: dict[str, str] = {
    refusals.SERVER: refusals.SERVER_ERROR.message,
    "timed_out": refusals.SLOW.message,
    rules.NOT_ASKED: STOPPED,
    rules.OUTAGE: refusals.NO_RESPONSE,
}
CODES: dict[str, str] = {
    rules.Code.TIMEOUT_ERROR: refusals.SLOW.message,
    rules.Code.NETWORK_ERROR: refusals.UNREACHABLE.message,
    rules.Code.LOCK_LOST: LOST,
}


@dataclass(frozen=True)
class Figure:
    """A count as the platform shows it, and how much that can be believed."""

    name: str
    text: str
    remark: str = ""
    about: str = ""


def figure_of(name: str, count: Any) -> Figure:
    title = str(COUNTS.get(name, name))
    given: Mapping[str, Any] = count if isinstance(count, Mapping) else {}
    value, raw = given.get("value"), str(given.get("raw") or "")
    if not isinstance(value, int):
        return Figure(title, raw, pgettext("count", "not a number")) if raw else Figure(title, "")
    if given.get("exact"):
        return Figure(title, number_text(value))
    if raw.endswith("+"):
        return Figure(title, raw, pgettext("count", "at least"), number_text(value))
    return Figure(title, raw or number_text(value), pgettext("count", "rounded"), number_text(value))


def reason_text(code: str, reason: str, message: str = "") -> str:
    """Why something failed, in a sentence; what has none shows what was stored."""
    if code == CANNOT_OPEN:
        return _("The cookie was encrypted with a key that is missing.")
    if code == rules.Code.LOCK_LOST and reason == "timed_out":
        return _("The lock had no heartbeat for 30 minutes and was released.")
    kind = refusals.ERROR_KINDS.get(reason)
    sentence = kind.message if kind else OWN_REASONS.get(reason) or CODES.get(code)
    return _(sentence) if sentence else _(message) if message else reason or code


def execution_badge(row: Execution) -> Badge:
    if row.status == ExecutionStatus.COMPLETED:
        return badges.find("job", "partly" if row.items_failed or row.items_returned else "done")
    return badges.find("job", {ExecutionStatus.TIMEOUT: "recovered"}.get(ExecutionStatus(row.status), row.status))


JOBS = ("notes.collect", "notes.search", "notes.creators", "notes.comments")


@dataclass(frozen=True)
class Work:
    title: str
    state: str
    counts: list[tuple[str, str]] = field(default_factory=list)
    done: int = 0
    total: int = 0
    started_at: datetime | None = None
    heartbeat_at: datetime | None = None
    execution_id: str = ""


def live_work(now: datetime) -> Work | None:
    """The newest execution with a heartbeat, whichever worker runs it; else what waits for a worker."""
    alive = Execution.objects.exclude(slot=None).filter(heartbeat_at__gte=oldest_valid_heartbeat(now))
    execution = alive.order_by("-started_at", "-pk").first()
    if execution is not None:
        return of_execution(execution)
    runs = JobRun.objects.live().filter(name__in=JOBS, due_at__lte=now).order_by("pk")[:10]
    found = sorted(runs, key=lambda run: run.state != State.RUNNING)
    return _of_run(ShownRun(found[0], now)) if found else None


def of_execution(row: Execution) -> Work:
    settled = row.items_processed + row.items_failed + row.items_returned
    held = Candidate.objects.filter(status=CandidateStatus.PROCESSING, processing_lock=row.execution_id).count()
    # What it gave back was queued again after it began, and is for the next one.
    waiting = Candidate.objects.pending().filter(queued_at__lte=row.started_at).count()
    ahead = held + (waiting if row.workflow_name == COLLECT_WORKFLOW else 0)
    named = [
        (pgettext("items", "collected"), row.items_processed),
        (pgettext("items", "failed"), row.items_failed),
        (pgettext("items", "returned"), row.items_returned),
        (pgettext("items", "in progress"), held),
    ]
    titles = {
        COLLECT_WORKFLOW: _("Collecting notes"),
        CREATORS_WORKFLOW: _("Checking creators"),
        COMMENTS_WORKFLOW: _("Reading comments"),
    }
    title = titles.get(row.workflow_name, row.workflow_name)
    return Work(
        title=title,
        state="running",
        counts=[(what, number_text(count)) for what, count in named],
        done=settled,
        total=settled + ahead,
        started_at=row.started_at,
        heartbeat_at=row.heartbeat_at,
        execution_id=row.execution_id,
    )


def _of_run(run: ShownRun) -> Work:
    # Its counts are those of the execution that it has begun or will begin.
    counts = run.counts if run.name != "notes.collect" else []
    return Work(title=run.title, state=run.badge_state, counts=counts, started_at=run.started_at)


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The page is loaded again when the work has ended."""
    if not getattr(request, "htmx", False):
        return redirect("notes:executions")
    now = clock.now()
    work = live_work(now)
    if work is None:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "notes/_work.html", {"work": work, "now": now})


def head(request: HttpRequest, tab: str) -> dict[str, Any]:
    now = clock.now()
    return {
        "tab": tab,
        "now": now,
        "is_operator": is_operator(request),
        "may_work": may_work(request.user),
        "pending_count": Candidate.objects.pending().count(),
        "alert_count": Alert.objects.open().filter(source=SOURCE).count(),
        "work": live_work(now),
        "closed": adapter_problem(),
        "health": health(now=now),
        "runner": options.RUNNER.value,
    }


def is_operator(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_staff", False))


def adapter_problem() -> str:
    """Empty while an adapter can be used, else a sentence for the operator."""
    try:
        fetch.adapter()
    except NotesError as error:
        return _(error.message)
    return ""


def top_url(name: str, *args: object) -> str:
    """A page from its beginning: without this a browser keeps the place of the form that was sent."""
    return f"{reverse(f'notes:{name}', args=args)}#main"


def named(text: str, longest: int) -> str:
    """A name in an address that a column can hold; anything else leads nowhere."""
    if not text.isprintable() or len(text) > longest:
        raise Http404
    return text
