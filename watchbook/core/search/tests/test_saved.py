from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import localtime

from watchbook.base import clock
from watchbook.core.jobs.runner import run_now
from watchbook.core.notify import rules
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.rules import Rule
from watchbook.core.search import index, saved
from watchbook.core.search.dialects import dialect
from watchbook.core.search.find import find, per_day
from watchbook.core.search.models import SavedSearch, SavedSearchMatch, ScoreChange, SearchDocument
from watchbook.core.search.query import read
from watchbook.core.search.tests.conftest import document

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("systems")]


@pytest.fixture
def channel(alice):
    return NotificationChannel.objects.create(user=alice, name="desk", channel_type="email")


@pytest.fixture
def harbours(alice, channel):
    return saved.save(alice, name="Harbours", query="harbour", channels=[channel])


def notified():
    return [
        (delivery.subject, [item["id"] for item in delivery.payload["items"]])
        for delivery in Delivery.objects.order_by("pk")
    ]


def test_new_matches_are_sent_once_in_one_notification(harbours):
    index.put([document(1, "harbour"), document(2, "lighthouse"), document(3, "-", "the old harbour")])
    run_now("search.saved")
    run_now("search.saved")
    assert notified() == [("2 new matches: Harbours", ["1", "3"])]
    index.put([document(4, "harbour again")])
    run_now("search.saved")
    assert notified()[1:] == [("1 new match: Harbours", ["4"])]
    assert SavedSearch.objects.get().match_count == 3


def test_existing_items_are_not_notified(alice, channel):
    index.put([document(1, "harbour")])
    saved.save(alice, name="Harbours", query="harbour", channels=[channel])
    assert not saved.anything_new(clock.now())
    run_now("search.saved")
    assert notified() == []


def test_change_of_a_known_document_is_not_new(harbours):
    index.put([document(1, "harbour")])
    run_now("search.saved")
    index.put([document(1, "harbour, changed")])
    run_now("search.saved")
    assert len(notified()) == 1


def test_owner_is_notified_only_of_visible_items(harbours, alice, bob):
    scopes = ["members", "staff", f"user:{alice.pk}", f"user:{bob.pk}"]
    index.put([document(scope, "harbour", scope=scope) for scope in scopes])
    run_now("search.saved")
    ((_subject, items),) = notified()
    assert set(items) == {"members", f"user:{alice.pk}"}


def test_kinds_narrow_what_is_notified(alice, channel):
    saved.save(alice, name="Floors", query="harbour", kinds=["floor"], channels=[channel])
    index.put([document(1, "harbour"), document(2, "harbour", kind="floor")])
    run_now("search.saved")
    assert notified() == [("1 new match: Floors", ["2"])]


def test_fewer_matches_than_the_minimum_wait_until_others_complete_the_number(harbours):
    rules.store(harbours.thread, Rule(minimum=3))
    index.put([document(1, "harbour")])
    run_now("search.saved")
    index.put([document(2, "harbour"), document(5, "harbour", kind="floor")])
    index.remove("floor", ["5"])
    run_now("search.saved")
    assert notified() == []
    assert SavedSearch.objects.get().match_count == 2
    # Long after both are settled.
    with clock.set_to(clock.now() + timedelta(hours=1)):
        run_now("search.saved")
        index.put([document(3, "harbour")])
        run_now("search.saved")
        run_now("search.saved")
        assert notified() == [("3 new matches: Harbours", ["1", "2", "3"])]
        index.put([document(4, "harbour")])
        run_now("search.saved")
    assert len(notified()) == 1, "counted anew after a notification"


def test_preview_of_a_rule_counts_complete_numbers_only(harbours, alice):
    began = clock.now() - timedelta(hours=9)
    for hour in range(8):
        with clock.set_to(began + timedelta(hours=hour)):
            index.put([document(hour, "harbour"), document(f"{hour}b", "harbour" if hour == 7 else "lighthouse")])
    subject = saved.rule_subject(str(harbours.pk), alice)
    assert [rules.preview(subject, Rule(minimum=count), alice) for count in (1, 2, 3, 9, 10)] == [8, 4, 3, 1, 0]


