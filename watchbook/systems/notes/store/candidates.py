"""Candidates: found once per note, with the newest token; claimed, given back, failed, recovered."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext_noop

from watchbook.base.crypto import DecryptionError, decrypt, encrypt
from watchbook.base.logs import request_id
from watchbook.base.text import cut
from watchbook.systems.notes.encryption import redacted
from watchbook.systems.notes.models import Candidate, CandidateStatus, Execution, Note
from watchbook.systems.notes.parse.records import moment_of_id
from watchbook.systems.notes.rules import (
    DEFAULT_PLATFORM,
    FINAL,
    MAX_RETRY,
    Code,
    LockLost,
    NotesError,
    is_not_an_attempt,
)
from watchbook.systems.notes.store import Holder, expire, expire_stale, oldest_valid_heartbeat, readings, renew

UNLOCKED: dict[str, Any] = {"processing_lock": None, "locked_at": None, "lock_fence": None, "claim_token": None}
NOT_KNOWN = gettext_noop("Candidate not found.")


@dataclass(frozen=True)
class FoundNote:
    """A note that was found."""

    note_id: str
    platform: str
    note_url: str = ""
    source_keyword: str = ""
    xsec_token: str = ""
    xsec_source: str = ""
    title: str = ""
    creator_pk: int | None = None


@dataclass(frozen=True)
class Stored:
    added: int
    known: int


def store_found(found: Sequence[FoundNote], now: datetime) -> Stored:
    """Store each note as a candidate once. A known one gets the newer token, and is pending again if it failed."""
    by_id = {one.note_id: one for one in found}
    with transaction.atomic():
        known = set(Candidate.objects.filter(note_id__in=by_id).values_list("note_id", flat=True))
        fresh = [_row(one, now) for one in by_id.values() if one.note_id not in known]
        Candidate.objects.bulk_create(fresh, ignore_conflicts=True, batch_size=500)
        for one in by_id.values():
            if one.note_id in known and one.xsec_token:
                rows = Candidate.objects.filter(note_id=one.note_id)
                rows.update(xsec_token=_encrypted_token(one), xsec_source=one.xsec_source, updated_at=now)
                # A new token is a new chance for a note that failed without a valid one.
                rows.filter(status=CandidateStatus.FAILED).exclude(last_error_code__in=FINAL).update(
                    status=CandidateStatus.PENDING, retry_count=0, queued_at=now
                )
    return Stored(len(fresh), len(known))


def _row(one: FoundNote, now: datetime) -> Candidate:
    return Candidate(
        note_id=one.note_id,
        platform=one.platform,
        note_url=cut(one.note_url, 2048),
        source_keyword=cut(one.source_keyword, 200),
        xsec_token=_encrypted_token(one),
        xsec_source=one.xsec_source,
        title=cut(one.title, 300),
        creator_id=one.creator_pk,
        published_at=moment_of_id(one.note_id),
        queued_at=now,
        created_at=now,
        updated_at=now,
    )


def _encrypted_token(one: FoundNote) -> str:
    return encrypt(one.xsec_token, bound_to=bound_to(one)) if one.xsec_token else ""


def bound_to(one: FoundNote | Candidate) -> str:
    return f"tbl_candidate\0{one.note_id}"


def decrypt_token(candidate: Candidate) -> str:
    """The newest token of a note; empty when there is none or the key that encrypted it is gone."""
    try:
        encrypted = candidate.xsec_token
        return decrypt(encrypted, bound_to=bound_to(candidate)) if encrypted else ""
    except DecryptionError:
        return ""


def claim(holder: Holder, batch_size: int, now: datetime, platform: str = DEFAULT_PLATFORM) -> list[Candidate]:
    """Lock up to `batch_size` pending candidates of a platform for this run.

    A run does not claim again what it returned: a failure is retried by a later run.
    """
    token = secrets.token_hex(16)
    with transaction.atomic():
        renew(holder, now)
        pending = Candidate.objects.pending().filter(platform=platform).exclude(claimed_by=holder.execution_id)
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
            exec_meta={"request_id": request_id(), "execution_id": holder.execution_id, "fence": holder.fence},
        )
        taken = list(Candidate.objects.filter(claim_token=token).order_by("queued_at", "id"))
        _count(holder, items_claimed=len(taken))
    return taken


def fail(holder: Holder, note_id: str, error: dict[str, Any], now: datetime) -> Candidate:
    """Count first, then test: the third failure is the last. An error of the note itself fails immediately."""
    code = str(error.get("code", ""))
    with transaction.atomic():
        renew(holder, now)
        row = _held(holder, note_id)
        uncounted = is_not_an_attempt(error)
        retry_count = row.retry_count + (0 if uncounted else 1)
        is_over = not uncounted and (retry_count >= MAX_RETRY or (code in FINAL and not error.get("retryable")))
        row.status = CandidateStatus.FAILED if is_over else CandidateStatus.PENDING
        if not uncounted and Note.objects.filter(note_id=note_id).exists():
            # A later reading: the note stays collected, and its plan says when it is read again.
            row.status, retry_count = CandidateStatus.COLLECTED, 0
            readings.failed(note_id, error, now)
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
        _count(holder, **({"items_returned": 1} if uncounted else {"items_failed": 1}))
    return row


def _held(holder: Holder, note_id: str) -> Candidate:
    """The candidate as this execution holds it. Raises when it is not known, held by another execution, or not held."""
    row = Candidate.objects.select_for_update().filter(note_id=note_id).first()
    if row is None:
        raise NotesError(Code.NOT_FOUND, NOT_KNOWN)
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
        timed_out = expire_stale(now)
        returned, failed = _take_back(Candidate.objects.locked_before(oldest_valid_heartbeat(now)), now)
    return Recovered(timed_out, returned, failed)


def recover_crashed(execution: Execution, now: datetime) -> Recovered:
    """Free what an execution holds whose worker is known to have stopped. Should it live, it loses its lock."""
    with transaction.atomic():
        ended = expire(Execution.objects.filter(pk=execution.pk), now)
        left = Candidate.objects.held_by(execution.execution_id, execution.fence) if ended else Candidate.objects.none()
        returned, failed = _take_back(left, now)
    return Recovered(ended, returned, failed)


def _take_back(left: QuerySet[Candidate], now: datetime) -> tuple[int, int]:
    """Return how many wait again and how many failed. It counts as an attempt: a note may be what stops workers."""
    last_try = left.filter(retry_count__gte=MAX_RETRY - 1)
    columns = {**UNLOCKED, "retry_count": F("retry_count") + 1, "queued_at": now, "updated_at": now}
    error = {"last_error_code": Code.LOCK_LOST, "last_error_reason": "timed_out"}
    collected = Note.objects.filter(note_id=OuterRef("note_id"))
    last_try.filter(Exists(collected)).update(**columns, **error, status=CandidateStatus.COLLECTED)
    failed = last_try.update(**columns, **error, status=CandidateStatus.FAILED)
    returned = left.update(**columns, **error, status=CandidateStatus.PENDING)
    return returned, failed


def retry_failed(note_ids: Iterable[str] | None, now: datetime) -> int:
    """Failed candidates wait again with a clean count: what a person asks for. None: all that failed."""
    failed = Candidate.objects.filter(status=CandidateStatus.FAILED)
    if note_ids is not None:
        failed = failed.filter(note_id__in=list(note_ids))
    return failed.update(**UNLOCKED, status=CandidateStatus.PENDING, retry_count=0, queued_at=now, updated_at=now)


def _count(holder: Holder, **figures: int) -> None:
    added = {name: F(name) + figure for name, figure in figures.items() if figure}
    if added:
        Execution.objects.filter(execution_id=holder.execution_id).update(**added)
