"""Dumps: after an import the archive equals what the dump held, and nothing newer or erased was replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
import zstandard
from click.testing import CliRunner
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from standins.reddit.dump import write_dump
from watchbook.base import clock
from watchbook.base.testing import servers
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.actions.imports import BATCH, import_dump
from watchbook.systems.reddit.cli import group
from watchbook.systems.reddit.models import Comment, DumpImport, PostRaw, PostSpan
from watchbook.systems.reddit.parse import dumps as dumps
from watchbook.systems.reddit.store.communities import sync_pool
from watchbook.systems.reddit.tests.conftest import Scanner


def listed(scanner, name="webdev"):
    scanner.add(name)
    with clock.set_to(scanner.now):
        sync_pool(scanner.now)


def run(scanner, path, **given):
    with clock.set_to(scanner.now):
        return import_dump(path, **given)


@pytest.mark.sql
def test_import_stores_posts_and_comments_of_listed_communities(scanner, tmp_path):
    listed(scanner)
    scanner.world.add_community("elsewhere")
    posts = [scanner.world.post("webdev", f"Lantern {n}", f"Text {n}") for n in range(12)]
    other = scanner.world.post("elsewhere", "Not listed", "Text")
    first = scanner.world.comment(posts[0], "A comment about copper")
    answer = scanner.world.comment(posts[0], "An answer", parent=first)
    scanner.world.remove(posts[3])
    world = scanner.world
    read_at = scanner.now
    scanner.wait(hours=24 * 400)
    world.hold_time(read_at)
    files = [
        write_dump(world, tmp_path / "RS.zst", list(world.posts.values())),
        write_dump(world, tmp_path / "RC.zst", list(world.comments.values())),
    ]
    world.hold_time(scanner.now)
    made = [run(scanner, file) for file in files]
    assert [(row.lines, row.new, row.skipped) for row in made] == [
        (13, 12, {"community not in the list": 1}),
        (2, 2, {}),
    ]
    assert set(PostRaw.objects.values_list("source_post_id", flat=True)) == set(posts)
    assert other not in set(PostRaw.objects.values_list("source_post_id", flat=True))
    row = PostRaw.objects.get(source_post_id=posts[0])
    assert (row.title, row.content, row.found_by, row.seen_in_new) == ("Lantern 0", "Text 0", "import", False)
    assert (row.observed_at, row.valid_from, row.first_seen_at) == (read_at, read_at, scanner.now)
    assert PostSpan.objects.get(source_post_id=posts[0]).valid_from == read_at
    assert PostRaw.objects.get(source_post_id=posts[3]).removed_by_category == "moderator"
    comment = Comment.objects.get(comment_id=answer)
    assert (comment.parent_id, comment.post_id, comment.observed_at) == (f"t1_{first}", posts[0], read_at)
    assert [hit.object_id for hit in find("copper type:comment", scopes=["members"]).items] == [first]
    assert not StreamEntry.objects.exists()  # history is no activity
    assert AuditEvent.objects.filter(event="reddit.imported").count() == 2
    again = run(scanner, files[0])
    assert (again.lines, again.new, DumpImport.objects.count()) == (13, 12, 2)  # a finished file is not read again


@pytest.mark.sql
def test_older_text_is_put_before_the_stored_versions(scanner, tmp_path):
    listed(scanner)
    post = scanner.world.post("webdev", "A lantern", "Text A")
    comment = scanner.world.comment(post, "Comment A")
    dumps_of = [
        write_dump(scanner.world, tmp_path / "RS.zst", [scanner.world.posts[post]]),
        write_dump(scanner.world, tmp_path / "RC.zst", [scanner.world.comments[comment]]),
    ]
    scanner.wait(hours=1)
    for edition in ("B", "C"):
        scanner.world.edit(post, f"Text {edition}")
        scanner.world.edit(comment, f"Comment {edition}")
        if edition == "B":
            scanner.crawl("webdev")
            scanner.switch_comments("webdev", True)
            scanner.crawl_comments("webdev")
            scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    for file in dumps_of:
        assert (run(scanner, file).versions, DumpImport.objects.latest("pk").new) == (1, 0)
    assert [one.content for one in actions.versions(post)] == ["Text A", "Text B", "Text C"]
    versions = threads.versions(threads.comment(comment))
    assert [(one.number, one.content) for one in versions] == [(1, "Comment A"), (2, "Comment B"), (3, "Comment C")]
    assert versions[0].valid_to == versions[1].valid_from
    assert PostRaw.objects.get(is_current=True).version == 3
    assert run(scanner, dumps_of[0], community="webdev").unchanged == 1  # the same text is no version


def test_texts_of_a_dump_are_those_that_a_crawl_stores(scanner, tmp_path):
    """Dumps hold what Reddit sends without `raw_json`: three characters are escaped."""
    listed(scanner)
    world = scanner.world
    title, text = "Ropes & <lanterns>", "> a quotation\n\nTyped as it is: &amp; and 1 < 2"
    post = world.post("webdev", title, text)
    comment = world.comment(post, text)
    plain = world.post("webdev", "R&amp;D", "Typed with entities: &lt;b&gt; next to <b>")
    posts = write_dump(world, tmp_path / "RS.zst", [world.posts[post], world.posts[plain]])
    for file in (posts, write_dump(world, tmp_path / "RC.zst", [world.comments[comment]])):
        run(scanner, file)
    kept = PostRaw.objects.get(source_post_id=post)
    assert (kept.title, kept.content) == (title, text)
    assert PostRaw.objects.get(source_post_id=plain).title == "R&amp;D"
    assert Comment.objects.get(comment_id=comment).content == text
    scanner.crawl("webdev")
    assert PostSpan.objects.count() == 2, "the crawl sees the same texts"


def test_line_of_a_dump_that_was_not_escaped_is_taken_as_it_is():
    line = {"id": "abc", "subreddit": "webdev", "created_utc": 1_700_000_000, "title": "a & b"}
    found = [dumps.parse_line(json.dumps({**line, "selftext": text}).encode()).item for text in ("&amp;", "> &gt;")]
    assert [(one.title, one.text) for one in found] == [("a & b", "&amp;"), ("a & b", "> &gt;")]


def test_finished_import_is_read_again_for_communities_that_were_added_since(scanner, tmp_path):
    listed(scanner)
    scanner.world.add_community("golang")
    posts = [scanner.world.post(name, "A lantern", "Text") for name in ("webdev", "golang")]
    file = write_dump(scanner.world, tmp_path / "RS.zst", list(scanner.world.posts.values()))
    assert run(scanner, file).skipped == {"community not in the list": 1}
    scanner.wait(hours=1)
    with clock.set_to(scanner.now):
        actions.add_community("golang")
    again = run(scanner, file)
    assert (again.lines, again.new, again.unchanged, again.skipped) == (2, 1, 1, {})
    assert set(PostRaw.objects.values_list("source_post_id", flat=True)) == set(posts)


def test_erased_post_and_comment_do_not_return(scanner, tmp_path, operator):
    listed(scanner)
    post = scanner.world.post("webdev", "About zanzibar", "Zanzibar")
    comment = scanner.world.comment(post, "Zanzibar, too")
    world = scanner.world
    files = [
        write_dump(world, tmp_path / "RS.zst", [world.posts[post]]),
        write_dump(world, tmp_path / "RC.zst", [world.comments[comment]]),
    ]
    for file in files:
        run(scanner, file)
    actions.erase_posts(author="made-up-reader", actor=operator, reason="asked by mail")
    for file in files:
        assert run(scanner, file, community="webdev").skipped == {"erased here": 1}
    assert not PostRaw.objects.exclude(content="").exists()
    assert not Comment.objects.exclude(content="").exists()


def test_imported_post_that_was_deleted_since_is_found_by_its_recheck(scanner, tmp_path):
    listed(scanner)
    post, stays = (scanner.world.post("webdev", f"Lantern {n}", "Text") for n in range(2))
    file = write_dump(scanner.world, tmp_path / "RS.zst", list(scanner.world.posts.values()))
    scanner.wait(hours=24 * 90)
    scanner.world.delete(post)
    run(scanner, file)
    scanner.wait(hours=1)
    scanner.run("reddit.recheck")
    scanner.run("reddit.honor_deletions")
    assert [PostRaw.objects.get(source_post_id=key).content for key in (post, stays)] == ["", "Text"]
    assert PostRaw.objects.get(source_post_id=stays).recheck_due is None


def test_lines_that_cannot_be_read_are_counted_and_listed(scanner, tmp_path, monkeypatch):
    listed(scanner)
    monkeypatch.setattr(dumps, "MAX_LINE_BYTES", 6000)
    for number in range(4):
        scanner.world.post("webdev", f"Lantern {number}", "Text")
    wrong = [b"{not json", b"[1]", b'{"id": "abc"}', b'{"id": "abc", "subreddit": "webdev"}',
             b'{"id": "a/b", "subreddit": "webdev", "title": "T", "created_utc": 1700000000}',
             b'{"id": "abc", "subreddit": "webdev", "title": "T", "promoted": true}', b"x" * 9000, b""]  # fmt: skip
    file = write_dump(scanner.world, tmp_path / "RS.zst", list(scanner.world.posts.values()), more=wrong)
    problems = []
    row = run(scanner, file, skipped=lambda line, reason: problems.append((line, reason)))
    assert problems == [
        (3, "not JSON"), (4, "not an object"), (5, "no community"), (6, "neither post nor comment"),
        (7, "a field is missing or invalid"), (8, "promoted"), (9, "line too long"),
    ]  # fmt: skip
    assert (row.lines, row.new, sum(row.skipped.values())) == (12, 4, 7)


def test_window_over_the_limit_and_damaged_file_are_refused(scanner, tmp_path):
    listed(scanner)
    scanner.world.post("webdev", "A lantern", "Text")
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    content = b'{"id": "abc", "subreddit": "webdev", "title": "T", "created_utc": 1700000000}\n' * 100_000
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    wide = tmp_path / "wide.zst"
    wide.write_bytes(packer.compress(content) + packer.flush())
    with pytest.raises(dumps.UnreadableDump):
        list(dumps.lines(wide, window_megabytes=1))
    assert len(list(dumps.lines(wide))) == 100_000
    damaged = tmp_path / "damaged.zst"
    damaged.write_bytes(wide.read_bytes()[:200] + b"nonsense" + wide.read_bytes()[208:])
    answer = CliRunner().invoke(group, ["import", str(damaged), "--json"])
    assert answer.exit_code == 1
    assert json.loads(answer.output)["error"]["code"] == "unreadable_dump"


def test_command_imports_one_community_and_writes_what_it_skipped(scanner, tmp_path):
    scanner.world.add_community("golang")
    posts = [scanner.world.post("golang", f"Lantern {n}", "Text") for n in range(3)]
    file = write_dump(scanner.world, tmp_path / "RS.zst", list(scanner.world.posts.values()), more=[b"nonsense"])
    listing = tmp_path / "skipped.tsv"
    command = ["import", str(file), "--community", "r/GoLang", "--skipped", str(listing), "--json"]
    answer = CliRunner().invoke(group, command)
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.output)["new"] == 3
    assert listing.read_text() == "2\tnot JSON\n"
    assert PostRaw.objects.filter(subreddit="r/GoLang", source_post_id__in=posts).count() == 3


def test_imported_comments_do_not_hide_a_gap(scanner, tmp_path):
    (post,) = scanner.add_with_comments("webdev")
    for number in range(10):
        scanner.world.comment(post, f"Comment {number}")
    scanner.crawl_comments("webdev")
    scanner.wait(hours=2)
    made = [scanner.world.comment(post, f"Later {number}") for number in range(1100)]
    some = [scanner.world.comments[key] for key in made[500:600]]
    run(scanner, write_dump(scanner.world, tmp_path / "RC.zst", some))
    assert scanner.crawl_comments("webdev")["possible_gap"] is True
    scanner.wait(hours=1)
    scanner.world.comment(post, "The last")
    assert scanner.crawl_comments("webdev")["possible_gap"] is False


def test_batch_needs_the_same_queries_for_new_and_known_lines(scanner, tmp_path):
    listed(scanner)
    for number in range(300):
        scanner.world.post("webdev", f"Lantern {number}", "Text")
    file = write_dump(scanner.world, tmp_path / "RS.zst", list(scanner.world.posts.values()))
    counts = []
    for community in ("", "webdev"):
        with CaptureQueriesContext(connection) as queries:
            run(scanner, file, community=community)
        counts.append(len([one for one in queries if not one["sql"].startswith(("SAVEPOINT", "RELEASE"))]))
    assert max(counts) <= 60, counts


@pytest.mark.crash
@pytest.mark.django_db(transaction=True)
def test_killed_import_continues_and_stores_each_line_once(site, tmp_path):
    scanner = Scanner(site)
    listed(scanner)
    posts = [scanner.world.post("webdev", f"Lantern {n}", f"Text {n}") for n in range(BATCH * 2 + 50)]
    file = write_dump(scanner.world, tmp_path / "RS.zst", list(scanner.world.posts.values()), more=[b"nonsense"])
    command = [sys.executable, "-m", "watchbook", "reddit", "import", str(file), "--json"]
    environment = {**os.environ, "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME)}
    for visit, lines in ((2, BATCH), (1, BATCH)):
        killed = subprocess.run(
            command, env={**environment, "CRASH_AT": f"reddit.import_batch:{visit}"}, capture_output=True, timeout=200
        )
        assert killed.returncode == -9, killed.stderr[-2000:]
        assert DumpImport.objects.get().lines == lines
        assert PostRaw.objects.count() == lines - (lines > len(posts) // 2)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    figures = json.loads(done.stdout)
    assert (figures["lines"], figures["new"], figures["skipped"]) == (len(posts) + 1, len(posts), {"not JSON": 1})
    assert set(PostRaw.objects.values_list("source_post_id", flat=True)) == set(posts)
    assert PostRaw.objects.count() == len(posts)
    assert PostRaw.objects.get(source_post_id=posts[-1]).recheck_due > PostRaw.objects.get(
        source_post_id=posts[0]
    ).recheck_due + timedelta(minutes=5)
