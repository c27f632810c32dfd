"""Environment variables of the sitemaps system."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer, number

PART_DEADLINE = Option(
    "SITEMAPS_PART_DEADLINE_SECONDS", number, default=60.0, minimum=1,
    help="Time limit for reading one file of a sitemap.",
)  # fmt: skip
CHECK_DEADLINE = Option(
    "SITEMAPS_CHECK_DEADLINE_SECONDS", number, default=1800.0, minimum=10,
    help="Time limit for one check of all files.",
)  # fmt: skip
PART_BYTES = Option(
    "SITEMAPS_PART_MEGABYTES", integer, default=200, minimum=1, maximum=4096,
    help="Size limit of a sitemap file after unpacking. Larger files are incomplete.",
)  # fmt: skip
MAX_PARTS = Option(
    "SITEMAPS_MAX_PARTS", integer, default=5000, minimum=1, maximum=50000,
    help="Limit of files per sitemap. More files make a check incomplete.",
)  # fmt: skip
INDEX_DEPTH = Option(
    "SITEMAPS_INDEX_DEPTH", integer, default=5, minimum=1, maximum=11,
    help="Depth limit of nested sitemap indexes.",
)  # fmt: skip
KEEP_SNAPSHOTS_DAYS = Option(
    "SITEMAPS_KEEP_SNAPSHOTS_DAYS", integer, default=90, minimum=1,
    group="retention", title=_("Sitemap snapshots, days"),
    help=_("Days to keep snapshots.")
)  # fmt: skip
KEEP_CHANGES_DAYS = Option(
    "SITEMAPS_KEEP_CHANGES_DAYS", integer, default=90, minimum=1, group="retention", title=_("Sitemap changes, days"),
    help=_("Days to keep change records.")
)  # fmt: skip
KEEP_LOGS_DAYS = Option(
    "SITEMAPS_KEEP_LOGS_DAYS", integer, default=30, minimum=1, help="Days to keep the delivery log of changes."
)  # fmt: skip
MONITORS_PER_USER = Option(
    "SITEMAPS_MONITORS_PER_USER", integer, default=500, minimum=1, group="limits", title=_("Monitors per user"),
    help=_("Limit of monitors per user.")
)  # fmt: skip
