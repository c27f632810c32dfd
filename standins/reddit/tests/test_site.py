"""What the official client never shows: vanished anchors, ceilings, mishaps, the control desk, life."""

from __future__ import annotations

import base64
import json
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest

from standins.reddit import Life, Nature, RedditSite, World

START = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
AGENT = "test:watchbook-standin:1 (by /u/made-up)"


@pytest.fixture
def site():
    with RedditSite(slim=True) as made:
        made.world.hold_time(START)
        made.world.add_community("webdev")
        yield made


def ask(site, path):
    if not site.tokens:
        pair = base64.b64encode(b"made-up-client:made-up-secret").decode()
        request = urllib.request.Request(site.token_url, data=b"grant_type=client_credentials")
        request.add_header("Authorization", f"Basic {pair}")
        urllib.request.urlopen(request).close()
    token = next(iter(site.tokens))
    request = urllib.request.Request(site.address(path), headers={"User-Agent": AGENT})
    request.add_header("Authorization", f"bearer {token}")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["data"]


def ids(data):
    return [child["data"]["id"] for child in data["children"]]


def test_removed_anchor_gives_empty_page_unknown_one_first_page(site):
    made = [site.world.post("webdev", f"Lantern {n}") for n in range(10)]
    site.world.remove(made[5])
    assert ids(ask(site, f"/r/webdev/new?after=t3_{made[5]}")) == []
    assert ids(ask(site, "/r/webdev/new?after=t3_nonsense")) == [key for key in made[::-1] if key != made[5]]
    assert ids(ask(site, f"/r/webdev/new?after=t3_{made[4]}")) == made[3::-1]


def test_listing_is_limited_to_1000_entries(site):
    made = [site.world.post("webdev", f"Lantern {n}") for n in range(1100)]
    home = site.world.community("WebDev")
    assert list(home.order) == made[100:]
    assert made[0] in site.world.posts  # by id it can still be had
    assert ids(ask(site, f"/api/info?id=t3_{made[0]}")) == [made[0]]


def test_ledger_contains_served_texts(site):
    post = site.world.post("webdev", "A lantern", "A")
    site.world.edit(post, "B")  # nobody saw A
    ask(site, "/r/webdev/new")
    site.world.edit(post, "A")
    ask(site, "/r/webdev/new")
    ask(site, "/r/webdev/new")
    assert [text for _, text in site.world.posts[post].shown] == ["B", "A"]
    assert site.world.posts[post].texts() == ["A", "B", "A"]


def test_control_requests_change_the_world(site):
    body = json.dumps({"name": "webdev", "title": "By remote control"}).encode()
    with urllib.request.urlopen(site.address("/_standin/do/post"), data=body) as answer:
        post = json.load(answer)["result"]
    with urllib.request.urlopen(site.address("/_standin/ledger")) as answer:
        assert json.load(answer)["posts"][post]["state"] == "live"


def test_busiest_window_uses_server_clock(site):
    for _ in range(5):
        ask(site, "/r/webdev/new")
    assert site.busiest(60) == site.log.count() == 6
    assert site.busiest(1e-9) == 1


def test_simulation_is_deterministic_for_a_seed():
    def lived():
        world = World()
        life = Life(
            world, [f"madeup{n}" for n in range(20)], START, 5, seed=4, nature=Nature(bursts=1, private=1, banned=1)
        )
        life.until(START + timedelta(days=5))
        return world

    first, second = lived(), lived()
    assert [post.texts() for post in first.posts.values()] == [post.texts() for post in second.posts.values()]
    kinds = {kind for post in first.posts.values() for _, kind, _ in post.history}
    assert kinds == {"posted", "edited", "removed", "approved", "deleted"}
    late = [p for p in first.posts.values() if p.listed_at and p.listed_at - p.created_at > timedelta(hours=1)]
    assert late
    assert max(len(home.posts) for home in first.communities.values()) > 1300
    assert {home.status for home in first.communities.values()} == {"open", "banned"}


def test_newest_comments_with_thread_parent_and_placeholders(site):
    post = site.world.post("webdev", "A thread", "Text", author="keeper")
    first = site.world.comment(post, "First", author="keeper")
    second = site.world.comment(post, "Second", parent=first)
    site.world.remove(second)
    assert ids(ask(site, "/r/webdev/comments")) == [first]
    child, hidden = ask(site, f"/api/info?id=t1_{first},t1_{second}")["children"]
    assert (child["kind"], child["data"]["link_id"], child["data"]["link_title"]) == ("t1", f"t3_{post}", "A thread")
    assert (child["data"]["parent_id"], child["data"]["is_submitter"]) == (f"t3_{post}", True)
    assert (hidden["data"]["body"], hidden["data"]["author"]) == ("[removed]", "[deleted]")
    assert hidden["data"]["parent_id"] == f"t1_{first}"
    assert ask(site, "/r/webdev/new")["children"][0]["data"]["num_comments"] >= 2


def test_listing_of_comments_pages_stubs_and_ceiling(site):
    post = site.world.post("webdev", "A thread")
    made = [site.world.comment(post, f"Comment {n}") for n in range(1100)]
    site.mishaps.stub = 1
    page = ask(site, f"/r/webdev/comments?limit=100&after=t1_{made[500]}")
    assert [child["kind"] for child in page["children"]] == ["t1"] * 100 + ["more"]
    assert page["after"] == f"t1_{made[400]}"
    assert len(site.world.newest_comments(site.world.community("webdev"))) == 1000
