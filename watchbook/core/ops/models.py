"""The table behind Django's database cache, made by a migration so that nobody has to run createcachetable."""

from __future__ import annotations

from django.db import models


class CacheEntry(models.Model):
    """Only django.core.cache reads and writes it; the columns are the ones its database backend names in its SQL."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "cache_entries"

    def __str__(self) -> str:
        return self.cache_key
