"""Scores over time: points at the rechecks, what rises, and a row for each crawl with its outcome."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.systems.reddit.models import CommunityCache, Crawl, PostPoint, PostRaw
from watchbook.systems.reddit.tests.conftest import START
from watchbook.systems.reddit.tests.pages import boss, reader, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

__all__ = ["boss", "reader"]

# The stand-in lets a score grow by 70 % of its base per hour, for a day.


def points(post: str) -> list[tuple[int, int]]:
    return list(PostPoint.objects.filter(source_post_id=post).order_by("at").values_list("step", "score"))


def look(scanner, *, after_hours: float) -> None:
    scanner.now = START + timedelta(hours=after_hours)
    scanner.world.hold_time(scanner.now)
    scanner.run("reddit.recheck")


def test_each_recheck_stores_a_point(scanner):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A lantern", "Text", score=10)
    scanner.crawl("webdev")
    for hours in (2, 24, 72):
        look(scanner, after_hours=hours)
        scanner.run("reddit.recheck")  # nothing is due: no further point
    assert points(post) == [(0, 10), (1, 24), (2, 178), (3, 178)]
    rates = PostPoint.objects.filter(source_post_id=post).order_by("at").values_list("per_hour", flat=True)
    assert [rate and round(rate, 2) for rate in rates] == [None, 7.0, 7.0, 0.0]


def test_rechecks_ask_for_a_hundred_posts_per_request(scanner):
    scanner.add("webdev")
    for number in range(150):
        scanner.world.post("webdev", f"Lantern {number}")
    for _ in range(2):
        scanner.crawl("webdev")
    assert PostRaw.objects.count() == 150
    before = scanner.site.log.count("/api/info")
    look(scanner, after_hours=2)
    assert scanner.site.log.count("/api/info") - before == 2
    assert PostPoint.objects.filter(step=1).count() == 150


def test_outage_costs_no_recheck(scanner):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A lantern", score=10)
    scanner.crawl("webdev")
    secrets, scanner.site.clients = scanner.site.clients, {}
    scanner.site.expire_tokens()
    look(scanner, after_hours=2)
    assert points(post) == [(0, 10)]
    scanner.site.clients = secrets
    look(scanner, after_hours=26)  # later than the second age: the point belongs to that one
    look(scanner, after_hours=72)
    assert points(post) == [(0, 10), (2, 178), (3, 178)]


def usual_day(scanner) -> str:
    """Twelve usual posts that were measured, then three new ones; give the one that gets 40 times the points."""
    scanner.add("webdev")
    for number in range(12):
        scanner.world.post("webdev", f"Usual {number}", score=10)
    scanner.crawl("webdev")
    look(scanner, after_hours=2)
    scanner.wait(hours=24)
    slow = [scanner.world.post("webdev", f"Slow {number}", score=10) for number in range(2)]
    fast = scanner.world.post("webdev", "Fast", "Text", score=400)
    scanner.crawl("webdev")
    scanner.wait(hours=2)
    scanner.run("reddit.recheck")
    assert not PostRaw.objects.filter(source_post_id__in=slow, rising__gte=2).exists()
    return fast


def test_rising_compares_with_the_usual_of_the_community(scanner, reader):
    fast = usual_day(scanner)
    assert PostRaw.objects.get(source_post_id=fast).rising == pytest.approx(40, abs=0.5)
    assert CommunityCache.objects.get().usual_rates == {"1": pytest.approx(7.0)}
    with clock.set_to(scanner.now):
        shown = reader.get("/reddit/posts/?rising=1")
        assert [each.row.title for each in shown.context["post_rows"]] == ["Fast"]
        assert "times the usual points per hour" in text_of(shown)
        assert reader.get("/reddit/posts/?order=rising").context["post_rows"][0].row.title == "Fast"
    found = reader.get("/api/v1/reddit/posts", {"rising": "true"}).json()["items"]
    assert [(item["title"], item["rising"] > 30) for item in found] == [("Fast", True)]


def test_edited_post_keeps_rising_and_removed_post_does_not(scanner):
    fast = usual_day(scanner)
    scanner.world.edit(fast, "Another text")
    scanner.wait(minutes=30)
    scanner.crawl("webdev")
    row = PostRaw.objects.get(source_post_id=fast, is_current=True)
    assert (row.version, row.rising > 30) == (2, True)
    scanner.world.remove(fast)
    scanner.wait(hours=24)
    scanner.run("reddit.recheck")
    assert PostRaw.objects.get(source_post_id=fast, is_current=True).rising == 0


def test_community_without_measurements_has_no_rising_posts(scanner):
    scanner.add("webdev")
    scanner.world.post("webdev", "Fast", score=4000)
    scanner.crawl("webdev")
    look(scanner, after_hours=2)
    assert PostRaw.objects.get().rising == 0


def test_post_page_draws_the_curve_and_api_lists_the_points(scanner, reader):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A lantern", score=10)
    scanner.crawl("webdev")
    assert "Available after the first recheck." in text_of(reader.get(f"/reddit/posts/{post}/"))
    look(scanner, after_hours=2)
    page = text_of(reader.get(f"/reddit/posts/{post}/"))
    assert "Score and comments at 2 checks; last score 24." in page
    items = reader.get(f"/api/v1/reddit/posts/{post}/points").json()["items"]
    assert [(item["step"], item["score"]) for item in items] == [(0, 10), (1, 24)]
    assert reader.get("/api/v1/reddit/posts/zzzzzz/points").status_code == 404


def test_each_crawl_writes_one_row_with_its_outcome(scanner, reader):
    scanner.add("webdev", "golang", tier="high")
    scanner.world.post("webdev", "A lantern")
    scanner.crawl("webdev")
    scanner.world.set_status("golang", "private")
    scanner.crawl("golang")
    scanner.wait(hours=3)
    scanner.site.mishaps.fail = 1
    scanner.run("reddit.community", community="webdev")
    scanner.site.mishaps.fail = 0
    rows = Crawl.objects.filter(kind="new").order_by("pk").values_list("community_name", "outcome", "new_posts")
    assert list(rows) == [("r/webdev", "ok", 1), ("r/golang", "private", 0), ("r/webdev", "upstream", 0)]
    assert sum(Crawl.objects.values_list("requests", flat=True)) == scanner.site.log.count()
    with clock.set_to(scanner.now):
        shown = reader.get("/reddit/crawls/?outcome=private")
        assert [row.community_name for row, _path in shown.context["crawls"]] == ["r/golang"]
        assert "Private" in text_of(shown)
        assert len(reader.get("/reddit/crawls/?community=WebDev").context["crawls"]) == 2
    found = reader.get("/api/v1/reddit/crawls", {"community": "golang"}).json()["items"]
    assert [(item["outcome"], item["kind"]) for item in found] == [("private", "new")]
    assert reader.get("/api/v1/reddit/crawls", {"outcome": "sunny"}).status_code == 422


def test_old_crawl_rows_are_deleted(scanner):
    scanner.add("webdev")
    scanner.crawl("webdev")
    scanner.wait(days=91)
    assert scanner.run("reddit.clean_crawls").progress["removed"] == 1
    assert not Crawl.objects.exists()
