from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import QueryDict

from watchbook.core.alerts.models import Alert
from watchbook.kit.paging import keyset, read_cursor, write_cursor

pytestmark = pytest.mark.django_db


@pytest.fixture
def alerts(noon):
    """Twenty-five, five at each moment: ties are told apart by the key."""
    rows = [Alert(key=f"k{n}", level="P2", title=f"{n}", opened_at=noon - timedelta(minutes=n // 5)) for n in range(25)]
    Alert.objects.bulk_create(rows)
    return Alert.objects.all()


def walk(rows, by, direction, start):
    asked, seen = start, []
    for _ in range(20):
        page = keyset(rows, asked, by=by, size=4)
        seen.append([row.pk for row in page])
        cursor = getattr(page, direction)
        if not cursor:
            return seen
        asked = {direction: cursor}
    raise AssertionError("no end")


@pytest.mark.parametrize("by", ["pk", "opened_at"])
def test_older_pages_show_every_row_once_in_order(alerts, by):
    order = ["-pk"] if by == "pk" else ["-opened_at", "-pk"]
    pages = walk(alerts, by, "older", {})
    assert [key for page in pages for key in page] == list(alerts.order_by(*order).values_list("pk", flat=True))


@pytest.mark.parametrize("by", ["pk", "opened_at"])
def test_newer_leads_back_to_the_true_first_page(alerts, by):
    there = walk(alerts, by, "older", {})
    last = keyset(alerts, {}, by=by, size=4)
    while last.older:
        last = keyset(alerts, {"older": last.older}, by=by, size=4)
    back = walk(alerts, by, "newer", {"newer": last.newer})
    assert back[-1] == there[0]


def test_page_costs_one_query_and_at_most_two(alerts, django_assert_num_queries):
    with django_assert_num_queries(1):
        first = keyset(alerts, {}, by="opened_at", size=4)
    with django_assert_num_queries(1):
        second = keyset(alerts, {"older": first.older}, by="opened_at", size=4)
    with django_assert_num_queries(2):
        keyset(alerts, {"newer": second.newer}, by="opened_at", size=4)


def test_first_page_has_nothing_newer_and_a_short_list_nothing_older(alerts):
    page = keyset(alerts, {}, size=50)
    assert (page.newer, page.older, len(page)) == ("", "", 25)
    assert keyset(Alert.objects.none(), {}).items == []


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "W10",
        "bnVsbA",
        "WzEsMl0",
        "a" * 500,
        "\ud800",
        "WyIyMDI2LTEzLTAxIiwiMSJd",
        "WyJub3BlIiwiMSJd",
        "W1tbW1tb",
        "é",
    ],
)
def test_unreadable_cursor_is_the_first_page(alerts, cursor):
    assert keyset(alerts, {"older": cursor}, by="opened_at", size=4).newer == ""


def test_number_that_no_column_holds_is_the_first_page(alerts):
    alert = Alert(pk=2**70, opened_at=alerts[0].opened_at)
    assert read_cursor(alerts, "pk", write_cursor(alert, "pk")) is None


def test_cursor_survives_a_query_string(alerts):
    cursor = keyset(alerts, {}, by="opened_at", size=4).older
    asked = QueryDict(f"kind=x&older={cursor}")
    assert len(keyset(alerts, asked, by="opened_at", size=4)) == 4
