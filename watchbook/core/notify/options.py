"""What an operator may set about telling people."""

from __future__ import annotations

from watchbook.base.env import Option, integer

THREADS = Option(
    "WATCHBOOK_DELIVERY_THREADS", integer, default=8, minimum=1, maximum=64,
    help="How many channels are served at the same time.",
)  # fmt: skip
LEASE_SECONDS = Option(
    "WATCHBOOK_DELIVERY_LEASE_SECONDS", integer, default=180, minimum=1, maximum=3600,
    help="How long a sender may hold a notice before another one takes it. Longer than the slowest mail server.",
)  # fmt: skip
DIGEST_HOUR = Option(
    "WATCHBOOK_DIGEST_HOUR", integer, default=8, minimum=0, maximum=23,
    help="At which hour of the reader's day the daily digest is sent.",
)  # fmt: skip
KEEP_DAYS = Option(
    "WATCHBOOK_DELIVERY_HISTORY_DAYS", integer, default=30, minimum=1,
    help="How long finished deliveries stay in the delivery log.",
)  # fmt: skip
