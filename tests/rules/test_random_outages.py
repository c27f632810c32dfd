"""An outage is not the item's fault: nothing is lost or given up, and each outage is announced and resolved once."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest
from django.core.cache import cache

from tests.rules.random_outages import ATTEMPTS, live, open_world

pytestmark = pytest.mark.django_db

STEPS = 20
LONG_STEPS = 160


def walk(seed: int, steps: int, owner: Any, patch: pytest.MonkeyPatch, capsys: Any) -> None:
    cache.clear()
    with contextlib.ExitStack() as stack:
        parts = open_world(stack, owner, patch)
        live(parts, random.Random(seed), steps)
        wrong = []
        for part in parts:
            listed, stored = part.ledgers()
            opened, resolved = part.alerts()
            outages = [outage for outage in part.outages if part.is_outage(outage) and outage.requests]
            # Garbled pages are failures of their own, also where robots.txt is garbled, too, later on.
            calm = [outage for outage in outages if outage.kind in part.outage_kinds]
            firsts = [outage.requests[0] for outage in calm]
            later = [count for outage in calm for count in outage.requests[1:]]
            line = (
                f"seed {seed} {part.slug}: {len(part.outages)} faults, {len(outages)} outages, {opened} announced,"
                f" {resolved} resolved, {len(listed)} items, {len(listed - stored)} missing,"
                f" {part.given_up()} given up, at most {max(firsts, default=0)} attempts,"
                f" then {max(later, default=0)} after each pause"
            )
            with capsys.disabled():
                print(f"\n{line}", end="")
            is_whole = listed == stored and not part.given_up()
            is_calm = all(count <= ATTEMPTS for count in firsts) and all(count <= 1 for count in later)
            is_told = opened == resolved and (opened == len(outages) or not part.announces_all)
            if not (is_whole and is_calm and is_told):
                wrong.append(f"{line} {part.outages}")
    assert not wrong, "\n".join(wrong)


def test_outages_at_random_lose_no_item(operator: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    walk(1, STEPS, operator, monkeypatch, capsys)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 6))
def test_forty_days_of_outages_lose_no_item(
    seed: int, operator: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    walk(seed, LONG_STEPS, operator, monkeypatch, capsys)
