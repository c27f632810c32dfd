"""Writers of notes. Here: the lock of a run, one running row per workflow, with a fence and a heartbeat.

The slot is unique on every database. A writer first renews the heartbeat of its run under its fence, in the same
transaction: a holder whose lock expired changes no row there, and its transaction is rolled back.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext_noop

from watchbook.base.logs import request_id
from watchbook.base.work import crash_point
from watchbook.core.alerts.conditions import resolve_alert
from watchbook.systems.notes.models import Candidate, CandidateStatus, Execution, ExecutionStatus, Fence
from watchbook.systems.notes.rules import LOCK_TIMEOUT_MINUTES, LockLost

RUNNING_ALREADY = gettext_noop("A run of this workflow is already in progress.")


@dataclass(frozen=True)
class Holder:
    """Who claims to hold a lock."""

    execution_id: str
    fence: int


@dataclass(frozen=True)
class Acquired:
    locked: bool
    execution_id: str = ""
    fence: int = 0
    reason: str = ""

    @property
    def holder(self) -> Holder:
        return Holder(self.execution_id, self.fence)


def oldest_valid_heartbeat(now: datetime) -> datetime:
    """A heartbeat before this moment means that the lock is free."""
    return now - timedelta(minutes=LOCK_TIMEOUT_MINUTES)


def acquire(workflow_name: str, now: datetime) -> Acquired:
    """Start an execution, unless one is running. Of any number of callers exactly one gets `locked`."""
    running = Execution.objects.filter(slot=workflow_name, heartbeat_at__gte=oldest_valid_heartbeat(now))
    if running.exists():
        return Acquired(False, reason=RUNNING_ALREADY)
    # Made in its own transaction: the number below must be there for every database to lock.
    Fence.objects.get_or_create(workflow_name=workflow_name)
    try:
        with transaction.atomic():
            return _insert(workflow_name, now)
    except IntegrityError:
        return Acquired(False, reason=RUNNING_ALREADY)


def _insert(workflow_name: str, now: datetime) -> Acquired:
    # The first statement locks the workflow's number: others wait here and then see the row that was inserted.
    Fence.objects.filter(workflow_name=workflow_name).update(number=F("number") + 1)
    fence = Fence.objects.values_list("number", flat=True).get(workflow_name=workflow_name)
    expire_stale(now, workflow_name)
    if Execution.objects.filter(slot=workflow_name).exists():
        return Acquired(False, reason=RUNNING_ALREADY)
    made = Execution.objects.create(
        workflow_name=workflow_name,
        execution_id=f"exec-{int(now.timestamp() * 1000)}-{secrets.token_hex(6)}",
        slot=workflow_name,
        fence=fence,
        started_at=now,
        heartbeat_at=now,
        request_id=request_id(),
    )
    crash_point("notes.acquired")
    return Acquired(True, made.execution_id, fence)


def alert_key(workflow_name: str) -> str:
    """The alert that says that this workflow broke off."""
    return f"notes:workflow:{workflow_name}"


def expire_stale(now: datetime, workflow_name: str = "") -> int:
    """Executions whose heartbeat is too old lose their slot."""
    running = Execution.objects.filter(slot=workflow_name) if workflow_name else Execution.objects.exclude(slot=None)
    return expire(running.filter(heartbeat_at__lt=oldest_valid_heartbeat(now)), now)


def expire(rows: QuerySet[Execution], now: datetime) -> int:
    """Take the slot from executions that run; their next write fails with LockLost."""
    running = rows.filter(status=ExecutionStatus.RUNNING)
    return running.update(status=ExecutionStatus.TIMEOUT, slot=None, completed_at=now)


def renew(holder: Holder, now: datetime, **columns: Any) -> None:
    """Renew the heartbeat, or raise LockLost. Called first in every transaction that writes for an execution."""
    mine = Execution.objects.filter(
        execution_id=holder.execution_id,
        fence=holder.fence,
        status=ExecutionStatus.RUNNING,
        slot__isnull=False,
        heartbeat_at__gte=oldest_valid_heartbeat(now),
    )
    if not mine.update(heartbeat_at=now, **columns):
        raise LockLost


def release(holder: Holder, status: str, now: datetime) -> int:
    """End an execution. Records it still holds wait again, as if it had never claimed them; gives how many."""
    with transaction.atomic():
        renew(holder, now)
        held = Candidate.objects.held_by(holder.execution_id, holder.fence)
        returned = held.update(
            status=CandidateStatus.PENDING, processing_lock=None, locked_at=None, lock_fence=None, claim_token=None,
            queued_at=now, updated_at=now,
        )  # fmt: skip
        mine = Execution.objects.filter(execution_id=holder.execution_id)
        mine.update(status=status, slot=None, completed_at=now, items_returned=F("items_returned") + returned)
        if status == ExecutionStatus.COMPLETED:
            resolve_alert(alert_key(mine.values_list("workflow_name", flat=True).get()))
    return returned
