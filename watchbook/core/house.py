"""Jobs of the house itself: what the shared rooms do in the background."""

from __future__ import annotations

from watchbook.core.registry import Job
from watchbook.core.schedule import cron, every

JOBS = (
    Job(
        name="notify.deliver",
        title="Deliver notices",
        run="watchbook.core.notify.jobs:deliver_due",
        wanted="watchbook.core.notify.jobs:anything_due",
        queue="monitoring_queue",
        schedule=every(seconds=5),
        max_attempts=1,
    ),
    Job(
        name="notify.clean",
        title="Forget old deliveries",
        run="watchbook.core.notify.jobs:clean_old",
        queue="cleanup_queue",
        schedule=cron("50 3 * * *"),
    ),
    Job(
        name="search.saved",
        title="Match saved searches",
        run="watchbook.core.search.jobs:match_saved",
        wanted="watchbook.core.search.jobs:anything_new",
        queue="monitoring_queue",
        schedule=every(minutes=1),
    ),
    Job(
        name="search.rebuild",
        title="Rebuild the word index",
        run="watchbook.core.search.jobs:rebuild_index",
        queue="maintenance_queue",
        lease_seconds=600,
    ),
    Job(
        name="jobs.clean",
        title="Forget old runs",
        run="watchbook.core.jobs.cleaning:clean_old_runs",
        queue="cleanup_queue",
        schedule=cron("40 3 * * *"),
    ),
    Job(
        name="stream.clean",
        title="Forget old stream entries",
        run="watchbook.core.stream.jobs:clean_old_entries",
        queue="cleanup_queue",
        schedule=cron("0 4 * * *"),
    ),
    Job(
        name="ops.backup",
        title="Make a backup",
        run="watchbook.core.ops.jobs:back_up",
        wanted="watchbook.core.ops.jobs:backup_wanted",
        queue="maintenance_queue",
        schedule=cron("10 3 * * *"),
        lease_seconds=3600,
        max_attempts=1,
    ),
    Job(
        name="ops.reseal",
        title="Seal secrets with the newest key",
        run="watchbook.core.ops.resealing:reseal",
        queue="maintenance_queue",
    ),
)
