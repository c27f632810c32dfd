"""Blobs, which are bytes named by their digest, and lists of sorted lines."""

from __future__ import annotations

from django.db import models


class BlobQuerySet(models.QuerySet["Blob"]):
    def referenced(self) -> BlobQuerySet:
        return self.filter(models.Exists(BlobReference.objects.filter(blob=models.OuterRef("pk"))))

    def unreferenced(self) -> BlobQuerySet:
        return self.exclude(models.Exists(BlobReference.objects.filter(blob=models.OuterRef("pk"))))


class Blob(models.Model):
    """Bytes, named by their SHA-256 and stored once. `place` says where: files, database or s3."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size = models.PositiveBigIntegerField()
    place = models.CharField(max_length=20)
    # When it was last put or referenced: a young blob without a reference is not deleted.
    put_at = models.DateTimeField()

    objects = BlobQuerySet.as_manager()

    class Meta:
        db_table = "stored_blobs"


class BlobChunk(models.Model):
    """A piece of a blob whose place is the database."""

    blob = models.ForeignKey(Blob, models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        db_table = "stored_blob_chunks"
        constraints = [models.UniqueConstraint(fields=["blob", "position"], name="stored_blob_chunks_position")]


class BlobReference(models.Model):
    """Who uses a blob. A blob without a reference is deleted after a grace time."""

    owner_kind = models.CharField(max_length=40)
    owner_id = models.CharField(max_length=64)
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="references")

    class Meta:
        db_table = "stored_blob_references"
        constraints = [
            models.UniqueConstraint(fields=["owner_kind", "owner_id", "blob"], name="stored_blob_references_owner")
        ]


class ServerKey(models.Model):
    """A key that the server made for itself, encrypted. All its processes use the same."""

    name = models.CharField(max_length=40, primary_key=True)
    sealed = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "server_keys"

    def __str__(self) -> str:
        return self.name


class SortedList(models.Model):
    """A list of sorted lines, named by the SHA-256 of its plain form.

    Stored whole (zstd) or as the lines that turn another list into this one. Small ones sit in the row, large ones
    in a blob, so that the table stays small and its write lock short.
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    base = models.ForeignKey("self", models.PROTECT, null=True, related_name="derived")
    # Successors since the last one that stays whole, so that reading an old one never follows a long chain.
    generation = models.PositiveSmallIntegerField(default=0)
    line_count = models.PositiveIntegerField()
    plain_bytes = models.PositiveBigIntegerField()
    stored_bytes = models.PositiveIntegerField()
    # NULL: the bytes are in the blob `packed_sha256`.
    data = models.BinaryField(null=True)
    packed_sha256 = models.CharField(max_length=64, null=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "sorted_lists"
