"""A sender that is killed at a named place: python -m watchbook.core.notify.tests.crashing CHANNEL PLAN…

For each PLAN (place:visit) a forked child tells three events and delivers them, and dies at that visit. Prints how each
child ended.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta

import django


def main() -> None:
    channel_id, *plans = sys.argv[1:]
    django.setup()
    ends = {}
    for plan in plans:
        child = os.fork()
        if child == 0:
            _live_and_die(channel_id, plan)
            os._exit(0)
        ends[plan] = os.waitpid(child, 0)[1]
    sys.stdout.write(json.dumps(ends))


def recover() -> None:
    """What the next sender does when the leases of a dead one have ended; nobody wants to wait for that here."""
    from django.db.models.functions import Now

    from watchbook.core.notify import outbox
    from watchbook.core.notify.models import Delivery

    Delivery.objects.filter(lease_until__isnull=False).update(lease_until=Now() - timedelta(seconds=1))
    outbox.deliver_due()


def _live_and_die(channel_id: str, plan: str) -> None:
    from django.db import transaction

    from watchbook.base import work
    from watchbook.core.notify import outbox
    from watchbook.core.notify.models import NotificationChannel

    recover()
    work._plan = plan
    channel = NotificationChannel.objects.select_related("user").get(pk=channel_id)
    for n in (1, 2, 3):
        with transaction.atomic():
            outbox.notify([channel], outbox.Notification(f"{plan}/{n}", "example", "change", f"change {n}"))
    outbox.deliver_due()


if __name__ == "__main__":
    main()
