"""The list of runs: filters and columns that its page, its export and the API share."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import F, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base.logs import redact
from watchbook.core import registry
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.overview import seconds_of, shown_state
from watchbook.kit import badges
from watchbook.kit.lists import Changes, Choice, Column, Days, Flag, List, Order, Search
from watchbook.kit.lists.filters import Options

LONG = timedelta(minutes=5)


def _jobs() -> Options:
    return sorted(((name, _(job.title) if job.title else name) for name, job in registry.jobs().items()), key=_title)


def _title(pair: tuple[str, str]) -> str:
    return str(pair[1])


def _states() -> Options:
    return [(state, badges.find("job", state).text) for state in State.values]


def _started_by_user(_value: Any) -> Q:
    return Q(requested_by__isnull=False)


def _long(_value: Any) -> Q:
    return Q(started_at__isnull=False, finished_at__gt=F("started_at") + LONG)


STATE = Choice("state", gettext_lazy("State"), "state", choices=_states)
COMMON = (
    STATE,
    Flag("by_user", gettext_lazy("Started by a user"), where=_started_by_user),
    Flag("long", gettext_lazy("Longer than 5 min"), where=_long),
    Days("days", gettext_lazy("Date"), "created_at"),
)
COLUMNS = (
    Column("id"),
    Column("name"),
    Column("queue"),
    Column("state"),
    Column("outcome", shown_state),
    Column("attempt"),
    Column("created_at"),
    Column("started_at"),
    Column("finished_at"),
    Column("duration_seconds", seconds_of),
    Column("http_request_count"),
    Column("requested_by", lambda run: str(run.requested_by) if run.requested_by else None),
    Column("error_code"),
    Column("error", lambda run: redact.block(run.error)),
    Column("progress", lambda run: redact.mapping(run.progress)),
)
SEARCH = Search("q", gettext_lazy("Search runs"), columns=("name", "error", "error_code"))
RUNS = List(
    "job-runs",
    filters=(SEARCH, Choice("job", gettext_lazy("Job"), "name", choices=_jobs, counted=False), *COMMON),
    columns=COLUMNS,
    # A mirror gets runs as they finish: until then they change.
    changes=Changes("finished_at", "finished_at", Q(finished_at__isnull=False)),
)
# The runs of one job.
JOB_RUNS = List("job-runs", filters=(SEARCH, *COMMON), columns=COLUMNS)


NEVER = "never"
RESULTS = ("done", "nothing_to_do", "partly", "slow", "running", "waiting", "recovered", "failed", "cancelled")


def _results() -> Options:
    return [*((name, badges.find("job", name).text) for name in RESULTS), (NEVER, _("Not run yet"))]


def _sources() -> Options:
    return [("core", _("Server")), *((each.slug, _(each.title)) for each in registry.sources() if each.jobs)]


PLANS = (
    ("scheduled", gettext_lazy("Scheduled")),
    ("paused", gettext_lazy("Paused")),
    ("off", gettext_lazy("Off")),
    ("on_demand", gettext_lazy("On demand")),
)
# The board: every job with its last run. Its rows are `overview.ShownLine`.
BOARD = List(
    "jobs",
    filters=(
        Search("q", gettext_lazy("Search jobs"), columns=("title", "name", "queue", "error_text")),
        Choice("source", gettext_lazy("Source"), "owner", choices=_sources),
        Choice("result", gettext_lazy("Result"), "result", choices=_results),
        Choice("plan", gettext_lazy("Schedule"), "plan", choices=PLANS),
        Days("days", gettext_lazy("Last run"), "started_at"),
    ),
    columns=(
        Column("name"),
        Column("title"),
        Column("source", "owner"),
        Column("queue"),
        Column("schedule"),
        Column("plan"),
        Column("last_run_id", lambda line: line.last.pk if line.last else None),
        Column("last_run_at", "started_at"),
        Column("result"),
        Column("duration_seconds", "last_seconds"),
        Column("figures", "figures_text"),
        Column("http_request_count", lambda line: line.last.http_request_count if line.last else None),
        Column("error_code", lambda line: line.last.error_code if line.last else ""),
        Column("error", "error_text"),
        Column("next_run_at", "next_at"),
    ),
    orders=(
        Order("board", gettext_lazy("By source"), "place", is_rising=True),
        Order("name", gettext_lazy("By name"), "title", is_rising=True),
        Order("newest", gettext_lazy("Last run first"), "started_at"),
        Order("longest", gettext_lazy("Longest first"), "last_seconds"),
        Order("next", gettext_lazy("Next run first"), "next_at", is_rising=True),
    ),
)


def runs() -> Any:
    return JobRun.objects.select_related("requested_by")
