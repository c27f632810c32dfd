"""The endpoints, the clip and the card: members read, operators change."""

from __future__ import annotations

import pytest

from watchbook.base import clock
from watchbook.core.stream.clip import find_clip
from watchbook.sources.reddit.card import card


@pytest.fixture
def filled(desk):
    desk.add("webdev", "golang")
    for number in range(3):
        desk.world.post("webdev", f"Lantern {number}", f"Text {number}")
    post = desk.world.post("webdev", "A compass", "Text A")
    desk.run("reddit.incremental")
    desk.world.edit(post, "Text B")
    desk.wait(hours=3)
    desk.run("reddit.recheck")
    return post


def get(client, path, **query):
    return client.get(f"/api/v1/reddit{path}", query)


def test_members_read_and_strangers_do_not(filled, matrix):
    for path in ("/communities", "/communities/r/webdev", "/posts", f"/posts/{filled}/versions", "/metrics"):
        statuses = matrix.statuses("GET", f"/api/v1/reddit{path}")
        assert statuses == {"anonymous": 401, "alice": 200, "bob": 200, "charlie": 200, "operator": 200}, path


def test_communities(filled, alice, signed_in):
    client = signed_in(alice)
    page = get(client, "/communities", limit=1).json()
    assert [row["community_name"] for row in page["items"]] == ["r/golang"]
    rest = get(client, "/communities", limit=1, cursor=page["next"]).json()
    assert ([row["community_name"] for row in rest["items"]], rest["next"]) == (["r/webdev"], None)
    one = get(client, "/communities/webdev").json()
    assert one["success_hit"] == 1
    assert len(one["posts"]) == 4
    assert get(client, "/communities/nowhere").status_code == 404


def test_posts_and_versions(filled, alice, signed_in):
    client = signed_in(alice)
    assert len(get(client, "/posts", community="r/webdev").json()["items"]) == 4
    edited = get(client, "/posts", state="edited").json()["items"]
    assert [(post["source_post_id"], post["version"], post["content"]) for post in edited] == [(filled, 2, "Text B")]
    assert get(client, "/posts", community="golang").json()["items"] == []
    assert len(get(client, "/posts", q="lantern").json()["items"]) == 3
    items = get(client, f"/posts/{filled}/versions").json()["items"]
    assert [(item["number"], item["content"], item["reason"]) for item in items] == [
        (1, "Text A", "posted"),
        (2, "Text B", "edited"),
    ]
    assert get(client, "/posts/zzzzzz/versions").status_code == 404


def test_metrics(filled, alice, signed_in):
    items = get(signed_in(alice), "/metrics").json()["items"]
    assert sum(item["total_new_posts"] for item in items) == 4
    assert get(signed_in(alice), "/metrics?hours=-1").status_code == 422


def test_only_operators_change_a_community(filled, alice, operator, signed_in):
    path = "/api/v1/reddit/communities/webdev"
    asked = {"content_type": "application/json"}
    assert signed_in(alice).patch(path, {"tier": "high"}, **asked).status_code == 403
    changed = signed_in(operator).patch(path, {"tier": "high", "is_active": False}, **asked).json()
    assert (changed["crawl_frequency_hours"], changed["is_active"]) == (2, False)
    assert signed_in(operator).patch(path, {"tier": "urgent"}, **asked).status_code == 422


def test_a_post_can_be_filed(filled, alice):
    clip = find_clip("reddit_post", filled, alice)
    assert (clip.title, clip.text, clip.version) == ("A compass", "Text B", "2")
    assert find_clip("reddit_post", "zzzzzz", alice) is None


def test_the_card(filled, desk, alice, rf, django_assert_max_num_queries):
    request = rf.get("/")
    request.user = alice
    with clock.set_to(desk.now), django_assert_max_num_queries(4):
        made = card(request)
    assert (made.number, made.trend[-1]) == (4, 4)
