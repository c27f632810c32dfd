"""A job and a run as a page shows them: words, figures, time left. No queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from watchbook.base.logs import redact
from watchbook.core import registry
from watchbook.core.jobs.board import Line, seconds_of, shown_state
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.ui import charts
from watchbook.core.ui.moments import number_text

SLOW_FACTOR = 5
SLOW_FROM_SECONDS = 60
# A run that reports these two has a bar; every other figure is a count.
BAR = ("done", "total")
# What jobs count and say, for the translators. A job may use other words; they are shown as they are.
WORDS = (
    pgettext_lazy("figure", "added"), pgettext_lazy("figure", "blobs"), pgettext_lazy("figure", "broken off"),
    pgettext_lazy("figure", "bytes"), pgettext_lazy("figure", "changed"), pgettext_lazy("figure", "degraded"),
    pgettext_lazy("figure", "documents"), pgettext_lazy("figure", "enqueued"), pgettext_lazy("figure", "failed"),
    pgettext_lazy("figure", "modified"), pgettext_lazy("figure", "name"), pgettext_lazy("figure", "parts"),
    pgettext_lazy("figure", "removed"), pgettext_lazy("figure", "requests"), pgettext_lazy("figure", "result"),
    pgettext_lazy("figure", "retried"), pgettext_lazy("figure", "rows"), pgettext_lazy("figure", "sent"),
    pgettext_lazy("figure", "skipped"), pgettext_lazy("figure", "step"), pgettext_lazy("figure", "suspect"),
    pgettext_lazy("figure", "told"), pgettext_lazy("figure", "unchanged"), pgettext_lazy("figure", "urls"),
    pgettext_lazy("figure", "verified"),
)  # fmt: skip


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
        return [(what, _shown(count)) for what, count in figures(self.run)]

    @property
    def counts(self) -> list[tuple[str, str]]:
        """The same as they stand in a line: of what is a word the word alone."""
        return [_spoken(what, count) for what, count in figures(self.run)]

    @property
    def figures_short(self) -> list[tuple[str, str]]:
        return short(figures(self.run))

    @property
    def started_by(self) -> str:
        if self.run.requested_by is not None:
            return str(self.run.requested_by)
        return _("schedule") if self.run.key.startswith(f"{self.run.name}@") else _("another job or command")


class ShownLine:
    """A line of the board."""

    def __init__(self, line: Line, now: datetime) -> None:
        self.line = line
        self.now = now

    @property
    def last(self) -> JobRun | None:
        return self.line.last

    def __getattr__(self, name: str) -> Any:
        return getattr(self.line, name)

    @property
    def title(self) -> str:
        return _(self.line.job.title) if self.line.job.title else self.line.job.name

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
    def figures_short(self) -> list[tuple[str, str]]:
        return short(figures(self.last)) if self.last else []

    @property
    def spark(self) -> SafeString | str:
        durations = self.line.durations
        label = _("duration of the last %(n)s runs") % {"n": len(durations)}
        return charts.spark(durations, label=label, css=self.css) if len(durations) > 1 else ""


def figures(run: JobRun) -> Iterator[tuple[str, Any]]:
    for name, value in run.progress.items():
        if name in BAR and "total" in run.progress:
            continue
        if name == "requests" and run.http_request_count:
            continue  # what the runner counted stands at the end, once
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            shown = redact.line(value, length=200) if isinstance(value, str) else value
            yield pgettext("figure", name.replace("_", " ")), shown
    if run.http_request_count:
        yield pgettext("figure", "requests"), run.http_request_count


def short(counted: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """The first two that are not nothing; the name comes first, so that one request needs no other word than two."""
    return [_spoken(what, count) for what, count in counted if count][:2]


def _spoken(what: str, count: Any) -> tuple[str, str]:
    return ("" if isinstance(count, str) else what, _shown(count))


def _shown(count: Any) -> str:
    return pgettext("figure", count) if isinstance(count, str) else number_text(count)


def seconds_until(run: JobRun, now: datetime) -> float | None:
    """How long a run took, or has taken so far."""
    if run.state == State.RUNNING and run.started_at:
        return max((now - run.started_at).total_seconds(), 0.0)
    return seconds_of(run)
