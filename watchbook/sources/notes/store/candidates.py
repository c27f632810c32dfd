"""Candidates: found once per note, with the newest token; claimed, given back, failed, recovered."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils.translation import gettext_noop

from watchbook.base.crypto import CannotOpen, open_sealed, seal
from watchbook.base.logs import request_id
from watchbook.base.text import cut
from watchbook.sources.notes.errors import LockLost, Trouble
from watchbook.sources.notes.models import Candidate, CandidateStatus, Execution
from watchbook.sources.notes.parse.moments import moment_of_id
from watchbook.sources.notes.redaction import redacted
from watchbook.sources.notes.rules import FINAL, MAX_RETRY, Code, is_innocent
from watchbook.sources.notes.store.executions import Holder, hold, oldest_heartbeat, time_out

UNLOCKED: dict[str, Any] = {"processing_lock": None, "locked_at": None, "lock_fence": None, "claim_token": None}
NOT_KNOWN = gettext_noop("There is no such candidate.")


@dataclass(frozen=True)
class Found:
    """A note that somebody found."""

    note_id: str
    platform: str
    note_url: str = ""
    source_keyword: str = ""
    xsec_token: str = ""
    xsec_source: str = ""
    title: str = ""


@dataclass(frozen=True)
class Stored:
    added: int
    known: int


def store_found(found: Sequence[Found], now: datetime) -> Stored:
    """Each note becomes a candidate once. One that is known already only takes the newer token."""
    by_id = {one.note_id: one for one in found}
    with transaction.atomic():
        known = set(Candidate.objects.filter(note_id__in=by_id).values_list("note_id", flat=True))
        fresh = [_row(one, now) for one in by_id.values() if one.note_id not in known]
        Candidate.objects.bulk_create(fresh, ignore_conflicts=True, batch_size=500)
        for one in by_id.values():
            if one.note_id in known and one.xsec_token:
                Candidate.objects.filter(note_id=one.note_id).update(
                    xsec_token=_sealed(one), xsec_source=one.xsec_source, updated_at=now
                )
    return Stored(len(fresh), len(known))


def _row(one: Found, now: datetime) -> Candidate:
    return Candidate(
        note_id=one.note_id,
        platform=one.platform,
        note_url=cut(one.note_url, 2048),
        source_keyword=cut(one.source_keyword, 200),
        xsec_token=_sealed(one),
        xsec_source=one.xsec_source,
        title=cut(one.title, 300),
        published_at=moment_of_id(one.note_id),
        queued_at=now,
        created_at=now,
        updated_at=now,
    )


def _sealed(one: Found) -> str:
    return seal(one.xsec_token, bound_to=bound_to(one)) if one.xsec_token else ""


def bound_to(one: Found | Candidate) -> str:
    return f"tbl_candidate\0{one.note_id}"


def token_of(candidate: Candidate) -> str:
    """The newest token of a note; empty when there is none or the key that sealed it is gone."""
    try:
        sealed = candidate.xsec_token
        return open_sealed(sealed, bound_to=bound_to(candidate)) if sealed else ""
    except CannotOpen:
        return ""


def claim(holder: Holder, batch_size: int, now: datetime) -> list[Candidate]:
    """Lock up to so many pending candidates for this execution. No candidate is ever given to two."""
    token = secrets.token_hex(16)
    with transaction.atomic():
        hold(holder, now)
        pending = Candidate.objects.pending()
        if connection.features.has_select_for_update_skip_locked:
            # Others are choosing at this moment, too: pass over what they have in hand instead of waiting for it.
            pending = pending.select_for_update(skip_locked=True)
        chosen = list(pending.values_list("pk", flat=True)[:batch_size])
        Candidate.objects.filter(pk__in=chosen, status=CandidateStatus.PENDING).update(
            status=CandidateStatus.PROCESSING,
            processing_lock=holder.execution_id,
            lock_fence=holder.fence,
            claim_token=token,
            claimed_by=holder.execution_id,
            locked_at=now,
            updated_at=now,
            exec_meta={"request_id": request_id.current(), "execution_id": holder.execution_id, "fence": holder.fence},
        )
        taken = list(Candidate.objects.filter(claim_token=token).order_by("queued_at", "id"))
        _count(holder, items_claimed=len(taken))
    return taken


def fail(holder: Holder, note_id: str, error: dict[str, Any], now: datetime) -> Candidate:
    """Count first, then test: the third failure is the last. What lies in the note itself fails at once."""
    code = str(error.get("code", ""))
    with transaction.atomic():
        hold(holder, now)
        row = _held(holder, note_id)
        innocent = is_innocent(error)
        retry_count = row.retry_count + (0 if innocent else 1)
        is_over = not innocent and (retry_count >= MAX_RETRY or (code in FINAL and not error.get("retryable")))
        row.status = CandidateStatus.FAILED if is_over else CandidateStatus.PENDING
        row.retry_count = retry_count
        columns = {
            **UNLOCKED,
            "status": row.status,
            "retry_count": retry_count,
            "last_error_code": cut(code, 40),
            "last_error_reason": cut(str(error.get("reason", "")), 40),
            "last_error_message": cut(redacted(str(error.get("message", ""))), 500),
            "queued_at": now,
            "updated_at": now,
        }
        Candidate.objects.held_by(holder.execution_id, holder.fence).filter(pk=row.pk).update(**columns)
        _count(holder, **({"items_returned": 1} if innocent else {"items_failed": 1}))
    return row


def _held(holder: Holder, note_id: str) -> Candidate:
    """The candidate as this execution holds it. Raises when it is not known, or held by somebody else or nobody."""
    row = Candidate.objects.select_for_update().filter(note_id=note_id).first()
    if row is None:
        raise Trouble(Code.NOT_FOUND, NOT_KNOWN)
    mine = row.status == CandidateStatus.PROCESSING and row.processing_lock == holder.execution_id
    if not mine or row.lock_fence != holder.fence:
        raise LockLost("record")
    return row


@dataclass(frozen=True)
class Recovered:
    executions_timed_out: int
    candidates_returned: int
    candidates_failed: int


def recover(now: datetime) -> Recovered:
    """Free what has been locked for more than 30 minutes. Each UPDATE names the state it expects; twice is harmless."""
    with transaction.atomic():
        timed_out = time_out(now)
        left = Candidate.objects.left_since(oldest_heartbeat(now))
        last_try = left.filter(retry_count__gte=MAX_RETRY - 1)
        columns = {**UNLOCKED, "retry_count": F("retry_count") + 1, "queued_at": now, "updated_at": now}
        error = {"last_error_code": Code.LOCK_LOST, "last_error_reason": "timed_out"}
        failed = last_try.update(**columns, **error, status=CandidateStatus.FAILED)
        returned = left.update(**columns, **error, status=CandidateStatus.PENDING)
    return Recovered(timed_out, returned, failed)


def try_again(note_ids: Iterable[str] | None, now: datetime) -> int:
    """Failed candidates wait again with a clean count: what a person asks for. None: all that failed."""
    failed = Candidate.objects.filter(status=CandidateStatus.FAILED)
    if note_ids is not None:
        failed = failed.filter(note_id__in=list(note_ids))
    return failed.update(**UNLOCKED, status=CandidateStatus.PENDING, retry_count=0, queued_at=now, updated_at=now)


def _count(holder: Holder, **figures: int) -> None:
    added = {name: F(name) + figure for name, figure in figures.items() if figure}
    if added:
        Execution.objects.filter(execution_id=holder.execution_id).update(**added)
