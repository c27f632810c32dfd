"""What an operator may set about the API."""

from __future__ import annotations

from watchbook.base.env import Option, integer

PER_MINUTE = Option(
    "WATCHBOOK_API_PER_MINUTE", integer, default=600, minimum=1, maximum=1_000_000,
    help="How many API requests one token or one session may make in a minute.",
)  # fmt: skip
