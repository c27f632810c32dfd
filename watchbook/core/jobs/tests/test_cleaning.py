"""What the daily cleaning forgets."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from watchbook.base import clock
from watchbook.base.web.models import HostPace
from watchbook.core.jobs.runner import clean_old_runs

pytestmark = pytest.mark.django_db


def test_unused_hosts_are_dropped():
    now = clock.now()
    HostPace.objects.create(host="old.example", next_at_ms=1000)
    HostPace.objects.create(host="new.example", next_at_ms=int(now.timestamp() * 1000))
    clean_old_runs(SimpleNamespace(now=now, writing=nullcontext, report=lambda **_: None))
    assert list(HostPace.objects.values_list("host", flat=True)) == ["new.example"]
