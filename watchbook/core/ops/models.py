"""Tables of the platform: stored settings, and the database cache, so that createcachetable is not needed."""

from __future__ import annotations

from django.db import models


class StoredSetting(models.Model):
    """A setting that an operator stored, encrypted. The environment wins over it."""

    name = models.CharField(max_length=100, primary_key=True)
    value = models.TextField()
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=254, blank=True)

    class Meta:
        db_table = "stored_settings"

    def __str__(self) -> str:
        return self.name


class SettingsCheck(models.Model):
    """The last test of a group of settings: since when it works or fails, and what the other side answered."""

    name = models.CharField(max_length=40, primary_key=True)
    is_ok = models.BooleanField()
    since = models.DateTimeField()
    checked_at = models.DateTimeField()
    answer = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        db_table = "settings_checks"

    def __str__(self) -> str:
        return self.name


class ProcessKeys(models.Model):
    """Which keys a running process holds, as digests. Another process with other keys does not start."""

    name = models.CharField(max_length=120, primary_key=True)
    prints = models.JSONField(default=dict)
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "process_keys"

    def __str__(self) -> str:
        return self.name


class CacheEntry(models.Model):
    """Only django.core.cache reads and writes it; the columns are the ones its database backend names in its SQL."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "cache_entries"

    def __str__(self) -> str:
        return self.cache_key
