"""Response schemas of the notes API, in the envelope of the specification."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import Field

from watchbook.core.api.schemas import Answer, Kept, Moment, said
from watchbook.systems.notes.models import Candidate, Cookie, Execution, Note, NoteVersion

T = TypeVar("T")


class MetaOut(Answer):
    """Details of the request."""

    request_id: str
    latency_ms: int
    cookie_used: str | None = said("Name of the cookie used for the request; null if no request was sent.")
    timestamp: Moment
    retry_count: int


class NoteError(Answer):
    """Why the request failed, and whether a retry can succeed."""

    code: str = said("INVALID_INPUT, COOKIE_EXHAUSTED, PLATFORM_ERROR, LOCK_LOST, NOT_FOUND, …")
    message: str = said("Message in the language of Accept-Language.")
    retryable: bool
    reason: str = Field(default="", description="More specific reason, if known.")
    asked: bool = Field(default=True, description="False if no request was sent to the platform. Otherwise absent.")
    outage: bool = Field(default=False, description="True if the platform did not respond to several requests.")
    details: Any = Field(default=None, description="Affected fields or notes, if any.")


class Enveloped(Answer, Generic[T]):
    success: bool
    data: T
    error: None
    meta: MetaOut


class EnvelopedList(Answer, Generic[T]):
    success: bool
    items: list[T]
    next: str | None = said("Pass it as `cursor` to get the next page; null on the last page.")
    error: None
    meta: MetaOut


class MirroredList(EnvelopedList[T], Generic[T]):
    """A list that can be read on from where the last reading ended."""

    since: str | None = Field(
        default=None,
        description="Only with `since=beginning` or a cursor: give it back as `since` to get what came after.",
    )


class CountOut(Kept):
    """A count as shown by the platform."""

    value: int | None = said("Null if the platform shows no count.")
    exact: bool
    raw: str


class MediaOut(Kept):
    """An image or a video of a note."""

    kind: str = said("image, video or live_photo.")
    url: str
    width: int | None
    height: int | None
    duration_ms: int | None
    file_id: str
    others: list[str] = Field(default=[], description="Other addresses of the same file.")


class CardOut(Answer):
    """One search result."""

    note_id: str
    xsec_token: str
    note_type: str
    title: str
    author_id: str = said("Keyed hash, unless NOTES_AUTHORS is plain.")
    author_name: str = said("Masked, unless NOTES_AUTHORS is plain.")
    liked: CountOut
    published_at: Moment | None


class SearchOut(Answer):
    """One page of search results."""

    items: list[CardOut]
    has_more: bool
    page: int


class SearchAnswer(Enveloped[SearchOut]):
    """Search results."""


class NoteRead(Answer):
    """A note as shown by the platform; also the format of `result` in commit."""

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
    skipped: list[str] = Field(default=[], description="Parts of the note that could not be parsed.")


class DetailAnswer(Enveloped[NoteRead]):
    """One note."""


class BatchItem(Answer):
    """One note of a batch: `data` on success, otherwise `error`."""

    id: str
    success: bool
    data: NoteRead | None = None
    error: NoteError | None = None


class BatchSummary(Answer):
    """Totals of a batch."""

    total: int
    succeeded: int
    failed: int


class BatchAnswer(Answer):
    """Results per note. Status 207 if some notes could not be read."""

    success: bool
    items: list[BatchItem]
    summary: BatchSummary
    error: NoteError | None
    meta: MetaOut


class NoteRefusal(Answer):
    """Error response of the notes endpoints. A failed batch also has `items` and `summary`."""

    success: bool
    data: None = None
    items: list[BatchItem] = []
    summary: BatchSummary | None = None
    error: NoteError
    meta: MetaOut


class StoredOut(Answer):
    """Numbers of new and already known candidates."""

    added: int
    known: int


class StoredAnswer(Enveloped[StoredOut]):
    """Result of adding candidates."""


class AcquireOut(Answer):
    """The lock, or the reason why it was not acquired."""

    locked: bool
    execution_id: str = Field(default="", description="Only when locked.")
    fence: int = Field(default=0, description="Only when locked. Later steps send execution_id and fence.")
    reason: str = Field(default="", description="Only when not locked.")


class AcquireAnswer(Enveloped[AcquireOut]):
    """Result of starting a run."""


class HeartbeatOut(Answer):
    """Time of the last heartbeat."""

    heartbeat_at: Moment


class HeartbeatAnswer(Enveloped[HeartbeatOut]):
    """Result of a heartbeat."""


class ClaimedOut(Answer):
    """A candidate locked for the run, with the fields that batch needs."""

    note_id: str
    platform: str
    note_url: str
    xsec_token: str
    xsec_source: str
    retry_count: int
    source_keyword: str
    locked_at: datetime | None


class ClaimOut(Answer):
    """Claimed candidates."""

    records: list[ClaimedOut]
    locked_count: int


class ClaimAnswer(Enveloped[ClaimOut]):
    """Result of a claim."""


class CommitOut(Answer):
    """Result for one note."""

    action: str = said("created or skipped.")
    id: int
    omitted: list[str] = Field(default=[], description="Parts of the result that were not valid and not saved.")
    reading: list[str] = Field(
        default=[], description="What a later reading of a collected note brought: version, point, or same."
    )


class CommitAnswer(Enveloped[CommitOut]):
    """Result of a commit."""


class FailOut(Answer):
    """State of the candidate after the failure."""

    status: str = said("pending, or failed after the last attempt.")
    retry_count: int


class FailAnswer(Enveloped[FailOut]):
    """Result of reporting a failure."""


class ReleaseOut(Answer):
    """State of the run after its end."""

    status: str
    returned: int = said("Candidates that the run still held; they are pending again.")


class ReleaseAnswer(Enveloped[ReleaseOut]):
    """Result of ending a run."""


class RecoverOut(Answer):
    """Numbers of released locks."""

    executions_timed_out: int
    candidates_returned: int
    candidates_failed: int


class RecoverAnswer(Enveloped[RecoverOut]):
    """Result of the recovery."""


class ReportOut(Answer):
    """Whether the report opened an alert."""

    opened: bool = said("False if the alert was already open.")


class ReportAnswer(Enveloped[ReportOut]):
    """Result of a report."""


class CandidateOut(Answer):
    """A note that was found and not collected yet."""

    row = Candidate

    id: int
    note_id: str
    platform: str
    note_url: str
    status: str = said("pending, processing, collected or failed.")
    processing_lock: str | None = said("ID of the run that holds the lock.")
    locked_at: datetime | None
    retry_count: int
    source_keyword: str
    creator_id: int | None = said("Number of the followed creator whose listing showed it first.")
    exec_meta: dict[str, Any]
    title: str
    last_error_code: str
    last_error_reason: str
    last_error_message: str
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime


class CandidateList(MirroredList[CandidateOut]):
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


class NoteFile(Answer):
    """A picture or video of a note, and whether it is kept here."""

    kind: str = said("picture, live_photo or video.")
    position: int
    state: str = said("waiting, kept, too_large, gone, failed or off.")
    url: str = said("Address at the platform, which expires.")
    media_id: int = said("Number for `GET /api/v1/media/{media_id}`.")
    media_type: str
    size: int | None
    width: int | None
    height: int | None


class NoteVersionOut(Answer):
    """Another text of a note. Version 1 is the note itself."""

    row = NoteVersion

    number: int
    title: str
    content: str
    tags: list[str]
    media: list[MediaOut]
    edited_at: datetime | None
    read_at: datetime


class NotePointOut(Answer):
    """Counts at a reading."""

    read_at: datetime
    counts: dict[str, CountOut]


class NoteHistory(Answer):
    """A note with its files, versions and counts over time."""

    note: NoteOut
    presence: str = said("there, missing (not found once) or gone (not found twice).")
    last_read_at: datetime
    next_read_at: datetime | None
    files: list[NoteFile]
    versions: list[NoteVersionOut] = said("The newest 100, newest first.")
    points: list[NotePointOut] = said("The newest 200, newest first.")


class NoteHistoryAnswer(Enveloped[NoteHistory]):
    """One note with everything that later readings brought."""


class ReadAgainOut(Answer):
    """How many notes were queued."""

    queued: int
    known: int = said("Collected notes among the given ones.")
    unknown_ids: list[str] = said("Ids among those sent that are no collected notes. Nothing was queued for them.")


class ReadAgainAnswer(Enveloped[ReadAgainOut]):
    """Result of asking for a reading."""


class NoteList(MirroredList[NoteOut]):
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
    """Runs, newest first."""


class CookieOut(Answer):
    """A cookie of the pool, without the cookie itself."""

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
    mark: str = said("Last 4 characters of a keyed hash, to identify the cookie.")
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
