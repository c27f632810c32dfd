"""The Atom feed of a monitor: opened by its token, by nobody else's, and by none that was revoked."""

from __future__ import annotations

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from watchbook.core.accounts import tokens
from watchbook.core.stream import feeds as stream_feeds
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.tests.builders import START, browser, make_change, make_monitor

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def monitor(alice):
    made = make_monitor(alice, name="Shop & <sons>")
    make_change(made, START, added=["https://www.example.com/a?x=1&y=<2>"], removed=["https://www.example.com/b"])
    make_change(made, START + timedelta(hours=1), modified=["https://www.example.com/c"])
    return made


def make_address(person, monitor):
    page = browser(person).post(reverse("sitemaps:own_feed", args=[monitor.pk])).text
    assert 'data-copy="address"' in page
    return re.search(r"<code[^>]* id=\"address\">https?://[^/]+(/sitemaps/feeds/[^<]+)</code>", page)[1]


def test_feed_lists_the_changes_newest_first(monitor, alice):
    answer = Client().get(make_address(alice, monitor))
    assert answer.headers["Content-Type"].startswith("application/atom+xml")
    root = ElementTree.fromstring(answer.content)
    entries = root.findall(f"{ATOM}entry")
    assert root.findtext(f"{ATOM}title") == "Watchbook: Shop & <sons>"
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == ["Shop & <sons>: ~1", "Shop & <sons>: +1 −1"]
    assert "https://www.example.com/b" in entries[1].findtext(f"{ATOM}summary")
    assert "<2>" not in entries[1].findtext(f"{ATOM}summary")
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    again = ElementTree.fromstring(Client().get(make_address(alice, monitor)).content)
    assert [entry.findtext(f"{ATOM}id") for entry in again.findall(f"{ATOM}entry")] == ids


def test_reader_that_has_it_gets_304(monitor, alice):
    address = make_address(alice, monitor)
    tag = Client().get(address).headers["ETag"]
    assert Client().get(address, headers={"If-None-Match": tag}).status_code == 304
    make_change(monitor, START + timedelta(hours=2), added=["https://www.example.com/d"])
    assert Client().get(address, headers={"If-None-Match": tag}).status_code == 200


def test_revoked_address_is_not_there(monitor, alice):
    address = make_address(alice, monitor)
    feed = stream_feeds.of(alice).get()
    client = browser(alice)
    assert client.post(reverse("sitemaps:revoke_feed", args=[monitor.pk, feed.pk])).status_code == 302
    assert Client().get(address).status_code == 404


def test_token_opens_its_own_monitor_only(monitor, alice):
    other = make_monitor(alice, 2, name="Another")
    token = make_address(alice, monitor).split("/")[3]
    assert Client().get(reverse("sitemaps:feed", args=[token, other.pk])).status_code == 404
    entries = ElementTree.fromstring(Client().get(reverse("feed_atom", args=[token])).content)
    assert entries.findall(f"{ATOM}entry") == []


def test_activity_token_opens_all_monitors_of_its_owner(monitor, alice, bob):
    _, plain = stream_feeds.make(alice, name="Everything")
    assert Client().get(reverse("sitemaps:feed", args=[plain, monitor.pk])).status_code == 200
    _, other = stream_feeds.make(alice, name="Forum", source="nga")
    assert Client().get(reverse("sitemaps:feed", args=[other, monitor.pk])).status_code == 404
    _, foreign = stream_feeds.make(bob, name="Everything")
    assert Client().get(reverse("sitemaps:feed", args=[foreign, monitor.pk])).status_code == 404


def test_neither_garbage_nor_an_api_token_opens_a_feed(monitor, alice):
    _, plain = tokens.make(alice, ["read"])
    for token in (plain, "wb_" + "x" * 51, "x"):
        assert Client().get(reverse("sitemaps:feed", args=[token, monitor.pk])).status_code == 404


def test_deleted_monitor_has_no_feed(monitor, alice):
    address = make_address(alice, monitor)
    actions.delete(monitor)
    assert Client().get(address).status_code == 404


def test_address_is_shown_once(monitor, alice):
    token = make_address(alice, monitor).split("/")[3]
    page = browser(alice).get(reverse("sitemaps:own_feed", args=[monitor.pk])).text
    assert token not in page
    assert token[:11] in page


def test_feed_of_a_chinese_user_is_chinese(monitor, alice):
    alice.language = "zh-hans"
    alice.save()
    make_change(monitor, START + timedelta(hours=3), added=[f"https://www.example.com/{n}" for n in range(40)])
    root = ElementTree.fromstring(Client().get(make_address(alice, monitor)).content)
    assert root.get("{http://www.w3.org/XML/1998/namespace}lang") == "zh-Hans"
    assert "另有 10 个" in root.find(f"{ATOM}entry").findtext(f"{ATOM}summary")
