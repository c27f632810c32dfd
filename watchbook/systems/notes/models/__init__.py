"""The four tables of the seed, and the tables of leases, circuit breakers and fences."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock
from watchbook.systems.notes.models.keywords import Creator, Keyword, SearchSort, SearchType, TimeRange
from watchbook.systems.notes.models.readings import (
    CommentVersion,
    NoteComment,
    NotePoint,
    NoteVersion,
    NoteWatch,
    Presence,
)
from watchbook.systems.notes.rules import DEFAULT_PLATFORM

__all__ = [
    "CommentVersion",
    "Creator",
    "Keyword",
    "NoteComment",
    "NotePoint",
    "NoteVersion",
    "NoteWatch",
    "Presence",
    "SearchSort",
    "SearchType",
    "TimeRange",
]


def status_check(choices: type[models.TextChoices], name: str, column: str = "status") -> models.CheckConstraint:
    """Return a CHECK constraint for a column with fixed values, the portable form of an ENUM."""
    return models.CheckConstraint(condition=Q(**{f"{column}__in": choices.values}), name=name)


class CookieStatus(models.TextChoices):
    ACTIVE = "active", _p("cookie", "Active")
    COOLING = "cooling", _p("cookie", "Cooling down")
    INVALID = "invalid", _p("cookie", "Invalid")
    BANNED = "banned", _p("cookie", "Banned")


class CookieQuerySet(models.QuerySet["Cookie"]):
    def enabled(self) -> CookieQuerySet:
        return self.filter(disabled_at=None)

    def usable(self, now: datetime) -> CookieQuerySet:
        """Cookies that can be used now, quota aside. Cooling that is over counts as active."""
        current = Q(status=CookieStatus.COOLING, cooling_until__lte=now)
        return self.enabled().filter(Q(status=CookieStatus.ACTIVE) | current)

    def in_turn(self) -> CookieQuerySet:
        """Higher priority first, then the least used, then the oldest."""
        return self.order_by("-priority", "daily_used", "id")


class Cookie(models.Model):
    """A login at the platform. The cookie is stored encrypted and never displayed."""

    cookie_name = models.CharField(max_length=100, unique=True, db_comment="幂等键")
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM, db_default=DEFAULT_PLATFORM)
    cookie_encrypted = models.TextField(db_comment="v2:<key id>:<AES-256-GCM>")
    encryption_key_id = models.CharField(max_length=40, blank=True, default="", db_default="")
    status = models.CharField(
        max_length=10, choices=CookieStatus.choices, default=CookieStatus.ACTIVE, db_default=CookieStatus.ACTIVE
    )
    priority = models.IntegerField(default=0, db_default=0)
    daily_used = models.PositiveIntegerField(default=0, db_default=0)
    daily_limit = models.PositiveIntegerField(default=200, db_default=200)
    consecutive_errors = models.PositiveIntegerField(default=0, db_default=0)
    cooling_until = models.DateTimeField(null=True, default=None)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())
    updated_at = models.DateTimeField(default=clock.now, db_default=Now())

    # The Asia/Shanghai day that daily_used belongs to: another day resets it, without a job at midnight.
    daily_date = models.DateField(null=True, default=None)
    total_errors = models.PositiveIntegerField(default=0, db_default=0)
    cooling_since = models.DateTimeField(null=True, default=None)
    # Grows whenever cooling begins: errors of leases from an earlier round are not counted.
    cooling_round = models.PositiveIntegerField(default=0, db_default=0)
    disabled_at = models.DateTimeField(null=True, default=None)
    last_used_at = models.DateTimeField(null=True, default=None)
    last_error_code = models.CharField(max_length=40, blank=True, default="", db_default="")
    last_error_reason = models.CharField(max_length=40, blank=True, default="", db_default="")
    user_agent = models.CharField(max_length=400, blank=True, default="", db_default="")
    # A keyed hash of the cookie: finds duplicates, and its last 4 characters identify the cookie on pages.
    fingerprint = models.CharField(max_length=64, blank=True, default="", db_default="")
    # Grows with every change of the encrypted value; rotation and refresh replace only the version they read.
    secret_version = models.PositiveIntegerField(default=1, db_default=1)

    objects = CookieQuerySet.as_manager()

    class Meta:
        db_table = "tbl_cookie"
        indexes = [models.Index(fields=["platform", "status", "priority"], name="tbl_cookie_turn")]
        constraints = [status_check(CookieStatus, "tbl_cookie_status")]

    def __str__(self) -> str:
        return self.cookie_name

    @property
    def mark(self) -> str:
        return f"…{self.fingerprint[-4:]}" if self.fingerprint else ""

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None


class CookieLease(models.Model):
    """One use of one cookie: the reserved requests and the result. A batch is one lease."""

    cookie = models.ForeignKey(Cookie, models.CASCADE, related_name="leases", db_index=False)
    reserved = models.PositiveIntegerField(default=1)
    reserved_on = models.DateField()
    cooling_round = models.PositiveIntegerField(default=0)
    is_probe = models.BooleanField(default=False)
    leased_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, default=None)
    succeeded = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    charge = models.CharField(max_length=20, blank=True, default="")
    # The last error of the lease, whichever run caused it.
    error_code = models.CharField(max_length=40, blank=True, default="")
    error_reason = models.CharField(max_length=40, blank=True, default="")
    request_id = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        db_table = "notes_cookie_leases"
        indexes = [
            models.Index(fields=["cookie", "-leased_at"], name="notes_leases_of"),
            models.Index(fields=["ended_at"], name="notes_leases_ended"),
        ]


class Breaker(models.Model):
    """The circuit breaker of a platform: while it is open, no requests are sent with any cookie."""

    platform = models.CharField(max_length=30, unique=True)
    reason = models.CharField(max_length=40, blank=True, default="")
    opened_at = models.DateTimeField(null=True, default=None)
    open_until = models.DateTimeField(null=True, default=None)
    # Openings in a row; 0 after a response or when an operator closed it.
    trips = models.PositiveIntegerField(default=0)
    # Requests in a row without a usable response, the note of the last one, and whether there were several notes.
    failures = models.PositiveIntegerField(default=0)
    failed_note = models.CharField(max_length=64, blank=True, default="")
    several = models.BooleanField(default=False)
    responded_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "notes_breakers"


class CandidateStatus(models.TextChoices):
    PENDING = "pending", _p("candidate", "Pending")
    PROCESSING = "processing", _p("candidate", "Processing")
    COLLECTED = "collected", _p("candidate", "Collected")
    FAILED = "failed", _p("candidate", "Failed")


class CandidateQuerySet(models.QuerySet["Candidate"]):
    def pending(self) -> CandidateQuerySet:
        """Pending candidates, longest pending first."""
        return self.filter(status=CandidateStatus.PENDING).order_by("queued_at", "id")

    def held_by(self, execution_id: str, fence: int) -> CandidateQuerySet:
        return self.filter(status=CandidateStatus.PROCESSING, processing_lock=execution_id, lock_fence=fence)

    def locked_before(self, moment: datetime) -> CandidateQuerySet:
        return self.filter(status=CandidateStatus.PROCESSING, locked_at__lt=moment)


class Candidate(models.Model):
    """A note that was found and is not collected yet."""

    note_id = models.CharField(max_length=64, unique=True, db_comment="幂等键")
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM, db_default=DEFAULT_PLATFORM)
    note_url = models.CharField(max_length=2048, blank=True, default="", db_default="")
    status = models.CharField(
        max_length=12,
        choices=CandidateStatus.choices,
        default=CandidateStatus.PENDING,
        db_default=CandidateStatus.PENDING,
    )
    processing_lock = models.CharField(max_length=100, null=True, default=None)
    locked_at = models.DateTimeField(null=True, default=None)
    retry_count = models.PositiveIntegerField(default=0, db_default=0)
    source_keyword = models.CharField(max_length=200, blank=True, default="", db_default="")
    exec_meta = models.JSONField(default=dict, db_default={})

    lock_fence = models.BigIntegerField(null=True, default=None)
    # Names one claim: finds the rows that the conditional UPDATE of the claim changed.
    claim_token = models.CharField(max_length=32, null=True, default=None)
    # The run that claimed it last, kept after the lock is released: a run does not claim it twice.
    claimed_by = models.CharField(max_length=100, blank=True, default="", db_default="")
    # Encrypted with the server's key. Short-lived, belongs to this note, the newest wins. Never an identity.
    xsec_token = models.TextField(blank=True, default="", db_default="")
    xsec_source = models.CharField(max_length=40, blank=True, default="", db_default="")
    title = models.CharField(max_length=300, blank=True, default="", db_default="")
    last_error_code = models.CharField(max_length=40, blank=True, default="", db_default="")
    last_error_reason = models.CharField(max_length=40, blank=True, default="", db_default="")
    last_error_message = models.CharField(max_length=500, blank=True, default="", db_default="")
    # The followed creator whose listing showed it first.
    creator = models.ForeignKey(Creator, models.SET_NULL, null=True, default=None, related_name="+")
    published_at = models.DateTimeField(null=True, default=None)
    queued_at = models.DateTimeField(default=clock.now, db_default=Now())
    created_at = models.DateTimeField(default=clock.now, db_default=Now())
    updated_at = models.DateTimeField(default=clock.now, db_default=Now())

    objects = CandidateQuerySet.as_manager()

    class Meta:
        db_table = "tbl_candidate"
        indexes = [
            models.Index(fields=["status", "queued_at", "id"], name="tbl_candidate_turn"),
            models.Index(fields=["status", "locked_at"], name="tbl_candidate_locks"),
            models.Index(fields=["claim_token"], name="tbl_candidate_claim"),
            models.Index(fields=["-created_at", "id"], name="tbl_candidate_new"),
            models.Index(fields=["claimed_by", "id"], name="tbl_candidate_of"),
            # For mirrors: what changed since a cursor.
            models.Index(fields=["updated_at", "id"], name="tbl_candidate_changed"),
            # Candidates of a keyword by state, as the page of keywords counts them.
            models.Index(fields=["source_keyword", "status"], name="tbl_candidate_keyword"),
        ]
        constraints = [status_check(CandidateStatus, "tbl_candidate_status")]

    def __str__(self) -> str:
        return self.note_id


class ExecutionStatus(models.TextChoices):
    RUNNING = "running", _p("execution", "Running")
    COMPLETED = "completed", _p("execution", "Completed")
    FAILED = "failed", _p("execution", "Failed")
    TIMEOUT = "timeout", _p("execution", "Timed out")


class Execution(models.Model):
    """One run of a workflow. While it runs, it holds the only slot of the workflow."""

    workflow_name = models.CharField(max_length=100)
    execution_id = models.CharField(max_length=100, unique=True)
    status = models.CharField(
        max_length=12,
        choices=ExecutionStatus.choices,
        default=ExecutionStatus.RUNNING,
        db_default=ExecutionStatus.RUNNING,
    )
    started_at = models.DateTimeField(db_default=Now())
    heartbeat_at = models.DateTimeField(db_default=Now())
    completed_at = models.DateTimeField(null=True, default=None)
    items_processed = models.PositiveIntegerField(default=0, db_default=0)
    items_failed = models.PositiveIntegerField(default=0, db_default=0)

    # The workflow's name while it runs, NULL afterwards: unique on every database, without a conditional constraint.
    slot = models.CharField(max_length=100, null=True, default=None, unique=True)
    fence = models.BigIntegerField(db_default=0)
    items_claimed = models.PositiveIntegerField(default=0, db_default=0)
    items_returned = models.PositiveIntegerField(default=0, db_default=0)
    request_id = models.CharField(max_length=128, blank=True, default="", db_default="")

    class Meta:
        db_table = "tbl_crawl_execution"
        # No index on heartbeat_at: MariaDB would use it to find one run, and lock rows of others.
        indexes = [models.Index(fields=["-started_at", "id"], name="tbl_execution_new")]
        constraints = [status_check(ExecutionStatus, "tbl_execution_status")]

    def __str__(self) -> str:
        return self.execution_id


class Fence(models.Model):
    """The fencing token: a number that grows with every run of a workflow."""

    workflow_name = models.CharField(max_length=100, unique=True)
    number = models.BigIntegerField(default=0)

    class Meta:
        db_table = "notes_fences"


class NoteType(models.TextChoices):
    NORMAL = "normal", _p("note", "Pictures")
    VIDEO = "video", _p("note", "Video")


class Note(models.Model):
    """A collected note, written once under its idempotency key."""

    idempotency_key = models.CharField(max_length=80, unique=True, db_comment="{note_id}_v1")
    processing_lock = models.CharField(max_length=100, null=True, default=None)
    locked_at = models.DateTimeField(null=True, default=None)
    retry_count = models.PositiveIntegerField(default=0, db_default=0)
    last_error_code = models.CharField(max_length=40, blank=True, default="", db_default="")
    exec_meta = models.JSONField(default=dict, db_default={})

    note_id = models.CharField(max_length=64, unique=True)
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM, db_default=DEFAULT_PLATFORM)
    note_url = models.CharField(max_length=2048, blank=True, default="", db_default="")
    note_type = models.CharField(
        max_length=20, choices=NoteType.choices, default=NoteType.NORMAL, db_default=NoteType.NORMAL
    )
    title = models.CharField(max_length=300, blank=True, default="", db_default="")
    content = models.TextField(blank=True, default="", db_default="")
    # A keyed hash and a masked name, unless NOTES_AUTHORS is plain.
    author_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    author_name = models.CharField(max_length=100, blank=True, default="", db_default="")
    # {liked|collected|comment|share: {value, exact, raw}}; a value that is not known is null, never 0.
    counts = models.JSONField(default=dict, db_default={})
    tags = models.JSONField(default=list, db_default=[])
    media = models.JSONField(default=list, db_default=[])
    source_keyword = models.CharField(max_length=200, blank=True, default="", db_default="")
    published_at = models.DateTimeField(null=True, default=None)
    edited_at = models.DateTimeField(null=True, default=None)
    collected_at = models.DateTimeField(default=clock.now, db_default=Now())
    execution_id = models.CharField(max_length=100, blank=True, default="", db_default="")

    class Meta:
        db_table = "tbl_source"
        indexes = [
            models.Index(fields=["-collected_at", "id"], name="tbl_source_new"),
            models.Index(fields=["author_id"], name="tbl_source_author"),
        ]
        constraints = [status_check(NoteType, "tbl_source_type", "note_type")]

    def __str__(self) -> str:
        return self.title or self.note_id


class AllowedUser(models.Model):
    """A user, beside the operators, who may do notes work."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    allowed_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "notes_allowed_users"


class Watched(models.Model):
    """The time since which an alert condition holds."""

    key = models.CharField(max_length=60, unique=True)
    since = models.DateTimeField()

    class Meta:
        db_table = "notes_watched"


def under_limit() -> Q:
    """Cookies with requests left today."""
    return Q(daily_used__lt=F("daily_limit"))
