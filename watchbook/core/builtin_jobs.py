"""Jobs of the house itself: what the shared rooms do in the background."""

from __future__ import annotations

from watchbook.core.registry import Job
from watchbook.core.watching import cron, every

JOBS = (
    Job(
        name="notify.deliver",
        title="Send notifications",
        run="watchbook.core.notify.jobs:deliver_due",
        wanted="watchbook.core.notify.jobs:anything_due",
        queue="monitoring_queue",
        schedule=every(seconds=5),
        max_attempts=1,
    ),
    Job(
        name="notify.clean",
        title="Delete old deliveries",
        run="watchbook.core.notify.jobs:clean_old",
        queue="cleanup_queue",
        schedule=cron("50 3 * * *"),
    ),
    Job(
        name="search.saved",
        title="Match saved searches",
        run="watchbook.core.search.saved:match_saved",
        wanted="watchbook.core.search.saved:anything_new",
        queue="monitoring_queue",
        schedule=every(minutes=1),
    ),
    Job(
        name="search.rebuild",
        title="Rebuild the search index",
        run="watchbook.core.search.index:rebuild_index",
        queue="maintenance_queue",
        lease_seconds=600,
    ),
    Job(
        name="search.reindex",
        title="Reindex documents for the query language",
        run="watchbook.core.search.reindex:reindex",
        wanted="watchbook.core.search.reindex:is_behind",
        queue="maintenance_queue",
        schedule=every(minutes=1),
        lease_seconds=600,
    ),
    Job(
        name="search.compact",
        title="Remove erased words from the search index",
        run="watchbook.core.search.index:compact_index",
        # Queued with every removal; the schedule repeats a run that failed.
        wanted="watchbook.core.search.index:is_compact_owed",
        schedule=cron("50 3 * * *"),
        queue="maintenance_queue",
        lease_seconds=600,
    ),
    Job(
        name="jobs.clean",
        title="Delete old runs",
        run="watchbook.core.jobs.runner:clean_old_runs",
        queue="cleanup_queue",
        schedule=cron("40 3 * * *"),
    ),
    Job(
        name="stream.clean",
        title="Delete old activity",
        run="watchbook.core.stream.entries:clean_old_entries",
        queue="cleanup_queue",
        schedule=cron("0 4 * * *"),
    ),
    Job(
        name="ops.backup",
        title="Create backup",
        run="watchbook.core.ops.jobs:back_up",
        switch="watchbook.core.ops.options:BACKUP_DAILY",
        queue="maintenance_queue",
        schedule=cron("10 3 * * *"),
        lease_seconds=3600,
        max_attempts=1,
    ),
    Job(
        name="media.fetch",
        title="Fetch pictures and videos",
        run="watchbook.core.media.jobs:fetch_waiting",
        wanted="watchbook.core.media.jobs:anything_waiting",
        schedule=every(minutes=1),
        lease_seconds=600,
    ),
    Job(
        name="media.queue",
        title="Queue files that a changed setting allows",
        run="watchbook.core.media.jobs:queue_again",
        queue="maintenance_queue",
        schedule=cron("30 4 * * *"),
    ),
    Job(
        name="blobs.clean",
        title="Delete unused blobs",
        run="watchbook.core.ops.jobs:clean_blobs",
        queue="cleanup_queue",
        schedule=cron("20 4 * * *"),
        lease_seconds=600,
    ),
    Job(
        name="ops.reencrypt",
        title="Re-encrypt secrets with the newest key",
        run="watchbook.core.ops.jobs:reencrypt_secrets",
        queue="maintenance_queue",
    ),
)
