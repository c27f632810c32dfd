"""What was deleted on Reddit is gone everywhere: rows, hot copies, search blocks, activity, outbox and caches."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connection

from watchbook.base import clock
from watchbook.core.jobs import runner
from watchbook.core.notify import actions as channels
from watchbook.core.notify.models import Delivery
from watchbook.core.search import saved
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.models import PostHot, PostRaw
from watchbook.systems.reddit.tests.conftest import Scanner

WORD, NAME = "zanzibarquux", "vanishing-author"


def raw_bytes() -> bytes:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(connection.settings_dict["NAME"]).read_bytes()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="reads the file of SQLite")
def test_erased_post_is_gone_from_the_database_file(site, alice):
    scanner = Scanner(site)
    scanner.add("webdev")
    for number in range(60):
        scanner.world.post("webdev", f"Lantern {number}", f"Text {number}")
    scanner.crawl("webdev")
    channel = channels.create(alice, name="mail", channel_type="email", given={"email": "alice@example.com"}).channel
    saved.save(alice, name="words", query="beacon", channels=[channel])
    scanner.wait(hours=1)
    post = scanner.world.post("webdev", f"A beacon about {WORD}", f"More {WORD} here", author=NAME)
    scanner.crawl("webdev")
    with clock.set_to(scanner.now):
        actions.newest("webdev")  # into the cache
        runner.run_now("search.saved")
    assert WORD in Delivery.objects.get().subject + Delivery.objects.get().text
    assert raw_bytes().count(WORD.encode()) > 3
    scanner.world.edit(post, f"Other text with {WORD}")
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    scanner.world.delete(post)
    scanner.wait(hours=22)
    scanner.run("reddit.recheck")
    scanner.run("reddit.honor_deletions")
    runner.run_now("search.compact")
    data = raw_bytes()
    assert WORD.encode() not in data
    assert NAME.encode() not in data
    assert cache.get("reddit:posts:r/webdev") is None


@pytest.mark.django_db(transaction=True)
def test_deleted_account_is_erased_in_every_version_and_copy(site):
    scanner = Scanner(site)
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A lantern", "Text A", author=NAME)
    scanner.world.post("webdev", "Another", "Text", author="stays")
    scanner.crawl("webdev")
    scanner.world.edit(post, "Text B")
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    scanner.world.delete_account(NAME)
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    versions = PostRaw.objects.of([post])
    assert [row.author for row in versions] == ["", ""]
    assert [row.content for row in versions.order_by("version")] == ["Text A", "Text B"]  # the post itself stays
    for row in (*versions, *PostHot.objects.filter(source_post_id=post)):
        assert NAME[:8] not in str(row.extra_data)
    assert PostRaw.objects.exclude(author="").get().author == "stays"
    if connection.vendor == "sqlite":
        assert NAME.encode() not in raw_bytes()


def test_account_name_stays_if_option_is_off(scanner, monkeypatch):
    monkeypatch.setenv("REDDIT_HONOR_DELETIONS", "off")
    scanner.add("webdev")
    scanner.world.post("webdev", "A lantern", "Text A", author=NAME)
    scanner.crawl("webdev")
    scanner.world.delete_account(NAME)
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    assert PostRaw.objects.get().author == NAME
