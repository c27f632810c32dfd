"""Authors whose posts and comments were erased: nothing of them is stored again."""

from __future__ import annotations

from django.db import models


class ErasedAuthor(models.Model):
    """Only a digest of the name: the name itself must be gone."""

    digest = models.CharField(max_length=64, unique=True)
    erased_at = models.DateTimeField()

    class Meta:
        db_table = "reddit_erased_authors"
