"""What the tests of the pages begin with: readers, a crawled community, rows by the dozen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from watchbook.base import clock
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, PostRaw
from watchbook.systems.reddit.tests.conftest import START


@pytest.fixture
def reader(alice):
    client = Client(headers={"Accept-Language": "en"})
    client.force_login(alice)
    return client


@pytest.fixture
def boss(operator):
    client = Client(headers={"Accept-Language": "en"})
    client.force_login(operator)
    return client


@pytest.fixture
def filled(scanner):
    """Two communities, one edited post, and the clock of the crawls."""
    scanner.add("webdev", "golang")
    for number in range(3):
        scanner.world.post("webdev", f"Lantern {number}", f"Text {number}", score=10 * number)
    post = scanner.world.post("webdev", "A compass", "The north pier closes.\n\nAsk at the hut.", author="somebody")
    scanner.run("reddit.incremental")
    scanner.world.edit(post, "The south pier closes.\n\nAsk at the hut.")
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    with clock.set_to(scanner.now):
        yield post


def make_communities(count):
    now = clock.now()
    CommunityPool.objects.bulk_create(CommunityPool(name=f"r/made{n:03}", tier="low") for n in range(count))
    CommunityCache.objects.bulk_create(
        CommunityCache(
            community_name=f"r/made{n:03}", rate=float(n), avg_valid_posts=n, covered_from=now - timedelta(days=9),
            last_crawled_at=now - timedelta(minutes=n) if n % 3 else None, next_due=now + timedelta(minutes=n),
        )
        for n in range(count)
    )  # fmt: skip


def make_posts(count, community="r/made000"):
    PostRaw.objects.bulk_create(
        PostRaw(
            source_post_id=f"p{n:05}", subreddit=community, title=f"Post {n}", content="Words", score=n,
            created_at=START - timedelta(minutes=n // 2), text_norm_hash=f"{n:064}", first_seen_at=START,
            valid_from=START, observed_at=START,
        )
        for n in range(count)
    )  # fmt: skip


def text_of(answer):
    return answer.content.decode()


def names(answer):
    return [each.row.community_name for each in answer.context["rows"]]


def titles(answer):
    return [each.title for each in answer.context["post_rows"]]
