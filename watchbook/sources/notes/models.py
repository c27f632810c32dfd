"""The four tables of the document, and beside them what the pool and the locks have to remember."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import F, Q
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock
from watchbook.sources.notes.rules import DEFAULT_PLATFORM


class CookieStatus(models.TextChoices):
    ACTIVE = "active", _p("cookie", "Active")
    COOLING = "cooling", _p("cookie", "Cooling")
    INVALID = "invalid", _p("cookie", "Invalid")
    BANNED = "banned", _p("cookie", "Banned")


class CookieQuerySet(models.QuerySet["Cookie"]):
    def enabled(self) -> CookieQuerySet:
        return self.filter(disabled_at=None)

    def usable(self, now: datetime) -> CookieQuerySet:
        """May be handed out at this moment, quota aside. A cooling one whose time is up counts as active."""
        rested = Q(status=CookieStatus.COOLING, cooling_until__lte=now)
        return self.enabled().filter(Q(status=CookieStatus.ACTIVE) | rested)

    def in_turn(self) -> CookieQuerySet:
        """Larger priority first, then the least used, then the older one."""
        return self.order_by("-priority", "daily_used", "id")


class Cookie(models.Model):
    """A login at the platform. The cookie itself is only ever here sealed, and shown to nobody."""

    cookie_name = models.CharField(max_length=100, unique=True, db_comment="幂等键")
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM)
    cookie_encrypted = models.TextField(db_comment="v2:<key id>:<AES-256-GCM>")
    encryption_key_id = models.CharField(max_length=40, blank=True, default="")
    status = models.CharField(max_length=10, choices=CookieStatus.choices, default=CookieStatus.ACTIVE)
    priority = models.IntegerField(default=0)
    daily_used = models.PositiveIntegerField(default=0)
    daily_limit = models.PositiveIntegerField(default=200)
    consecutive_errors = models.PositiveIntegerField(default=0)
    cooling_until = models.DateTimeField(null=True, default=None)
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)

    # The Asia/Shanghai day that daily_used belongs to: it begins anew when the day is another, without a midnight job.
    daily_date = models.DateField(null=True, default=None)
    total_errors = models.PositiveIntegerField(default=0)
    cooling_since = models.DateTimeField(null=True, default=None)
    # Grows whenever cooling begins: what was leased in an earlier round cannot be held against it any more.
    cooling_round = models.PositiveIntegerField(default=0)
    disabled_at = models.DateTimeField(null=True, default=None)
    last_used_at = models.DateTimeField(null=True, default=None)
    last_error_code = models.CharField(max_length=40, blank=True, default="")
    last_error_reason = models.CharField(max_length=40, blank=True, default="")
    user_agent = models.CharField(max_length=400, blank=True, default="")
    # A keyed hash of the cookie: finds the same one added twice, and gives people four characters to tell them apart.
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    # Grows with every change of the sealed value; rotation and refresh write only over the one they read.
    secret_version = models.PositiveIntegerField(default=1)

    objects = CookieQuerySet.as_manager()

    class Meta:
        db_table = "tbl_cookie"
        indexes = [models.Index(fields=["platform", "status", "priority"], name="tbl_cookie_turn")]

    def __str__(self) -> str:
        return self.cookie_name

    @property
    def mark(self) -> str:
        return f"…{self.fingerprint[-4:]}" if self.fingerprint else ""

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None


class CookieLease(models.Model):
    """One use of one cookie: how much was reserved, how it ended. A batch is one lease and so one incident."""

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
    request_id = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        db_table = "notes_cookie_leases"
        indexes = [
            models.Index(fields=["cookie", "-leased_at"], name="notes_leases_of"),
            models.Index(fields=["ended_at"], name="notes_leases_ended"),
        ]


class Breaker(models.Model):
    """While it is open nobody asks the platform, with any cookie."""

    platform = models.CharField(max_length=30, unique=True)
    reason = models.CharField(max_length=40, blank=True, default="")
    opened_at = models.DateTimeField(null=True, default=None)
    open_until = models.DateTimeField(null=True, default=None)
    trips = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "notes_breakers"


class CandidateStatus(models.TextChoices):
    PENDING = "pending", _p("candidate", "Pending")
    PROCESSING = "processing", _p("candidate", "Processing")
    COLLECTED = "collected", _p("candidate", "Collected")
    FAILED = "failed", _p("candidate", "Failed")


class CandidateQuerySet(models.QuerySet["Candidate"]):
    def pending(self) -> CandidateQuerySet:
        """Those that have waited longest first."""
        return self.filter(status=CandidateStatus.PENDING).order_by("queued_at", "id")

    def held_by(self, execution_id: str, fence: int) -> CandidateQuerySet:
        return self.filter(status=CandidateStatus.PROCESSING, processing_lock=execution_id, lock_fence=fence)

    def left_since(self, moment: datetime) -> CandidateQuerySet:
        return self.filter(status=CandidateStatus.PROCESSING, locked_at__lt=moment)


class Candidate(models.Model):
    """A note that was found and is to be collected."""

    note_id = models.CharField(max_length=64, unique=True, db_comment="幂等键")
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM)
    note_url = models.CharField(max_length=2048, blank=True, default="")
    status = models.CharField(max_length=12, choices=CandidateStatus.choices, default=CandidateStatus.PENDING)
    processing_lock = models.CharField(max_length=100, null=True, default=None)
    locked_at = models.DateTimeField(null=True, default=None)
    retry_count = models.PositiveIntegerField(default=0)
    source_keyword = models.CharField(max_length=200, blank=True, default="")
    exec_meta = models.JSONField(default=dict)

    lock_fence = models.BigIntegerField(null=True, default=None)
    # Names one claim: what a conditional UPDATE of many rows has taken is found again by it.
    claim_token = models.CharField(max_length=32, null=True, default=None)
    # The execution that claimed it last, kept after the lock is gone: what an execution did is found by it.
    claimed_by = models.CharField(max_length=100, blank=True, default="")
    # Sealed by the house key: short-lived, belongs to this note, and newest wins. Never an identity.
    xsec_token = models.TextField(blank=True, default="")
    xsec_source = models.CharField(max_length=40, blank=True, default="")
    title = models.CharField(max_length=300, blank=True, default="")
    last_error_code = models.CharField(max_length=40, blank=True, default="")
    last_error_reason = models.CharField(max_length=40, blank=True, default="")
    last_error_message = models.CharField(max_length=500, blank=True, default="")
    published_at = models.DateTimeField(null=True, default=None)
    queued_at = models.DateTimeField(default=clock.now)
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)

    objects = CandidateQuerySet.as_manager()

    class Meta:
        db_table = "tbl_candidate"
        indexes = [
            models.Index(fields=["status", "queued_at", "id"], name="tbl_candidate_turn"),
            models.Index(fields=["status", "locked_at"], name="tbl_candidate_locks"),
            models.Index(fields=["claim_token"], name="tbl_candidate_claim"),
            models.Index(fields=["-created_at", "id"], name="tbl_candidate_new"),
            models.Index(fields=["claimed_by", "id"], name="tbl_candidate_of"),
        ]

    def __str__(self) -> str:
        return self.note_id


class ExecutionStatus(models.TextChoices):
    RUNNING = "running", _p("execution", "Running")
    COMPLETED = "completed", _p("execution", "Completed")
    FAILED = "failed", _p("execution", "Failed")
    TIMEOUT = "timeout", _p("execution", "Timed out")


class Execution(models.Model):
    """One run of a workflow. While it runs it holds the workflow's slot, which exists once."""

    workflow_name = models.CharField(max_length=100)
    execution_id = models.CharField(max_length=100, unique=True)
    status = models.CharField(max_length=12, choices=ExecutionStatus.choices, default=ExecutionStatus.RUNNING)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, default=None)
    items_processed = models.PositiveIntegerField(default=0)
    items_failed = models.PositiveIntegerField(default=0)

    # The workflow's name while it runs, NULL afterwards: unique on every database, without a conditional constraint.
    slot = models.CharField(max_length=100, null=True, default=None, unique=True)
    fence = models.BigIntegerField()
    items_claimed = models.PositiveIntegerField(default=0)
    items_returned = models.PositiveIntegerField(default=0)
    request_id = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        db_table = "tbl_crawl_execution"
        # None on heartbeat_at: MariaDB would use it to find one execution, and lock those of others on the way.
        indexes = [models.Index(fields=["-started_at", "id"], name="tbl_execution_new")]

    def __str__(self) -> str:
        return self.execution_id


