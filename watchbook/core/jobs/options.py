"""Settings of background jobs."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer, number, switch, text
from watchbook.core.registry import QUEUES

BROKER_URL = Option(
    "CELERY_BROKER_URL", text, default="", secret=True,
    help="Redis or RabbitMQ address for Celery. Empty: jobs run inside the web process, without a broker.",
)  # fmt: skip
RESULT_BACKEND = Option(
    "CELERY_RESULT_BACKEND", text, default="", secret=True,
    help="Where Celery stores the result of tasks called by name: the number of the run. Empty: not stored.",
)  # fmt: skip
WORKER_COUNT = Option(
    "CELERY_WORKER_COUNT", integer, default=0, minimum=0, maximum=64,
    help="Number of jobs that a worker runs at the same time. 0: the value of WATCHBOOK_JOB_THREADS.",
)  # fmt: skip
QUEUE_NAMES = Option(
    "CELERY_QUEUE_NAMES", text, default=",".join(QUEUES), help="Queues that a worker serves, comma-separated."
)  # fmt: skip
JOBS = Option(
    "WATCHBOOK_JOBS", switch, default=True,
    help="off: the web process runs no jobs.",
)  # fmt: skip
THREADS = Option(
    "WATCHBOOK_JOB_THREADS", integer, default=4, minimum=1, maximum=64,
    help="Number of jobs that the web process runs at the same time without a broker.",
)  # fmt: skip
LEASE_FACTOR = Option(
    "WATCHBOOK_LEASE_FACTOR", number, default=1.0, minimum=0.001, maximum=100,
    help="Factor for all job leases. A smaller value restarts the runs of stopped workers sooner.",
)  # fmt: skip
RESEND_SECONDS = Option(
    "WATCHBOOK_RESEND_SECONDS", number, default=120.0, minimum=1,
    help="Seconds after which the message of a run that no worker claimed is sent again.",
)  # fmt: skip
KEEP_DAYS = Option(
    "WATCHBOOK_JOB_HISTORY_DAYS", integer, default=14, minimum=1,
    group="retention", title=_("Finished runs, days"),
    help=_("Days to keep finished runs."),
)  # fmt: skip
GRACE_SECONDS = Option(
    "WATCHBOOK_GRACE_SECONDS", number, default=20.0, minimum=1, maximum=600,
    help="Seconds that a stopping process may take to finish its runs; the rest is queued again.",
)  # fmt: skip
