"""The note pipeline's own costs, each beside the bare thing it is made of, in one run.

Bars: an execution lock costs at most 30 bare commits, a claimed candidate at most 3, a note at most 40 bare JSON reads.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable

# name -> what it is compared with, and how many of those one of these may cost
BARS = {
    "execution locks": ("bare commits", 30),
    "candidates claimed": ("bare commits", 3),
    "notes parsed": ("bare JSON reads", 40),
}


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(
            WATCHBOOK_HOME=home,
            WATCHBOOK_ENV_FILE=f"{home}/none.env",
            DATABASE_URL=f"sqlite:///{home}/bench.sqlite3",
            DJANGO_SETTINGS_MODULE="watchbook.project.settings",
            COOKIE_MASTER_KEY="made-up-master-key-of-forty-characters-1",
        )
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        speeds = {
            "bare commits": commits(),
            "execution locks": locks(),
            "candidates claimed": claims(),
            **notes(),
            "cookies sealed and opened": cookies(),
        }
    missed = False
    for name, speed in speeds.items():
        print(f"{name}: {speed:,.0f}/s" + (f", {verdict(speeds, name)}" if name in BARS else ""))
        missed |= name in BARS and cost(speeds, name) > BARS[name][1]
    return 1 if missed else 0


def cost(speeds: dict[str, float], name: str) -> float:
    return speeds[BARS[name][0]] / speeds[name]


def verdict(speeds: dict[str, float], name: str) -> str:
    other, bar = BARS[name]
    met = "met" if cost(speeds, name) <= bar else "MISSED"
    return f"one costs {cost(speeds, name):.1f} {other} (bar {bar}): {met}"


def commits() -> float:
    from watchbook.systems.notes.models import Fence

    row = Fence.objects.create(workflow_name="bare")

    def step() -> int:
        return Fence.objects.filter(pk=row.pk).update(number=1)

    return rate(step)


def rate(step: Callable[[], int], seconds: float = 3.0) -> float:
    """Things done per second, over a few seconds."""
    began, done = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        done += step()
    return done / (time.monotonic() - began)


def locks() -> float:
    from watchbook.base import clock
    from watchbook.systems.notes import store

    def step() -> int:
        got = store.acquire("bench", clock.now())
        store.release(got.holder, "completed", clock.now())
        return 1

    return rate(step)


def claims() -> float:
    from watchbook.base import clock
    from watchbook.systems.notes import store
    from watchbook.systems.notes.store import candidates

    found = [candidates.FoundNote(f"{number:024x}", "xhs") for number in range(20_000)]
    for start in range(0, len(found), 500):
        candidates.store_found(found[start : start + 500], clock.now())
    mine = store.acquire("claims", clock.now()).holder
    began, taken = time.monotonic(), 0
    while rows := candidates.claim(mine, 20, clock.now()):
        taken += len(rows)
    return taken / (time.monotonic() - began)


def notes() -> dict[str, float]:
    from standins.note_platform import shapes
    from standins.note_platform.ledger import Ledger
    from watchbook.systems.notes.parse.note import parse_feed, parse_page

    entry = Ledger().add("Lantern", "Lights along the river. " * 100, tags=["lantern"] * 10)
    body, page = json.dumps(shapes.feed(entry)).encode(), shapes.page(entry)

    def bare() -> int:
        json.loads(body)
        return 1

    def step() -> int:
        parse_feed(body, entry.note_id)
        parse_page(page, entry.note_id)
        return 2

    return {"bare JSON reads": rate(bare), "notes parsed": rate(step)}


def cookies() -> float:
    from watchbook.systems.notes import encryption

    plain = "web_session=made-up-secret; " * 20

    def step() -> int:
        sealed, _key_id = encryption.encrypt(plain, name="one", platform="xhs")
        encryption.decrypt(sealed, name="one", platform="xhs")
        return 1

    return rate(step)


if __name__ == "__main__":
    sys.exit(main())
