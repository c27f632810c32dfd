"""What happens to a post after it was seen: edits are versions, removals are states, scores are neither."""

from __future__ import annotations

import pytest

from watchbook.core.accounts.models import AuditEvent
from watchbook.core.search import reindex
from watchbook.core.search.find import find
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.models import PostHot, PostRaw, PostSpan


@pytest.fixture
def post(scanner):
    """One post that was seen once, among others that stay as they are."""
    scanner.add("webdev")
    for number in range(4):
        scanner.world.post("webdev", f"Other {number}", "Stays.")
    made = scanner.world.post("webdev", "A lantern", "Text A about copper")
    scanner.crawl("webdev")
    return made


def look(scanner, **span):
    scanner.wait(**span)
    run = scanner.run("reddit.recheck")
    assert run.error == "", run.error
    return run


def texts(post):
    return [(version.number, version.content) for version in actions.versions(post)]


def test_edit_adds_a_version_and_closes_the_last(scanner, post):
    scanner.world.edit(post, "Text B about brass")
    look(scanner, hours=3)
    assert texts(post) == [(1, "Text A about copper"), (2, "Text B about brass")]
    first, second = PostRaw.objects.filter(source_post_id=post).order_by("version")
    assert (first.is_current, second.is_current) == (False, True)
    assert first.valid_to == second.valid_from == scanner.now
    assert second.first_seen_at == first.first_seen_at
    assert [hit.title for hit in find("brass", scopes=["members"]).items] == ["A lantern"]
    assert StreamEntry.objects.get(kind="edited").object_id == post


def test_restored_text_is_a_third_version_in_two_rows(scanner, post):
    scanner.world.edit(post, "Text B about brass")
    look(scanner, hours=3)
    scanner.world.edit(post, "Text A about copper")
    look(scanner, hours=22)
    assert texts(post) == [(1, "Text A about copper"), (2, "Text B about brass"), (3, "Text A about copper")]
    assert PostRaw.objects.filter(source_post_id=post).count() == 2
    assert PostRaw.objects.get(source_post_id=post, is_current=True).version == 3
    spans = list(PostSpan.objects.filter(source_post_id=post).order_by("version"))
    assert [span.valid_to for span in spans] == [spans[1].valid_from, spans[2].valid_from, None]
    assert [version.reason for version in actions.versions(post)] == ["posted", "edited", "returned"]


def test_score_and_comments_create_no_version(scanner, post):
    scanner.world.vote(post, 4000, comments=77)
    run = look(scanner, hours=3)
    row = PostRaw.objects.get(source_post_id=post)
    assert row.score >= 4000
    assert row.num_comments >= 77
    assert row.version == 1
    assert run.progress["versions"] == 0
    assert row.observed_at == scanner.now
    assert PostSpan.objects.filter(source_post_id=post).count() == 1


def test_equal_looking_text_creates_no_version(scanner, post):
    scanner.world.edit(post, "Text&#x200B; A  about\r\ncopper")
    look(scanner, hours=3)
    assert len(texts(post)) == 1


@pytest.mark.parametrize("step", ["remove", "delete"])
def test_removal_is_a_state_and_keeps_the_text(scanner, post, step):
    getattr(scanner.world, step)(post)
    look(scanner, hours=3)
    row = PostRaw.objects.get(source_post_id=post)
    assert (row.content, row.version, row.is_gone) == ("Text A about copper", 1, True)
    assert (row.removed_by_category, row.author_deleted) == (("moderator", False) if step == "remove" else ("", True))
    assert not PostHot.objects.filter(source_post_id=post).exists()
    assert StreamEntry.objects.get(kind="removed").object_id == post


def test_restored_post_keeps_its_version(scanner, post):
    scanner.world.remove(post)
    look(scanner, hours=3)
    scanner.world.restore(post)
    look(scanner, hours=22)
    row = PostRaw.objects.get(source_post_id=post)
    assert (row.version, row.is_gone, row.content) == (1, False, "Text A about copper")
    assert StreamEntry.objects.get(kind="restored").object_id == post


