from __future__ import annotations

import pytest

from watchbook.base.testing.people import client_of
from watchbook.core.stream.entries import record
from watchbook.core.stream.tests.conftest import entry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]


def ids(person, **asked):
    response = client_of(person).get("/api/v1/stream", asked)
    assert response.status_code == 200
    return [item["object_id"] for item in response.json()["items"]]


def test_entries_are_listed_and_filtered(alice):
    record([entry(1), entry(2, kind="new", hours=1), entry(3, source="maps", hours=2)])
    assert ids(alice) == ["3", "2", "1"]
    assert ids(alice, source="forum", kind="new") == ["2"]
    assert ids(alice, since="2026-03-02T05:00:00Z") == ["3", "2"]
    assert ids(alice, until="2026-03-02T05:00:00Z") == ["1"]
    assert ids(alice, since="0001-01-01T00:00:00+14:00") == ["3", "2", "1"]


def test_system_that_is_not_there_is_refused_and_not_an_empty_list(alice):
    answer = client_of(alice).get("/api/v1/stream", {"source": "forun"})
    assert answer.status_code == 422
    (detail,) = answer.json()["error"]["details"]
    assert detail["field"] == "source"
    assert "forum" in detail["message"]
    answer = client_of(alice).get("/api/v1/stream", {"source": "forum", "kind": "bogus"})
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["kind"]


def test_entry_has_a_whole_address_and_its_facts(alice):
    record([entry(1, "an edit", data={"added": 3})])
    (item,) = client_of(alice).get("/api/v1/stream").json()["items"]
    assert item["url"] == "http://127.0.0.1:8000/things/1"
    assert (item["title"], item["data"]) == ("an edit", {"added": 3})


def test_pages_follow_by_cursor(alice):
    record([entry(number, hours=number // 2) for number in range(5)])
    client = client_of(alice)
    first = client.get("/api/v1/stream", {"limit": 3}).json()
    second = client.get("/api/v1/stream", {"limit": 3, "cursor": first["next"]}).json()
    assert [item["object_id"] for item in first["items"] + second["items"]] == ["4", "3", "2", "1", "0"]
    assert second["next"] is None


def test_users_read_only_their_own_items(alice, bob):
    record([entry(1, scope=f"user:{alice.pk}"), entry(2, scope="staff")])
    assert ids(alice) == ["1"]
    assert ids(bob) == []
    assert client_of().get("/api/v1/stream").status_code == 401


def test_unread_entries_are_listed_marked_and_counted(alice, bob):
    record([entry(number, hours=-number) for number in range(5)] + [entry(9, scope=f"user:{bob.pk}")])
    client = client_of(alice)
    assert ids(alice, unread="true") == ["4", "3", "2", "1", "0"]
    items = {item["object_id"]: item["id"] for item in client.get("/api/v1/stream").json()["items"]}
    given = [items["1"], items["3"], items["4"] + 1]
    answer = client.post("/api/v1/stream/read", {"ids": given}, content_type="application/json").json()
    unknown = [items["4"] + 1]
    assert answer == {"marked": 2, "unread": 3, "unknown_ids": unknown, "has_more": False, "is_left": False}
    assert ids(alice, unread="true") == ["4", "2", "0"]
    flags = {item["object_id"]: item["unread"] for item in client.get("/api/v1/stream").json()["items"]}
    assert flags == {"0": True, "1": False, "2": True, "3": False, "4": True}
    client.post("/api/v1/stream/unread", {"ids": [items["1"]]}, content_type="application/json")
    assert client.get("/api/v1/stream/unread").json() == {"unread": 4, "has_more": False}
    answer = client.post("/api/v1/stream/read-all", {"source": "forum"}, content_type="application/json").json()
    assert (answer["marked"], answer["unread"]) == (4, 0)
    assert client_of(bob).get("/api/v1/stream/unread").json()["unread"] == 6


def test_pages_of_unread_entries_follow_by_cursor(alice):
    record([entry(number) for number in range(5)])
    client = client_of(alice)
    first = client.get("/api/v1/stream", {"limit": 3, "unread": "true"}).json()
    second = client.get("/api/v1/stream", {"limit": 3, "unread": "true", "cursor": first["next"]}).json()
    assert [item["object_id"] for item in first["items"] + second["items"]] == ["4", "3", "2", "1", "0"]
    assert client.get("/api/v1/stream", {"cursor": first["next"]}).status_code == 422


@pytest.mark.parametrize(
    "given", [{"ids": []}, {"ids": [0]}, {"ids": [2**70]}, {"ids": list(range(1, 1002))}, {"id": 1}]
)
def test_ids_that_cannot_be_are_refused(alice, given):
    answer = client_of(alice).post("/api/v1/stream/read", given, content_type="application/json")
    assert answer.status_code == 422
