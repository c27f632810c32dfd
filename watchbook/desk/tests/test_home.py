from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import translation

from watchbook.base import clock
from watchbook.base.store import folder as data_folder
from watchbook.base.testing.pages import squeezed
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.ops import backup
from watchbook.core.ops.backup.archive import Manifest
from watchbook.core.stream.models import StreamEntry
from watchbook.desk.activity import activity
from watchbook.desk.tests.conftest import full_card
from watchbook.kit.badges import Card

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("systems", "noon")]
MOST_QUERIES = 12


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


@pytest.fixture
def reader(alice):
    client = Client()
    client.force_login(alice)
    return client


def tell(noon, *, days_ago=0, count=1, scope="members", **fields):
    start = StreamEntry.objects.count()
    StreamEntry.objects.bulk_create(
        StreamEntry(
            **{"source": "tides", "kind": "new", "title": "High water", "object_id": str(start + n), **fields},
            scope=scope,
            occurred_at=noon - timedelta(days=days_ago, minutes=1),
            created_at=noon,
        )
        for n in range(count)
    )


def ran(noon, days_ago):
    moment = noon - timedelta(days=days_ago)
    JobRun.objects.create(
        name="x", queue="crawler_queue", key=f"x@{days_ago}", state=State.DONE, due_at=moment, created_at=moment,
        finished_at=moment, http_request_count=7,
    )  # fmt: skip


def figures(found):
    return [row[-1] for row in found.chart.table.rows]


def test_new_desk_says_what_to_do(reader):
    page = reader.get("/").text
    assert "No light yet." in page
    assert "No activity yet" in page
    assert "No open alerts" in page
    assert "Getting started" in page


def test_card_of_each_system_is_shown_in_menu_order(reader):
    page = squeezed(reader.get("/").text)
    assert page.index(">318<") < page.index("Add a light")
    assert "readings since yesterday" in page
    assert "<dt>Next run</dt><dd>20:00</dd>" in page


def test_reader_sees_only_what_is_in_scope(reader, alice, operator, noon):
    tell(noon, title="for all")
    tell(noon, title="for alice", scope=f"user:{alice.pk}")
    tell(noon, title="for staff", scope="staff")
    tell(noon, title="for another", scope=f"user:{operator.pk}")
    page = reader.get("/").text
    assert "for all" in page
    assert "for alice" in page
    assert "for staff" not in page
    assert "for another" not in page


def test_hostile_entry_is_shown_as_text_and_leads_nowhere(reader, noon):
    tell(noon, title="<script>alert(1)</script>", url_path="javascript:alert(1)", source="gone", summary="<i>")
    tell(noon, title="elsewhere", url_path="//evil.example/x")
    page = reader.get("/").text
    assert "<script>alert" not in page
    assert "javascript:" not in page
    assert "evil.example" not in page


def test_open_alerts_are_shown_worst_first_and_counted(reader, noon):
    for number in range(6):
        Alert.objects.create(key=f"a{number}", live_slot=f"a{number}", level="P2", title=f"minor {number}")
    Alert.objects.create(key="b", live_slot="b", level="P0", title="<major>")
    Alert.objects.create(key="c", level="P0", title="long over", closed_at=noon)
    page = reader.get("/").text
    assert page.index("&lt;major&gt;") < page.index("minor 5")
    assert "long over" not in page
    assert 'aria-label="7 open alerts"' in page
    assert "All open alerts" in page


def test_queries_are_bounded_however_much_there_is(reader, operator, noon, django_assert_max_num_queries):
    client = Client()
    client.force_login(operator)
    with django_assert_max_num_queries(MOST_QUERIES):
        client.get("/")
    for day in range(0, 35, 2):
        tell(noon, days_ago=day, count=30)
        ran(noon, day)
    for number in range(30):
        Alert.objects.create(key=f"a{number}", live_slot=f"a{number}", level="P1", title="x")
    with django_assert_max_num_queries(MOST_QUERIES):
        client.get("/")


def test_finished_first_steps_cost_no_query(reader, alice, noon, django_assert_max_num_queries):
    tell(noon, days_ago=29)
    tell(noon)
    assert reader.post("/welcome/done/").status_code == 302
    alice.refresh_from_db()
    assert alice.has_completed_onboarding
    # session, account, alerts, watermark, unread, items, runs, latest: the rest belongs to the systems' cards
    with django_assert_max_num_queries(8):
        assert "Getting started" not in reader.get("/").text