def test_changed_search_notifies_what_comes_from_now_on(harbours, alice, channel):
    rules.store(harbours.thread, Rule(minimum=2))
    index.put([document(1, "harbour"), document(2, "lighthouse")])
    run_now("search.saved")
    other = NotificationChannel.objects.create(user=alice, name="phone", channel_type="email")
    saved.change(harbours, name=" Lights ", query="lighthouse", kinds=["topic"], channels=[other])
    rules.store(harbours.thread, rules.NONE)
    run_now("search.saved")
    assert notified() == []
    index.put([document(3, "lighthouse"), document(4, "harbour"), document(5, "lighthouse", kind="floor")])
    run_now("search.saved")
    assert notified() == [("1 new match: Lights", ["3"])]
    assert Delivery.objects.get().channel == other


def test_paused_search_sends_nothing_then_or_later(harbours):
    saved.set_active(harbours, active=False)
    index.put([document(1, "harbour")])
    assert not saved.anything_new(clock.now())
    run_now("search.saved")
    saved.set_active(harbours, active=True)
    run_now("search.saved")
    assert notified() == []
    index.put([document(2, "harbour")])
    run_now("search.saved")
    assert [items for _subject, items in notified()] == [["2"]]


def test_search_without_channels_only_counts(alice):
    saved.save(alice, name="Harbours", query="harbour")
    index.put([document(1, "harbour")])
    run_now("search.saved")
    assert notified() == []
    assert SavedSearch.objects.get().match_count == 1


def test_document_of_a_slower_transaction_is_notified_too(harbours, monkeypatch):
    """Ids are handed out before the commit: a smaller one may appear after a larger one was seen."""
    monkeypatch.setattr(type(dialect()), "settle_seconds", 180)
    index.put([document("early id", "harbour"), document("late id", "harbour")])
    early = SearchDocument.objects.get(object_id="early id")
    SearchDocument.objects.filter(pk=early.pk).delete()
    run_now("search.saved")
    early.save(force_insert=True)
    run_now("search.saved")
    run_now("search.saved")
    assert [items for _subject, items in notified()] == [["late id"], ["early id"]]

    with clock.set_to(clock.now() + timedelta(seconds=200)):
        assert saved.anything_new(clock.now())
        run_now("search.saved")
        assert not saved.anything_new(clock.now())
    assert len(notified()) == 2
    assert not SavedSearchMatch.objects.exists()


def test_failure_before_commit_notifies_and_loses_nothing(harbours, monkeypatch):
    index.put([document(1, "harbour")])

    def broken(*_args):
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(saved, "_advance", broken)
        run_now("search.saved")
    assert notified() == []
    assert not SavedSearchMatch.objects.exists()
    run_now("search.saved")
    assert [items for _subject, items in notified()] == [["1"]]


def test_many_documents_take_a_bounded_number_of_queries(harbours):
    counts = []
    for size in (1, 200):
        index.put([document(f"{size}-{number}", "harbour") for number in range(size)])
        with CaptureQueriesContext(connection) as captured:
            run_now("search.saved")
        counts.append(len(captured))
    assert max(counts) <= min(counts) + 6


@pytest.fixture
def loved(alice, channel):
    return saved.save(alice, name="Loved", query="harbour score>=100", channels=[channel])


def test_score_that_comes_to_match_is_notified_once(loved):
    index.put([document(1, "harbour", score=50), document(2, "lighthouse", score=50)])
    run_now("search.saved")
    assert notified() == []
    assert index.set_scores("topic", {"1": 99, "2": 500}) == 2
    assert saved.anything_new(clock.now())
    run_now("search.saved")
    assert notified() == []
    index.set_scores("topic", {"1": 100})
    run_now("search.saved")
    assert notified() == [("1 new match: Loved", ["1"])]
    for score in (30, 300):
        index.set_scores("topic", {"1": score})
        run_now("search.saved")
    assert len(notified()) == 1
    assert not ScoreChange.objects.exists()


