"""A visit, from the listing to the rows: what is new is decided by id, and what is missing is said."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import Sum

from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.sources.reddit.models import CommunityCache, CrawlMetrics, PostHot, PostRaw
from watchbook.sources.reddit.tests.conftest import START


def stored() -> set[str]:
    return set(PostRaw.objects.values_list("source_post_id", flat=True))


def fill(desk, name, count, **given):
    return [desk.world.post(name, f"Lantern {number}", f"Text {number}", **given) for number in range(count)]


def test_a_visit_stores_what_is_new_and_counts_the_rest(desk):
    desk.add("webdev")
    first = desk.world.post("webdev", "A lantern", "Made of copper.")
    line = desk.crawl("r/webdev")
    assert (line["new_posts"], line["outcome"], line["possible_gap"]) == (1, "ok", False)
    desk.wait(hours=1)
    second = desk.world.post("webdev", "A compass", link="https://example.org/compass")
    line = desk.crawl("webdev")
    assert (line["new_posts"], line["watermark_updated"]) == (1, True)
    assert line["updated_posts"] + line["duplicates"] == 1
    assert stored() == {first, second}
    assert PostHot.objects.count() == 2
    community = desk.community("webdev")
    assert community.last_seen_post_id == second
    # Every request is counted, that for the token too: with the community and in the hours.
    assert (community.success_hit, community.request_count) == (2, desk.site.log.count())
    assert CrawlMetrics.objects.aggregate(all=Sum("requests"))["all"] == desk.site.log.count()
    assert [hit.title for hit in find("copper", scopes=["members"]).items] == ["A lantern"]
    assert StreamEntry.objects.get(kind="posted").data == {"added": 1}  # a first visit is a baseline, not news


def test_a_second_visit_costs_one_request(desk):
    desk.add("webdev", tier="high")
    fill(desk, "webdev", 200)
    desk.crawl("webdev")
    before = desk.site.log.count("/r/webdev/new")
    desk.wait(hours=1)
    fill(desk, "webdev", 3)
    assert desk.crawl("webdev")["http_request_count"] == 1
    assert desk.site.log.count("/r/webdev/new") == before + 1


def test_a_late_approved_post_is_found_although_it_is_old(desk):
    desk.add("webdev")
    late = desk.world.post("webdev", "Held back", "By a filter.", filtered=True)
    fill(desk, "webdev", 5)
    desk.crawl("webdev")
    assert late not in stored()
    desk.wait(hours=7)
    newer = fill(desk, "webdev", 2)
    desk.world.approve(late)
    assert desk.crawl("webdev")["new_posts"] == 3
    assert {late, *newer} <= stored()
    # The watermark is the newest time that was seen, not the time of what stands on top.
    assert desk.community("webdev").last_seen_created_at == START + timedelta(hours=7)


def test_more_than_a_page_is_read_to_the_known(desk):
    desk.add("webdev")
    fill(desk, "webdev", 10)
    desk.crawl("webdev")
    desk.wait(hours=2)
    made = fill(desk, "webdev", 350)
    line = desk.crawl("webdev")
    assert line["new_posts"] == 350
    assert line["possible_gap"] is False
    assert set(made) <= stored()


def test_a_list_that_ends_before_the_known_is_a_possible_gap(desk):
    desk.add("webdev")
    fill(desk, "webdev", 10)
    desk.crawl("webdev")
    desk.wait(hours=2)
    fill(desk, "webdev", 1200)
    line = desk.crawl("webdev")
    assert line["possible_gap"] is True
    assert line["new_posts"] == 1000
    community = desk.community("webdev")
    assert (community.possible_gap, community.gap_count) == (True, 1)
    assert StreamEntry.objects.filter(kind="gap").count() == 1
    assert list(CrawlMetrics.objects.order_by("metric_hour").values_list("gaps", flat=True)) == [0, 1]
    desk.wait(hours=1)
    fill(desk, "webdev", 1)
    assert desk.crawl("webdev")["possible_gap"] is False  # nothing was lost since
    assert desk.community("webdev").gap_count == 1


def test_a_page_lost_in_the_middle_keeps_what_was_read_and_is_made_good(desk):
    desk.add("webdev")
    fill(desk, "webdev", 10)
    desk.crawl("webdev")
    desk.wait(hours=2)
    made = fill(desk, "webdev", 250)
    rule = desk.site.faults.on("/r/webdev/new", from_nth=2).fail(503)
    line = desk.crawl("webdev")
    assert (line["outcome"], line["possible_gap"], line["new_posts"]) == ("upstream", True, 100)
    rule.lift()
    desk.wait(minutes=10)
    line = desk.crawl("webdev")
    assert (line["outcome"], line["possible_gap"]) == ("ok", False)
    assert set(made) <= stored()
    assert desk.community("webdev").possible_gap is False


def test_an_anchor_that_vanishes_between_pages_loses_nothing(desk):
    desk.add("webdev")
    fill(desk, "webdev", 10)
    desk.crawl("webdev")
    desk.wait(hours=2)
    made = fill(desk, "webdev", 260)
    desk.site.mishaps.vanish = 1
    line = desk.crawl("webdev")
    gone = [post for post in made if not desk.world.posts[post].is_visible]
    assert gone  # the anchors did vanish
    assert set(made) <= stored() | set(gone)
    assert line["possible_gap"] is False


def test_an_id_that_is_twice_on_a_page_counts_once(desk):
    desk.add("webdev")
    desk.site.mishaps.repeat = 1
    fill(desk, "webdev", 5)
    line = desk.crawl("webdev")
    assert line["new_posts"] == 5
    assert PostRaw.objects.count() == 5


def test_an_empty_answer_of_a_community_that_had_posts_moves_nothing(desk):
    desk.add("webdev")
    fill(desk, "webdev", 5)
    desk.crawl("webdev")
    before = desk.community("webdev")
    desk.wait(hours=2)
    desk.site.mishaps.empty = 1
    line = desk.crawl("webdev")
    after = desk.community("webdev")
    assert (line["outcome"], line["watermark_updated"]) == ("suspicious_empty", False)
    assert (after.empty_hit, after.success_hit) == (1, 1)
    for name in ("last_seen_post_id", "last_seen_created_at", "avg_valid_posts", "rate", "last_crawled_at"):
        assert getattr(after, name) == getattr(before, name)


def test_an_empty_community_is_quiet_and_its_first_post_is_new(desk):
    desk.add("webdev")
    assert desk.crawl("webdev")["outcome"] == "empty"
    desk.wait(hours=2)
    fill(desk, "webdev", 1)
    line = desk.crawl("webdev")
    assert (line["new_posts"], line["possible_gap"], line["outcome"]) == (1, False, "ok")
    assert PostRaw.objects.get().found_by == "new"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("private", "private"), ("banned", "banned"), ("quarantined", "quarantined"), ("forbidden", "forbidden")],
)
def test_refusals_have_their_own_names_and_end_in_inactive(desk, status, outcome):
    desk.add("webdev")
    fill(desk, "webdev", 3)
    desk.crawl("webdev")
    desk.world.set_status("webdev", status)
    for hours in (1, 12, 11):
        desk.wait(hours=hours)
        assert desk.crawl("webdev")["outcome"] == outcome
    assert desk.community("webdev").is_active  # three, but not yet over a day
    desk.wait(hours=1)
    desk.crawl("webdev")
    community = desk.community("webdev")
    assert (community.is_active, community.inactive_reason, community.failure_hit) == (False, outcome, 4)
    assert PostRaw.objects.valid().count() == 3  # a refusal is no deletion


def test_a_name_that_does_not_exist(desk):
    desk.add("webdev")
    del desk.world.communities["webdev"]
    assert desk.crawl("webdev")["outcome"] == "nonexistent"
    assert desk.site.log.count("/subreddits/search") == 0  # redirects are not followed


def test_trouble_that_is_about_us_counts_no_refusal_and_ends_the_crawl(desk):
    desk.add("one", "two", "three")
    desk.site.mishaps.wall = 1
    run = desk.run("reddit.incremental", detailed=True)
    assert [line["outcome"] for line in run.progress["communities"]] == ["wall"]
    assert CommunityCache.objects.filter(refusals_in_row=0, is_active=True).count() == 3
    assert CommunityCache.objects.due(desk.now).count() == 2  # the others were not asked and are still due


@pytest.mark.parametrize(("mishap", "outcome"), [("wall_200", "wall"), ("fail", "upstream")])
def test_a_page_or_an_error_instead_of_data_is_not_a_quiet_community(desk, mishap, outcome):
    desk.add("webdev")
    setattr(desk.site.mishaps, mishap, 1)
    assert desk.crawl("webdev")["outcome"] == outcome
    community = desk.community("webdev")
    assert (community.empty_hit, community.failure_hit, community.refusals_in_row) == (0, 1, 0)


def test_only_what_is_due_is_crawled(desk):
    desk.add("quiet", "busy")
    fill(desk, "quiet", 1)
    fill(desk, "busy", 60)
    assert desk.run("reddit.incremental").progress["visited"] == 2
    assert desk.run("reddit.incremental").outcome == "nothing_to_do"
    desk.wait(hours=24)
    assert desk.run("reddit.incremental").progress["visited"] == 2


def test_nothing_is_asked_without_credentials(desk, monkeypatch):
    desk.add("webdev")
    monkeypatch.setenv("REDDIT_CLIENT_SECRET", "")
    for job in ("reddit.incremental", "reddit.batch", "reddit.recheck", "reddit.deep_walk", "reddit.low_quality"):
        assert desk.run(job).outcome == "nothing_to_do"
    assert desk.site.log.count() == 0


def test_a_deep_walk_finds_a_restored_post(desk):
    desk.add("webdev")
    old = fill(desk, "webdev", 300)
    desk.world.remove(old[0])
    desk.crawl("webdev")
    desk.wait(hours=1)
    fill(desk, "webdev", 5)
    desk.crawl("webdev")
    desk.world.restore(old[0])
    desk.wait(hours=1)
    desk.crawl("webdev")
    assert old[0] not in stored()  # it came back to its old place, below what a visit reads
    desk.run("reddit.deep_walk")
    assert PostRaw.objects.get(source_post_id=old[0]).found_by == "deep"
    assert desk.community("webdev").deep_walked_at == desk.now


def test_what_came_back_is_found_before_it_falls_off_the_list(desk):
    """Hidden when it was new, restored below known posts, and the week's deep walk would come too late."""
    desk.add("webdev")
    fill(desk, "webdev", 5)
    desk.crawl("webdev")
    desk.wait(hours=1)
    hidden = desk.world.post("webdev", "Hidden at once")
    desk.world.remove(hidden)
    fill(desk, "webdev", 300)
    desk.crawl("webdev")
    desk.world.approve(hidden)
    for _ in range(8):
        desk.wait(hours=1)
        fill(desk, "webdev", 140)
        desk.crawl("webdev")
    assert hidden in stored()
    assert desk.community("webdev").gap_count == 0