def counted(noon, days, **more):
    """Cards that count so many items so many days ago."""

    def card(found):
        return Card(
            title="Tides", url="/", number=0, days={(noon - timedelta(days=ago)).date(): n for ago, n in found.items()}
        )

    return activity({slug: card(found) for slug, found in {"tides": days, **more}.items()}, noon)


def test_chart_counts_what_the_cards_count(reader, noon):
    """The cards of the two made-up systems; entries of the activity do not count."""
    tell(noon, count=9)
    page = squeezed(reader.get("/").text)
    assert "Items per day" in page
    assert "Today so far: 4." in page
    assert full_card(None).trend == [1, 2, None, 4]


def test_items_of_all_cards_are_added_up(noon):
    assert figures(counted(noon, {0: 3, 1: 2}, lights={0: 4}))[:2] == ["7", "2"]


def test_day_without_items_and_runs_was_not_measured(noon):
    ran(noon, 2)
    found = counted(noon, {29: 1, 0: 1, 1: 1, 4: 1, 5: 1})
    assert figures(found)[:6] == ["1", "1", "0", "no data", "1", "1"]
    assert [day.day for day in found.unmeasured][-1] == (noon - timedelta(days=3)).day


def test_nothing_is_concluded_about_days_whose_runs_are_deleted(noon):
    ran(noon, 1)
    assert figures(counted(noon, {29: 1, 0: 1}))[20] == "0"


def test_young_desk_shows_its_own_week(noon):
    assert figures(counted(noon, {0: 1, 2: 1})) == ["1", "no data", "1", *["no data"] * 4]


def test_empty_desk_has_no_chart(noon):
    assert counted(noon, {}).chart is None
    assert counted(noon, {0: 0}).chart is None


def test_trend_is_the_last_days_with_a_gap_where_nothing_was_measured(noon):
    days = {(noon - timedelta(days=ago)).date(): ago for ago in (20, 13, 1, 0)}
    assert Card(title="x", url="/", days=days).trend == [13, *[None] * 11, 1, 0]


def test_requests_of_today_are_added_up(noon):
    ran(noon, 0)
    ran(noon, 1)
    assert activity({}, noon).requests_today == 7


def test_first_steps_are_ticked_as_they_are_done_and_show_what_was_seen(operator, monkeypatch):
    client = Client()
    client.force_login(operator)
    page = squeezed(client.get("/").text)
    assert "1 of 3" in page  # a card with figures
    assert '<a href="/alerts/">Tides: last success 2 Mar 12:00</a>' in page
    assert '<a href="/channels/add/">Add channel</a>' in page
    assert '<a href="/people/">Invite user</a>' in page
    assert page.index("Getting started") < page.index("readings since yesterday"), "before the cards, also on a phone"
    kept = backup.Kept("watchbook-20260302-040000.tar", 10, clock.now(), Manifest.__new__(Manifest))
    monkeypatch.setattr(backup, "listed", lambda: [kept])
    channel = NotificationChannel.objects.create(
        user=operator, channel_type="email", name="<desk>", last_test_success=True, last_test_at=clock.now()
    )
    page = squeezed(client.get("/").text)
    assert "3 of 3" in page
    assert f'<a href="/channels/{channel.pk}/">&lt;desk&gt;: test sent 2 Mar 12:00</a>' in page
    assert '<a href="/operations/backups/">Verified backup of 2 Mar 12:00</a>' in page


def test_second_user_who_signed_in_finishes_the_last_step(operator, alice):
    client = Client()
    client.force_login(operator)
    assert "1 of 3" in client.get("/").text
    Client().force_login(alice)
    page = squeezed(client.get("/").text)
    assert "2 of 3" in page
    assert f'<a href="/people/">{alice.email} has signed in</a>' in page


def test_backup_that_cannot_be_read_is_no_backup(operator, monkeypatch):
    client = Client()
    client.force_login(operator)
    monkeypatch.setattr(backup, "listed", lambda: [backup.Kept("x.tar", 10, clock.now(), None, "cut short")])
    assert "1 of 3" in client.get("/").text


def test_every_page_warns_while_the_disk_is_full(operator, monkeypatch):
    client = Client()
    client.force_login(operator)
    assert "The disk is full" not in client.get("/stream/").text
    with monkeypatch.context() as patched:
        patched.setattr(data_folder, "LEAST_FREE", 2**62)
        assert "The disk is full" in client.get("/stream/").text
    assert "The disk is full" not in client.get("/stream/").text
