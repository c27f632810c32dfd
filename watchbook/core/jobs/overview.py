"""What pages, API and `jobs list` show of jobs and runs: last runs, next slot, state, figures, time left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Protocol, TypeVar

from django.db.models import Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from watchbook.base.logs import redact
from watchbook.core import registry
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.kit import charts
from watchbook.kit.formatting import number_text

RUNS_SHOWN = 14
FAILED_SHOWN_FOR = timedelta(days=7)


@dataclass(frozen=True)
class Line:
    """One job. `runs` are its last ones, newest first."""

    job: registry.Job
    source: registry.Source | None
    runs: tuple[JobRun, ...]
    next_at: datetime | None
    is_paused: bool

    @property
    def last(self) -> JobRun | None:
        return self.runs[0] if self.runs else None

    @property
    def title(self) -> str:
        return self.job.title or self.job.name

    @property
    def last_seconds(self) -> float | None:
        return seconds_of(self.last) if self.last else None

    @property
    def durations(self) -> list[float]:
        """Oldest first, only of ended runs."""
        return [seconds for run in reversed(self.runs) if (seconds := seconds_of(run)) is not None]


def lines(now: datetime, *, runs: int = RUNS_SHOWN) -> list[Line]:
    """Every job; two queries whatever their number."""
    jobs = registry.jobs()
    ran = recent_runs(jobs, runs)
    slots = {row.name: row for row in JobSchedule.objects.filter(name__in=jobs)}
    owners = {job.name: source for source in registry.sources() for job in source.jobs}
    return [
        Line(
            job=job,
            source=owners.get(name),
            runs=tuple(ran[name]),
            next_at=_next_at(job, slots.get(name), now),
            is_paused=name in slots and not slots[name].is_enabled,
        )
        for name, job in jobs.items()
    ]


def recent_runs(names: Iterable[str], count: int) -> dict[str, list[JobRun]]:
    """The last started runs of each name, newest first, in one query that touches only them.

    A window function would read the whole history; a branch per name reads the end of its index.
    """
    wanted = Q(pk__in=[])
    for name in names:
        started = JobRun.objects.filter(name=name, started_at__isnull=False).order_by("-pk")
        edge = Coalesce(Subquery(started.values("pk")[count - 1 : count]), Value(0))
        wanted |= Q(name=name, started_at__isnull=False, pk__gte=edge)
    found: dict[str, list[JobRun]] = defaultdict(list)
    for run in JobRun.objects.filter(wanted).defer("args").order_by("-pk"):
        found[run.name].append(run)
    return found


def running_now() -> list[JobRun]:
    """What runs now, then what waits for a busy host, oldest first."""
    waiting = Q(state=State.QUEUED, error_code="later")
    shown = JobRun.objects.filter(Q(state=State.RUNNING) | waiting).select_related("requested_by")
    return list(shown.order_by("-state", "pk")[:50])


class _HasLast(Protocol):
    @property
    def last(self) -> JobRun | None: ...


L = TypeVar("L", bound=_HasLast)


def failed_jobs(shown: Iterable[L], now: datetime) -> list[L]:
    """Jobs whose last run failed recently and has not run since."""
    edge = now - FAILED_SHOWN_FOR
    return [
        line
        for line in shown
        if line.last and line.last.state == State.FAILED and line.last.finished_at and line.last.finished_at > edge
    ]


def shown_lines(now: datetime) -> list[ShownLine]:
    return [ShownLine(line, now, place) for place, line in enumerate(lines(now))]


def listed(now: datetime, found: Iterable[Line | ShownLine] | None = None) -> list[dict[str, Any]]:
    """For programs: name, queue, schedule, last_run, next_run; of every job or of those that were found."""
    return [
        {
            "name": line.job.name,
            "celery_names": list(line.job.celery_names),
            "title": line.title,
            "queue": line.job.queue,
            "schedule": str(line.job.schedule) if line.job.schedule and not line.job.is_off else None,
            "last_run": _iso(line.last.started_at if line.last else None),
            "last_outcome": shown_state(line.last) if line.last else None,
            "next_run": _iso(line.next_at),
            "is_paused": line.is_paused,
        }
        for line in (lines(now, runs=1) if found is None else found)
    ]


def shown_state(run: JobRun) -> str:
    """A word of the badge vocabulary: the outcome of a run that is done, else its state."""
    if run.state == State.DONE:
        return run.outcome or "done"
    return "waiting" if run.state == State.QUEUED and run.error_code else run.state


def seconds_of(run: JobRun) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return max((run.finished_at - run.started_at).total_seconds(), 0.0)


def _next_at(job: registry.Job, slot: JobSchedule | None, now: datetime) -> datetime | None:
    if job.schedule is None or job.is_off or (slot is not None and not slot.is_enabled):
        return None
    return slot.next_at if slot is not None else job.schedule.next_after(now)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


SLOW_FACTOR = 5
SLOW_FROM_SECONDS = 60
# A run that reports these two has a bar; every other figure is a count.
BAR = ("done", "total")
# Words for what built-in jobs count; a system declares its own in `Source.figures`. Other names are shown as they are.
FIGURES = {
    "blobs": pgettext_lazy("figure", "data files"),
    "bytes": pgettext_lazy("figure", "bytes"),
    "documents": pgettext_lazy("figure", "documents"),
    "drafts": pgettext_lazy("figure", "unfinished files"),
    "failed": pgettext_lazy("figure", "failed"),
    "kept": pgettext_lazy("figure", "kept"),
    "missing_blobs": pgettext_lazy("figure", "missing data files"),
    "name": pgettext_lazy("figure", "name"),
    "postponed": pgettext_lazy("figure", "postponed"),
    "queued": pgettext_lazy("figure", "queued"),
    "requests": pgettext_lazy("figure", "requests"),
    "result": pgettext_lazy("figure", "result"),
    "retried": pgettext_lazy("figure", "retried"),
    "rows": pgettext_lazy("figure", "rows"),
    "sent": pgettext_lazy("figure", "sent"),
    "skipped": pgettext_lazy("figure", "skipped"),
    "step": pgettext_lazy("figure", "step"),
    "verified": pgettext_lazy("figure", "verified"),
}


class ShownRun:
    def __init__(self, run: JobRun, now: datetime) -> None:
        self.run = run
        self.now = now
        self.job = registry.jobs().get(run.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    @property
    def title(self) -> str:
        return _(self.job.title) if self.job and self.job.title else self.run.name

    @property
    def badge_state(self) -> str:
        return shown_state(self.run)

    @property
    def error_text(self) -> str:
        return redact.block(self.run.error)

    @property
    def is_live(self) -> bool:
        return self.run.state in (State.QUEUED, State.RUNNING)

    @property
    def is_waiting(self) -> bool:
        return self.badge_state == "waiting"

    @property
    def seconds(self) -> float | None:
        return seconds_until(self.run, self.now)

    @property
    def total(self) -> int | None:
        done, total = (self.run.progress.get(name) for name in BAR)
        known = isinstance(done, int) and isinstance(total, int) and total > 0
        return total if known else None

    @property
    def done(self) -> int | None:
        return min(self.run.progress["done"], self.run.progress["total"]) if self.total else None

    @property
    def done_text(self) -> str:
        return number_text(self.done)

    @property
    def total_text(self) -> str:
        return number_text(self.total)

    @property
    def seconds_left(self) -> timedelta | None:
        """Said only after a tenth is done; before that it would be a guess."""
        if not self.total or not self.done or self.done * 10 < self.total or not self.seconds:
            return None
        return timedelta(seconds=round(self.seconds * (self.total - self.done) / self.done))

    @property
    def figures(self) -> list[tuple[str, str]]:
        """(what, how many) of everything that the run counts."""
        return [(what, _figure_text(count)) for what, count in figures(self.run)]

    @property
    def counts(self) -> list[tuple[str, str]]:
        """The same for a line: words without their labels."""
        return [_phrase(what, count) for what, count in figures(self.run)]

    @property
    def figures_text(self) -> str:
        return short(figures(self.run))

    @property
    def started_by(self) -> str:
        if self.run.requested_by is not None:
            return str(self.run.requested_by)
        return _("schedule") if self.run.key.startswith(f"{self.run.name}@") else _("another job or command")


class ShownLine:
    """A line of the board; `place` is its position."""

    def __init__(self, line: Line, now: datetime, place: int = 0) -> None:
        self.line = line
        self.now = now
        self.place = place

    @property
    def last(self) -> JobRun | None:
        return self.line.last

    def __getattr__(self, name: str) -> Any:
        return getattr(self.line, name)

    @property
    def title(self) -> str:
        return _(self.line.job.title) if self.line.job.title else self.line.job.name

    @property
    def name(self) -> str:
        return self.line.job.name

    @property
    def queue(self) -> str:
        return self.line.job.queue

    @property
    def owner(self) -> str:
        """The slug of the source; "core" for a job of the server itself."""
        return self.line.source.slug if self.line.source else "core"

    @property
    def schedule(self) -> str | None:
        return str(self.line.job.schedule) if self.line.job.schedule else None

    @property
    def plan(self) -> str:
        """What the schedule does now: scheduled, paused, off, or on_demand for a job without one."""
        if self.line.job.schedule is None:
            return "on_demand"
        return "paused" if self.line.is_paused else "off" if self.line.job.is_off else "scheduled"

    @property
    def started_at(self) -> datetime | None:
        return self.last.started_at if self.last else None

    @property
    def result(self) -> str:
        return self.badge_state or "never"

    @property
    def icon(self) -> str:
        return self.line.source.icon if self.line.source else "ops"

    @property
    def css(self) -> str:
        return f"sys-{self.line.source.slug}" if self.line.source else ""

    @property
    def badge_state(self) -> str:
        if self.last is None:
            return ""
        return "slow" if self.is_slow else shown_state(self.last)

    @property
    def is_slow(self) -> bool:
        """Done, but far slower than usual."""
        before = self.line.durations[:-1]
        took = self.line.last_seconds
        if self.last is None or self.last.state != State.DONE or took is None or len(before) < 5:
            return False
        return took > SLOW_FROM_SECONDS and took > SLOW_FACTOR * median(before)

    @property
    def seconds(self) -> float | None:
        return seconds_until(self.last, self.now) if self.last else None

    @property
    def error_text(self) -> str:
        return redact.block(self.last.error) if self.last else ""

    @property
    def figures_text(self) -> str:
        return short(figures(self.last)) if self.last else ""

    @property
    def spark(self) -> SafeString | str:
        durations = self.line.durations
        label = _("duration of the last %(n)s runs") % {"n": len(durations)}
        return charts.spark(durations, label=label, css=self.css) if len(durations) > 1 else ""


def figures(run: JobRun) -> Iterator[tuple[str, Any]]:
    titles = set()
    for name, value in run.progress.items():
        if name in BAR and "total" in run.progress:
            continue
        if name == "requests" and run.http_request_count:
            continue  # what the runner counted stands at the end, once
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            shown = redact.line(value, length=200) if isinstance(value, str) else value
            title = figure_title(run.name, name)
            titles.add(title)
            yield title, _word(run.name, shown) if isinstance(shown, str) else shown
    title = figure_title(run.name, "requests")
    if run.http_request_count and title not in titles:
        yield title, run.http_request_count


def figure_title(job: str, name: str) -> str:
    """Return the words for a figure that a job reports: its system's own, else the shared ones, else its name."""
    word = _word(job, name)
    return pgettext("figure", name.replace("_", " ")) if word == name else word


def _word(job: str, name: str) -> str:
    source = registry.source_of_job(job)
    declared: dict[str, Any] = {**FIGURES, **(source.figures if source else {})}
    return str(declared[name]) if name in declared else pgettext("figure", name)


def short(counted: Iterable[tuple[str, Any]]) -> str:
    """Return the first two figures that are not 0, such as "sent 2, requests 1"."""
    spoken = [_phrase(what, count) for what, count in counted if count][:2]
    return ", ".join(f"{what} {count}".strip() for what, count in spoken)


def _phrase(what: str, count: Any) -> tuple[str, str]:
    return ("" if isinstance(count, str) else what, _figure_text(count))


def _figure_text(count: Any) -> str:
    return count if isinstance(count, str) else number_text(count)


def seconds_until(run: JobRun, now: datetime) -> float | None:
    """How long a run took, or has taken so far."""
    if run.state == State.RUNNING and run.started_at:
        return max((now - run.started_at).total_seconds(), 0.0)
    return seconds_of(run)
