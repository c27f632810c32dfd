"""What happens to a post after it was seen: edits are versions, removals are states, scores are neither."""

from __future__ import annotations

import pytest

from watchbook.core.accounts.models import AuditEvent
from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.models import PostHot, PostRaw, PostSpan


@pytest.fixture
def post(desk):
    """One post that was seen once, among others that stay as they are."""
    desk.add("webdev")
    for number in range(4):
        desk.world.post("webdev", f"Other {number}", "Stays.")
    made = desk.world.post("webdev", "A lantern", "Text A about copper")
    desk.crawl("webdev")
    return made


def look(desk, **span):
    desk.wait(**span)
    run = desk.run("reddit.recheck")
    assert run.error == "", run.error
    return run


def texts(post):
    return [(version.number, version.content) for version in actions.versions(post)]


def test_an_edit_adds_a_version_and_closes_the_one_before(desk, post):
    desk.world.edit(post, "Text B about brass")
    look(desk, hours=3)
    assert texts(post) == [(1, "Text A about copper"), (2, "Text B about brass")]
    first, second = PostRaw.objects.filter(source_post_id=post).order_by("version")
    assert (first.is_current, second.is_current) == (False, True)
    assert first.valid_to == second.valid_from == desk.now
    assert second.first_seen_at == first.first_seen_at
    assert [hit.title for hit in find("brass", scopes=["members"]).items] == ["A lantern"]
    assert StreamEntry.objects.get(kind="edited").object_id == post


def test_a_text_that_comes_back_is_a_third_version_in_two_rows(desk, post):
    desk.world.edit(post, "Text B about brass")
    look(desk, hours=3)
    desk.world.edit(post, "Text A about copper")
    look(desk, hours=22)
    assert texts(post) == [(1, "Text A about copper"), (2, "Text B about brass"), (3, "Text A about copper")]
    assert PostRaw.objects.filter(source_post_id=post).count() == 2
    assert PostRaw.objects.get(source_post_id=post, is_current=True).version == 3
    spans = list(PostSpan.objects.filter(source_post_id=post).order_by("version"))
    assert [span.valid_to for span in spans] == [spans[1].valid_from, spans[2].valid_from, None]
    assert [version.reason for version in actions.versions(post)] == ["posted", "edited", "returned"]


def test_scores_and_comments_open_no_version(desk, post):
    desk.world.vote(post, 4000, comments=77)
    run = look(desk, hours=3)
    row = PostRaw.objects.get(source_post_id=post)
    assert row.score >= 4000
    assert row.num_comments >= 77
    assert row.version == 1
    assert run.progress["versions"] == 0
    assert row.observed_at == desk.now
    assert PostSpan.objects.filter(source_post_id=post).count() == 1


def test_a_text_that_only_looks_different_is_the_same(desk, post):
    desk.world.edit(post, "Text&#x200B; A  about\r\ncopper")
    look(desk, hours=3)
    assert len(texts(post)) == 1


@pytest.mark.parametrize("step", ["remove", "delete"])
def test_a_removal_is_a_state_and_the_last_text_stays(desk, post, step):
    getattr(desk.world, step)(post)
    look(desk, hours=3)
    row = PostRaw.objects.get(source_post_id=post)
    assert (row.content, row.version, row.is_gone) == ("Text A about copper", 1, True)
    assert (row.removed_by_category, row.author_deleted) == (("moderator", False) if step == "remove" else ("", True))
    assert not PostHot.objects.filter(source_post_id=post).exists()
    assert StreamEntry.objects.get(kind="removed").object_id == post


def test_a_restored_post_is_live_again_in_its_old_version(desk, post):
    desk.world.remove(post)
    look(desk, hours=3)
    desk.world.restore(post)
    look(desk, hours=22)
    row = PostRaw.objects.get(source_post_id=post)
    assert (row.version, row.is_gone, row.content) == (1, False, "Text A about copper")
    assert StreamEntry.objects.get(kind="restored").object_id == post


