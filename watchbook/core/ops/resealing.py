"""New keys for old secrets: the job that seals everything with the newest key, and says which old ones are in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module

from django.conf import settings

from watchbook.base.crypto import key_of
from watchbook.base.store.resealing import CURRENT, LOCKED, SEALED
from watchbook.core import registry
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome

# Rooms of the house with a module `sealed`; systems that have one are found by their folders.
ROOMS = ("watchbook.core.accounts", "watchbook.core.notify")


def reseal(ctx: JobContext) -> Outcome:
    """Every value is a step of its own; killed anywhere, the next run goes on. What no key opens is left as it is."""
    counts: Counter[str] = Counter({SEALED: 0, CURRENT: 0, LOCKED: 0})
    missing: Counter[str] = Counter()
    for word, old in _values(ctx):
        counts[word] += 1
        if word == LOCKED:
            missing[key_of(old)] += 1
        ctx.report(**counts)
    figures = {**counts, "key": next(iter(settings.SECRETS_KEYS)), "missing_keys": dict(missing)}
    if counts[LOCKED]:
        return Outcome("partly", figures)
    return Outcome("done", figures) if counts[SEALED] else Outcome(NOTHING_TO_DO.word, figures)


def _values(ctx: JobContext) -> Iterator[tuple[str, str]]:
    house = [import_module(f"{room}.sealed") for room in ROOMS]
    for room in (*house, *(module for _source, module in registry.parts("sealed"))):
        yield from room.reseal(ctx.writing)