def test_deleted_post_is_erased_in_every_version(scanner, post):
    scanner.world.edit(post, "Text B about brass")
    look(scanner, hours=3)
    scanner.world.delete(post)
    look(scanner, hours=22)
    run = scanner.run("reddit.honor_deletions")
    assert run.progress == {"posts": 1, "versions": 2}
    for row in PostRaw.objects.filter(source_post_id=post):
        assert (row.title, row.content, row.author, row.extra_data) == ("", "", "", {})
        assert row.blanked_at == scanner.now
        assert row.text_norm_hash
    assert [span.valid_from for span in PostSpan.objects.filter(source_post_id=post)]  # the tombstone keeps its times
    assert not find("brass", scopes=["members"]).items
    assert not find("copper", scopes=["members"]).items
    assert not StreamEntry.objects.filter(object_id=post).exclude(title="").exists()
    assert AuditEvent.objects.get(event="reddit.blanked").details["posts"] == [post]
    assert PostRaw.objects.valid().count() == 4
    assert scanner.run("reddit.honor_deletions").outcome == "nothing_to_do"


def test_erased_post_gets_its_text_again_when_restored(scanner, post):
    scanner.world.remove(post)
    look(scanner, hours=3)
    scanner.run("reddit.honor_deletions")
    scanner.world.restore(post)
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    row = PostRaw.objects.get(source_post_id=post)
    assert (row.title, row.content, row.version, row.blanked_at) == ("A lantern", "Text A about copper", 1, None)


def test_option_off_erases_nothing(scanner, post, monkeypatch):
    monkeypatch.setenv("REDDIT_HONOR_DELETIONS", "off")
    scanner.world.delete(post)
    look(scanner, hours=3)
    assert scanner.run("reddit.honor_deletions").outcome == "nothing_to_do"
    assert PostRaw.objects.get(source_post_id=post).content == "Text A about copper"


def test_rechecks_run_after_2_24_and_72_hours(scanner, post):
    assert scanner.run("reddit.recheck").outcome == "nothing_to_do"
    seen = []
    for _ in range(80):
        run = look(scanner, hours=1)
        seen += [scanner.now] if run.outcome == "done" else []
    created = PostRaw.objects.get(source_post_id=post).created_at
    assert [(moment - created).total_seconds() / 3600 for moment in seen] == [2, 24, 72]
    assert scanner.site.log.count("/api/info") == 3  # five posts, one request a look


def test_post_is_missing_after_two_rechecks(scanner, post):
    hidden = scanner.world.posts.pop(post)
    look(scanner, hours=3)
    assert not PostRaw.objects.get(source_post_id=post).is_gone
    look(scanner, hours=22)
    assert PostRaw.objects.get(source_post_id=post).removed_by_category == "missing"
    scanner.world.posts[post] = hidden
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    assert not PostRaw.objects.get(source_post_id=post).is_gone


def test_private_community_marks_no_post_as_missing(scanner, post):
    scanner.world.set_status("webdev", "private")
    for hours in (3, 22, 48):
        look(scanner, hours=hours)
    assert PostRaw.objects.valid().count() == 5


def test_post_first_seen_removed_gets_its_text_later(scanner, post):
    hidden = scanner.world.post("webdev", "A compass", "Text of the compass")
    scanner.world.remove(hidden)
    from watchbook.base import clock
    from watchbook.systems.reddit.fetch import fetch_by_id
    from watchbook.systems.reddit.store.posts import Reading, store_posts

    with clock.set_to(scanner.now):
        store_posts(fetch_by_id([hidden]).posts, Reading("r/webdev", scanner.now, "new", is_new_listing=False))
    assert PostRaw.objects.get(source_post_id=hidden).content == ""
    scanner.world.restore(hidden)
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    row = PostRaw.objects.get(source_post_id=hidden)
    assert (row.content, row.version) == ("Text of the compass", 1)


def test_erase_by_author_erases_all_their_posts(scanner, post, operator):
    assert actions.erase_posts(author="made-up-reader", actor=operator, reason="asked by mail") == 5
    assert not PostRaw.objects.exclude(content="").exists()
    assert AuditEvent.objects.get(event="reddit.blanked").actor_email == "operator@example.com"


def test_search_keeps_author_community_and_score_up_to_date(scanner):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A lantern", "Text A", author="Made-Up", score=50)
    scanner.crawl("webdev")

    def ids(query):
        return [hit.object_id for hit in find(query, scopes=["members"]).items]

    assert ids("lantern author:made-up in:reddit/webdev type:post") == [post]
    assert ids("score>=100") == []
    scanner.world.vote(post, 120)
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    assert ids("score>=100") == [post]
    assert reindex.describe(SearchDocument.objects.all()) == 0
