"""Settings of the activity log."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer

KEEP_DAYS = Option(
    "STREAM_KEEP_DAYS", integer, default=365, minimum=0,
    group="retention", title=_("Activity, days"),
    help=_("Days to keep activity entries; 0 keeps them permanently. The items themselves are not deleted."),
)  # fmt: skip
