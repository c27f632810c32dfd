"""Files that are kept with versions: what was sent and received, and screenshots."""

from __future__ import annotations

from django.db import models


class PageEvidence(models.Model):
    """What was sent and received when a version was read, as a WARC file among the blobs.

    Number 0 is the answer that decided what became of a URL that left its list.
    """

    page = models.ForeignKey("pages.Page", models.CASCADE, related_name="evidence", db_index=False)
    site = models.ForeignKey("pages.Site", models.CASCADE, related_name="evidence", db_index=False)
    number = models.PositiveIntegerField()
    kept_at = models.DateTimeField()
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    # Requests with their responses
    exchanges = models.PositiveSmallIntegerField()

    class Meta:
        db_table = "web_page_evidence"
        constraints = [models.UniqueConstraint(fields=["page", "number"], name="web_page_evidence_once")]
        indexes = [
            models.Index(fields=["site", "size"], name="web_page_evidence_site"),
            models.Index(fields=["kept_at"], name="web_page_evidence_kept"),
        ]


class PageShot(models.Model):
    """A screenshot of a version, and what differs from the screenshot before; both are blobs."""

    page = models.ForeignKey("pages.Page", models.CASCADE, related_name="shots", db_index=False)
    site = models.ForeignKey("pages.Site", models.CASCADE, related_name="shots")
    number = models.PositiveIntegerField()
    taken_at = models.DateTimeField()
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    # Share of pixels that differ from the screenshot before; NULL and empty without one
    changed_percent = models.FloatField(null=True)
    difference = models.CharField(max_length=64, blank=True, default="")
    difference_size = models.PositiveBigIntegerField(default=0)

    class Meta:
        db_table = "web_page_shots"
        constraints = [models.UniqueConstraint(fields=["page", "number"], name="web_page_shot_once")]
        indexes = [models.Index(fields=["taken_at"], name="web_page_shot_taken")]
