"""Pool files, tiers and the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from django.core.files.uploadedfile import SimpleUploadedFile

from watchbook.systems.reddit import actions
from watchbook.systems.reddit.cli import group
from watchbook.systems.reddit.models import CommunityCache, CommunityPool
from watchbook.systems.reddit.pool import SAMPLE, InvalidPoolFile, read_entries, read_pool
from watchbook.systems.reddit.store import communities
from watchbook.systems.reddit.tests.conftest import START


def run(*words):
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    return result.exit_code, (json.loads(result.stdout) if "--json" in words else result.stdout)


def test_sample_contains_200_communities():
    entries = read_pool(SAMPLE).entries
    assert len(entries) == len({entry.name.lower() for entry in entries}) == 200
    assert {entry.tier for entry in entries} == {"high", "medium", "low"}


def test_csv_and_json_give_the_same_entries(tmp_path):
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
        ("a.json", "[]", "contains no communities"),
        ("a.json", '[{"name": "r/a b"}]', "Entry 1"),
        ("a.json", '[{"name": "../../etc"}]', "Entry 1"),
        ("a.json", '["webdev", {"name": "seo", "tier": "urgent"}]', "Entry 2"),
        ("a.json", '[{"name": "seo", "quality_score": "NaN"}]', "quality_score"),
        ("a.csv", "community\nwebdev\n", "first line"),
    ],
)
def test_invalid_file_names_the_entry(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidPoolFile, match=says):
        read_pool(path)


@pytest.mark.django_db
def test_import_adds_and_updates_but_never_removes(tmp_path):
    path = tmp_path / "pool.json"
    path.write_text('["webdev", "SEO"]')
    assert run("load-pool", str(path), "--json") == (0, {"added": 2, "updated": 0, "total": 2})
    path.write_text('[{"name": "r/WebDev", "tier": "high"}, {"name": "golang", "is_active": false}]')
    assert run("load-pool", str(path), "--json") == (0, {"added": 1, "updated": 1, "total": 3})
    assert CommunityPool.objects.get(name="r/webdev").tier == "high"  # one spelling for one community
    assert set(CommunityCache.objects.active().values_list("community_name", flat=True)) == {"r/webdev", "r/SEO"}


@pytest.mark.django_db
def test_invalid_file_changes_nothing(tmp_path):
    path = tmp_path / "pool.json"
    path.write_text('["webdev", "not a name"]')
    code, said = run("load-pool", str(path), "--json")
    assert (code, said["error"]["code"]) == (1, "wrong_pool")
    assert CommunityPool.objects.count() == 0


@pytest.mark.django_db
def test_crawl_command_reports_every_community(scanner):
    scanner.add("webdev", "golang")
    scanner.world.post("webdev", "A lantern", "Copper.")
    now = START.isoformat()
    code, said = run("crawl", "--now", now, "--json")
    assert code == 0
    assert [line["community"] for line in said["communities"]] == ["r/golang", "r/webdev"]
    assert said["http_request_count"] == scanner.site.log.count()
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
def test_crawl_command_fails_without_credentials(db, monkeypatch):
    monkeypatch.delenv("REDDIT_CLIENT_ID", raising=False)
    code, said = run("crawl", "--json")
    assert (code, said["error"]["code"]) == (1, "not_configured")


@pytest.mark.django_db
def test_tiers_follow_averages_and_priority_caps_hours(scanner):
    scanner.add("quiet", "usual", "busy", tier="low")
    scanner.add("dear", tier="high")
    for name, posts in (("quiet", 10), ("usual", 98), ("busy", 300), ("dear", 5)):
        for _ in range(posts):
            scanner.world.post(name, "Lantern")
    scanner.run("reddit.incremental", detailed=True)
    rows = {name: scanner.community(name) for name in ("quiet", "usual", "busy", "dear")}
    assert {name: (row.quality_tier, row.crawl_frequency_hours) for name, row in rows.items()} == {
        "quiet": ("tier3", 24), "usual": ("tier2", 6), "busy": ("tier1", 2), "dear": ("tier3", 2),
    }  # fmt: skip
    found = run("tiers", "--json")[1]
    assert (found["tier1"], found["tier2"]) == (["r/busy"], ["r/usual"])
    CommunityCache.objects.update(quality_tier="tier3")
    run("tiers", "--apply", "--json")
    assert scanner.community("busy").quality_tier == "tier1"


@pytest.mark.django_db
def test_busier_community_moves_from_tier_3_to_tier_1(scanner):
    scanner.add("sleepy", tier="low")
    scanner.world.post("sleepy", "Alone")
    scanner.crawl("sleepy")
    assert scanner.community("sleepy").quality_tier == "tier3"
    for _ in range(8):
        scanner.wait(hours=24)
        for _ in range(40):
            scanner.world.post("sleepy", "Lantern")
        scanner.crawl("sleepy")
    row = scanner.community("sleepy")
    assert (row.quality_tier, row.crawl_frequency_hours, row.avg_valid_posts) == ("tier1", 2, 40)


@pytest.mark.django_db
def test_due_times_respect_maximum_and_budget(scanner, monkeypatch):
    scanner.add("quiet", "busy", tier="low")
    for _ in range(300):
        scanner.world.post("busy", "Lantern")
    scanner.crawl("quiet")
    scanner.crawl("busy")
    quiet, busy = scanner.community("quiet"), scanner.community("busy")
    assert busy.next_due < quiet.next_due  # more is found there
    monkeypatch.setenv("REDDIT_SCHEDULER", "tiers")
    planner = communities.Planner(scanner.now)
    assert (planner.next_due(busy, scanner.now) - scanner.now).total_seconds() == 2 * 3600
    monkeypatch.setenv("REDDIT_SCHEDULER", "adaptive")
    monkeypatch.setenv("REDDIT_DAILY_REQUEST_BUDGET", "1")
    planner = communities.Planner(scanner.now)
    assert (planner.next_due(busy, scanner.now) - scanner.now).total_seconds() <= 2 * 3600


@pytest.mark.django_db
def test_disabled_community_is_not_crawled(scanner, operator):
    scanner.add("webdev")
    scanner.crawl("webdev")
    actions.set_active("webdev", False, actor=operator)
    assert scanner.run("reddit.incremental").outcome == "nothing_to_do"
    row = actions.set_active("r/webdev", True, actor=operator)
    assert row.is_active
    assert actions.crawl_community_soon("webdev") is not None
    assert actions.crawl_community_soon("webdev") is None  # one is waiting


FORMS = [
    "webdev",
    " r/webdev ",
    "R/webdev",
    "/r/webdev/",
    "https://www.reddit.com/r/webdev/new/",
    "old.reddit.com/r/webdev",
]


@pytest.mark.parametrize("form", FORMS)
def test_import_accepts_common_forms_of_a_name(form):
    assert [entry.name for entry in read_entries(f"Name\n{form}\n".encode(), "a.csv").entries] == ["r/webdev"]
    assert [entry.name for entry in read_entries(json.dumps([form]).encode(), "a.json").entries] == ["r/webdev"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_import_accepts_separators_and_spaced_headers(separator):
    rows = [[" Name ", "TIER", "Categories"], ["R/webdev", " High ", "web|work"], ["", "", ""], ["golang", "", ""]]
    text = "\n".join(separator.join(row) for row in rows)
    found = read_entries(text.encode(), "a.csv")
    assert [(entry.name, entry.tier, entry.categories) for entry in found.entries] == [
        ("r/webdev", "high", ("web", "work")),
        ("r/golang", "medium", ()),
    ]
    assert found.notes == []


@pytest.mark.django_db
def test_import_reports_what_it_ignored_by_line(tmp_path, operator, signed_in):
    path = tmp_path / "pool.csv"
    path.write_text("name,tier,colour\nwebdev,high,red\ngolang,low,blue,more,fields\nR/WebDev,low,green\n")
    code, said = run("load-pool", str(path), "--json")
    assert (code, said["added"], said["total"]) == (0, 2, 2)
    assert (said["unknown_columns"], said["surplus_fields"], said["duplicates"]) == (1, 1, 1)
    assert [note.split(":")[0] for note in said["notes"]] == ["Line 1", "Line 3", "Line 2"]
    assert "Line 3: 2 surplus fields were ignored." in run("load-pool", str(path))[1]
    file = SimpleUploadedFile("pool.csv", path.read_bytes())
    page = signed_in(operator).post("/reddit/pool/", {"file": file}, follow=True, headers={"Accept-Language": "en"})
    assert "Line 3: 2 surplus fields were ignored." in page.content.decode()


def test_import_refuses_every_invalid_line_by_number():
    text = "name,tier\nwebdev,high\nnot a name,low\ngolang,urgent\n"
    with pytest.raises(InvalidPoolFile) as refused:
        read_entries(text.encode(), "a.csv")
    assert "Line 3: " in str(refused.value)
    assert "Line 4: tier is 'urgent'" in str(refused.value)


@pytest.mark.parametrize("tags", ["x" * 61, "|".join(f"t{number}" for number in range(51))])
def test_import_refuses_long_and_too_many_categories_by_line(tags):
    with pytest.raises(InvalidPoolFile, match="Line 2: At most 50 tags of 60 characters are allowed"):
        read_entries(f"name,categories\nwebdev,{tags}\n".encode(), "a.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "name,tier,Tier\nwebdev,high,low\n"),
        ("a.json", '[{"name": "webdev", "Name": "golang"}]'),
    ],
)
def test_import_refuses_repeated_columns(name, text):
    with pytest.raises(InvalidPoolFile, match="appears more than once"):
        read_entries(text.encode(), name)


def test_import_refuses_misplaced_quotation_marks_by_line():
    with pytest.raises(InvalidPoolFile, match="Line 3"):
        read_entries(b'name,tier\ngolang,high\n"webdev"x,low\n', "a.csv")
