from __future__ import annotations

import json
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.urls import reverse

from watchbook.base.testing.people import client_of
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import ApiToken, AuditEvent
from watchbook.core.stream import feeds
from watchbook.core.stream.entries import record
from watchbook.core.stream.feeds import Feed, Item, atom, json_feed, stable_id
from watchbook.core.stream.models import StreamFeed
from watchbook.core.stream.tests.conftest import NOON, entry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]

ATOM = "{http://www.w3.org/2005/Atom}"
HEAD = Feed(stable_id("test"), "A feed", "/stream/", "/feeds/x/stream.atom")


@pytest.fixture
def made(alice):
    """The path of a feed of Alice's, by ending."""
    _feed, plain = feeds.make(alice, name="Reader")
    return lambda ending="atom": f"/feeds/{plain}/stream.{ending}"


def read(address, **headers):
    return client_of().get(address, headers=headers)


def entries(response):
    return ElementTree.fromstring(response.content).findall(f"{ATOM}entry")


def titles(response):
    return [each.findtext(f"{ATOM}title") for each in entries(response)]


def test_feed_is_valid_atom_with_stable_ids(made):
    record([entry(1, "an edit", summary="two\nlines", hours=1), entry(2, "another", hours=2)])
    response = read(made())
    assert response["Content-Type"] == "application/atom+xml; charset=utf-8"
    root = ElementTree.fromstring(response.content)
    assert root.findtext(f"{ATOM}id").startswith("urn:uuid:")
    assert root.findtext(f"{ATOM}updated") == "2026-03-02T06:00:00+00:00"
    assert root.find(f"{ATOM}author/{ATOM}name").text == "Watchbook"
    assert titles(response) == ["another", "an edit"]
    ids = [each.findtext(f"{ATOM}id") for each in entries(response)]
    assert len(set(ids)) == 2
    assert all(name.startswith("urn:uuid:") for name in ids)
    assert ids == [each.findtext(f"{ATOM}id") for each in entries(read(made()))]
    for each in entries(response):
        assert each.find(f"{ATOM}link").get("href").startswith("http")
        assert each.findtext(f"{ATOM}updated")


def test_reader_that_has_it_gets_304(made):
    record([entry(1)])
    first = read(made())
    assert read(made(), if_none_match=first["ETag"]).status_code == 304
    assert read(made("json"), if_none_match=read(made("json"))["ETag"]).status_code == 304
    record([entry(2)])
    assert read(made(), if_none_match=first["ETag"]).status_code == 200
    assert first["Cache-Control"] == "private, no-cache"


def test_empty_feed_is_the_same_at_every_request(made):
    assert read(made())["ETag"] == read(made())["ETag"]


def test_json_feed(made):
    record([entry(1, "an edit", summary="text", data={"added": 3})])
    response = read(made("json"))
    assert response["Content-Type"].startswith("application/feed+json")
    document = json.loads(response.content)
    (item,) = document["items"]
    assert document["version"] == "https://jsonfeed.org/version/1.1"
    assert (item["title"], item["_watchbook"]["data"]) == ("an edit", {"added": 3})
    assert item["content_text"] == "Floor edited\ntext"


def test_markup_of_a_source_is_text_in_the_feed(made):
    record([entry(1, "<script>alert(1)</script> & ]]>", summary="<img src=x onerror=alert(1)> \x0b")])
    (each,) = entries(read(made()))
    assert each.findtext(f"{ATOM}title") == "<script>alert(1)</script> & ]]>"
    summary = each.find(f"{ATOM}summary")
    assert summary.get("type") == "html"
    assert "<img" not in summary.text
    assert "&lt;img src=x" in summary.text


def test_feed_shows_what_its_owner_may_see_now(alice, bob, made):
    record(
        [
            entry(1, "mine", scope=f"user:{alice.pk}"),
            entry(2, "his", scope=f"user:{bob.pk}"),
            entry(3, "ops", scope="staff"),
        ]
    )
    assert titles(read(made())) == ["mine"]
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    assert sorted(titles(read(made()))) == ["mine", "ops"]
    alice.is_active = False
    alice.save(update_fields=["is_active"])
    assert read(made()).status_code == 404


