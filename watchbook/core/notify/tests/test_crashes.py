"""Killing the sender at any point loses nothing; what comes twice has the same id and the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict

import pytest
from django.conf import settings

from watchbook.base.testing import servers
from watchbook.core.notify.message import message_id
from watchbook.core.notify.models import Delivery
from watchbook.core.notify.tests.crashing import recover

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.crash]

PLACES = ("outbox.inserted", "outbox.claimed", "outbox.sent", "outbox.marked")
PLANS = [f"{place}:{visit}" for place in PLACES for visit in (1, 2, 3)]
KILLED = 9


def test_killed_at_every_point_every_committed_event_is_sent(webhook, hooks):
    channel_id = webhook.pk
    ends = _kill(channel_id)
    assert set(ends.values()) == {KILLED}, ends

    recover()
    expected = {
        message_id(f"{plan}/{n}", channel_id): plan
        for plan in PLANS
        for n in (1, 2, 3)
        # The transaction that was killed never happened; the ones before it did.
        if not (plan.startswith("outbox.inserted") and n >= int(plan[-1]))
    }
    came = defaultdict(list)
    for delivery in hooks.deliveries():
        came[delivery.id].append(delivery.body)
    assert set(came) == set(expected)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"sent"}
    assert all(len(set(bodies)) == 1 for bodies in came.values())
    twice = {expected[name].partition(":")[0] for name, bodies in came.items() if len(bodies) > 1}
    assert twice == {"outbox.sent"}
    assert max(len(bodies) for bodies in came.values()) == 2


def _kill(channel_id) -> dict[str, int]:
    environment = {**os.environ, "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME)}
    command = [sys.executable, "-m", "watchbook.core.notify.tests.crashing", str(channel_id), *PLANS]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=True)
    return json.loads(done.stdout)