def test_deletions_are_honoured_in_every_version(desk, post):
    desk.world.edit(post, "Text B about brass")
    look(desk, hours=3)
    desk.world.delete(post)
    look(desk, hours=22)
    run = desk.run("reddit.honor_deletions")
    assert run.progress == {"posts": 1, "versions": 2}
    for row in PostRaw.objects.filter(source_post_id=post):
        assert (row.title, row.content, row.author, row.extra_data) == ("", "", "", {})
        assert row.blanked_at == desk.now
        assert row.text_norm_hash
    assert [span.valid_from for span in PostSpan.objects.filter(source_post_id=post)]  # the tombstone keeps its times
    assert not find("brass", scopes=["members"]).items
    assert not find("copper", scopes=["members"]).items
    assert not StreamEntry.objects.filter(object_id=post).exclude(title="").exists()
    assert AuditEvent.objects.get(event="reddit.blanked").details["posts"] == [post]
    assert PostRaw.objects.valid().count() == 4
    assert desk.run("reddit.honor_deletions").outcome == "nothing_to_do"


def test_a_blanked_post_that_is_restored_is_written_again(desk, post):
    desk.world.remove(post)
    look(desk, hours=3)
    desk.run("reddit.honor_deletions")
    desk.world.restore(post)
    desk.wait(hours=1)
    desk.crawl("webdev")
    row = PostRaw.objects.get(source_post_id=post)
    assert (row.title, row.content, row.version, row.blanked_at) == ("A lantern", "Text A about copper", 1, None)


def test_nothing_is_blanked_when_that_is_switched_off(desk, post, monkeypatch):
    monkeypatch.setenv("REDDIT_HONOR_DELETIONS", "off")
    desk.world.delete(post)
    look(desk, hours=3)
    assert desk.run("reddit.honor_deletions").outcome == "nothing_to_do"
    assert PostRaw.objects.get(source_post_id=post).content == "Text A about copper"


def test_looks_are_at_2_24_and_72_hours(desk, post):
    assert desk.run("reddit.recheck").outcome == "nothing_to_do"
    seen = []
    for _ in range(80):
        run = look(desk, hours=1)
        seen += [desk.now] if run.outcome == "done" else []
    created = PostRaw.objects.get(source_post_id=post).created_at
    assert [(moment - created).total_seconds() / 3600 for moment in seen] == [2, 24, 72]
    assert desk.site.log.count("/api/info") == 3  # five posts, one request a look


def test_a_post_that_is_missing_once_is_not_gone_and_twice_it_is(desk, post):
    hidden = desk.world.posts.pop(post)
    look(desk, hours=3)
    assert not PostRaw.objects.get(source_post_id=post).is_gone
    look(desk, hours=22)
    assert PostRaw.objects.get(source_post_id=post).removed_by_category == "missing"
    desk.world.posts[post] = hidden
    desk.wait(hours=1)
    desk.crawl("webdev")
    assert not PostRaw.objects.get(source_post_id=post).is_gone


def test_a_community_that_went_private_deletes_nothing(desk, post):
    desk.world.set_status("webdev", "private")
    for hours in (3, 22, 48):
        look(desk, hours=hours)
    assert PostRaw.objects.valid().count() == 5


def test_a_post_that_was_first_seen_removed_gets_its_text_when_it_is_shown(desk, post):
    hidden = desk.world.post("webdev", "A compass", "Text of the compass")
    desk.world.remove(hidden)
    from watchbook.base import clock
    from watchbook.sources.reddit.fetch import fetch_by_id
    from watchbook.sources.reddit.store.posts import Reading, store_posts

    with clock.set_to(desk.now):
        store_posts(fetch_by_id([hidden]).posts, Reading("r/webdev", desk.now, "new", is_new_listing=False))
    assert PostRaw.objects.get(source_post_id=hidden).content == ""
    desk.world.restore(hidden)
    desk.wait(hours=1)
    desk.crawl("webdev")
    row = PostRaw.objects.get(source_post_id=hidden)
    assert (row.content, row.version) == ("Text of the compass", 1)


def test_erasing_by_author_blanks_everything_of_his(desk, post, operator):
    assert actions.erase_posts(author="made-up-reader", actor=operator, reason="asked by mail") == 5
    assert not PostRaw.objects.exclude(content="").exists()
    assert AuditEvent.objects.get(event="reddit.blanked").actor_email == "operator@example.com"
