"""One community is added, tagged and removed on the page, in the API and by command; the page of an author."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.models import JobRun
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.cli import group
from watchbook.systems.reddit.jobs import crawl_community
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, PostRaw
from watchbook.systems.reddit.tests.pages import boss, filled, reader, text_of

pytestmark = pytest.mark.django_db

__all__ = ["boss", "filled", "reader"]

API = "/api/v1/reddit/communities"
JSON = {"content_type": "application/json"}


def test_page_adds_a_community_by_address_and_queues_its_first_crawl(filled, boss):
    given = {
        "name": "https://old.reddit.com/r/Gardening/top/?t=day",
        "tier": "high",
        "categories": "plants， home,Plants",
    }
    answer = boss.post("/reddit/add/", given, follow=True)
    assert answer.redirect_chain[0][0] == "/reddit/r/Gardening/"
    assert "r/Gardening added. The first crawl is due now." in text_of(answer)
    row = CommunityPool.objects.get(name="r/Gardening")
    assert (row.tier, row.categories) == ("high", ["plants", "home"])
    assert JobRun.objects.live().get(name="reddit.community").args == {"community": "r/Gardening"}
    assert boss.get("/reddit/?tag=PLANTS").context["listing"].rows.get().community_name == "r/Gardening"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "r/WEBDEV"}, "This community is already in the list."),
        ({"name": "two words"}, "is not a community name"),
        ({"name": "r/fine", "tier": "urgent"}, "urgent"),
        ({"name": "r/fine", "categories": "a" * 61}, "tags of 60 characters"),
    ],
)
def test_page_refuses_by_field(filled, boss, given, words):
    answer = boss.post("/reddit/add/", {"tier": "low", **given})
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert CommunityPool.objects.count() == 2


def test_api_adds_tags_and_removes_for_operators_only(filled, boss, reader):
    body = {"name": "gardening", "tier": "low", "categories": ["plants"]}
    assert reader.post(API, body, **JSON).status_code == 403
    made = boss.post(API, body, **JSON)
    assert (made.status_code, made.json()["priority"], made.json()["categories"]) == (201, "low", ["plants"])
    assert boss.post(API, body, **JSON).status_code == 409
    assert boss.post(API, {**body, "name": "a b"}, **JSON).status_code == 422
    assert boss.post(API, {**body, "colour": "red"}, **JSON).status_code == 422
    path = f"{API}/gardening"
    assert boss.patch(path, {"categories": ["a", " A ", "b"]}, **JSON).json()["categories"] == ["a", "b"]
    assert reader.get(path).json()["categories"] == ["a", "b"]
    assert [row["community_name"] for row in reader.get(API, {"tag": "b"}).json()["items"]] == ["r/gardening"]
    assert reader.delete(path).status_code == 403
    assert boss.delete(path).status_code == 204
    assert boss.delete(path).status_code == 404


def test_removed_community_keeps_its_posts_and_is_crawled_no_more(filled, scanner, boss):
    assert "4 stored posts are kept" in text_of(boss.get("/reddit/r/webdev/remove/"))
    assert "r/webdev removed. 4 posts are kept." in text_of(boss.post("/reddit/r/webdev/remove/", follow=True))
    assert not CommunityCache.objects.filter(community_name="r/webdev").exists()
    assert PostRaw.objects.current().filter(subreddit="r/webdev").count() == 4
    assert AuditEvent.objects.get(event="reddit.removed").subject == "r/webdev"
    assert boss.get("/reddit/r/webdev/")["Location"] == "/reddit/posts/?community=webdev"
    assert boss.get("/reddit/r/nowhere/").status_code == 404
    scanner.wait(hours=30)
    before = scanner.site.log.count("/r/webdev/new")
    scanner.run("reddit.incremental")
    assert scanner.site.log.count("/r/webdev/new") == before


def test_community_removed_while_it_is_read_fails_nothing(filled, scanner, monkeypatch):
    read = crawl_community.read_new

    def remove_then_read(community, **given):
        listing = read(community, **given)
        if community.community_name == "r/webdev":
            actions.remove_community("webdev")
        return listing

    monkeypatch.setattr(crawl_community, "read_new", remove_then_read)
    scanner.world.post("webdev", "After the removal")
    scanner.wait(hours=30)
    run = scanner.run("reddit.incremental")
    assert (run.state, run.progress["crawled"], run.error) == ("done", 1, "")
    assert not PostRaw.objects.filter(title="After the removal").exists()


def test_commands_add_and_remove(filled):
    made = CliRunner().invoke(group, ["add", "r/gardening", "--priority", "low", "--tag", "plants", "--json"])
    assert json.loads(made.output)["community"] == "r/gardening"
    assert CommunityPool.objects.get(name="r/gardening").categories == ["plants"]
    again = CliRunner().invoke(group, ["add", "gardening"])
    assert (again.exit_code, "already in the list" in again.output) == (1, True)
    gone = CliRunner().invoke(group, ["remove", "webdev", "--json"])
    assert json.loads(gone.output) == {"removed": "webdev", "posts_kept": 4}
    assert CliRunner().invoke(group, ["remove", "webdev"]).exit_code == 1


def test_tags_are_saved_on_the_page_and_filter_posts(filled, boss, reader):
    assert "Tags saved." in text_of(boss.post("/reddit/r/webdev/tags/", {"categories": "web, work"}, follow=True))
    assert CommunityPool.objects.get(name="r/webdev").categories == ["web", "work"]
    assert len(reader.get("/reddit/posts/?tag=Web").context["post_rows"]) == 4
    assert len(reader.get("/reddit/posts/?tag=other").context["post_rows"]) == 0


def test_author_page_and_api_show_posts_and_communities(filled, reader):
    page = reader.get("/reddit/u/somebody/")
    assert "1 stored post" in text_of(page)
    assert [each.row.title for each in page.context["post_rows"]] == ["A compass"]
    assert reader.get("/reddit/u/SomeBody/")["Location"] == "/reddit/u/somebody/"
    answer = reader.get("/api/v1/reddit/authors/SOMEBODY").json()
    assert (answer["author"], answer["posts"]) == ("somebody", 1)
    assert answer["communities"] == [{"community_name": "r/webdev", "posts": 1}]
    for path in ("/reddit/u/stranger/", "/reddit/u/%00/", "/reddit/u/a b/", "/api/v1/reddit/authors/stranger"):
        assert reader.get(path).status_code == 404


def test_erased_author_has_no_page(filled, reader, boss):
    actions.erase_posts(author="somebody", actor=None, reason="asked")
    assert reader.get("/reddit/u/somebody/").status_code == 404


def test_odd_author_name_breaks_no_list(filled, reader):
    PostRaw.objects.current().filter(title="A compass").update(author="a/b%0a")
    assert reader.get("/reddit/posts/").status_code == 200
