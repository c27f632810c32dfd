"""Comments, from the listing to the rows: what is new is decided by ID, what may be missing is said."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.notify import actions as channels
from watchbook.core.notify.models import Delivery
from watchbook.core.search import reindex, saved
from watchbook.core.search.find import find
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.models import Comment, CommentListing, CommentVersion, Crawl, CrawlMetrics, PostRaw
from watchbook.systems.reddit.store.comments import store_comments
from watchbook.systems.reddit.store.decide import Reading

pytestmark = pytest.mark.sql


def stored():
    return set(Comment.objects.values_list("comment_id", flat=True))


def talk(scanner, post, count, **given):
    return [scanner.world.comment(post, f"Comment {number}", **given) for number in range(count)]


def hits(query):
    return [hit.object_id for hit in find(query, scopes=["members"]).items]


def test_comments_are_not_crawled_unless_they_are_on(scanner):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A thread", "Text")
    talk(scanner, post, 3)
    scanner.run("reddit.incremental")
    assert scanner.site.log.count("/r/webdev/comments") == 0
    scanner.switch_comments("webdev", True)
    scanner.run("reddit.incremental")
    assert Comment.objects.count() == 3
    scanner.switch_comments("webdev", False)
    scanner.wait(hours=30)
    scanner.run("reddit.incremental")
    assert scanner.site.log.count("/r/webdev/comments") == 1
    assert [event.details["is_on"] for event in AuditEvent.objects.filter(event="reddit.comments").order_by("pk")] == [
        True,
        False,
    ]


def test_option_switches_comments_of_all_communities_on(scanner, monkeypatch):
    monkeypatch.setenv("REDDIT_COMMENTS", "on")
    scanner.add("webdev", "golang")
    for name in ("webdev", "golang"):
        talk(scanner, scanner.world.post(name, "A thread", "Text"), 2)
    scanner.run("reddit.incremental")  # creates the communities
    scanner.switch_comments("golang", False)
    scanner.wait(hours=30)
    scanner.run("reddit.incremental")
    assert set(Comment.objects.values_list("subreddit", flat=True)) >= {"r/webdev"}
    assert scanner.site.log.count("/r/golang/comments") <= 1


def test_crawl_stores_comments_with_thread_and_parent(scanner):
    (post,) = scanner.add_with_comments("webdev")
    first = scanner.world.comment(post, "Copper lamps tarnish.", author="keeper")
    answer = scanner.world.comment(post, "Use vinegar.", parent=first, author="second")
    line = scanner.crawl_comments("webdev")
    assert (line["listing"], line["new_comments"], line["outcome"], line["possible_gap"]) == (
        "comments",
        2,
        "ok",
        False,
    )
    row = Comment.objects.get(comment_id=answer)
    assert (row.post_id, row.parent_id, row.thread_title) == (post, f"t1_{first}", "Thread 0")
    assert (row.subreddit, row.author, row.content, row.version) == ("r/webdev", "second", "Use vinegar.", 1)
    assert Comment.objects.get(comment_id=first).parent_id == f"t3_{post}"
    assert scanner.comments("webdev").last_seen_comment_id in {first, answer}


def test_every_request_and_new_comment_is_counted(scanner):
    (post,) = scanner.add_with_comments("webdev")
    talk(scanner, post, 3)
    scanner.crawl_comments("webdev")
    scanner.wait(hours=1)
    talk(scanner, post, 2)
    scanner.crawl_comments("webdev")
    sums = CrawlMetrics.objects.aggregate(
        requests=Sum("requests"), posts=Sum("total_new_posts"), comments=Sum("total_new_comments")
    )
    assert sums == {"requests": scanner.site.log.count(), "posts": 1, "comments": 5}
    rows = Crawl.objects.filter(kind="comments").order_by("pk")
    assert [(row.new_posts, row.unchanged_posts + row.updated_posts) for row in rows] == [(3, 0), (2, 3)]
    total = scanner.community("webdev").request_count + scanner.comments("webdev").request_count
    assert total == scanner.site.log.count()
    entry = StreamEntry.objects.get(kind="commented")  # the first crawl is the baseline
    assert (entry.data, entry.title) == ({"added": 2}, "r/webdev")


def test_known_comments_end_the_crawl_after_one_request(scanner):
    (post,) = scanner.add_with_comments("webdev")
    talk(scanner, post, 250)
    scanner.crawl_comments("webdev")
    scanner.wait(hours=1)
    made = talk(scanner, post, 5)
    assert scanner.crawl_comments("webdev")["http_request_count"] == 1
    assert set(made) <= stored()


def test_late_approved_comment_is_found(scanner):
    (post,) = scanner.add_with_comments("webdev")
    late = scanner.world.comment(post, "Held back", filtered=True)
    talk(scanner, post, 5)
    scanner.crawl_comments("webdev")
    scanner.wait(hours=7)
    newer = talk(scanner, post, 2)
    scanner.world.approve(late)
    assert scanner.crawl_comments("webdev")["new_comments"] == 3
    assert {late, *newer} <= stored()


def test_several_pages_with_shifts_stubs_and_repeats_lose_nothing(scanner):
    (post,) = scanner.add_with_comments("webdev")
    talk(scanner, post, 10)
    scanner.crawl_comments("webdev")
    scanner.wait(hours=2)
    made = talk(scanner, post, 450)
    scanner.site.mishaps.stub = scanner.site.mishaps.repeat = 1
    scanner.site.mishaps.vanish = 2
    line = scanner.crawl_comments("webdev")
    assert line["possible_gap"] is False
    lost = [key for key in made if key not in stored()]
    assert not [key for key in lost if scanner.world.comments[key].is_visible]


def test_more_comments_than_the_listing_holds_are_a_possible_gap(scanner):
    (post,) = scanner.add_with_comments("webdev")
    talk(scanner, post, 10)
    scanner.crawl_comments("webdev")
    scanner.wait(hours=2)
    made = talk(scanner, post, 1100)
    line = scanner.crawl_comments("webdev")
    assert line["possible_gap"] is True
    listing = scanner.comments("webdev")
    assert (listing.possible_gap, listing.gap_count) == (True, 1)
    assert StreamEntry.objects.get(kind="comment_gap").object_id == "r/webdev"
    assert not scanner.community("webdev").possible_gap  # posts have none
    assert len(stored() & set(made)) == 1000
    scanner.wait(hours=1)
    talk(scanner, post, 4)
    assert scanner.crawl_comments("webdev")["possible_gap"] is False
    assert not scanner.comments("webdev").possible_gap


def test_full_scan_finds_a_restored_comment(scanner):
    (post,) = scanner.add_with_comments("webdev")
    old = talk(scanner, post, 300)
    scanner.world.remove(old[0])
    scanner.crawl_comments("webdev")
    scanner.world.restore(old[0])
    scanner.wait(hours=1)
    scanner.crawl_comments("webdev")
    assert old[0] not in stored()
    scanner.run("reddit.deep_walk")
    assert old[0] in stored()
    assert scanner.comments("webdev").deep_walked_at == scanner.now
    assert Crawl.objects.filter(kind="comments_full", outcome="ok").count() == 1


def test_failed_crawl_changes_no_comment(scanner):
    (post,) = scanner.add_with_comments("webdev")
    talk(scanner, post, 5)
    scanner.crawl_comments("webdev")
    scanner.wait(hours=1)
    scanner.site.mishaps.wall_200 = 2  # the second listing is that of the comments
    scanner.run("reddit.community", community="webdev")
    assert Comment.objects.valid().count() == 5
    listing = scanner.comments("webdev")
    assert listing.last_complete_at == scanner.now - timedelta(hours=1)


def test_posts_instead_of_comments_are_an_unreadable_response(scanner, monkeypatch):
    scanner.add_with_comments("webdev")
    things = scanner.site._things
    monkeypatch.setattr(scanner.site, "_things", lambda home, sort, since: things(home, "new", since))
    line = scanner.crawl_comments("webdev")
    assert line["outcome"] == "garbage"
    assert not Comment.objects.exists()


def test_edit_keeps_the_earlier_text_and_a_returned_text_is_a_version(scanner):
    (post,) = scanner.add_with_comments("webdev")
    comment = scanner.world.comment(post, "Text A about copper")
    talk(scanner, post, 3)
    scanner.crawl_comments("webdev")
    for hours, text in ((3, "Text B about brass"), (22, "Text A about copper")):
        scanner.world.edit(comment, text)
        scanner.wait(hours=hours)
        run = scanner.run("reddit.recheck")
        assert run.error == ""
    row = Comment.objects.get(comment_id=comment)
    found = [(one.number, one.content, one.reason) for one in threads.versions(row)]
    assert found == [
        (1, "Text A about copper", "posted"),
        (2, "Text B about brass", "edited"),
        (3, "Text A about copper", "returned"),
    ]
    versions = threads.versions(row)
    assert [one.valid_to for one in versions] == [versions[1].valid_from, versions[2].valid_from, None]
    assert hits("copper type:comment") == [comment]
    assert hits("brass") == []
    assert StreamEntry.objects.filter(kind="comment_edited", object_id=comment).count() == 2


def test_score_creates_no_version_and_search_knows_it(scanner):
    (post,) = scanner.add_with_comments("webdev")
    comment = scanner.world.comment(post, "A lantern of copper", author="Made-Up", score=50)
    scanner.crawl_comments("webdev")
    assert hits("lantern author:made-up in:reddit/webdev type:comment") == [comment]
    assert hits("type:comment score>=100") == []
    scanner.world.vote(comment, 120)
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    assert hits("type:comment score>=100") == [comment]
    assert Comment.objects.get().version == 1
    assert reindex.describe(SearchDocument.objects.all()) == 0


@pytest.mark.parametrize(("step", "state"), [("remove", ("moderator", False)), ("delete", ("", True))])
def test_removal_is_a_state_and_the_text_is_erased_at_night(scanner, step, state):
    (post,) = scanner.add_with_comments("webdev")
    comment = scanner.world.comment(post, "Text A about zanzibar", author="vanishing")
    talk(scanner, post, 3)
    scanner.crawl_comments("webdev")
    scanner.world.edit(comment, "Text B about zanzibar")
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    getattr(scanner.world, step)(comment)
    scanner.wait(hours=22)
    scanner.run("reddit.recheck")
    row = Comment.objects.get(comment_id=comment)
    assert (row.removed_by_category, row.author_deleted, row.content) == (*state, "Text B about zanzibar")
    assert StreamEntry.objects.get(kind="comment_removed").object_id == comment
    assert scanner.run("reddit.honor_deletions").progress == {"posts": 0, "versions": 2, "comments": 1}
    row.refresh_from_db()
    assert (row.content, row.author, row.extra_data, row.blanked_at) == ("", "", {}, scanner.now)
    assert list(CommentVersion.objects.values_list("content", flat=True)) == [""]
    assert hits("zanzibar") == []
    assert not StreamEntry.objects.filter(object_id=comment).exists()
    assert AuditEvent.objects.get(event="reddit.blanked").details["comments"] == [comment]
    assert scanner.run("reddit.honor_deletions").outcome == "nothing_to_do"


def test_erased_comment_gets_its_text_again_when_restored(scanner):
    (post,) = scanner.add_with_comments("webdev")
    comment = scanner.world.comment(post, "A lantern")
    talk(scanner, post, 3)
    scanner.crawl_comments("webdev")
    scanner.world.remove(comment)
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    scanner.run("reddit.honor_deletions")
    scanner.world.restore(comment)
    scanner.wait(hours=1)
    scanner.crawl_comments("webdev")
    row = Comment.objects.get(comment_id=comment)
    assert (row.content, row.version, row.blanked_at, row.is_gone) == ("A lantern", 1, None, False)
    assert hits("lantern type:comment") == [comment]


def test_deleted_account_is_erased_from_comments(scanner):
    (post,) = scanner.add_with_comments("webdev")
    comment = scanner.world.comment(post, "Text stays", author="vanishing-author")
    scanner.crawl_comments("webdev")
    scanner.world.delete_account("vanishing-author")
    scanner.wait(hours=1)
    scanner.crawl_comments("webdev")
    row = Comment.objects.get(comment_id=comment)
    assert (row.author, row.content) == ("", "Text stays")
    assert hits("author:vanishing-author") == []


def test_title_of_an_erased_post_leaves_its_comments(scanner, alice):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "About zanzibar", "Text", author="gone")
    for _ in range(3):
        scanner.world.post("webdev", "Other", "Text")
    scanner.crawl("webdev")
    scanner.switch_comments("webdev", True)
    channel = channels.create(alice, name="mail", channel_type="email", given={"email": "alice@example.com"}).channel
    with clock.set_to(scanner.now):
        saved.save(alice, name="words", query="harbour type:comment", channels=[channel])
    comment = scanner.world.comment(post, "A harbour")
    scanner.crawl_comments("webdev")
    with clock.set_to(scanner.now):
        from watchbook.core.jobs import runner

        runner.run_now("search.saved")
    assert "zanzibar" in Delivery.objects.get().subject + Delivery.objects.get().text
    scanner.world.edit(comment, "A harbour at night")
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    scanner.world.delete(post)
    scanner.wait(hours=22)
    scanner.run("reddit.recheck")
    scanner.run("reddit.honor_deletions")
    assert PostRaw.objects.get(source_post_id=post).blanked_at
    row = Comment.objects.get(comment_id=comment)
    assert (row.thread_title, row.content) == ("", "A harbour at night")
    assert hits("zanzibar") == []
    assert hits("harbour type:comment") == [comment]
    assert "zanzibar" not in Delivery.objects.get().subject + Delivery.objects.get().text
    assert not StreamEntry.objects.filter(title__contains="zanzibar").exists()
    scanner.world.comment(post, "One more")
    scanner.crawl_comments("webdev")
    assert not Comment.objects.exclude(thread_title="").exists()


def test_erase_by_author_erases_posts_and_comments(scanner, operator):
    (post,) = scanner.add_with_comments("webdev")
    scanner.world.comment(post, "By the same author")
    scanner.world.comment(post, "By another", author="other")
    scanner.crawl_comments("webdev")
    assert actions.erase_posts(author="u/Made-Up-Reader", actor=operator, reason="asked by mail") == 2
    assert list(Comment.objects.exclude(content="").values_list("author", flat=True)) == ["other"]


def test_comment_is_missing_after_two_rechecks(scanner):
    (post,) = scanner.add_with_comments("webdev")
    comment, *_ = talk(scanner, post, 3)
    scanner.crawl_comments("webdev")
    scanner.world.comments.pop(comment)
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    assert not Comment.objects.get(comment_id=comment).is_gone
    scanner.wait(hours=22)
    scanner.run("reddit.recheck")
    assert Comment.objects.get(comment_id=comment).removed_by_category == "missing"


def test_removed_community_loses_its_listing_and_keeps_its_comments(scanner):
    (post,) = scanner.add_with_comments("webdev")
    talk(scanner, post, 2)
    scanner.crawl_comments("webdev")
    actions.remove_community("webdev")
    assert not CommentListing.objects.exists()
    assert Comment.objects.count() == 2


def test_storing_a_page_needs_the_same_queries_for_any_size(scanner):
    (post,) = scanner.add_with_comments("webdev")
    talk(scanner, post, 100)
    from watchbook.systems.reddit.fetch import fetch_listing

    with clock.set_to(scanner.now):
        page = fetch_listing("webdev", "comments").comments
        counts = []
        for start, end in ((0, 10), (10, 90)):
            with CaptureQueriesContext(connection) as queries:
                store_comments(page[start:end], Reading("r/webdev", scanner.now, "new", is_new_listing=True))
            counts.append(len(queries))
    assert counts[0] <= 20
    if connection.vendor != "sqlite":
        assert counts[1] <= counts[0] + 6
