"""A long list is exported in the memory of a short one."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from watchbook.base import clock
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts.models import AuditEvent

pytestmark = [pytest.mark.django_db, pytest.mark.nightly]
FEW, MANY = 10_000, 100_000


def add_events(count: int) -> None:
    now = clock.now()
    for start in range(0, count, 5000):
        AuditEvent.objects.bulk_create(
            AuditEvent(happened_at=now, event="login.ok", subject=f"line {start + n} " + "x" * 200)
            for n in range(min(5000, count - start))
        )


def exported(client: Any, form: str) -> tuple[int, int]:
    """Bytes of the file, and the most memory that was in use while it was read."""
    tracemalloc.start()
    answer = client.get("/audit/", {"format": form, "event": "login.ok"})
    size = sum(len(piece) for piece in answer.streaming_content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size, peak


def test_memory_of_an_export_does_not_grow_with_the_list() -> None:
    client = client_of(make_person("operator", is_staff=True))
    add_events(FEW)
    few = {form: exported(client, form) for form in ("csv", "jsonl", "xlsx")}
    add_events(MANY - FEW)
    for form, (size, peak) in few.items():
        many_size, many_peak = exported(client, form)
        print(
            f"{form}: {FEW:,} rows {size:,} bytes, peak {peak:,}; {MANY:,} rows {many_size:,} bytes, peak {many_peak:,}"
        )
        assert many_size > 8 * size
        assert many_peak < 1.5 * peak + 2**21
