"""The inbox as a user sees it: groups, the pane, marking, saving several, and what is new."""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of
from watchbook.core import registry
from watchbook.core.registry import Source
from watchbook.core.stream import inbox, reading
from watchbook.core.stream.entries import record
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.tests.conftest import NOON, entry, forum
from watchbook.kit.diff import compare

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]


def ids():
    return list(StreamEntry.objects.order_by("pk").values_list("pk", flat=True))


def page(person, path="/stream/", **asked):
    response = client_of(person).get(path, asked)
    assert response.status_code == 200
    return squeezed(response.content.decode())


def test_repeats_of_one_day_are_one_row_with_their_sum(alice):
    record([entry(n, "Example Shop", data={"added": 8, "removed": 1}) for n in range(12)] + [entry(99, "Other")])
    shown = page(alice)
    assert shown.count('<li class="mail ') == 2
    assert "12 entries" in shown
    assert "+96" in shown
    reading.mark(alice, ids()[:3], read=True)
    assert page(alice).count('<li class="mail') - page(alice).count('<li class="mail-day') == 3


def test_unread_shows_unread_only_and_all_shows_both(alice):
    record([entry(1, "first"), entry(2, "second")])
    reading.mark(alice, ids()[:1], read=True)
    assert ">first<" not in page(alice, show="unread")
    assert ">second<" in page(alice, show="unread")
    assert ">first<" in page(alice)
    assert page(alice).count("mail--new") == 1


def test_pages_of_unread_entries_are_turned_by_arrival(alice, monkeypatch):
    monkeypatch.setattr(inbox, "PER_PAGE", 4)
    record([entry(number, f"no {number}", hours=-number) for number in range(10)])
    reading.mark(alice, ids()[::3], read=True)
    client, seen, address = client_of(alice), [], "/stream/?show=unread"
    while address:
        response = client.get(address)
        seen += [each.pk for each in response.context["page"].items]
        address = response.context["older_url"] if response.context["page"].older else ""
    assert seen == [pk for pk in reversed(ids()) if pk not in ids()[::3]]
    back = client.get(response.context["newer_url"]).context["page"]
    assert [each.pk for each in back.items] == seen[:4]


def test_entry_is_opened_beside_its_list_and_alone_for_htmx(alice, bob):
    record([entry(1, "Winter timetable", summary="The last ferry"), entry(2, "private", scope=f"user:{bob.pk}")])
    first, private = ids()
    whole = page(alice, f"/stream/{first}/")
    assert "The last ferry" in whole
    assert "panes-list" in whole
    part = client_of(alice).get(f"/stream/{first}/", headers={"HX-Request": "true", "HX-Target": "read"})
    assert "The last ferry" in part.text
    assert "panes-list" not in part.text
    assert client_of(alice).get(f"/stream/{private}/").status_code == 404
    assert client_of(alice).get(f"/stream/{10**30}/").status_code == 404


def test_marking_answers_what_the_page_needs(alice):
    record([entry(1), entry(2)])
    client = client_of(alice)
    answer = client.post(
        "/stream/mark/", {"ids": f"{ids()[0]},{ids()[1]}", "act": "read"}, headers={"HX-Request": "true"}
    )
    told = json.loads(answer["HX-Trigger"])
    assert answer.status_code == 204
    assert told["marked"]["unread"]["count"] == "0"
    assert client.post(told["toast"]["undo"]).status_code == 302
    assert "2 unread" in page(alice)


@pytest.mark.parametrize(
    "given",
    [{}, {"ids": "x", "act": "read"}, {"ids": "-1,0,99999999999999999999", "act": "read"}, {"ids": "1", "act": "drop"}],
)
def test_marking_nothing_changes_nothing(alice, given):
    record([entry(1)])
    assert client_of(alice).post("/stream/mark/", {**given, "next": "//evil.example"})["Location"] == "/stream/"
    assert "1 unread" in page(alice)


def test_all_matches_are_marked_until_the_page_was_loaded(alice):
    record([entry(1), entry(2, source="maps", kind="changed")])
    until = ids()[-1]
    record([entry(3)])
    client = client_of(alice)
    assert client.post("/stream/read-all/", {"until": until, "source": "forum"}).status_code == 302
    reader = reading.reader_of(alice)
    assert [each.object_id for each in reading.unread_entries(reader, reader.entries)] == ["3", "2"]
    client.post("/stream/read-all/", {"until": until})
    assert str(reading.count_unread(reading.reader_of(alice))) == "1"


def test_new_entries_are_counted_and_the_list_stays(alice, bob):
    record([entry(1)])
    after = ids()[-1]
    assert "New:" not in page(alice, "/stream/new/", after=after)
    record([entry(2), entry(3), entry(4, scope=f"user:{bob.pk}"), entry(5, source="maps", kind="changed")])
    assert "New: 3" in page(alice, "/stream/new/", after=after)
    assert "New: 2" in page(alice, "/stream/new/", after=after, source="forum")


def test_several_items_are_saved_together(alice, monkeypatch):
    made = (forum(), Source("library", "Library", "library", clip_page="library:clip"))
    monkeypatch.setattr(registry, "sources", lambda: made)
    record([entry(1), entry(2), entry(3, object_kind="board")])
    answer = client_of(alice).post("/stream/mark/", {"ids": [str(pk) for pk in ids()], "act": "save"})
    assert answer["Location"] == "/library/clip/?item=topic%3A2&item=topic%3A1"


