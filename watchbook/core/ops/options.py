"""What an operator may set about running the house."""

from __future__ import annotations

from watchbook.base.env import Option, integer, number, switch, text

BIND = Option(
    "WATCHBOOK_BIND", text, default="127.0.0.1:8000",
    help="Address and port the web process listens on. Port 0: any free one.",
)  # fmt: skip
WEB_THREADS = Option(
    "WATCHBOOK_WEB_THREADS", integer, default=8, minimum=1, maximum=128,
    help="How many requests are answered at once.",
)  # fmt: skip
GRACE_SECONDS = Option(
    "WATCHBOOK_GRACE_SECONDS", number, default=20.0, minimum=1, maximum=600,
    help="How long a process that was told to end may finish what it does; the rest is handed back.",
)  # fmt: skip
MAX_BODY_MB = Option(
    "WATCHBOOK_MAX_BODY_MB", integer, default=128, minimum=1, maximum=4096,
    help="Largest request body that is read at all, in MB.",
)  # fmt: skip
METRICS_TOKEN = Option(
    "WATCHBOOK_METRICS_TOKEN", text, default="", secret=True,
    help="Bearer token that may read /metrics and the detail of /readyz, beside operators and their API tokens.",
)  # fmt: skip
DISK_PERCENT = Option(
    "WATCHBOOK_DISK_PERCENT", integer, default=95, minimum=50, maximum=100,
    help="Above this much of the disk in use the installation is not ready.",
)  # fmt: skip
BACKUP_DAILY = Option(
    "WATCHBOOK_BACKUP_DAILY", switch, default=False,
    help="on: a backup is made every night.",
)  # fmt: skip
BACKUP_KEEP = Option(
    "WATCHBOOK_BACKUP_KEEP", integer, default=7, minimum=1, maximum=1000,
    help="How many backups of the nightly job are kept.",
)  # fmt: skip
