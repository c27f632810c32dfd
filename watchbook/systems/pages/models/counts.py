"""How many pages of a website are in which state, and what each day brought to its sections."""

from __future__ import annotations

from django.db import models


class SectionCount(models.Model):
    """How many pages of a section are in which state; the section "" is the whole website.

    `store.counts` keeps it in the transaction that changes pages: a view costs the same however many URLs there are.
    """

    site = models.ForeignKey("pages.Site", models.CASCADE, related_name="counts", db_index=False)
    section = models.CharField(max_length=100)
    # Listed now; what follows counts listed pages, up to `noindex`
    known = models.IntegerField(default=0)
    read = models.IntegerField(default=0)
    unread = models.IntegerField(default=0)
    ok = models.IntegerField(default=0)
    redirect = models.IntegerField(default=0)
    missing = models.IntegerField(default=0)
    blocked = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    excluded = models.IntegerField(default=0)
    noindex = models.IntegerField(default=0)
    # Millionths of the sum of their weights: sums of fractions would drift
    weight = models.BigIntegerField(default=0)
    # Pages that left their list
    moved = models.IntegerField(default=0)
    gone = models.IntegerField(default=0)
    delisted = models.IntegerField(default=0)
    asking = models.IntegerField(default=0)

    class Meta:
        db_table = "web_section_counts"
        constraints = [models.UniqueConstraint(fields=["site", "section"], name="web_section_count_once")]
        indexes = [models.Index(fields=["site", "-known", "section"], name="web_section_largest")]

    def __str__(self) -> str:
        return f"{self.site_id} {self.section}"

    @property
    def never_read(self) -> int:
        return self.known - self.read

    @property
    def total(self) -> int:
        """Pages that lists show: known, or with a known or asked fate."""
        return self.known + self.moved + self.gone + self.delisted + self.asking


class SectionDay(models.Model):
    """What one day brought to one section; the sections of a day together are what `SiteDay` has."""

    site = models.ForeignKey("pages.Site", models.CASCADE, related_name="section_days", db_index=False)
    section = models.CharField(max_length=100)
    day = models.DateField()
    new = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "web_section_days"
        constraints = [models.UniqueConstraint(fields=["site", "section", "day"], name="web_section_day_once")]

    def __str__(self) -> str:
        return f"{self.site_id} {self.section} {self.day}"
