"""The four monitors: what each found last, where its threshold lies, and whether its alert is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy

from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.board import recent_runs
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.moments import number_text, span_text
from watchbook.sources.reddit import options

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Monitor:
    """A condition that is measured again and again. `finding` is empty before the first measurement."""

    title: str
    badge: Badge
    finding: str
    threshold: str
    measured_at: datetime | None
    alert: Alert | None


@dataclass(frozen=True)
class _Kind:
    """`key` is the name of the alert, `job` of the job that measures."""

    key: str
    job: str
    title: Any
    finding: Callable[[Figures], str]
    threshold: Callable[[], str]


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _calls(figures: Figures) -> str:
    return ngettext("%(n)s call in the last minute", "%(n)s calls in the last minute", int(figures["calls"])) % {
        "n": number_text(figures["calls"])
    }


def _calls_threshold() -> str:
    given = {"n": number_text(options.API_THRESHOLD.value), "limit": number_text(options.RATE_LIMIT.value)}
    return _("more than %(n)s; the limit is %(limit)s") % given


def _cache(figures: Figures) -> str:
    if not figures["reads"]:
        return _("no reads in the last two hours")
    given = {"rate": _percent(figures["hits"] / figures["reads"]), "reads": number_text(figures["reads"])}
    return _("%(rate)s of %(reads)s reads in the last two hours") % given


def _cache_threshold() -> str:
    return _("below %(rate)s, from ten reads on") % {"rate": _percent(options.CACHE_HIT_THRESHOLD.value)}


def _warm(figures: Figures) -> str:
    given = {"warm": number_text(figures["warm"]), "total": number_text(figures["total"])}
    return _("%(warm)s of %(total)s communities were read at least once") % given


def _warm_threshold() -> str:
    return _("more than a tenth still unread when their first visit was promised")


def _crawls(figures: Figures) -> str:
    if figures["minutes"] < 0:
        return _("nothing was read yet")
    return _("last visit %(span)s before") % {"span": span_text(figures["minutes"] * 60)}


def _crawls_threshold() -> str:
    return _("no visit for %(span)s although some are due") % {"span": span_text(options.STALE_MINUTES.value * 60)}


KINDS = (
    _Kind("api_calls", "reddit.api_calls", pgettext_lazy("monitor", "Calls per minute"), _calls, _calls_threshold),
    _Kind("cache_health", "reddit.cache_health", pgettext_lazy("monitor", "Cache hit rate"), _cache, _cache_threshold),
    _Kind("warmup", "reddit.warmup_metrics", pgettext_lazy("monitor", "Warm-up"), _warm, _warm_threshold),
    _Kind("crawls", "reddit.crawler_health", pgettext_lazy("monitor", "Stale crawls"), _crawls, _crawls_threshold),
)


def last_runs() -> dict[str, JobRun]:
    """The newest measurement of each monitor, by the name of its job."""
    return {name: runs[0] for name, runs in recent_runs([kind.job for kind in KINDS], 1).items() if runs}


def monitors(runs: Mapping[str, JobRun]) -> list[Monitor]:
    alerts = _last_alerts()
    return [_monitor(kind, runs.get(kind.job), alerts.get(f"reddit.{kind.key}")) for kind in KINDS]


def _last_alerts() -> dict[str, Alert]:
    keys = [f"reddit.{kind.key}" for kind in KINDS]
    newest = Alert.objects.filter(key__in=keys).values("key").annotate(last=Max("pk")).order_by()
    found = Alert.objects.filter(pk__in=[row["last"] for row in newest])
    return {alert.key: alert for alert in found}


def _monitor(kind: _Kind, run: JobRun | None, alert: Alert | None) -> Monitor:
    is_done = run is not None and run.state == State.DONE
    return Monitor(
        str(kind.title),
        _badge(run, alert),
        kind.finding(run.progress) if run is not None and is_done else "",
        kind.threshold(),
        run.finished_at if run is not None else None,
        alert,
    )


def _badge(run: JobRun | None, alert: Alert | None) -> Badge:
    if alert is not None and alert.live_slot:
        return badges.find("alert", alert.level)
    if run is None:
        return badges.find("health", "never")
    return badges.find("health", "failed" if run.state == State.FAILED else "healthy")
