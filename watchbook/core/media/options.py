"""Limits of kept files."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer

FILE_MEGABYTES = Option(
    "MEDIA_FILE_MEGABYTES", integer, default=100, minimum=1, maximum=1000,
    group="retention", title=_("Largest kept file, MB"),
    help=_("Maximum size of one kept picture, video or attachment of a source, in megabytes."),
)  # fmt: skip
QUOTA_MEGABYTES = Option(
    "MEDIA_QUOTA_MEGABYTES", integer, default=20000, minimum=0, maximum=100000000,
    group="retention", title=_("All kept files, MB"),
    help=_("Maximum size of all kept files of sources, in megabytes. At the limit new files wait. 0: no limit."),
)  # fmt: skip
FREE_MEGABYTES = Option(
    "MEDIA_FREE_MEGABYTES", integer, default=2000, minimum=100, maximum=10000000,
    help="Free disk space in megabytes below which no file of a source is fetched.",
)  # fmt: skip
TIMEOUT_SECONDS = Option(
    "MEDIA_TIMEOUT_SECONDS", integer, default=300, minimum=5, maximum=1800,
    help="Maximum duration of the download of one file, in seconds.",
)  # fmt: skip
