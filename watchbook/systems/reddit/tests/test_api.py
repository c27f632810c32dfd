"""The endpoints, the clip and the card: members read, operators change."""

from __future__ import annotations

import pytest

from watchbook.base import clock
from watchbook.core.stream.clip import find_clip
from watchbook.systems.reddit.card import card
from watchbook.systems.reddit.tests.conftest import START


@pytest.fixture
def filled(scanner):
    scanner.add("webdev", "golang")
    for number in range(3):
        scanner.world.post("webdev", f"Lantern {number}", f"Text {number}")
    post = scanner.world.post("webdev", "A compass", "Text A")
    scanner.run("reddit.incremental")
    scanner.world.edit(post, "Text B")
    scanner.wait(hours=3)
    scanner.run("reddit.recheck")
    return post


def get(client, path, **query):
    return client.get(f"/api/v1/reddit{path}", query)


def test_api_users_read_and_anonymous_is_rejected(filled, matrix):
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


def test_api_community_change_requires_operator(filled, alice, operator, signed_in):
    path = "/api/v1/reddit/communities/webdev"
    asked = {"content_type": "application/json"}
    assert signed_in(alice).patch(path, {"tier": "high"}, **asked).status_code == 403
    changed = signed_in(operator).patch(path, {"tier": "high", "is_active": False}, **asked).json()
    assert (changed["crawl_frequency_hours"], changed["is_active"]) == (2, False)
    assert signed_in(operator).patch(path, {"tier": "urgent"}, **asked).status_code == 422


def test_clip_contains_current_text_and_version(filled, alice):
    clip = find_clip("reddit_post", filled, alice)
    assert (clip.title, clip.text, clip.version) == ("A compass", "Text B", "2")
    assert find_clip("reddit_post", "zzzzzz", alice) is None


def test_card_shows_new_posts_in_four_queries(filled, scanner, alice, rf, django_assert_max_num_queries):
    request = rf.get("/")
    request.user = alice
    with clock.set_to(scanner.now), django_assert_max_num_queries(4):
        made = card(request)
    assert (made.number, made.trend[-1]) == (4, 4)


def ids(answer):
    return {item["source_post_id"] for item in answer.json()["items"]}


def test_posts_q_searches_titles_and_texts(filled, alice, signed_in):
    client = signed_in(alice)
    assert ids(get(client, "/posts", q="Text B")) == {filled}  # only in the text
    assert len(ids(get(client, "/posts", q="lantern"))) == 3
    first = get(client, "/posts", q="lantern", limit=2).json()
    rest = get(client, "/posts", q="lantern", limit=2, cursor=first["next"]).json()
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (2, 1, None)
    assert get(client, "/posts", q="lantern", cursor="nonsense").status_code == 422
    assert ids(get(client, "/posts", q="lantern", community="golang")) == set()


def test_posts_until_is_applied(filled, scanner, alice, signed_in):
    client = signed_in(alice)
    assert ids(get(client, "/posts", until=START.isoformat())) == set()
    assert len(ids(get(client, "/posts", since=START.isoformat(), until=scanner.now.isoformat()))) == 4


@pytest.mark.parametrize("name", ["made-up-reader", "Made-Up-Reader", "u/made-up-reader", "/u/MADE-UP-READER"])
def test_posts_author_ignores_case_and_prefix(filled, alice, signed_in, name):
    assert len(ids(get(signed_in(alice), "/posts", author=name))) == 4


def test_versions_and_metrics_accept_a_limit(filled, scanner, alice, signed_in):
    client = signed_in(alice)
    first = get(client, f"/posts/{filled}/versions", limit=1).json()
    rest = get(client, f"/posts/{filled}/versions", limit=1, cursor=first["next"]).json()
    assert [item["number"] for item in first["items"] + rest["items"]] == [1, 2]
    assert rest["next"] is None
    assert get(client, f"/posts/{filled}/versions", cursor="nonsense").status_code == 422
    assert len(get(client, "/metrics").json()["items"]) == 2
    assert len(get(client, "/metrics", limit=1).json()["items"]) == 1
    assert get(client, "/metrics", limit=0).status_code == 422
