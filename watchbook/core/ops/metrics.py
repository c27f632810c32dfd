"""Figures for Prometheus. Counted from the database at each request, so that all processes return the same."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Min, Sum
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric

from watchbook import __version__
from watchbook.base import clock
from watchbook.base.store.folder import disk_usage
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.notify.models import Delivery, Level
from watchbook.core.notify.models import State as DeliveryState
from watchbook.core.ops import health


def render() -> bytes:
    """The text form of everything. A registry of our own: nothing that a library registers slips in."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ServerCollector())
    ProcessCollector(namespace="watchbook_web", registry=registry)
    return generate_latest(registry)


class ServerCollector:
    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("watchbook", "Version of the program.", {"version": __version__})
        yield from _jobs()
        yield from _notifications()
        yield from _health()


def _jobs() -> Iterator[Metric]:
    states = GaugeMetricFamily("watchbook_job_runs", "Runs in the history, by state.", labels=["state"])
    counted = dict(JobRun.objects.values_list("state").annotate(n=Count("pk")).order_by())
    for state in State.values:
        states.add_metric([state], counted.get(state, 0))
    yield states

    now = clock.now()
    oldest = JobRun.objects.ready(now).aggregate(first=Min("due_at"))["first"]
    waited = max((now - oldest).total_seconds(), 0.0) if oldest else 0.0
    yield GaugeMetricFamily("watchbook_job_oldest_queued_seconds", "How long the oldest due run has waited.", waited)

    requests = GaugeMetricFamily(
        "watchbook_requests_made", "Requests to other sites made by the runs in the history.", labels=["job"]
    )
    for name, made in JobRun.objects.values_list("name").annotate(n=Sum("http_request_count")).order_by("name"):
        requests.add_metric([name], made or 0)
    yield requests


def _notifications() -> Iterator[Metric]:
    pending = Delivery.objects.filter(state=DeliveryState.PENDING).count()
    yield GaugeMetricFamily("watchbook_outbox_pending", "Notifications that are not sent yet.", pending)
    alerts = GaugeMetricFamily("watchbook_alerts_open", "Open alerts, by level.", labels=["level"])
    opened = dict(Alert.objects.filter(live_slot__isnull=False).values_list("level").annotate(n=Count("pk")).order_by())
    for level in Level.values:
        alerts.add_metric([level], opened.get(level, 0))
    yield alerts


def _health() -> Iterator[Metric]:
    ready = GaugeMetricFamily("watchbook_ready", "1 when this check of readiness passes.", labels=["check"])
    for check in health.readiness():
        ready.add_metric([check.name], 1 if check.ok else 0)
    yield ready
    yield GaugeMetricFamily("watchbook_workers", "Live workers.", health.live_workers())
    yield GaugeMetricFamily("watchbook_disk_used_ratio", "Share of the disk in use.", disk_usage().percent / 100)
