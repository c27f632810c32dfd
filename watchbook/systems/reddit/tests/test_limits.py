"""One limit and one token for everybody: threads, processes, pauses, headers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from standins.reddit import RedditSite
from watchbook.base.testing import migrated
from watchbook.systems.reddit.fetch import ClientRefused, client, fetch_listing, rate_limit
from watchbook.systems.reddit.fetch.rate_limit import Bucket, Limits
from watchbook.systems.reddit.models import Access

LIMITS = Limits(rate=3, window_ms=1000, in_flight=2, lease_ms=5000)
ROOT = Path(__file__).resolve().parents[4]


def take(bucket: Bucket, token: str, now: int, limits: Limits = LIMITS) -> int:
    return bucket.take(token, now, limits)


def test_slot_is_free_one_window_after_its_response():
    bucket = Bucket({})
    for number, now in enumerate((0, 10, 20)):
        assert take(bucket, f"t{number}", now) == 0
        bucket.release(f"t{number}", now + 500)
    assert take(bucket, "more", 600) > 0
    assert take(bucket, "more", 1499) > 0  # a window after the first start, but not after the first end
    assert take(bucket, "more", 1502) == 0


def test_parallel_requests_are_limited():
    bucket = Bucket({})
    assert [take(bucket, name, 0) for name in "ab"] == [0, 0]
    assert take(bucket, "c", 0) > 0
    bucket.release("a", 5)
    assert take(bucket, "c", 6) == 0


def test_slot_of_dead_process_is_free_after_its_lease():
    bucket = Bucket({})
    for name in "abc":
        take(bucket, name, 0, Limits(3, 1000, 10, 5000))
    assert take(bucket, "d", 5500) > 0
    assert take(bucket, "d", 6001) == 0


def test_pause_applies_without_pacing():
    bucket = Bucket({})
    bucket.pause(0, 700)
    free = Limits(3, 1000, 2, 5000, is_paced=False)
    assert take(bucket, "a", 100, free) == 600
    assert take(bucket, "a", 701, free) == 0


def test_rate_headers_only_lower_the_limit():
    bucket = Bucket({})
    bucket.apply_headers(remaining=10, reset_ms=10_000, now=0, limits=LIMITS)  # one a second, where we allow three
    assert take(bucket, "a", 1) == 0
    bucket.release("a", 2)
    assert take(bucket, "b", 3) > 0
    assert take(bucket, "b", 1100) == 0
    bucket.release("b", 1101)
    bucket.apply_headers(remaining=99_999, reset_ms=10_000, now=1102, limits=LIMITS)
    assert take(bucket, "c", 1103) == 0  # back to our own limit, and no further
    bucket.apply_headers(remaining=0, reset_ms=4000, now=1104, limits=LIMITS)
    assert take(bucket, "d", 1105) == 3999


def test_any_server_window_contains_at_most_the_limit():
    """Arrivals anywhere between permission and end, in any order: never four within a second."""
    import random

    chance = random.Random(3)
    for _ in range(30):
        bucket, now, arrivals, in_flight_leases = Bucket({}), 0, [], {}
        for number in range(60):
            while bucket.take(f"t{number}", now, LIMITS) > 0:
                now += chance.randint(1, 40)
                for token, end in list(in_flight_leases.items()):
                    if end <= now:
                        bucket.release(token, end)
                        del in_flight_leases[token]
            end = now + chance.randint(1, 900)
            arrivals.append(chance.randint(now, end))
            in_flight_leases[f"t{number}"] = end
        arrivals.sort()
        assert all(later - first >= 1000 for first, later in zip(arrivals, arrivals[3:], strict=False))


@pytest.fixture
def paced(site, monkeypatch, transactional_db):
    monkeypatch.setenv("WATCHBOOK_PACE", "on")
    monkeypatch.setattr(rate_limit, "MAX_WAIT_SECONDS", 3.0)
    site.world.add_community("webdev")
    return site


def test_used_up_limit_raises_after_max_wait(paced, monkeypatch):
    monkeypatch.setenv("REDDIT_RATE_LIMIT", "2")
    fetch_listing("webdev")  # the token and the listing: two requests
    with pytest.raises(ClientRefused) as stopped:
        with rate_limit.slot(max_wait_seconds=0.2):
            pass
    assert stopped.value.outcome == "busy"
    assert paced.log.count() == 2


def test_status_429_pauses_all_requests(site, transactional_db):
    site.world.add_community("webdev")
    site.mishaps.throttle, site.mishaps.retry_after = 1, 30
    with pytest.raises(ClientRefused) as stopped:
        fetch_listing("webdev")
    assert stopped.value.outcome == "throttled"
    assert stopped.value.wait_seconds >= 30
    with pytest.raises(ClientRefused) as stopped:
        with rate_limit.slot(max_wait_seconds=0.1):
            pass
    assert stopped.value.outcome == "throttled"


def test_token_is_shared_and_stored_encrypted(site, db):
    site.world.add_community("webdev")
    for _ in range(3):
        fetch_listing("webdev")
    assert site.log.count("/api/v1/access_token") == 1
    row = Access.objects.get()
    (token,) = site.tokens
    assert token not in row.sealed_token
    client._held.clear()  # another process
    fetch_listing("webdev")
    assert site.log.count("/api/v1/access_token") == 1


def test_expired_token_is_replaced_once(site, db):
    site.world.add_community("webdev")
    fetch_listing("webdev")
    site.expire_tokens()
    assert fetch_listing("webdev").posts == ()
    assert site.log.count("/api/v1/access_token") == 2
    assert site.log.count("/r/webdev/new") == 3


def test_short_token_is_replaced_before_it_expires(site, db):
    site.world.add_community("webdev")
    site.token_seconds = 61
    fetch_listing("webdev")
    assert 0 < Access.objects.get().token_until_ms - rate_limit.now_ms() <= 1000


def test_wrong_secret_raises_client_refused(site, db, monkeypatch):
    monkeypatch.setenv("REDDIT_CLIENT_SECRET", "another-secret")
    with pytest.raises(ClientRefused) as stopped:
        fetch_listing("webdev")
    assert stopped.value.outcome == "auth"


HAMMER = """
import json, os, sys, threading
import django
django.setup()
from django.db import connections
from watchbook.base.work import counted
from watchbook.systems.reddit.fetch import fetch_listing
counts = []
def work():
    with counted() as count:
        for _ in range(int(sys.argv[1])):
            fetch_listing("webdev", limit=1)
    counts.append(count.requests)
    connections.close_all()
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps(counts))
"""


def test_two_processes_keep_the_limit_together():
    """At the stand-in's own clock. The window is shortened, the rule is the same."""
    rate, window, each = 20, 2.0, 8
    with tempfile.TemporaryDirectory() as home, RedditSite(slim=True) as site:
        site.rate_budget = 10**6
        site.world.add_community("webdev")
        env = {
            **os.environ,
            **site.environment(),
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
            "WATCHBOOK_HOME": home,
            "DATABASE_URL": f"sqlite:///{home}/hammer.sqlite3",
            "WATCHBOOK_TRUSTED_HOSTS": site.netloc,
            "WATCHBOOK_LOG_LEVEL": "ERROR",
            "REDDIT_RATE_LIMIT": str(rate),
            "REDDIT_RATE_LIMIT_WINDOW_SECONDS": str(window),
        }
        migrated.copy_to(Path(home) / "hammer.sqlite3")
        command = [sys.executable, "-c", HAMMER, str(each)]
        workers = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE) for _ in range(2)]
        counts = [json.loads(worker.communicate(timeout=120)[0]) for worker in workers]
        assert site.busiest(window) <= rate
        assert site.log.count("/r/webdev/new") == 2 * 4 * each
        assert site.log.count("/api/v1/access_token") == 1  # shared between the processes
        assert sum(map(sum, counts)) == site.log.count() == 2 * 4 * each + 1
        assert site.log.high_water <= 10
