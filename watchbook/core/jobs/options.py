"""What an operator may set about background work."""

from __future__ import annotations

from watchbook.base.env import Option, integer, number, switch, text
from watchbook.core.registry import QUEUES

BROKER_URL = Option(
    "CELERY_BROKER_URL", text, default="", secret=True,
    help="Redis or RabbitMQ address for Celery. Empty: jobs run inside the web process, without a broker.",
)  # fmt: skip
RESULT_BACKEND = Option(
    "CELERY_RESULT_BACKEND", text, default="", secret=True,
    help="Where Celery keeps what tasks called by name answer: the number of their run. Empty: nowhere.",
)  # fmt: skip
WORKER_COUNT = Option(
    "CELERY_WORKER_COUNT", integer, default=0, minimum=0, maximum=64,
    help="How many jobs a worker runs at once. 0: as many as WATCHBOOK_JOB_THREADS says.",
)  # fmt: skip
QUEUE_NAMES = Option(
    "CELERY_QUEUE_NAMES", text, default=",".join(QUEUES), help="Queues that a worker serves, comma-separated."
)  # fmt: skip
JOBS = Option(
    "WATCHBOOK_JOBS", switch, default=True,
    help="off: the web process runs no jobs itself.",
)  # fmt: skip
THREADS = Option(
    "WATCHBOOK_JOB_THREADS", integer, default=4, minimum=1, maximum=64,
    help="How many jobs the web process runs at once when there is no broker.",
)  # fmt: skip
LEASE_FACTOR = Option(
    "WATCHBOOK_LEASE_FACTOR", number, default=1.0, minimum=0.001, maximum=100,
    help="All leases of jobs are multiplied by it. Less: what a dead or a slow worker holds is taken up sooner.",
)  # fmt: skip
RESEND_SECONDS = Option(
    "WATCHBOOK_RESEND_SECONDS", number, default=120.0, minimum=1,
    help="A due run whose message was sent this long ago and was not claimed is sent again.",
)  # fmt: skip
KEEP_DAYS = Option(
    "WATCHBOOK_JOB_HISTORY_DAYS", integer, default=14, minimum=1,
    help="How long finished runs stay in the list of jobs.",
)  # fmt: skip
