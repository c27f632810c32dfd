from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search import saved as actions
from watchbook.core.search.models import SavedSearch
from watchbook.core.search.tests.test_query import HOSTILE
from watchbook.core.search.views import place_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]


def page(person, **asked):
    return client_of(person).get("/search/", asked)


def text(response):
    return response.content.decode()


def test_hits_are_shown_with_their_marks(put, alice):
    put(1, "The old Harbour", "旧港口的灯塔")
    shown = text(page(alice, q="harbour 灯塔"))
    assert "The old <mark>Harbour</mark>" in shown
    assert "旧港口的<mark>灯塔</mark>" in shown
    assert 'href="/things/1"' in shown


def test_what_a_source_wrote_is_text_not_markup(put, alice):
    put(1, "<script>alert(1)</script> harbour", '<img src=x onerror="alert(1)"> harbour', url_path='/"><script>')
    shown = text(page(alice, q='harbour "<script>"'))
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    assert "&lt;<mark>script</mark>&gt;" in shown


def test_titles_of_other_users_are_not_in_the_page(put, alice, bob, operator):
    put(1, "harbour of Alice", scope=f"user:{alice.pk}")
    put(2, "harbour of operators", scope="staff")
    assert "of Alice" in text(page(alice, q="harbour")).replace("<mark>harbour</mark> ", "")
    assert "of Alice" not in text(page(bob, q="harbour"))
    assert "of operators" not in text(page(bob, q="harbour"))
    assert "of operators" in text(page(operator, q="harbour"))
    assert "of Alice" not in text(page(operator, q="harbour"))


def test_filters_count_and_select_one_system(put, alice):
    put(1, "harbour")
    put(2, "harbour", kind="floor")
    put(3, "harbour", kind="page", source="shelf")
    shown = squeezed(text(page(alice, q="harbour", source="shelf")))
    assert "/things/3" in shown
    assert "/things/1" not in shown
    assert "Everything<span>3</span>" in shown
    assert "Forum<span>2</span>" in shown
    assert "Shelf<span>1</span>" in shown


def test_more_leads_on(put, alice):
    for number in range(35):
        put(number, f"harbour {number}", hours=number)
    first = page(alice, q="harbour")
    assert first.context["found"].next
    second = page(alice, q="harbour", cursor=first.context["found"].next)
    assert len(second.context["found"].rows) == 5


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_query_breaks_the_page(put, alice, number):
    put(1, "a harbour")
    assert page(alice, q=HOSTILE[number].encode("utf-8", "surrogatepass")).status_code == 200


@pytest.mark.parametrize(
    "asked",
    [
        {"since": "nonsense"},
        {"since": "0001-01-01"},
        {"since": "9999-12-31"},
        {"source": "nothing"},
        {"cursor": "nonsense"},
    ],
)
def test_what_cannot_be_read_is_not_asked(put, alice, asked):
    put(1, "harbour")
    assert "/things/1" in text(page(alice, q="harbour", **asked))


def test_page_takes_a_bounded_number_of_queries(put, alice):
    for number in range(40):
        put(number, f"harbour {number}")
    page(alice, q="harbour")
    with CaptureQueriesContext(connection) as captured:
        page(alice, q="harbour")
    assert len(captured) <= 36


def test_search_is_saved_with_its_channels_and_system(put, alice):
    channel = NotificationChannel.objects.create(user=alice, name="desk", channel_type="email")
    put(1, "harbour")
    client = client_of(alice)
    shown = text(client.get("/search/", {"q": "harbour", "source": "forum"}))
    assert "desk" in shown
    given = {"q": "harbour", "source": "forum", "name": "Harbours", "channels": [str(channel.pk)]}
    assert client.post(reverse("save_search"), given).status_code == 302

    saved = SavedSearch.objects.get()
    assert (saved.user, saved.name, saved.query, saved.kinds) == (alice, "Harbours", "harbour", ["topic", "floor"])
    assert list(saved.channels.all()) == [channel]
    assert "Harbours" in text(client.get("/search/"))


def test_refused_search_keeps_what_was_typed(alice):
    actions.save(alice, name="Harbours", query="harbour")
    client = client_of(alice)
    again = client.post(reverse("save_search"), {"q": "lighthouse", "name": "Harbours"})
    assert again.status_code == 422
    assert "You already have a saved search with this name." in text(again)
    assert 'value="Harbours"' in text(again)
    assert client.post(reverse("save_search"), {"q": "%%%", "name": "x"}).status_code == 422


