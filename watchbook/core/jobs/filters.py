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
from watchbook.kit.lists import Changes, Choice, Column, Days, Flag, List, Search
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


def runs() -> Any:
    return JobRun.objects.select_related("requested_by")
