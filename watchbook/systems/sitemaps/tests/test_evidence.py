"""Deliveries of a change, recovery notifications, addresses without a scheme, and what a deletion leaves."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.pages import squeezed
from watchbook.core.jobs import runner
from watchbook.core.notify import actions as channel_actions
from watchbook.core.notify.models import Delivery
from watchbook.core.notify.models import State as DeliveryState
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import (
    ChangeRecord,
    MonitorTask,
    NotificationLog,
    SitemapPart,
    SitemapSnapshot,
    Status,
)
from watchbook.systems.sitemaps.store.notifications import delivery_changed
from watchbook.systems.sitemaps.tests.builders import browser, get, make_change, make_monitor, make_snapshot
from watchbook.systems.sitemaps.tests.conftest import START

pytestmark = pytest.mark.django_db


@pytest.fixture
def notified(site, watch, alice):
    """A monitor with two mail channels, its baseline and one change whose deliveries are pending."""
    site.add("/a")
    w = watch()
    made = [
        channel_actions.create(alice, name=name, channel_type="email", given={"email": f"{name}@example.com"}).channel
        for name in ("one", "two")
    ]
    actions.set_channels(w.monitor, made)
    w.check()
    site.add("/b")
    return w


def move(delivery, state, **columns):
    Delivery.objects.filter(pk=delivery.pk).update(state=state, **columns)
    delivery.refresh_from_db()
    delivery_changed(delivery)


def entry(alice, monitor):
    return squeezed(get(browser(alice), "changes", monitor.pk).text)


def test_log_says_what_became_of_the_deliveries(notified, alice, monkeypatch):
    monkeypatch.setattr("watchbook.systems.sitemaps.jobs.check.deliver_due", lambda now: None)
    notified.check()
    assert "2 deliveries pending" in entry(alice, notified.monitor)
    first, second = Delivery.objects.filter(kind="changed").order_by("pk")
    move(first, DeliveryState.SENT, sent_at=notified.now)
    move(second, DeliveryState.PENDING, last_error="The mail server refused it.", attempt=1)
    page = entry(alice, notified.monitor)
    assert "notified 1 channel" in page
    assert "1 delivery failing" in page
    move(second, DeliveryState.SENT, sent_at=notified.now, last_error="")
    assert "notified 2 channels" in entry(alice, notified.monitor)


def test_count_stays_when_the_delivery_log_is_deleted(notified, alice, monkeypatch):
    monkeypatch.setattr("watchbook.systems.sitemaps.jobs.check.deliver_due", lambda now: None)
    notified.check()
    for delivery in Delivery.objects.filter(kind="changed"):
        move(delivery, DeliveryState.SENT, sent_at=notified.now)
    later = notified.now + timedelta(days=40)
    with clock.set_to(later):
        runner.run_now("sitemaps.forget")
        Delivery.objects.all().delete()
        assert not NotificationLog.objects.exists()
        assert "notified 2 channels" in entry(alice, notified.monitor)
        change = squeezed(get(browser(alice), "change", notified.newest.pk).text)
    assert "notified 2 channels" in change
    assert "No notification" not in change


def test_recovery_is_notified_after_pause_resume_and_retry(notified, site):
    fault = site.faults.on("/sitemap.xml").answer(500)
    for _ in range(3):
        notified.check()
    assert Delivery.objects.filter(kind="error").count() == 2
    with clock.set_to(notified.now):
        actions.pause(notified.monitor)
        actions.resume(notified.monitor)
    notified.check()
    with clock.set_to(notified.now):
        actions.retry(notified.monitor)
    fault.lift()
    notified.check()
    assert notified.monitor.status == Status.ACTIVE
    assert Delivery.objects.filter(kind="recovered").count() == 2
    notified.check()
    assert Delivery.objects.filter(kind="recovered").count() == 2


def test_api_accepts_an_address_without_scheme(site, alice, monkeypatch):
    site.add("/a")
    asked = []

    def see(address):
        asked.append(address)
        raise InvalidInput("sitemap_url", "seen")

    monkeypatch.setattr(actions, "preview_address", see)
    for typed in ("www.example.com/sitemap.xml", "localhost:8000/sitemap.xml"):
        answer = browser(alice).post(
            "/api/v1/sitemaps/monitors", {"name": "x", "sitemap_url": typed}, content_type="application/json"
        )
        assert "scheme" not in answer.text
    assert asked[0] == "https://www.example.com/sitemap.xml"
    answer = browser(alice).post(
        "/api/v1/sitemaps/monitors",
        {"name": "x", "sitemap_url": "mailto:a@example.com"},
        content_type="application/json",
    )
    assert answer.status_code == 422


def test_api_refuses_unknown_fields_by_name(alice):
    client, monitor = browser(alice), make_monitor(alice)
    body = {"name": "x", "sitemap_url": "https://www.example.com/s.xml", "intervall": 15}
    answers = [
        client.post("/api/v1/sitemaps/monitors", body, content_type="application/json"),
        client.patch(f"/api/v1/sitemaps/monitors/{monitor.pk}", {"intervall": 15}, content_type="application/json"),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert "intervall" in answer.text


def test_deleted_monitor_leaves_nothing_after_its_time(site, watch):
    site.add("/a")
    w = watch()
    w.check()
    site.add("/b")
    w.check()
    with clock.set_to(w.now):
        actions.delete(w.monitor)
        runner.run_now("sitemaps.forget")
    assert SitemapSnapshot.objects.exists()  # the deletion can be undone
    with clock.set_to(w.now + timedelta(days=91)):
        runner.run_now("sitemaps.forget")
    for model in (MonitorTask, SitemapSnapshot, ChangeRecord, SitemapPart):
        assert not model.objects.exists(), model
    assert not SearchDocument.objects.filter(kind="sitemap_change").exists()
    assert not StreamEntry.objects.filter(object_kind="sitemap_change").exists()


@pytest.mark.sql
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("monitor_tasks", "status"),
        ("change_records", "change_type"),
        ("notification_logs", "status"),
    ],
)
def test_database_refuses_an_unknown_state(alice, table, column):
    monitor = make_monitor(alice)
    record = make_change(monitor, START, added=["https://www.example.com/x"])
    made = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"})
    NotificationLog.objects.create(channel=made.channel, change_record=record)
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = 'unknown'")


@pytest.mark.sql
def test_database_fills_in_the_defaults_of_the_seed(alice):
    monitor = make_monitor(alice)
    make_snapshot(monitor, START)
    expected = {
        "users": {"is_active": 1, "is_verified": 0, "has_completed_onboarding": 0},
        "notification_channels": {"is_active": 1},
        "monitor_tasks": {"check_interval_minutes": 60, "error_count": 0},
        "change_records": {"added_count": 0, "removed_count": 0, "modified_count": 0},
        "notification_logs": {"retry_count": 0},
    }
    with connection.cursor() as cursor:
        for table, columns in expected.items():
            for column, value in columns.items():
                assert _default_of(cursor, table, column) == value, (table, column)


def _default_of(cursor, table, column):
    """Read the default of a column from the catalogue of the database."""
    if connection.vendor == "sqlite":
        rows = {row[1]: row[4] for row in cursor.execute(f"PRAGMA table_info({table})").fetchall()}
        return _number(rows[column])
    cursor.execute(
        "SELECT column_default FROM information_schema.columns WHERE table_name = %s AND column_name = %s"
        + (" AND table_schema = DATABASE()" if connection.vendor == "mysql" else ""),
        [table, column],
    )
    return _number(cursor.fetchone()[0])


def _number(text):
    return {"true": 1, "false": 0}.get(str(text).lower(), text) if not str(text).isdigit() else int(text)
