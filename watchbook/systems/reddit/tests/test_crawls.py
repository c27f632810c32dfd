"""A visit, from the listing to the rows: what is new is decided by id, and what is missing is said."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import Sum

from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.reddit.models import CommunityCache, CrawlMetrics, PostHot, PostRaw
from watchbook.systems.reddit.tests.conftest import START


def stored() -> set[str]:
    return set(PostRaw.objects.values_list("source_post_id", flat=True))


def fill(scanner, name, count, **given):
    return [scanner.world.post(name, f"Lantern {number}", f"Text {number}", **given) for number in range(count)]


def test_crawl_stores_new_posts_and_counts_known_ones(scanner):
    scanner.add("webdev")
    first = scanner.world.post("webdev", "A lantern", "Made of copper.")
    line = scanner.crawl("r/webdev")
    assert (line["new_posts"], line["outcome"], line["possible_gap"]) == (1, "ok", False)
    scanner.wait(hours=1)
    second = scanner.world.post("webdev", "A compass", link="https://example.org/compass")
    line = scanner.crawl("webdev")
    assert (line["new_posts"], line["watermark_updated"]) == (1, True)
    assert line["updated_posts"] + line["duplicates"] == 1
    assert stored() == {first, second}
    assert PostHot.objects.count() == 2
    community = scanner.community("webdev")
    assert community.last_seen_post_id == second
    # Every request is counted, that for the token too: with the community and in the hours.
    assert (community.success_hit, community.request_count) == (2, scanner.site.log.count())
    assert CrawlMetrics.objects.aggregate(all=Sum("requests"))["all"] == scanner.site.log.count()
    assert [hit.title for hit in find("copper", scopes=["members"]).items] == ["A lantern"]
    assert StreamEntry.objects.get(kind="posted").data == {"added": 1}  # a first visit is a baseline, not news


def test_second_crawl_sends_one_request(scanner):
    scanner.add("webdev", tier="high")
    fill(scanner, "webdev", 200)
    scanner.crawl("webdev")
    before = scanner.site.log.count("/r/webdev/new")
    scanner.wait(hours=1)
    fill(scanner, "webdev", 3)
    assert scanner.crawl("webdev")["http_request_count"] == 1
    assert scanner.site.log.count("/r/webdev/new") == before + 1


def test_late_approved_post_is_found(scanner):
    scanner.add("webdev")
    late = scanner.world.post("webdev", "Held back", "By a filter.", filtered=True)
    fill(scanner, "webdev", 5)
    scanner.crawl("webdev")
    assert late not in stored()
    scanner.wait(hours=7)
    newer = fill(scanner, "webdev", 2)
    scanner.world.approve(late)
    assert scanner.crawl("webdev")["new_posts"] == 3
    assert {late, *newer} <= stored()
    # The watermark is the newest time that was seen, not the time of what stands on top.
    assert scanner.community("webdev").last_seen_created_at == START + timedelta(hours=7)


def test_crawl_reads_several_pages_until_known_posts(scanner):
    scanner.add("webdev")
    fill(scanner, "webdev", 10)
    scanner.crawl("webdev")
    scanner.wait(hours=2)
    made = fill(scanner, "webdev", 350)
    line = scanner.crawl("webdev")
    assert line["new_posts"] == 350
    assert line["possible_gap"] is False
    assert set(made) <= stored()


def test_listing_that_ends_before_known_posts_is_a_gap(scanner):
    scanner.add("webdev")
    fill(scanner, "webdev", 10)
    scanner.crawl("webdev")
    scanner.wait(hours=2)
    fill(scanner, "webdev", 1200)
    line = scanner.crawl("webdev")
    assert line["possible_gap"] is True
    assert line["new_posts"] == 1000
    community = scanner.community("webdev")
    assert (community.possible_gap, community.gap_count) == (True, 1)
    assert StreamEntry.objects.filter(kind="gap").count() == 1
    assert list(CrawlMetrics.objects.order_by("metric_hour").values_list("gaps", flat=True)) == [0, 1]
    scanner.wait(hours=1)
    fill(scanner, "webdev", 1)
    assert scanner.crawl("webdev")["possible_gap"] is False  # nothing was lost since
    assert scanner.community("webdev").gap_count == 1


def test_failed_page_keeps_posts_and_next_crawl_closes_gap(scanner):
    scanner.add("webdev")
    fill(scanner, "webdev", 10)
    scanner.crawl("webdev")
    scanner.wait(hours=2)
    made = fill(scanner, "webdev", 250)
    rule = scanner.site.faults.on("/r/webdev/new", from_nth=2).fail(503)
    line = scanner.crawl("webdev")
    assert (line["outcome"], line["possible_gap"], line["new_posts"]) == ("upstream", True, 100)
    rule.lift()
    scanner.wait(minutes=10)
    line = scanner.crawl("webdev")
    assert (line["outcome"], line["possible_gap"]) == ("ok", False)
    assert set(made) <= stored()
    assert scanner.community("webdev").possible_gap is False


def test_removed_anchor_between_pages_loses_no_post(scanner):
    scanner.add("webdev")
    fill(scanner, "webdev", 10)
    scanner.crawl("webdev")
    scanner.wait(hours=2)
    made = fill(scanner, "webdev", 260)
    scanner.site.mishaps.vanish = 1
    line = scanner.crawl("webdev")
    gone = [post for post in made if not scanner.world.posts[post].is_visible]
    assert gone  # the anchors did vanish
    assert set(made) <= stored() | set(gone)
    assert line["possible_gap"] is False


def test_repeated_id_on_page_is_stored_once(scanner):
    scanner.add("webdev")
    scanner.site.mishaps.repeat = 1
    fill(scanner, "webdev", 5)
    line = scanner.crawl("webdev")
    assert line["new_posts"] == 5
    assert PostRaw.objects.count() == 5


def test_unexpected_empty_listing_changes_no_counters(scanner):
    scanner.add("webdev")
    fill(scanner, "webdev", 5)
    scanner.crawl("webdev")
    before = scanner.community("webdev")
    scanner.wait(hours=2)
    scanner.site.mishaps.empty = 1
    line = scanner.crawl("webdev")
    after = scanner.community("webdev")
    assert (line["outcome"], line["watermark_updated"]) == ("suspicious_empty", False)
    assert (after.empty_hit, after.success_hit) == (1, 1)
    for name in ("last_seen_post_id", "last_seen_created_at", "avg_valid_posts", "rate", "last_crawled_at"):
        assert getattr(after, name) == getattr(before, name)


def test_first_post_of_empty_community_is_new(scanner):
    scanner.add("webdev")
    assert scanner.crawl("webdev")["outcome"] == "empty"
    scanner.wait(hours=2)
    fill(scanner, "webdev", 1)
    line = scanner.crawl("webdev")
    assert (line["new_posts"], line["possible_gap"], line["outcome"]) == (1, False, "ok")
    assert PostRaw.objects.get().found_by == "new"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("private", "private"), ("banned", "banned"), ("quarantined", "quarantined"), ("forbidden", "forbidden")],
)
def test_repeated_refusals_disable_the_community(scanner, status, outcome):
    scanner.add("webdev")
    fill(scanner, "webdev", 3)
    scanner.crawl("webdev")
    scanner.world.set_status("webdev", status)
    for hours in (1, 12, 11):
        scanner.wait(hours=hours)
        assert scanner.crawl("webdev")["outcome"] == outcome
    assert scanner.community("webdev").is_active  # three, but not yet over a day
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    community = scanner.community("webdev")
    assert (community.is_active, community.inactive_reason, community.failure_hit) == (False, outcome, 4)
    assert PostRaw.objects.valid().count() == 3  # a refusal is no deletion


def test_unknown_community_name_is_nonexistent(scanner):
    scanner.add("webdev")
    del scanner.world.communities["webdev"]
    assert scanner.crawl("webdev")["outcome"] == "nonexistent"
    assert scanner.site.log.count("/subreddits/search") == 0  # redirects are not followed


def test_client_wide_error_stops_the_crawl(scanner):
    scanner.add("one", "two", "three")
    scanner.site.mishaps.wall = 1
    run = scanner.run("reddit.incremental", detailed=True)
    assert [line["outcome"] for line in run.progress["communities"]] == ["wall"]
    assert CommunityCache.objects.filter(refusals_in_row=0, is_active=True).count() == 3
    assert CommunityCache.objects.due(scanner.now).count() == 2  # the others were not asked and are still due


@pytest.mark.parametrize(("mishap", "outcome"), [("wall_200", "wall"), ("fail", "upstream")])
def test_error_response_is_not_an_empty_community(scanner, mishap, outcome):
    scanner.add("webdev")
    setattr(scanner.site.mishaps, mishap, 1)
    assert scanner.crawl("webdev")["outcome"] == outcome
    community = scanner.community("webdev")
    assert (community.empty_hit, community.failure_hit, community.refusals_in_row) == (0, 1, 0)


def test_crawl_reads_only_due_communities(scanner):
    scanner.add("quiet", "busy")
    fill(scanner, "quiet", 1)
    fill(scanner, "busy", 60)
    assert scanner.run("reddit.incremental").progress["crawled"] == 2
    assert scanner.run("reddit.incremental").outcome == "nothing_to_do"
    scanner.wait(hours=24)
    assert scanner.run("reddit.incremental").progress["crawled"] == 2


def test_missing_credentials_send_no_request(scanner, monkeypatch):
    scanner.add("webdev")
    monkeypatch.setenv("REDDIT_CLIENT_SECRET", "")
    for job in ("reddit.incremental", "reddit.batch", "reddit.recheck", "reddit.deep_walk", "reddit.low_quality"):
        assert scanner.run(job).outcome == "nothing_to_do"
    assert scanner.site.log.count() == 0


def test_full_scan_finds_restored_post(scanner):
    scanner.add("webdev")
    old = fill(scanner, "webdev", 300)
    scanner.world.remove(old[0])
    scanner.crawl("webdev")
    scanner.wait(hours=1)
    fill(scanner, "webdev", 5)
    scanner.crawl("webdev")
    scanner.world.restore(old[0])
    scanner.wait(hours=1)
    scanner.crawl("webdev")
    assert old[0] not in stored()  # it came back to its old place, below what a visit reads
    scanner.run("reddit.deep_walk")
    assert PostRaw.objects.get(source_post_id=old[0]).found_by == "deep"
    assert scanner.community("webdev").deep_walked_at == scanner.now


def test_restored_post_is_found_before_it_leaves_the_listing(scanner):
    """Hidden when it was new, restored below known posts, and the week's deep walk would come too late."""
    scanner.add("webdev")
    fill(scanner, "webdev", 5)
    scanner.crawl("webdev")
    scanner.wait(hours=1)
    hidden = scanner.world.post("webdev", "Hidden at once")
    scanner.world.remove(hidden)
    fill(scanner, "webdev", 300)
    scanner.crawl("webdev")
    scanner.world.approve(hidden)
    for _ in range(8):
        scanner.wait(hours=1)
        fill(scanner, "webdev", 140)
        scanner.crawl("webdev")
    assert hidden in stored()
    assert scanner.community("webdev").gap_count == 0
