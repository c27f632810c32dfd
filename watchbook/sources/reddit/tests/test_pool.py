"""Pool files, tiers and the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from watchbook.sources.reddit import actions
from watchbook.sources.reddit.cli import group
from watchbook.sources.reddit.models import CommunityCache, CommunityPool
from watchbook.sources.reddit.pool import SAMPLE, WrongPool, read_pool
from watchbook.sources.reddit.store import communities
from watchbook.sources.reddit.tests.conftest import START


def run(*words):
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    return result.exit_code, (json.loads(result.stdout) if "--json" in words else result.stdout)


def test_the_sample_has_two_hundred_communities():
    entries = read_pool(SAMPLE)
    assert len(entries) == len({entry.name.lower() for entry in entries}) == 200
    assert {entry.tier for entry in entries} == {"high", "medium", "low"}


def test_csv_and_json_say_the_same(tmp_path):
    table = tmp_path / "pool.csv"
    table.write_text("name,tier,categories,quality_score,is_active\nr/webdev,high,code;web,0.8,true\nSEO,low,,,no\n")
    listed = tmp_path / "pool.json"
    rows = [
        {"name": "webdev", "tier": "high", "categories": ["code", "web"], "quality_score": 0.8},
        {"name": "r/SEO", "tier": "low", "is_active": False},
    ]
    listed.write_text(json.dumps({"communities": rows}))
    assert read_pool(table) == read_pool(listed)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "nonsense", "not JSON"),
        ("a.json", "[]", "names no community"),
        ("a.json", '[{"name": "r/a b"}]', "Entry 1"),
        ("a.json", '[{"name": "../../etc"}]', "Entry 1"),
        ("a.json", '["webdev", {"name": "seo", "tier": "urgent"}]', "Entry 2"),
        ("a.json", '[{"name": "seo", "quality_score": "NaN"}]', "quality_score"),
        ("a.csv", "community\nwebdev\n", "first line"),
    ],
)
def test_a_wrong_file_says_where(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WrongPool, match=says):
        read_pool(path)


@pytest.mark.django_db
def test_loading_adds_and_changes_and_removes_nothing(tmp_path):
    path = tmp_path / "pool.json"
    path.write_text('["webdev", "SEO"]')
    assert run("load-pool", str(path), "--json") == (0, {"added": 2, "updated": 0, "total": 2})
    path.write_text('[{"name": "r/WebDev", "tier": "high"}, {"name": "golang", "is_active": false}]')
    assert run("load-pool", str(path), "--json") == (0, {"added": 1, "updated": 1, "total": 3})
    assert CommunityPool.objects.get(name="r/webdev").tier == "high"  # one spelling for one community
    assert set(CommunityCache.objects.active().values_list("community_name", flat=True)) == {"r/webdev", "r/SEO"}


@pytest.mark.django_db
def test_a_wrong_pool_changes_nothing(tmp_path):
    path = tmp_path / "pool.json"
    path.write_text('["webdev", "not a name"]')
    code, said = run("load-pool", str(path), "--json")
    assert (code, said["error"]["code"]) == (1, "wrong_pool")
    assert CommunityPool.objects.count() == 0


@pytest.mark.django_db
def test_the_crawl_command(desk):
    desk.add("webdev", "golang")
    desk.world.post("webdev", "A lantern", "Copper.")
    now = START.isoformat()
    code, said = run("crawl", "--now", now, "--json")
    assert code == 0
    assert [line["community"] for line in said["communities"]] == ["r/golang", "r/webdev"]
    assert said["http_request_count"] == desk.site.log.count()
    assert set(said["communities"][0]) == {
        "community", "new_posts", "updated_posts", "duplicates", "watermark_updated", "duration_seconds",
        "http_request_count", "outcome", "possible_gap",
    }  # fmt: skip
    assert run("crawl", "--now", now, "--json") == (0, {"communities": [], "http_request_count": 0})
    assert len(run("crawl", "r/webdev", "--now", now, "--json")[1]["communities"]) == 1  # named: due or not
    assert len(run("crawl", "--force", "--now", now, "--json")[1]["communities"]) == 2
    assert len(run("crawl", "--mode", "batch", "--now", now, "--json")[1]["communities"]) == 2
    assert run("crawl", "--mode", "low-quality", "--now", now, "--json")[1]["communities"] == []
    code, said = run("crawl", "r/unknown", "--json")
    assert (code, said["error"]["code"]) == (1, "unknown_community")
    assert "2 communities" in run("crawl", "--force", "--now", now)[1]


@pytest.mark.django_db
def test_the_crawl_command_without_credentials(db, monkeypatch):
    monkeypatch.delenv("REDDIT_CLIENT_ID", raising=False)
    code, said = run("crawl", "--json")
    assert (code, said["error"]["code"]) == (1, "not_configured")


@pytest.mark.django_db
def test_tiers_follow_the_averages_and_the_wish_caps_the_hours(desk):
    desk.add("quiet", "usual", "busy", tier="low")
    desk.add("dear", tier="high")
    for name, posts in (("quiet", 10), ("usual", 98), ("busy", 300), ("dear", 5)):
        for _ in range(posts):
            desk.world.post(name, "Lantern")
    desk.run("reddit.incremental", detailed=True)
    rows = {name: desk.community(name) for name in ("quiet", "usual", "busy", "dear")}
    assert {name: (row.quality_tier, row.crawl_frequency_hours) for name, row in rows.items()} == {
        "quiet": ("tier3", 24), "usual": ("tier2", 6), "busy": ("tier1", 2), "dear": ("tier3", 2),
    }  # fmt: skip
    found = run("tiers", "--json")[1]
    assert (found["tier1"], found["tier2"]) == (["r/busy"], ["r/usual"])
    CommunityCache.objects.update(quality_tier="tier3")
    run("tiers", "--apply", "--json")
    assert desk.community("busy").quality_tier == "tier1"


@pytest.mark.django_db
def test_a_community_that_wakes_up_goes_from_tier_3_to_tier_1(desk):
    desk.add("sleepy", tier="low")
    desk.world.post("sleepy", "Alone")
    desk.crawl("sleepy")
    assert desk.community("sleepy").quality_tier == "tier3"
    for _ in range(8):
        desk.wait(hours=24)
        for _ in range(40):
            desk.world.post("sleepy", "Lantern")
        desk.crawl("sleepy")
    row = desk.community("sleepy")
    assert (row.quality_tier, row.crawl_frequency_hours, row.avg_valid_posts) == ("tier1", 2, 40)


@pytest.mark.django_db
def test_due_times_keep_the_promise_and_the_budget(desk, monkeypatch):
    desk.add("quiet", "busy", tier="low")
    for _ in range(300):
        desk.world.post("busy", "Lantern")
    desk.crawl("quiet")
    desk.crawl("busy")
    quiet, busy = desk.community("quiet"), desk.community("busy")
    assert busy.next_due < quiet.next_due  # more is found there
    monkeypatch.setenv("REDDIT_SCHEDULER", "tiers")
    planner = communities.Planner(desk.now)
    assert (planner.next_due(busy, desk.now) - desk.now).total_seconds() == 2 * 3600
    monkeypatch.setenv("REDDIT_SCHEDULER", "adaptive")
    monkeypatch.setenv("REDDIT_DAILY_REQUEST_BUDGET", "1")
    planner = communities.Planner(desk.now)
    assert (planner.next_due(busy, desk.now) - desk.now).total_seconds() <= 2 * 3600


@pytest.mark.django_db
def test_switching_a_community_off_and_on(desk, operator):
    desk.add("webdev")
    desk.crawl("webdev")
    actions.set_active("webdev", False, actor=operator)
    assert desk.run("reddit.incremental").outcome == "nothing_to_do"
    row = actions.set_active("r/webdev", True, actor=operator)
    assert row.is_active
    assert actions.visit_soon("webdev") is not None
    assert actions.visit_soon("webdev") is None  # one is waiting
