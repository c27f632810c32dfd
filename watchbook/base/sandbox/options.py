"""What an operator may set about reading hostile bytes."""

from __future__ import annotations

from watchbook.base.env import Option, integer

CHILDREN = Option(
    "WATCHBOOK_SANDBOX_CHILDREN", integer, default=4, minimum=1, maximum=64,
    help="How many child processes may parse fetched content in parallel.",
)  # fmt: skip
