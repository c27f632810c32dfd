"""What is answered: rows, notes as they were read, the steps of a workflow, each in the document's envelope."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import Field

from watchbook.core.api.answers import Answer, Kept, Moment, said
from watchbook.sources.notes.models import Candidate, Cookie, Execution, Note

T = TypeVar("T")


class MetaOut(Answer):
    """About the call itself."""

    request_id: str
    latency_ms: int
    cookie_used: str | None = said("The name of the cookie that asked the platform; null when none did.")
    timestamp: Moment
    retry_count: int


class NoteError(Answer):
    """Why something failed, and whether asking again can help."""

    code: str = said("INVALID_INPUT, COOKIE_EXHAUSTED, PLATFORM_ERROR, LOCK_LOST, NOT_FOUND, …")
    message: str = said("For people, in the language of Accept-Language.")
    retryable: bool
    reason: str = Field(default="", description="One finer word, where there is one.")
    asked: bool = Field(default=True, description="Did anybody come to ask the platform? Only there when nobody did.")
    details: Any = Field(default=None, description="Which fields or notes; not always there.")


class Enveloped(Answer, Generic[T]):
    success: bool
    data: T
    error: None
    meta: MetaOut


class EnvelopedList(Answer, Generic[T]):
    success: bool
    items: list[T]
    next: str | None = said("Give it back as `cursor` for what comes after; null at the end.")
    error: None
    meta: MetaOut


class CountOut(Kept):
    """A number as the platform shows it."""

    value: int | None = said("Null where the platform shows none, never 0 instead.")
    exact: bool
    raw: str


class MediaOut(Kept):
    """A picture or a video of a note."""

    kind: str = said("image or video.")
    url: str
    width: int | None
    height: int | None
    duration_ms: int | None
    file_id: str


class CardOut(Answer):
    """One hit of a search."""

    note_id: str
    xsec_token: str
    note_type: str
    title: str
    author_id: str = said("A keyed hash, unless the operator decided otherwise.")
    author_name: str = said("Masked, unless the operator decided otherwise.")
    liked: CountOut
    published_at: Moment | None


class SearchOut(Answer):
    """One page of a search."""

    items: list[CardOut]
    has_more: bool
    page: int


class SearchAnswer(Enveloped[SearchOut]):
    """What a search found."""


class NoteRead(Answer):
    """A note as the platform shows it; the shape of `result` in a commit."""

    note_id: str
    note_type: str = said("normal or video.")
    title: str
    content: str
    author_id: str
    author_name: str
    counts: dict[str, CountOut] = said("liked, collected, comment, share.")
    tags: list[str]
    media: list[MediaOut]
    published_at: Moment | None
    edited_at: Moment | None


class DetailAnswer(Enveloped[NoteRead]):
    """One note."""


class BatchItem(Answer):
    """One note of a batch: `data` when it was read, `error` when not."""

    id: str
    success: bool
    data: NoteRead | None = None
    error: NoteError | None = None


class BatchSummary(Answer):
    """How a batch went."""

    total: int
    succeeded: int
    failed: int


class BatchAnswer(Answer):
    """Every note with its own outcome. 207: some could not be read."""

    success: bool
    items: list[BatchItem]
    summary: BatchSummary
    error: NoteError | None
    meta: MetaOut


class NoteRefusal(Answer):
    """Every refusal of these endpoints. A batch of which nothing was read has its items and summary, too."""

    success: bool
    data: None = None
    items: list[BatchItem] = []
    summary: BatchSummary | None = None
    error: NoteError
    meta: MetaOut


class StoredOut(Answer):
    """How many candidates are new and how many were known."""

    added: int
    known: int


class StoredAnswer(Enveloped[StoredOut]):
    """What was stored."""


class AcquireOut(Answer):
    """The lock, or why there is none."""

    locked: bool
    execution_id: str = Field(default="", description="Only when locked.")
    fence: int = Field(default=0, description="Only when locked; every later step carries both.")
    reason: str = Field(default="", description="Only when not locked.")


class AcquireAnswer(Enveloped[AcquireOut]):
    """The start of an execution."""


class HeartbeatOut(Answer):
    """When the execution was last known to live."""

    heartbeat_at: Moment


class HeartbeatAnswer(Enveloped[HeartbeatOut]):
    """The execution lives."""


class ClaimedOut(Answer):
    """A candidate that is locked for the execution, with all that a batch wants to know."""

    note_id: str
    platform: str
    note_url: str
    xsec_token: str
    xsec_source: str
    retry_count: int
    source_keyword: str
    locked_at: datetime | None


class ClaimOut(Answer):
    """What was claimed."""

    records: list[ClaimedOut]
    locked_count: int


class ClaimAnswer(Enveloped[ClaimOut]):
    """Candidates that are locked now."""


class CommitOut(Answer):
    """What became of a note."""

    action: str = said("created or skipped.")
    id: int


class CommitAnswer(Enveloped[CommitOut]):
    """The note is written."""


class FailOut(Answer):
    """The candidate afterwards."""

    status: str = said("pending, or failed after the last try.")
    retry_count: int


class FailAnswer(Enveloped[FailOut]):
    """The candidate was given back."""


class ReleaseOut(Answer):
    """The execution afterwards."""

    status: str
    returned: int = said("Records it still held, which wait again.")


class ReleaseAnswer(Enveloped[ReleaseOut]):
    """The execution has ended."""


class RecoverOut(Answer):
    """What was freed."""

    executions_timed_out: int
    candidates_returned: int
    candidates_failed: int


class RecoverAnswer(Enveloped[RecoverOut]):
    """What had been locked too long is free."""


class ReportOut(Answer):
    """Whether an alert was opened."""

    opened: bool = said("False when it was open already.")


class ReportAnswer(Enveloped[ReportOut]):
    """The report was taken."""


class CandidateOut(Answer):
    """A note that was found and is to be collected."""

    row = Candidate

    id: int
    note_id: str
    platform: str
    note_url: str
    status: str = said("pending, processing, collected or failed.")
    processing_lock: str | None = said("The execution that holds it.")
    locked_at: datetime | None
    retry_count: int
    source_keyword: str
    exec_meta: dict[str, Any]
    title: str
    last_error_code: str
    last_error_reason: str
    last_error_message: str
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime


class CandidateList(EnvelopedList[CandidateOut]):
    """Candidates, newest first."""


class NoteOut(Answer):
    """A collected note."""

    row = Note

    id: int
    idempotency_key: str
    note_id: str
    platform: str
    note_url: str
    note_type: str = said("normal or video.")
    title: str
    content: str
    author_id: str
    author_name: str
    counts: dict[str, CountOut] = said("liked, collected, comment, share.")
    tags: list[str]
    media: list[MediaOut]
    source_keyword: str
    published_at: datetime | None
    edited_at: datetime | None
    collected_at: datetime
    retry_count: int
    last_error_code: str
    exec_meta: dict[str, Any]


class NoteList(EnvelopedList[NoteOut]):
    """Collected notes, newest first."""


class ExecutionOut(Answer):
    """One run of a workflow."""

    row = Execution

    id: int
    workflow_name: str
    execution_id: str
    status: str = said("running, completed, failed or timeout.")
    fence: int
    started_at: datetime
    heartbeat_at: datetime
    completed_at: datetime | None
    items_processed: int
    items_failed: int
    items_claimed: int
    items_returned: int
    request_id: str


class ExecutionList(EnvelopedList[ExecutionOut]):
    """Executions, newest first."""


class CookieOut(Answer):
    """Everything about a cookie but the cookie."""

    row = Cookie

    cookie_name: str
    platform: str
    status: str = said("active, cooling, invalid or banned.")
    priority: int
    daily_used: int
    daily_limit: int
    consecutive_errors: int
    total_errors: int
    cooling_until: datetime | None
    encryption_key_id: str
    mark: str = said("The end of a keyed hash, to tell cookies apart.")
    is_enabled: bool
    last_used_at: datetime | None
    last_error_code: str
    last_error_reason: str
    created_at: datetime
    updated_at: datetime


class CookieList(EnvelopedList[CookieOut]):
    """The cookie pool."""


def cookie_out(row: Cookie) -> dict[str, Any]:
    return CookieOut.of(row)