def test_feed_keeps_its_filters(alice):
    record([entry(1, "edit"), entry(2, "topic", kind="new"), entry(3, "map", source="maps", kind="changed")])
    _feed, plain = feeds.make(alice, name="topics", source="forum", kind="new")
    assert titles(read(f"/feeds/{plain}/stream.atom")) == ["topic"]


@pytest.mark.parametrize("token", ["x", "wb_" + "a" * 51, "é" * 54, "a" * 5000, "wb_aaaaaaaa%00" + "b" * 40])
def test_token_that_is_none_finds_nothing(token):
    assert read(f"/feeds/{token}/stream.atom").status_code == 404


def test_api_token_reads_no_feed_and_a_feed_token_calls_no_api(alice):
    _token, api = tokens.make(alice, ["read"])
    _feed, feed = feeds.make(alice, name="Reader")
    assert read(f"/feeds/{api}/stream.atom").status_code == 404
    assert read("/api/v1/stream", authorization=f"Bearer {feed}").status_code == 401


def test_only_the_digest_of_the_token_is_kept(alice):
    _feed, plain = feeds.make(alice, name="Reader")
    token = ApiToken.objects.get()
    assert plain not in (token.digest, token.prefix, token.name)
    assert (token.purpose, token.scopes, token.expires_at) == ("feed", ["read"], None)


def test_address_is_shown_once_and_works(alice):
    record([entry(1, "an edit"), entry(2, "a map", source="maps", kind="changed")])
    client = client_of(alice)
    assert "Uses the filter of the previous page" in client.get("/stream/feeds/", {"source": "forum"}).content.decode()
    made = client.post("/stream/feeds/", {"name": "Reader", "source": "forum"})
    address = made.context["addresses"][0]
    assert f'id="1-address">{address}<' in made.content.decode()
    assert 'data-copy="1-address"' in made.content.decode()
    assert titles(read(address.removeprefix("http://127.0.0.1:8000"))) == ["an edit"]
    token = address.split("/feeds/")[1].split("/")[0]
    assert token not in client.get("/stream/feeds/").content.decode()


def test_revoked_feed_answers_nothing(alice, bob, made):
    feed = StreamFeed.objects.get()
    assert client_of(bob).post(reverse("revoke_feed", args=[feed.pk])).status_code == 404
    assert read(made()).status_code == 200
    assert client_of(alice).post(reverse("revoke_feed", args=[feed.pk])).status_code == 302
    assert read(made()).status_code == 404
    assert AuditEvent.objects.filter(event="token.revoked").count() == 1


def test_person_has_a_bounded_number_of_feeds(alice, monkeypatch):
    monkeypatch.setattr(feeds, "MOST", 1)
    client = client_of(alice)
    assert client.post("/stream/feeds/", {"name": "one"}).status_code == 200
    assert client.post("/stream/feeds/", {"name": "two"}).status_code == 422
    assert StreamFeed.objects.count() == 1


def test_feed_is_only_read(made):
    assert client_of().post(made()).status_code == 405


def test_system_makes_its_own_feed():
    items = [Item(stable_id("x", 1), "T\x00itle", "", "javascript:alert(1)", NOON, NOON - timedelta(days=1), ("a",))]
    root = ElementTree.fromstring(atom(HEAD, items))
    each = root.find(f"{ATOM}entry")
    assert each.findtext(f"{ATOM}title") == "Title"
    assert each.find(f"{ATOM}link").get("href") == "http://127.0.0.1:8000/"
    assert each.findtext(f"{ATOM}published") == "2026-03-01T04:00:00+00:00"
    assert json.loads(json_feed(HEAD, items))["items"][0]["tags"] == ["a"]
