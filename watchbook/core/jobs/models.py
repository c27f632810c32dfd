"""job_runs is the queue of record; job_schedules remembers which slot of each job comes next."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import models


class State(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobRunQuerySet(models.QuerySet["JobRun"]):
    def live(self) -> JobRunQuerySet:
        return self.filter(state__in=[State.QUEUED, State.RUNNING])

    def ready(self, now: datetime) -> JobRunQuerySet:
        return self.filter(state=State.QUEUED, due_at__lte=now)

    def current(self, names: Iterable[str], now: datetime) -> JobRun | None:
        """Return the run of these jobs that is running, or queued and due. What waits for its hour is not shown."""
        rows = self.live().filter(name__in=list(names), due_at__lte=now)
        found = list(rows.select_related("requested_by").order_by("pk")[:10])
        return next((run for run in found if run.state == State.RUNNING), found[0] if found else None)


class JobRun(models.Model):
    """One run of one job. Claimed by a conditional UPDATE, held by a lease, fenced by a number that only grows."""

    name = models.CharField(max_length=100)
    queue = models.CharField(max_length=40)
    # "name@slot" for scheduled runs, anything unique for others: inserting it twice is one run.
    key = models.CharField(max_length=200, unique=True)
    args = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    outcome = models.CharField(max_length=30, blank=True, default="")
    # Runs of the same exclusive name never run together: the holder's name sits in a unique column.
    exclusive = models.CharField(max_length=200, blank=True, default="")
    exclusive_slot = models.CharField(max_length=200, null=True, default=None, unique=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    max_attempts = models.PositiveSmallIntegerField(default=3)
    due_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, default=None)
    owner = models.CharField(max_length=120, blank=True, default="")
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, default=None)
    started_at = models.DateTimeField(null=True, default=None)
    finished_at = models.DateTimeField(null=True, default=None)
    progress = models.JSONField(default=dict)
    error_code = models.CharField(max_length=60, blank=True, default="")
    error = models.TextField(blank=True, default="")
    http_request_count = models.PositiveIntegerField(default=0)
    request_id = models.CharField(max_length=128, blank=True, default="")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()

    objects = JobRunQuerySet.as_manager()

    class Meta:
        db_table = "job_runs"
        indexes = [
            models.Index(fields=["state", "due_at", "id"], name="job_runs_ready"),
            models.Index(fields=["state", "lease_until"], name="job_runs_leases"),
            models.Index(fields=["name", "-id"], name="job_runs_by_name"),
            models.Index(fields=["finished_at"], name="job_runs_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.name} #{self.pk}"


class JobSchedule(models.Model):
    """The next slot of a scheduled job. Moved on by a conditional UPDATE, so two schedulers make one run."""

    name = models.CharField(max_length=100, unique=True)
    is_enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField()
    last_slot_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "job_schedules"


class Worker(models.Model):
    """A process that runs or schedules jobs says here that it lives; readiness is judged from it."""

    name = models.CharField(max_length=120, unique=True)
    role = models.CharField(max_length=20)
    queues = models.CharField(max_length=300, blank=True, default="")
    threads = models.PositiveSmallIntegerField(default=1)
    seen_at = models.DateTimeField()
    started_at = models.DateTimeField()

    class Meta:
        db_table = "job_workers"
