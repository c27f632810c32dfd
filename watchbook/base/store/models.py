"""Content-addressed blobs: what was read, stored once whoever read it."""

from __future__ import annotations

from django.db import models


class Blob(models.Model):
    """A list of sorted lines, named by the SHA-256 of its plain form.

    Stored whole (zstd) or as the lines that turn another blob into this one. Small ones sit in the row, large ones
    in a file of the data folder, so that the database stays small and its write lock short.
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    base = models.ForeignKey("self", models.PROTECT, null=True, related_name="derived")
    # Successors since the last one that stays whole, so that reading an old one never follows a long chain.
    generation = models.PositiveSmallIntegerField(default=0)
    line_count = models.PositiveIntegerField()
    plain_bytes = models.PositiveBigIntegerField()
    stored_bytes = models.PositiveIntegerField()
    # NULL: the bytes are in the file named after the digest.
    data = models.BinaryField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "blobs"
