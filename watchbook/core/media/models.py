"""Files that sources show, by address, and which items show them."""

from __future__ import annotations

from django.db import models

from watchbook.base import clock
from watchbook.kit.content import PLAYED

PICTURE, LIVE_PHOTO, VIDEO, COVER, ATTACHMENT = "picture", "live_photo", "video", "cover", "attachment"
ROLES = (PICTURE, LIVE_PHOTO, VIDEO, COVER, ATTACHMENT)


class FileState(models.TextChoices):
    WAITING = "waiting"
    KEPT = "kept"
    TOO_LARGE = "too_large"
    GONE = "gone"
    FAILED = "failed"
    # Every system that shows it has disabled it.
    OFF = "off"


class KeptFile(models.Model):
    """One file of the outside world. `url` is its newest address; the content is the blob `sha256` once it is kept."""

    # SHA-256 of the address, or of the name that a system gives to a file whose addresses change.
    key = models.CharField(max_length=64, unique=True)
    url = models.TextField()
    # Other addresses of the same file, tried one after the other when this one has no file.
    others = models.JSONField(default=list)
    referer = models.CharField(max_length=500, blank=True, default="")
    host = models.CharField(max_length=200, blank=True, default="")
    state = models.CharField(max_length=12, choices=FileState, default=FileState.WAITING)
    sha256 = models.CharField(max_length=64, blank=True, default="")
    # Found by content, never taken from the address or from the host.
    media_type = models.CharField(max_length=100, blank=True, default="")
    # Of a file that was too large: the limit that it exceeded.
    size = models.PositiveBigIntegerField(null=True, default=None)
    width = models.PositiveIntegerField(null=True, default=None)
    height = models.PositiveIntegerField(null=True, default=None)
    # Opened as a picture, so that a browser may show it.
    is_picture = models.BooleanField(default=False)
    attempts = models.PositiveSmallIntegerField(default=0)
    # English source text; pages show it through gettext.
    last_error = models.CharField(max_length=300, blank=True, default="")
    # When the address stops working; null: not known.
    use_before = models.DateTimeField(null=True, default=None)
    next_try_at = models.DateTimeField(default=clock.now)
    created_at = models.DateTimeField(default=clock.now)
    kept_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "media_files"
        indexes = [
            models.Index(fields=["state", "next_try_at"], name="media_files_due"),
            models.Index(fields=["state", "use_before"], name="media_files_expiring"),
            models.Index(fields=["host", "state"], name="media_files_host"),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def is_kept(self) -> bool:
        return self.state == FileState.KEPT

    @property
    def is_played(self) -> bool:
        return self.is_kept and self.media_type in PLAYED

    @property
    def path(self) -> str:
        return f"/media/{self.pk}"


class FileReference(models.Model):
    """An item of a system shows a file, at this position and in this role."""

    file = models.ForeignKey(KeptFile, models.CASCADE, related_name="references")
    system = models.CharField(max_length=40)
    object_id = models.CharField(max_length=64)
    role = models.CharField(max_length=20, default=PICTURE)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "media_references"
        constraints = [
            models.UniqueConstraint(fields=["system", "object_id", "role", "file"], name="media_references_once")
        ]


class FileThumbnail(models.Model):
    """A smaller picture of a kept file, made when it was first asked for."""

    file = models.ForeignKey(KeptFile, models.CASCADE, related_name="thumbnails", db_index=False)
    side = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        db_table = "media_thumbnails"
        constraints = [models.UniqueConstraint(fields=["file", "side"], name="media_thumbnails_side")]