def test_another_users_channel_cannot_be_chosen(alice, bob):
    channel = NotificationChannel.objects.create(user=bob, name="his", channel_type="email")
    client = client_of(alice)
    refused = client.post(reverse("save_search"), {"q": "harbour", "name": "x", "channels": [str(channel.pk)]})
    assert refused.status_code == 422
    assert not SavedSearch.objects.exists()


def test_saved_search_is_edited_with_types_and_a_channel_that_came_later(put, alice):
    saved = actions.save(alice, name="Harbours", query="harbour")
    actions.save(alice, name="Lights", query="light")
    channel = NotificationChannel.objects.create(user=alice, name="desk", channel_type="email", is_active=False)
    client = client_of(alice)
    assert reverse("edit_search", args=[saved.pk]) in text(client.get("/search/"))
    address = reverse("edit_search", args=[saved.pk])
    shown = squeezed(text(client.get(address)))
    assert 'value="Harbours"' in shown
    assert "Forum, Topics" in shown
    assert f"/channels/add/?next={address.replace('/', '%2F')}" in shown

    given = {"name": "Lights", "q": "harbour light", "kinds": ["topic"], "channels": [str(channel.pk)]}
    refused = client.post(address, given)
    assert refused.status_code == 422
    assert "You already have a saved search with this name." in text(refused)
    assert client.post(address, given | {"name": "x", "q": "%%%"}).status_code == 422
    assert client.post(address, given | {"name": "x", "kinds": ["nothing"]}).status_code == 422

    assert client.post(address, given | {"name": "Harbour lights"}).status_code == 302
    saved.refresh_from_db()
    assert (saved.name, saved.query, saved.kinds) == ("Harbour lights", "harbour light", ["topic"])
    assert list(saved.channels.all()) == [channel]


def test_saved_search_shows_its_matches_per_day(put, alice):
    put(1, "harbour", occurred_at=clock.now())
    put(2, "lighthouse", occurred_at=clock.now())
    saved = actions.save(alice, name="Harbours", query="harbour")
    shown = text(client_of(alice).get(reverse("edit_search", args=[saved.pk])))
    assert "Matches per day" in shown
    assert "1 match in 30 days" in shown


def test_only_its_owner_edits_a_saved_search(matrix, alice):
    saved = actions.save(alice, name="Harbours", query="harbour")
    for method in ("GET", "POST"):
        statuses = matrix.statuses(method, reverse("edit_search", args=[saved.pk]))
        assert statuses == {
            "anonymous": 302,
            "alice": 200 if method == "GET" else 422,
            "bob": 404,
            "charlie": 404,
            "operator": 404,
        }


@pytest.mark.parametrize("what", ["pause_search", "remove_search"])
def test_only_its_owner_changes_a_saved_search(matrix, alice, what):
    saved = actions.save(alice, name="Harbours", query="harbour")
    address = reverse(what, args=[saved.pk])
    statuses = matrix.statuses("POST", address)
    assert statuses == {"anonymous": 302, "alice": 302, "bob": 404, "charlie": 404, "operator": 404}
    assert SavedSearch.objects.filter(is_active=True).count() == 0


@pytest.mark.parametrize(
    ("system", "kind", "shown"),
    [
        ("Reddit", "Reddit posts", "Reddit posts"),
        ("Notes", "Notes", "Notes"),
        ("Sitemaps", "Sitemap changes", "Sitemap changes"),
        ("Forum", "Topics", "Forum, Topics"),
        ("站点地图", "站点地图变化", "站点地图变化"),
        ("Shelf", "", "Shelf"),
    ],
)
def test_hit_does_not_name_its_system_twice(system, kind, shown):
    assert place_of(system, kind) == shown


def test_form_shows_what_the_search_would_have_matched(put, alice):
    put(1, "harbour")
    put(2, "harbour", scope="staff")
    assert "Would have matched 1 item in the last 7 days" in squeezed(text(page(alice, q="harbour")))
    live = client_of(alice).get("/search/preview/", {"q": "harbour OR lighthouse", "source": "shelf"})
    assert "Would have matched 0 items in the last 7 days" in squeezed(text(live))


def test_help_names_the_sources_and_types_of_this_server(alice):
    shown = text(page(alice))
    assert "in:forum" in shown
    assert "subject, floor, page" in shown