class Fence(models.Model):
    """The number that grows with every execution of a workflow."""

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
    retry_count = models.PositiveIntegerField(default=0)
    last_error_code = models.CharField(max_length=40, blank=True, default="")
    exec_meta = models.JSONField(default=dict)

    note_id = models.CharField(max_length=64, unique=True)
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM)
    note_url = models.CharField(max_length=2048, blank=True, default="")
    note_type = models.CharField(max_length=20, choices=NoteType.choices, default=NoteType.NORMAL)
    title = models.CharField(max_length=300, blank=True, default="")
    content = models.TextField(blank=True, default="")
    # A keyed hash and a masked name, unless the operator decided otherwise.
    author_id = models.CharField(max_length=64, blank=True, default="")
    author_name = models.CharField(max_length=100, blank=True, default="")
    # {liked|collected|comment|share: {value, exact, raw}}; a value that is not known is null, never 0.
    counts = models.JSONField(default=dict)
    tags = models.JSONField(default=list)
    media = models.JSONField(default=list)
    source_keyword = models.CharField(max_length=200, blank=True, default="")
    published_at = models.DateTimeField(null=True, default=None)
    edited_at = models.DateTimeField(null=True, default=None)
    collected_at = models.DateTimeField(default=clock.now)
    execution_id = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        db_table = "tbl_source"
        indexes = [
            models.Index(fields=["-collected_at", "id"], name="tbl_source_new"),
            models.Index(fields=["author_id"], name="tbl_source_author"),
        ]

    def __str__(self) -> str:
        return self.title or self.note_id


class KeywordQuerySet(models.QuerySet["Keyword"]):
    def due(self, now: datetime) -> KeywordQuerySet:
        return self.filter(is_active=True, next_search_at__lte=now).order_by("next_search_at", "id")


class Keyword(models.Model):
    """Words that are searched for candidates."""

    # The folded form: two spellings of one word are one keyword on every database.
    folded = models.CharField(max_length=200)
    keyword = models.CharField(max_length=200)
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM)
    is_active = models.BooleanField(default=True)
    next_search_at = models.DateTimeField(default=clock.now)
    last_search_at = models.DateTimeField(null=True, default=None)
    last_error = models.CharField(max_length=300, blank=True, default="")
    found_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now)

    objects = KeywordQuerySet.as_manager()

    class Meta:
        db_table = "notes_keywords"
        constraints = [models.UniqueConstraint(fields=["platform", "folded"], name="notes_keyword_once")]

    def __str__(self) -> str:
        return self.keyword


class Watched(models.Model):
    """Since when a condition holds that becomes an alert only if it lasts."""

    key = models.CharField(max_length=60, unique=True)
    since = models.DateTimeField()

    class Meta:
        db_table = "notes_watched"


def under_limit() -> Q:
    """Something of today's quota is left."""
    return Q(daily_used__lt=F("daily_limit"))
