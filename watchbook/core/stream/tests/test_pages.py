from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.people import client_of
from watchbook.core.stream.entries import record
from watchbook.core.stream.tests.conftest import entry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems")]


def page(person, **asked):
    response = client_of(person).get("/stream/", asked)
    assert response.status_code == 200
    return response.content.decode()


def test_entries_are_listed_newest_first_under_their_day(alice):
    record([entry(1, "old", hours=-30), entry(2, "new", hours=1), entry(3, "newer", hours=2)])
    shown = page(alice)
    assert shown.index("newer") < shown.index(">new<") < shown.index(">old<")
    assert shown.count("mail-day") == 2
    assert "Floor edited" in shown


def test_what_a_source_wrote_is_text_not_markup(alice):
    record([entry(1, "<script>alert(1)</script>", summary="<img src=x onerror=alert(1)>")])
    shown = page(alice)
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    assert "&lt;script&gt;" in shown


def test_users_see_only_their_own_items(alice, bob, operator):
    record([entry(1, "of Alice", scope=f"user:{alice.pk}"), entry(2, "of operators", scope="staff")])
    assert "of Alice" in page(alice)
    assert "of operators" not in page(alice)
    assert "of Alice" not in page(bob)
    assert "of Alice" not in page(operator)
    assert "of operators" in page(operator)


def test_system_kind_and_day_narrow_it(alice):
    record(
        [
            entry(1, "an edit"),
            entry(2, "a topic", kind="new"),
            entry(3, "a map", source="maps", kind="changed"),
            entry(4, "last week", hours=-7 * 24),
        ]
    )
    assert "a map" not in page(alice, source="forum")
    assert "an edit" not in page(alice, source="forum", kind="new")
    assert "a topic" in page(alice, source="forum", kind="new")
    on_the_day = page(alice, day="2026-03-02")
    assert "an edit" in on_the_day
    assert "last week" not in on_the_day


def test_day_is_the_readers_day(alice):
    # 20:00 UTC on the first is four in the morning of the second in Shanghai.
    record([entry(1, "early bird", hours=-8)])
    assert "early bird" in page(alice, day="2026-03-02")
    assert "early bird" not in page(alice, day="2026-03-01")


@pytest.mark.parametrize(
    "asked",
    [
        {"day": "x"},
        {"day": "0001-01-01"},
        {"day": "9999-12-31"},
        {"source": "x"},
        {"kind": "x"},
        {"older": "x"},
        {"newer": "é"},
    ],
)
def test_what_cannot_be_read_is_no_filter(alice, asked):
    record([entry(1, "an edit")])
    assert "an edit" in page(alice, **asked)


def test_pages_are_turned_by_key_in_a_bounded_number_of_queries(alice):
    record([entry(number, f"thing no {number}.", hours=number) for number in range(120)])
    client = client_of(alice)
    client.get("/stream/")
    seen, address, costs = [], "/stream/", []
    while address:
        with CaptureQueriesContext(connection) as captured:
            response = client.get(address)
        costs.append(len(captured))
        seen += [row.pk for row in response.context["page"].items]
        older = response.context["page"].older
        address = f"/stream/?older={older}" if older else ""
    assert len(seen) == len(set(seen)) == 120
    assert seen == sorted(seen, reverse=True)
    assert max(costs) <= 8


def test_figures_of_a_change_are_shown(alice):
    record([entry(1, data={"added": 412, "removed": 9, "modified": "many"})])
    assert "+412" in page(alice)


def test_empty_stream_says_what_will_come(alice):
    assert "No activity yet" in page(alice)


def test_counts_are_drawn_instead_of_the_words_for_feeds(alice):
    record([entry(1, "a map", summary="+1,204 −7", data={"added": 1204, "removed": 7, "modified": 0})])
    shown = page(alice)
    assert "delta-add" in shown
    assert "delta-del" in shown
    assert "delta-mod" not in shown
    assert "+1,204 −7" not in shown
