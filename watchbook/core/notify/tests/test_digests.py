"""Digests: one message per window and channel, urgent notices at once, silence obeyed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from watchbook.base import clock
from watchbook.core.notify import actions, outbox, rules
from watchbook.core.notify.models import Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def hourly(webhook):
    webhook.digest = "hourly"
    webhook.save()
    return webhook


def test_thousand_changes_in_a_minute_are_one_message(hourly, hooks, notification, noon):
    for n in range(1000):
        outbox.notify([hourly], notification(f"change:{n}", subject=f"change {n}"))
    outbox.deliver_due(noon + timedelta(minutes=59))
    assert hooks.deliveries() == []
    outbox.deliver_due(noon + timedelta(minutes=60))
    (came,) = hooks.deliveries()
    body = came.json()
    assert body["type"] == "notify.digest"
    assert body["data"]["count"] == 1000
    assert body["data"]["counts"] == {"example.change": 1000}
    assert len(came.body) < 20_000
    assert Delivery.objects.filter(state="sent").count() == 1001
    outbox.deliver_due(noon + timedelta(hours=3))
    assert len(hooks.deliveries()) == 1


def test_two_windows_are_two_messages_with_ids_of_their_own(hourly, hooks, notification, noon):
    for hour in range(2):
        with clock.set_to(noon + timedelta(hours=hour, minutes=10)):
            outbox.notify([hourly], notification(f"change:{hour}"))
            outbox.deliver_due()
    outbox.deliver_due(noon + timedelta(hours=2))
    assert len(hooks.ids()) == 2


def test_digest_that_failed_is_tried_again_as_the_same_message(hourly, hooks, notification, noon):
    hooks.plan("/hook", "500", "ok")
    outbox.notify([hourly], notification("change:1"))
    outbox.notify([hourly], notification("change:2"))
    end = noon + timedelta(hours=1)
    outbox.deliver_due(end)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"pending"}
    with clock.set_to(end):
        outbox.notify([hourly], notification("change:3"))
    outbox.deliver_due(end + timedelta(seconds=7))
    first, second = hooks.deliveries()
    assert first.id == second.id
    assert first.body == second.body
    assert set(Delivery.objects.exclude(event_id="change:3").values_list("state", flat=True)) == {"sent"}
    assert Delivery.objects.get(event_id="change:3").state == "pending"


def test_late_notification_goes_into_the_next_digest(hourly, hooks, notification, noon):
    outbox.notify([hourly], notification("change:1"))
    outbox.deliver_due(noon + timedelta(hours=1))
    with clock.set_to(noon + timedelta(minutes=30)):  # its transaction committed late
        outbox.notify([hourly], notification("change:2"))
    outbox.deliver_due(noon + timedelta(hours=1, minutes=1))
    assert len(hooks.deliveries()) == 1
    outbox.deliver_due(noon + timedelta(hours=2))
    assert len(hooks.ids()) == 2


def test_urgent_notifications_are_sent_immediately(hourly, hooks, notification, noon):
    outbox.notify([hourly], notification("change:1"))
    outbox.notify([hourly], notification("error:1", kind="error", urgent=True))
    outbox.deliver_due(noon)
    assert [came.json()["event_id"] for came in hooks.deliveries()] == ["error:1"]


def test_channel_disabled_before_the_window_ends_gets_nothing(hourly, hooks, notification, noon):
    outbox.notify([hourly], notification())
    actions.update(hourly, is_active=False)
    outbox.deliver_due(noon + timedelta(hours=1))
    assert hooks.deliveries() == []
    assert Delivery.objects.get().state == "skipped"
    assert Delivery.objects.get().error_code == "paused"


def test_channel_disabled_during_retries_gets_nothing(hourly, hooks, notification, noon):
    hooks.plan("/hook", "500")
    outbox.notify([hourly], notification())
    outbox.deliver_due(noon + timedelta(hours=1))
    actions.update(hourly, is_active=False)
    outbox.deliver_due(noon + timedelta(hours=2))
    assert set(Delivery.objects.values_list("state", flat=True)) == {"skipped"}
    assert len(hooks.deliveries()) == 1


def test_disabled_account_gets_nothing(alice, webhook, hooks, notification):
    outbox.notify([webhook], notification())
    alice.is_active = False
    alice.save()
    outbox.deliver_due()
    assert hooks.deliveries() == []
    assert Delivery.objects.get().error_code == "account_closed"


def test_changed_frequency_moves_pending_notifications(hourly, hooks, notification, noon):
    outbox.notify([hourly], notification())
    actions.update(hourly, digest="immediate")
    outbox.deliver_due(noon)
    assert [came.json()["event_id"] for came in hooks.deliveries()] == ["change:1"]


def test_failed_digest_and_its_members_can_be_resent_separately(hourly, hooks, notification, noon):
    hooks.plan("/hook", "400")
    outbox.notify([hourly], notification("change:1"))
    outbox.notify([hourly], notification("change:2"))
    for hours in (1, 2, 3):
        outbox.deliver_due(noon + timedelta(hours=hours))
    assert set(Delivery.objects.values_list("state", flat=True).exclude(channel__name="account")) == {"failed"}
    hooks.faults.clear()
    with clock.set_to(noon + timedelta(hours=4)):
        actions.replay(Delivery.objects.get(event_id="change:1"))
        actions.replay(Delivery.objects.get(kind="digest"))
        outbox.deliver_due()
    assert set(Delivery.objects.values_list("state", flat=True).exclude(channel__name="account")) == {"sent"}


@pytest.mark.parametrize(
    ("zone", "rhythm", "now", "end"),
    [
        ("Asia/Shanghai", "hourly", "2026-03-02T04:10Z", "2026-03-02T05:00Z"),
        ("Asia/Kolkata", "hourly", "2026-03-02T04:10Z", "2026-03-02T04:30Z"),
        ("Asia/Shanghai", "daily", "2026-03-01T23:59Z", "2026-03-02T00:00Z"),
        ("Asia/Shanghai", "daily", "2026-03-02T00:00Z", "2026-03-03T00:00Z"),
        ("Europe/Berlin", "daily", "2026-03-28T08:00Z", "2026-03-29T06:00Z"),  # the clock is put forward that night
        ("Europe/Berlin", "daily", "2026-10-24T08:00Z", "2026-10-25T07:00Z"),  # and back
        ("Europe/Berlin", "hourly", "2026-10-25T00:30Z", "2026-10-25T01:00Z"),
        ("Asia/Shanghai", "weekly", "2026-03-01T23:59Z", "2026-03-02T00:00Z"),  # Monday 08:00
        ("Asia/Shanghai", "weekly", "2026-03-02T00:00Z", "2026-03-09T00:00Z"),
        ("Europe/Berlin", "weekly", "2026-03-25T12:00Z", "2026-03-30T06:00Z"),  # over the change of the clock
        ("No/Such", "daily", "2026-03-01T23:59Z", "2026-03-02T00:00Z"),
    ],
)
def test_windows_end_by_the_owners_clock(webhook, zone, rhythm, now, end):
    webhook.user.time_zone = zone
    webhook.digest = rhythm
    assert rules.window_end(webhook, _at(now)) == _at(end)


def _at(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)
