from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.core.search import find as finding
from watchbook.core.search import index
from watchbook.core.search.find import count, find
from watchbook.core.search.query import read
from watchbook.core.search.tests.conftest import NOON, document
from watchbook.core.search.tests.test_query import HOSTILE
from watchbook.kit.paging import InvalidCursor

pytestmark = pytest.mark.django_db


def ids(query, scopes=("members",), **given):
    return [hit.object_id for hit in find(query, scopes=scopes, **given).items]


def test_title_hits_come_first_then_the_newest():
    index.put(
        [
            document("old title", "harbour", hours=1),
            document("new body", "-", "harbour", hours=9),
            document("new title", "harbour", hours=5),
            document("old body", "-", "harbour", hours=2),
        ]
    )
    assert ids("harbour") == ["new title", "old title", "new body", "old body"]


def test_title_hit_has_every_word_in_the_title():
    index.put([document(1, "harbour", "lighthouse", hours=5), document(2, "harbour lighthouse", hours=1)])
    assert ids("harbour lighthouse") == ["2", "1"]


def test_every_word_must_be_there_in_any_script():
    index.put([document(1, "harbour 港口", "灯塔"), document(2, "harbour 港口"), document(3, "灯塔 lighthouse")])
    assert ids("HARBOUR 港口 灯塔") == ["1"]


def test_neighbouring_pairs_do_not_match_as_a_word():
    index.put([document(1, "", "世界。界地图"), document(2, "", "世界地图")])
    assert ids("世界地图") == ["2"]


def test_one_character_is_found_anywhere():
    index.put([document(1, "港"), document(2, "", "旧港"), document(3, "港口"), document(4, "口")])
    assert sorted(ids("港")) == ["1", "2", "3"]


def test_very_long_word_is_found_whole_only():
    index.put([document(1, "x" * 90 + "a"), document(2, "x" * 90 + "b")])
    assert ids("x" * 90 + "a") == ["1"]
    assert sorted(ids("x" * 85 + "*")) == ["1", "2"]


def test_users_find_only_their_own_items():
    scopes = ["members", "staff", "user:1", "space:7"]
    index.put([document(scope, "harbour", scope=scope) for scope in scopes])
    assert ids("harbour", scopes=["members", "user:2"]) == ["members"]
    assert sorted(ids("harbour", scopes=["members", "space:7"])) == ["members", "space:7"]
    assert ids("harbour", scopes=[]) == []
    assert count(read("harbour"), scopes=["members"]).by_kind == {"topic": 1}


def test_results_are_limited_to_kinds_and_time():
    index.put([document(1, "harbour", kind="floor")])
    with clock.set_to(clock.now() + timedelta(hours=3)):
        index.put([document(2, "harbour")])
    assert ids("harbour", kinds=["floor"]) == ["1"]
    assert ids("harbour", kinds=[]) == []
    assert ids("harbour", since=clock.now() + timedelta(hours=1)) == ["2"]


def test_since_filters_by_when_watchbook_saw_the_item():
    """A note of last year that was collected today is found among what was seen today."""
    old = NOON - timedelta(days=365)
    index.put([document(1, "harbour", occurred_at=old)])
    today = clock.now() - timedelta(hours=1)
    assert ids("harbour", since=today) == ["1"]
    assert count(read("harbour"), scopes=["members"], since=today).total == 1
    index.put([document(1, "harbour changed", occurred_at=old)])
    assert ids("harbour", since=clock.now() + timedelta(minutes=1)) == []


def test_pages_follow_each_other_without_a_gap_or_a_repeat():
    index.put(
        [document(number, "harbour" if number % 3 else "-", "harbour", hours=number // 4) for number in range(40)]
    )
    whole = ids("harbour", limit=200)
    seen, cursor = [], None
    for _ in range(20):
        page = find("harbour", scopes=["members"], limit=7, before=cursor)
        seen += [hit.object_id for hit in page.items]
        cursor = page.next
        if not cursor:
            break
    assert seen == whole
    assert len(set(seen)) == 40


def test_search_page_reads_a_bounded_number_of_texts_and_continues(monkeypatch):
    monkeypatch.setattr(finding, "MAX_READ", 5)
    index.put([document(number, "", "世界。界地图", hours=number) for number in range(12)])
    index.put([document("right", "", "世界地图", hours=-1)])
    page = find("世界地图", scopes=["members"])
    assert page.items == ()
    pages = 1
    while page.next:
        page = find("世界地图", scopes=["members"], before=page.next)
        pages += 1
    assert [hit.object_id for hit in page.items] == ["right"]
    assert pages == 3


def test_number_of_queries_does_not_grow_with_the_answer():
    index.put([document(number, "harbour" if number % 2 else "-", "harbour") for number in range(60)])
    with CaptureQueriesContext(connection) as captured:
        assert len(find("harbour", scopes=["members"], limit=50).items) == 50
    assert len(captured) <= 12


def test_counting_stops_at_its_bound():
    index.put([document(number, "harbour") for number in range(5)])
    index.put([document("floor", "-", "harbour", kind="floor")])
    assert count(read("harbour"), scopes=["members"]).by_kind == {"topic": 5, "floor": 1}
    assert count(read("harbour"), scopes=["members"]).is_whole
    assert not count(read("harbour"), scopes=["members"], most=3).is_whole


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_query_fails(put, text):
    put(1, "a harbour", "the and of")
    find(text, scopes=["members"])
    count(read(text), scopes=["members"])


@pytest.mark.parametrize(
    "cursor",
    ["x", "1", "1.2", "1.2.3.4", "2.0.1", "1.9" * 30, f"1.{10**30}.1", f"1.1.{2**63}", "1.1.-5", "-1.0.1", "1.nan.1"],
)
def test_cursor_of_another_kind_is_refused(put, cursor):
    put(1, "harbour")
    with pytest.raises(InvalidCursor):
        find("harbour", scopes=["members"], before=cursor)


def test_times_at_the_ends_of_the_calendar_are_harmless(put):
    from datetime import datetime, timezone

    put(1, "harbour")
    east = timezone(timedelta(hours=14))
    assert ids("harbour", since=datetime(1, 1, 1, tzinfo=east)) == ["1"]
    assert ids("harbour", since=datetime(9999, 12, 31, tzinfo=timezone(-timedelta(hours=14)))) == []
    assert ids("harbour", since=datetime(2026, 1, 1)) == ["1"]


def test_counting_ends_where_documents_have_no_text(db, monkeypatch):
    monkeypatch.setattr("watchbook.core.search.find.COUNTED", 1000)
    index.put([document(number, hours=number) for number in range(60)])
    assert not count(read("-(harbour OR -harbour)"), scopes=["members"], most=10).is_whole
