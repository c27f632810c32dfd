"""Feeds of a website and of one page: what they say, who can read them, and how they end."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from watchbook.base.testing.people import client_of
from watchbook.core.stream.models import StreamFeed
from watchbook.systems.pages import actions

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def page(desk):
    page = desk.watch("/piers/4", title="Pier 4", paragraphs=["The lift is out of service."], price="3.90")
    desk.read()
    desk.site.write("/piers/4", paragraphs=["The lift works again."], price="4.20")
    desk.read()
    return page


def make(client, own_page: str) -> str:
    """Create an address on the page and return its path."""
    shown = client.post(own_page).content.decode()
    found = re.search(r'id="address">https?://[^/]+([^<]+)<', shown)
    assert found, shown
    return found[1]


def entries(client, address: str) -> list[tuple[str, str]]:
    answer = client.get(address)
    assert answer["Content-Type"].startswith("application/atom+xml")
    tree = ElementTree.fromstring(answer.content)
    return [
        (entry.findtext(f"{ATOM}title"), entry.findtext(f"{ATOM}summary") or "") for entry in tree.iter(f"{ATOM}entry")
    ]


def test_feed_of_a_page_has_every_version_with_what_changed(desk, page, client, django_assert_max_num_queries):
    address = make(client_of(desk.user), f"/pages/{page.pk}/feed/")
    newest, first = entries(client, address)
    assert newest[0] == "Pier 4 (2)"
    assert "Price: 4.20" in newest[1]
    assert "− The lift is out of service." in newest[1]
    assert "+ The lift works again." in newest[1]
    # Noise is no part of it.
    assert "times" not in newest[1]
    assert "out of service" in first[1]
    with django_assert_max_num_queries(12):
        client.get(address)
    tag = client.get(address)["ETag"]
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304


def test_feed_of_a_website_has_its_changes(desk, page, client):
    address = make(client_of(desk.user), f"/pages/sites/{page.site_id}/feed/")
    ((title, text),) = entries(client, address)
    assert title == "Pier 4"
    assert page.url in text


def test_feed_of_a_rule_has_what_made_it_true(desk, page, client, bob):
    rule = actions.add_rule(page.site, condition="price < 4")
    actions.add_rule(page.site, condition="price > 9")
    for price in ("3.00", "10.00", "3.50"):
        desk.site.write("/piers/4", price=price)
        desk.read()
    address = make(client_of(desk.user), f"/pages/sites/{page.site_id}/rules/{rule.pk}/feed/")
    found = entries(client, address)
    assert [title for title, _text in found] == ["Pier 4", "Pier 4"]
    assert all("price &lt; 4" in text for _title, text in found)
    assert client_of(bob).get(f"/pages/sites/{page.site_id}/rules/{rule.pk}/feed/").status_code == 404
    (feed,) = StreamFeed.objects.all()
    own = f"/pages/sites/{page.site_id}/rules/{rule.pk}/feed/"
    assert client_of(desk.user).post(f"/pages/feeds/{feed.pk}/revoke/")["Location"] == own
    address = make(client_of(desk.user), own)
    actions.delete_rule(rule)
    assert client.get(address).status_code == 404


def test_token_opens_one_feed_and_ends(desk, page, client, bob):
    own = client_of(desk.user)
    address = make(own, f"/pages/{page.pk}/feed/")
    assert client.get(address.replace(f"page/{page.pk}", f"site/{page.site_id}")).status_code == 404
    assert client.get(address.replace("/page/", "/other/")).status_code == 404
    assert client_of(bob).get(f"/pages/{page.pk}/feed/").status_code == 404
    (feed,) = StreamFeed.objects.all()
    assert client_of(bob).post(f"/pages/feeds/{feed.pk}/revoke/").status_code == 404
    assert own.post(f"/pages/feeds/{feed.pk}/revoke/")["Location"] == f"/pages/{page.pk}/feed/"
    assert client.get(address).status_code == 404


def test_feed_of_a_deleted_website_is_gone(desk, page, client):
    address = make(client_of(desk.user), f"/pages/sites/{page.site_id}/feed/")
    actions.delete_site(page.site, desk.user)
    assert client.get(address).status_code == 404
