"""What was deleted on Reddit is gone everywhere: rows, hot copies, search blocks, activity, outbox and caches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from django.core.cache import cache
from django.db import connection

from watchbook.base import clock
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs import runner
from watchbook.core.notify import actions as channels
from watchbook.core.notify.models import Delivery
from watchbook.core.search import saved
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.actions import authors
from watchbook.systems.reddit.cli import group
from watchbook.systems.reddit.models import Comment, ErasedAuthor, PostHot, PostRaw
from watchbook.systems.reddit.tests.conftest import Scanner
from watchbook.systems.reddit.tests.pages import boss, reader

__all__ = ["boss", "reader"]

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


@pytest.fixture
def wrote(site, transactional_db, monkeypatch):
    """An author with a post, a comment under a post of another, and a crosspost by another."""
    monkeypatch.setenv("REDDIT_COMMENTS", "on")
    scanner = Scanner(site)
    scanner.add("webdev")
    scanner.world.post("webdev", f"About {WORD}", f"More {WORD}", author=NAME)
    other = scanner.world.post("webdev", "Another lantern", "Plain words", author="stays")
    scanner.world.comment(other, f"A comment with {WORD}", author=NAME)
    scanner.world.comment(other, "A comment that stays", author="stays")
    parent = {"id": "p1", "subreddit": "lamps", "title": f"The {WORD}", "selftext": f"{WORD} above", "author": NAME}
    scanner.world.post("webdev", "Seen elsewhere", author="stays", extra={"crosspost_parent_list": [parent]})
    scanner.crawl("webdev")
    return scanner


def words_left() -> int:
    columns = [
        *PostRaw.objects.values_list("title", "content", "author", "extra_data"),
        *Comment.objects.values_list("content", "author", "thread_title", "extra_data"),
        *PostHot.objects.values_list("title", "content", "extra_data"),
    ]
    return sum(WORD in str(row) or NAME in str(row).lower() for row in columns)


@pytest.mark.django_db(transaction=True)
def test_erased_author_is_gone_and_is_not_stored_again(wrote, boss, reader):
    assert words_left() >= 4
    assert reader.get(f"/reddit/u/{NAME}/erase/").status_code == 403
    shown = boss.get(f"/reddit/u/{NAME}/erase/")
    found = shown.context["found"]
    assert (found.posts, found.comments, found.crossposts) == (1, 1, 1)
    assert f"/reddit/u/{NAME}/erase/" in boss.get(f"/reddit/u/{NAME}/").content.decode()
    gone = boss.post(f"/reddit/u/{NAME}/erase/", {"reason": f"A letter of {NAME.upper()}"})
    assert gone["Location"] == "/reddit/posts/"
    assert words_left() == 0

    # The author writes on, and the old posts are still on Reddit: nothing of it comes back.
    newer = wrote.world.post("webdev", f"Again {WORD}", f"{WORD}", author=NAME.upper())
    wrote.world.comment(newer, "Answer of another", author="stays")
    wrote.wait(hours=3)
    wrote.crawl("webdev")
    wrote.run("reddit.recheck")
    assert words_left() == 0
    assert PostRaw.objects.of([newer]).get().blanked_at is not None
    assert PostRaw.objects.filter(author="stays").count() == 2
    assert Comment.objects.filter(author="stays").count() == 2
    entry = AuditEvent.objects.get(event="reddit.author_erased")
    assert entry.details == {"posts": 1, "comments": 1, "crossposts": 1, "reason": "A letter of …"}
    if connection.vendor == "sqlite":
        runner.run_now("search.compact")
        data = raw_bytes().lower()
        assert WORD.encode() not in data
        assert NAME.encode() not in data

    assert authors.allow_author(f"u/{NAME}")
    wrote.wait(hours=3)
    wrote.crawl("webdev")
    assert words_left() >= 2


def test_author_is_erased_by_api_and_command(wrote, boss, reader):
    path = f"/api/v1/reddit/authors/{NAME}"
    assert reader.post(f"{path}/erase", {}, content_type="application/json").status_code == 403
    assert boss.post(f"{path}/erase", {"why": "x"}, content_type="application/json").status_code == 422
    done = boss.post(f"{path}/erase", {"reason": "asked"}, content_type="application/json")
    assert done.json() == {"posts": 1, "comments": 1, "crossposts": 1}
    assert boss.post(f"{path}/allow").status_code == 204
    assert boss.post(f"{path}/allow").status_code == 404
    assert boss.post("/api/v1/reddit/authors/a b/erase", {}, content_type="application/json").status_code == 422

    made = CliRunner().invoke(group, ["erase-author", "u/Stays", "--yes", "--json"])
    assert json.loads(made.output) == {"posts": 2, "comments": 1, "crossposts": 0}
    assert ErasedAuthor.objects.count() == 1
    assert CliRunner().invoke(group, ["erase-author", "stays"], input="n\n").exit_code == 1
    assert CliRunner().invoke(group, ["allow-author", "stays"]).exit_code == 0
    assert CliRunner().invoke(group, ["allow-author", "stays"]).exit_code == 1
