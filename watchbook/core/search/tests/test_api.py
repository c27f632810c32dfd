from __future__ import annotations

import json
from uuid import uuid4

import pytest

from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts import tokens
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search.models import SavedSearch
from watchbook.core.search.tests.test_query import HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]


@pytest.fixture
def call(alice):
    """Call as Alice, with a token."""
    _token, plain = tokens.make(alice, ["read", "write"])

    def made(method, address, data=None, **asked):
        client = client_of()
        headers = {"Authorization": f"Bearer {plain}"}
        if method == "GET":
            return client.get(f"/api/v1{address}", asked, headers=headers)
        body = json.dumps(data or {})
        return client.generic(method, f"/api/v1{address}", body, content_type="application/json", headers=headers)

    return made


def test_search_answers_with_marks_and_whole_addresses(put, call):
    put(1, "Old Harbour", "旧港口")
    found = call("GET", "/search", q="harbour 港口").json()
    assert found["next"] is None
    (item,) = found["items"]
    assert (item["kind"], item["id"], item["source"]) == ("topic", "1", "forum")
    assert item["url"].endswith("/things/1")
    assert item["url"].startswith("http")
    assert {"text": "Harbour", "is_match": True} in item["title_parts"]
    assert {"text": "港口", "is_match": True} in item["body_parts"]


def test_search_is_filtered_by_kind_and_paged(put, call):
    for number in range(5):
        put(number, "harbour", kind="floor" if number % 2 else "topic", hours=number)
    first = call("GET", "/search", q="harbour", kind="topic", limit=2).json()
    rest = call("GET", "/search", q="harbour", kind="topic", limit=2, cursor=first["next"]).json()
    assert [item["id"] for item in first["items"] + rest["items"]] == ["4", "2", "0"]
    assert rest["next"] is None


def test_search_shows_users_only_their_own_items(put, call, bob):
    put(1, "harbour", scope=f"user:{bob.pk}")
    assert call("GET", "/search", q="harbour").json()["items"] == []


def test_cursor_from_elsewhere_is_invalid(put, call):
    put(1, "harbour")
    refused = call("GET", "/search", q="harbour", cursor="nonsense")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_cursor")


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_query_breaks_the_endpoint(put, call, number):
    put(1, "a harbour")
    assert call("GET", "/search", q=HOSTILE[number].encode("utf-8", "surrogatepass")).status_code == 200


def test_saved_search_is_made_listed_paused_and_removed(call, alice):
    channel = NotificationChannel.objects.create(user=alice, name="desk", channel_type="email")
    given = {"name": "Harbours", "query": "harbour", "kinds": ["topic"], "channel_ids": [str(channel.pk)]}
    made = call("POST", "/saved-searches", given)
    assert made.status_code == 201
    assert made.json()["channel_ids"] == [str(channel.pk)]
    listed = call("GET", "/saved-searches").json()["items"]
    assert [(item["name"], item["is_active"]) for item in listed] == [("Harbours", True)]
    address = f"/saved-searches/{made.json()['id']}"
    assert call("PATCH", address, {"is_active": False}).json()["is_active"] is False
    changed = call("PATCH", address, {"query": "lighthouse", "kinds": [], "channel_ids": []}).json()
    assert [changed[name] for name in ("name", "query", "kinds", "channel_ids")] == ["Harbours", "lighthouse", [], []]
    assert changed["is_active"] is False
    assert call("PATCH", address, {"name": "", "query": "x"}).status_code == 422
    assert call("PATCH", address, {"channel_ids": [str(uuid4())]}).status_code == 422
    assert call("PATCH", address, {"names": "x"}).status_code == 422
    assert call("DELETE", address).status_code == 204
    assert call("DELETE", address).status_code == 404


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"name": "x", "query": ""},
        {"name": "x", "query": "%%%"},
        {"name": "", "query": "harbour"},
        {"name": "x" * 500, "query": "harbour"},
        {"name": "x", "query": "w " * 500},
        {"name": "x", "query": "harbour", "kinds": ["nothing"]},
        {"name": "x", "query": "harbour", "channel_ids": ["7c9e6679-7425-40de-944b-e07fc1f90ae7"]},
        {"name": "x", "query": "harbour", "channel_ids": ["nonsense"]},
    ],
)
def test_saved_search_that_makes_no_sense_is_invalid(call, given):
    assert call("POST", "/saved-searches", given).status_code == 422
    assert not SavedSearch.objects.exists()


def test_two_saved_searches_of_one_name_are_refused(call):
    given = {"name": "Harbours", "query": "harbour"}
    assert call("POST", "/saved-searches", given).status_code == 201
    assert call("POST", "/saved-searches", given).status_code == 422


def test_saved_search_is_its_owners_alone(call, bob):
    made = call("POST", "/saved-searches", {"name": "Harbours", "query": "harbour"}).json()
    stranger = client_of(bob)
    assert stranger.get("/api/v1/saved-searches").json()["items"] == []
    assert stranger.delete(f"/api/v1/saved-searches/{made['id']}").status_code in {403, 404}
    assert SavedSearch.objects.count() == 1


def test_unknown_kind_is_refused(call):
    refused = call("GET", "/search", q="harbour", kind="bogus")
    assert refused.status_code == 422
    assert refused.json()["error"]["details"][0]["field"] == "kind"


def test_query_language_in_the_api_and_its_preview(put, call):
    put(1, "harbour", author="Alice", place="7", score=150)
    put(2, "harbour", author="Bob")
    put(3, "lighthouse", author="Alice")

    def ids(query):
        return sorted(item["id"] for item in call("GET", "/search", q=query).json()["items"])

    assert ids("harbour OR lighthouse") == ["1", "2", "3"]
    assert ids("author:alice -lighthouse") == ["1"]
    assert ids("in:forum/7 score>=100 type:subject") == ["1"]
    assert ids("colour:harbour") == []
    assert call("GET", "/search/preview", q="author:alice").json() == {"matches": 2, "is_whole": True, "days": 7}
    days = call("GET", "/search/mentions", q="author:alice").json()["items"]
    assert (len(days), sum(day["matches"] for day in days)) == (30, 0)
    put(4, "harbour", author="Alice", occurred_at=clock.now())
    days = call("GET", "/search/mentions", q="author:alice").json()["items"]
    assert [day["matches"] for day in days] == [0] * 29 + [1]
    assert call("GET", "/search/preview", q="harbour", kind="floor").json()["matches"] == 0
    assert call("GET", "/search/preview", q="harbour", kind="none").status_code == 422