def test_menu_counts_unread_entries(alice):
    assert 'class="count"' not in page(alice, "/keys/")
    record([entry(number) for number in range(3)])
    assert '<span class="count" data-unread-count>3</span>' in page(alice, "/keys/")


def test_dates_are_chosen_by_period_or_range(alice):
    record([entry(1, "old one", hours=-24 * 400), entry(2, "on the day")])
    assert "old one" not in page(alice, start="2026-03-01", end="2026-03-02")
    assert "on the day" in page(alice, start="2026-03-01", end="2026-03-02")
    assert "on the day" not in page(alice, period="today")


def test_last_week_is_monday_to_sunday_before_this_week(alice):
    # 2 March 2026 is a Monday.
    hours = {"sunday before": -24 * 8, "monday": -24 * 7, "sunday": -24, "this monday": 0}
    record([entry(number, name, hours=each) for number, (name, each) in enumerate(hours.items())])
    with clock.set_to(NOON + timedelta(days=2)):
        shown = page(alice, period="last_week")
    assert [name for name in hours if f">{name}<" in shown] == ["monday", "sunday"]
    assert 'aria-current="true">Last week' in shown


def compared_detail(given, user):
    return inbox.Detail(compared=inbox.Compared(compare("one two\nsame", "one three\nsame"), "version 1", "version 2"))


def test_words_of_a_change_are_shown_inline_or_side_by_side(alice, monkeypatch):
    shown = dataclasses.replace(forum(), inbox=registry.Inbox(detail=f"{__name__}:compared_detail"))
    monkeypatch.setattr(registry, "sources", lambda: (shown,))
    record([entry(1, "changed")])
    (pk,) = ids()
    client = client_of(alice)
    inline = squeezed(client.get(f"/stream/{pk}/").content.decode())
    assert "<p>one<del>two</del><ins>three</ins></p>" in inline
    beside = squeezed(client.get(f"/stream/{pk}/?view=side&show=unread").content.decode())
    assert '<p class="old">one<del>two</del></p><p class="new">one<ins>three</ins></p>' in beside
    assert f'href="/stream/{pk}/?show=unread&amp;view=inline"' in beside
    # The next entry is shown the same way.
    assert 'class="old"' in squeezed(client.get(f"/stream/{pk}/").content.decode())
    assert 'class="old"' not in squeezed(client.get(f"/stream/{pk}/?view=inline").content.decode())
    assert 'class="old"' not in squeezed(client.get(f"/stream/{pk}/?view=other").content.decode())


def detail_with_address(given, user):
    return inbox.Detail(evidence=("/piers/5",))


def test_an_address_in_the_evidence_is_not_repeated_below(alice, monkeypatch):
    shown = dataclasses.replace(forum(), inbox=registry.Inbox(detail=f"{__name__}:detail_with_address"))
    monkeypatch.setattr(registry, "sources", lambda: (shown,))
    record([entry(1, "gone", summary="/piers/5"), entry(2, "moved", summary="/piers/5 → /piers/6")])
    gone, moved = (squeezed(client_of(alice).get(f"/stream/{pk}/").content.decode()) for pk in ids())
    assert "<span>/piers/5</span>" in gone
    assert 'class="read-text"' not in gone
    assert "/piers/5 → /piers/6</p>" in moved


def test_words_are_found_in_title_and_summary_of_unread_and_all(alice):
    record([entry(1, "Paper Lantern"), entry(2, "Other", summary="a lantern of PAPER"), entry(3, "Paper alone")])
    for asked in ({}, {"show": "unread"}):
        shown = page(alice, q="paper lantern", **asked)
        assert shown.count('<li class="mail ') == 2, asked
        assert "Paper alone" not in shown
    assert "No matches for these filters" in page(alice, q="dromedary")


def test_search_reads_the_newest_entries_and_says_so(alice, monkeypatch):
    monkeypatch.setattr(inbox, "SEARCHED", 2)
    record([entry(number, f"lantern {number}") for number in range(4)])
    shown = page(alice, q="lantern")
    assert shown.count('<li class="mail ') == 2
    assert "The newest 2 entries were searched." in shown
    assert "entries were searched" not in page(alice)


def test_matches_alone_are_marked_as_read(alice):
    record([entry(1, "lantern"), entry(2, "other")])
    assert "Mark all matches read" in page(alice, q="lantern")
    client_of(alice).post("/stream/read-all/", {"q": "lantern"})
    assert ">other<" in page(alice, show="unread")
    assert ">lantern<" not in page(alice, show="unread")


def test_form_keeps_the_period_that_a_link_has_set(alice):
    assert '<input type="hidden" name="period" value="7">' in page(alice, period="7")


def test_earlier_changes_of_today_show_their_time(alice):
    for number in range(3):
        record([entry("shop", "Shop", event_key=str(number), hours=number)])
    earlier = page(alice, f"/stream/{ids()[-1]}/").partition("Earlier changes")[2]
    assert "12:00" in earlier
    assert "13:00" in earlier


@pytest.mark.parametrize("query", ["", "?show=unread"])
def test_list_costs_the_same_for_3_and_90_entries(alice, query):
    client, costs = client_of(alice), []
    for number in (3, 90):
        record([entry(f"{number}-{each}", f"t{each}") for each in range(number)])
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/stream/{query}")
        costs.append(len(captured))
    assert costs[0] == costs[1] <= 10
