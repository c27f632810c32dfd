"""What an operator may set about sitemaps."""

from __future__ import annotations

from watchbook.base.env import Option, integer, number

PART_DEADLINE = Option(
    "SITEMAPS_PART_DEADLINE_SECONDS", number, default=60.0, minimum=1,
    help="Longest time for reading one file of a sitemap.",
)  # fmt: skip
CHECK_DEADLINE = Option(
    "SITEMAPS_CHECK_DEADLINE_SECONDS", number, default=1800.0, minimum=10,
    help="Longest time for one check with all its files.",
)  # fmt: skip
PART_BYTES = Option(
    "SITEMAPS_PART_MEGABYTES", integer, default=200, minimum=1, maximum=4096,
    help="Largest file of a sitemap after unpacking; what is larger counts as incomplete.",
)  # fmt: skip
MAX_PARTS = Option(
    "SITEMAPS_MAX_PARTS", integer, default=5000, minimum=1, maximum=50000,
    help="Most files one sitemap may consist of; more counts as incomplete.",
)  # fmt: skip
INDEX_DEPTH = Option(
    "SITEMAPS_INDEX_DEPTH", integer, default=5, minimum=1, maximum=11,
    help="How deep an index of indexes is followed.",
)  # fmt: skip
KEEP_SNAPSHOTS_DAYS = Option(
    "SITEMAPS_KEEP_SNAPSHOTS_DAYS", integer, default=90, minimum=1, help="How long snapshots are kept."
)  # fmt: skip
KEEP_CHANGES_DAYS = Option(
    "SITEMAPS_KEEP_CHANGES_DAYS", integer, default=90, minimum=1, help="How long change records are kept."
)  # fmt: skip
KEEP_LOGS_DAYS = Option(
    "SITEMAPS_KEEP_LOGS_DAYS", integer, default=30, minimum=1, help="How long notification logs are kept."
)  # fmt: skip
MONITORS_PER_USER = Option(
    "SITEMAPS_MONITORS_PER_USER", integer, default=500, minimum=1, help="Most monitors one person may have."
)  # fmt: skip
