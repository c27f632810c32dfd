"""What an operator may set about the stream."""

from __future__ import annotations

from watchbook.base.env import Option, integer

KEEP_DAYS = Option(
    "STREAM_KEEP_DAYS", integer, default=365, minimum=0,
    help="How long entries stay in the stream; 0 keeps them for ever. What they tell of is kept anyway.",
)  # fmt: skip
