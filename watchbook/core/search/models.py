"""search_documents holds one row per thing that can be found; saved_searches what users want to be notified of.

search_score_changes waits for the job of saved searches; search_reindexing says how far an upgrade has come.

The word index beside search_documents differs per database, is made by the first migration and written only by the
dialects. Rows here are written through `index.put` and `index.remove`, never by hand: the two would part.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db import models

from watchbook.core.accounts.models import User

TITLE_LENGTH = 500
NAME_LENGTH = 120
ATTRIBUTE_LENGTH = 200
QUERY_LENGTH = 400


class SearchDocumentQuerySet(models.QuerySet["SearchDocument"]):
    def visible_to(self, scopes: Iterable[str]) -> SearchDocumentQuerySet:
        return self.filter(scope__in=list(scopes))

    def since(self, document_id: int) -> SearchDocumentQuerySet:
        return self.filter(pk__gt=document_id).order_by("pk")

    def last_id(self) -> int:
        return self.order_by("-pk").values_list("pk", flat=True).first() or 0


class SearchDocument(models.Model):
    """One searchable item. Short columns come first: ordering and filtering never read a body."""

    kind = models.CharField(max_length=60)
    object_id = models.CharField(max_length=200)
    source = models.CharField(max_length=40)
    scope = models.CharField(max_length=80)
    occurred_at = models.DateTimeField()
    # When it came in; a change leaves it as it is.
    indexed_at = models.DateTimeField()
    # Digest of everything that is shown or searched: an unchanged document costs no write.
    fingerprint = models.CharField(max_length=32)
    url_path = models.CharField(max_length=1000, blank=True, default="")
    title = models.CharField(max_length=TITLE_LENGTH, blank=True, default="")
    # Attributes in the form in which they are compared; empty in rows that were not reindexed.
    author = models.CharField(max_length=ATTRIBUTE_LENGTH, blank=True, default="")
    place = models.CharField(max_length=ATTRIBUTE_LENGTH, blank=True, default="")
    site = models.CharField(max_length=ATTRIBUTE_LENGTH, blank=True, default="")
    score = models.BigIntegerField(null=True, blank=True, default=None)
    body = models.TextField(blank=True, default="")

    objects = SearchDocumentQuerySet.as_manager()

    class Meta:
        db_table = "search_documents"
        constraints = [models.UniqueConstraint(fields=["kind", "object_id"], name="search_documents_object")]
        indexes = [
            models.Index(fields=["occurred_at", "id"], name="search_documents_newest"),
            models.Index(fields=["scope", "source"], name="search_documents_scope"),
            models.Index(fields=["source", "occurred_at", "id"], name="search_documents_source"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}"


class ScoreChange(models.Model):
    """The score of a document was another before. Saved searches are compared with it once, then the row goes."""

    document_id = models.BigIntegerField()
    before = models.BigIntegerField(null=True)
    after = models.BigIntegerField()
    changed_at = models.DateTimeField()

    class Meta:
        db_table = "search_score_changes"

    def __str__(self) -> str:
        return f"{self.document_id}: {self.before} → {self.after}"


class Reindexing(models.Model):
    """How far documents from before an upgrade were reindexed: those with ids up to `last_id`, `done_id` done."""

    done_id = models.BigIntegerField(default=0)
    last_id = models.BigIntegerField()

    class Meta:
        db_table = "search_reindexing"

    def __str__(self) -> str:
        return f"{self.done_id} of {self.last_id}"


class SavedSearchQuerySet(models.QuerySet["SavedSearch"]):
    def of(self, user: User) -> SavedSearchQuerySet:
        return self.filter(user=user).order_by("name", "pk")

    def active(self) -> SavedSearchQuerySet:
        return self.filter(is_active=True, user__is_active=True)


class SavedSearch(models.Model):
    """Words that a user wants to be notified of. Documents up to `last_document_id` were compared."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_searches")
    name = models.CharField(max_length=NAME_LENGTH)
    query = models.CharField(max_length=QUERY_LENGTH)
    kinds = models.JSONField(default=list, blank=True)
    channels = models.ManyToManyField(
        "notify.NotificationChannel", related_name="saved_searches", blank=True, db_table="saved_search_channels"
    )
    last_document_id = models.BigIntegerField(default=0)
    match_count = models.PositiveIntegerField(default=0)
    last_match_at = models.DateTimeField(null=True, blank=True, default=None)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    objects = SavedSearchQuerySet.as_manager()

    class Meta:
        db_table = "saved_searches"
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="saved_searches_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def thread(self) -> str:
        """The thread of its notifications, by which its rule is found."""
        return f"saved-search:{self.pk}"


class SavedSearchMatch(models.Model):
    """A match that may be compared again: it prevents a second notification. A held one waits for its first."""

    saved_search = models.ForeignKey(SavedSearch, models.CASCADE, related_name="matches")
    # No foreign key: a document that leaves the index must not take part in a cascade of a million rows.
    document_id = models.BigIntegerField()
    matched_at = models.DateTimeField()
    # Fewer matches than the rule asks for: it is sent with those that complete the number.
    is_held = models.BooleanField(default=False)

    class Meta:
        db_table = "saved_search_matches"
        constraints = [
            models.UniqueConstraint(fields=["saved_search", "document_id"], name="saved_search_matches_once")
        ]

    def __str__(self) -> str:
        return f"{self.saved_search_id}: {self.document_id}"
