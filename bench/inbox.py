"""`python -m bench.inbox [ENTRIES]`: the inbox beside the plain list by time, at 1,000,000 entries.

Half of the entries are unread, every tenth of those was marked one by one. Prints the median of 15 runs each, by the
clock and by the processor. Uses the database of DATABASE_URL, or a new SQLite file.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

RUNS = 15
BATCH = 20_000


def fill(count: int) -> None:
    from watchbook.base import clock
    from watchbook.core.stream.models import StreamEntry

    start = clock.now() - timedelta(minutes=count)
    for first in range(0, count, BATCH):
        StreamEntry.objects.bulk_create(
            StreamEntry(
                source=("a", "b", "c")[number % 3], kind="new", scope="members" if number % 4 else "user:0",
                object_kind="thing", object_id=str(number), title=f"Thing {number % 500}", summary="Some words",
                occurred_at=start + timedelta(minutes=number), created_at=start + timedelta(minutes=number),
            )
            for number in range(first, min(first + BATCH, count))
        )  # fmt: skip


def measure(name: str, call: Callable[[], Any]) -> None:
    call()
    times, used = [], []
    for _run in range(RUNS):
        begin, spent = time.perf_counter(), time.process_time()
        call()
        times.append(1000 * (time.perf_counter() - begin))
        used.append(1000 * (time.process_time() - spent))
    # Beside other work a longer call waits for its turn: the processor time says what it costs.
    print(f"{name:32} {statistics.median(times):8.2f} ms, processor {statistics.median(used):8.2f} ms")


def main(count: int) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from watchbook.core.accounts.models import User
    from watchbook.core.stream import reading
    from watchbook.core.stream.models import ReadingMark, ReadingState, StreamEntry

    call_command("migrate", verbosity=0)
    user = User.objects.create_user("bench@example.com", None)
    fill(count)
    ids = list(StreamEntry.objects.filter(scope="members").order_by("pk").values_list("pk", flat=True))
    middle = ids[len(ids) // 2]
    ReadingState.objects.filter(user=user).update(watermark=middle)
    marked = ids[len(ids) // 2 + 1 :: 10][:2000] + ids[: len(ids) // 2 : 5000]
    ReadingMark.objects.bulk_create(ReadingMark(user=user, entry_id=pk) for pk in marked)
    scopes = ["members", f"user:{user.pk}"]

    def reader() -> reading.Reader:
        return reading.reader_of(user, scopes)

    known = reader()
    print(f"{count:,} entries, {len(marked):,} marks")
    measure("plain list by time, 100", lambda: list(known.entries.newest_first()[:101]))
    measure("unread list, first page, 100", lambda: reading.unread_entries(reader(), known.entries, size=101))
    measure(
        "unread list, far page, 100",
        lambda: reading.unread_entries(reader(), known.entries, before=middle + 1000, size=101),
    )
    measure("unread among 100", lambda: reading.unread_among(known, ids[-100:]))
    measure("count for the menu", lambda: reading.count_unread(reader()))
    measure("mark one, and back", lambda: [reading.mark(user, [ids[-1]], read=read) for read in (True, False)])
    measure("mark all read", lambda: reading.mark_all_read(user))
    measure("unread list when all is read", lambda: reading.unread_entries(reader(), known.entries, size=101))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as folder:
        os.environ.setdefault("WATCHBOOK_HOME", folder)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