def test_score_is_compared_with_what_it_was_however_often_it_changed(loved):
    index.put([document(1, "harbour", score=50)])
    run_now("search.saved")
    for score in (120, 130, 20):
        index.set_scores("topic", {"1": score})
    run_now("search.saved")
    assert [items for _subject, items in notified()] == [["1"]]


def test_score_that_matched_before_the_search_was_saved_is_not_notified(alice, channel):
    index.put([document(1, "harbour", score=150), document(2, "harbour", score=10)])
    index.set_scores("topic", {"2": 110})
    with clock.set_to(clock.now() + timedelta(seconds=1)):
        saved.save(alice, name="Loved", query="harbour score>=100", channels=[channel])
        index.set_scores("topic", {"1": 160})
    run_now("search.saved")
    assert notified() == []


def test_new_text_with_another_score_counts_as_a_change_of_the_score(loved):
    index.put([document(1, "harbour", score=50)])
    run_now("search.saved")
    index.put([document(1, "harbour, edited", score=100)])
    run_now("search.saved")
    assert [items for _subject, items in notified()] == [["1"]]


def test_unchanged_score_costs_no_write():
    index.put([document(1, "harbour", score=50)])
    assert index.set_scores("topic", {"1": 50, "7": 3}) == 0
    with CaptureQueriesContext(connection) as captured:
        index.put([document(1, "harbour", score=50)])
    assert not [each for each in captured if each["sql"].startswith(("INSERT", "UPDATE"))]


@pytest.mark.parametrize("query", ["harbour", "harbour OR lighthouse -author:bob", "score>=5", "in:forum/7"])
def test_preview_is_what_the_search_finds_in_the_last_days(alice, query):
    with clock.set_to(clock.now() - timedelta(days=8)):
        index.put([document(0, "harbour", score=9, place="7")])
    index.put([document(1, "harbour", place="7"), document(2, "lighthouse", author="Bob"), document(3, "x", score=5)])
    since = clock.now() - timedelta(days=7)
    found = find(query, scopes=["members"], since=since).items
    shown = saved.preview(alice, read(query))
    assert found
    assert (shown.matches, shown.is_whole, shown.days) == (len(found), True, 7)


@pytest.mark.sql
@pytest.mark.parametrize("query", ["harbour", "harbour OR lighthouse -author:bob", "score>=5"])
def test_mentions_are_what_the_search_finds_on_each_day(alice, query):
    now = clock.now()
    words = ["harbour", "lighthouse", "x"]
    documents = [
        replace(
            document(number, words[number % 3], author="Bob" if number % 4 == 0 else "", score=number % 9),
            occurred_at=now - timedelta(hours=37 * number),
        )
        for number in range(40)
    ]
    index.put([*documents, replace(document(99, "harbour"), scope="staff", occurred_at=now)])
    found = saved.mentions(alice, read(query))
    kept = {str(each.object_id): localtime(each.occurred_at).date() for each in documents}
    hits = find(query, scopes=["members"], limit=200).items
    wanted = Counter(kept[hit.object_id] for hit in hits)
    assert [day for day, _matches in found] == [
        localtime(now).date() - timedelta(days=back) for back in range(29, -1, -1)
    ]
    assert [matches for _day, matches in found] == [wanted[day] for day, _matches in found]
    assert sum(wanted.values()) > sum(matches for _day, matches in found) > 0


def test_days_that_were_not_counted_have_no_number(alice):
    now = clock.now()
    index.put([replace(document(number, "harbour"), occurred_at=now - timedelta(days=number)) for number in range(9)])
    found = per_day(read("harbour"), scopes=["members"], since=now - timedelta(days=20), most=5)
    assert sorted(found.matches.values()) == [1] * 5
    assert min(found.matches) == found.first
