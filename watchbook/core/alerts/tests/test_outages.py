"""Outages: tries are limited per host, one alert opens, the first success resolves it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.base.testing.people import client_of, make_person
from watchbook.base.web.errors import Blocked, Gone, ServerTrouble, Throttled, Unreachable
from watchbook.core.alerts import outage as outages
from watchbook.core.alerts.conditions import open_alert
from watchbook.core.alerts.models import Alert, Outage
from watchbook.core.alerts.outage import Guard, HostDown, classify
from watchbook.core.notify import actions
from watchbook.core.notify.models import Delivery

pytestmark = pytest.mark.django_db
HOST = "example.com"


def ask(guard, error=None, times=1):
    """Ask as a job does. Returns how many requests were sent."""
    sent = 0
    for _ in range(times):
        try:
            guard.check(HOST)
            sent += 1
            if error is None:
                guard.succeeded(HOST)
            else:
                guard.failed(HOST, error)
        except HostDown:
            continue
    return sent


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Unreachable(), "network"),
        (ServerTrouble(), "service"),
        (Throttled(), "rate_limit"),
        (Gone(), ""),
        (Blocked(), ""),
        (ValueError("x"), ""),
    ],
)
def test_error_is_classified_by_what_failed(error, kind):
    assert classify(error) == kind


def test_own_error_class_may_name_the_kind_of_outage():
    class LoginRefused(Exception):
        outage_kind = "login"

    assert classify(LoginRefused()) == "login"


def test_host_is_asked_three_times_and_then_not_before_the_pause_ends():
    assert ask(Guard("reddit"), Unreachable(), times=14) == 3
    assert ask(Guard("reddit"), Unreachable(), times=14) == 0, "another run keeps the pause"
    with clock.set_to(clock.now() + timedelta(minutes=2)):
        assert ask(Guard("reddit"), Unreachable(), times=14) == 1, "one try after each pause"
    assert Alert.objects.open().count() == 1


@pytest.mark.parametrize("error", [Throttled(), type("Refusal", (Exception,), {"outage_kind": "login"})()])
def test_rate_limit_and_refused_login_stop_the_run_after_one_try(error):
    assert ask(Guard("reddit"), error, times=14) == 1


def test_pause_is_at_least_what_the_host_asks_for():
    ask(Guard("reddit"), Throttled(retry_after_seconds=7200))
    wait = Outage.objects.get().next_try_at - clock.now()
    assert timedelta(minutes=119) < wait <= timedelta(minutes=120)


def test_outage_is_notified_once_and_resolved_once():
    operator = make_person("operator", is_staff=True)
    actions.create(operator, name="ops", channel_type="email", given={"email": "o@example.com"}, alert_level="P2")
    for minutes in (0, 2, 10, 60):
        with clock.set_to(clock.now() + timedelta(minutes=minutes)):
            ask(Guard("reddit"), Unreachable(), times=5)
    assert Delivery.objects.count() == 1
    with clock.set_to(clock.now() + timedelta(hours=5)):
        assert ask(Guard("reddit")) == 1
    assert not Outage.objects.exists()
    [past] = Alert.objects.all()
    assert (past.live_slot, past.note) == (None, "example.com responded again.")
    assert not outages.recovered("reddit", HOST)


def test_two_short_failures_open_no_alert():
    guard = Guard("reddit")
    ask(guard, Unreachable(), times=2)
    ask(guard)
    assert not Alert.objects.exists()
    assert not Outage.objects.exists()


def test_healthy_host_costs_no_query_after_the_first(django_assert_num_queries):
    guard = Guard("reddit")
    ask(guard)
    with django_assert_num_queries(0):
        ask(guard, times=20)


def test_failure_of_an_item_is_not_an_outage():
    guard = Guard("reddit")
    assert guard.failed(HOST, Gone()) == ""
    assert not Outage.objects.exists()


def test_alert_of_one_user_is_seen_by_that_user_and_operators():
    alice, bob = make_person("alice"), make_person("bob")
    operator = make_person("operator", is_staff=True)
    words = {"level": "P1", "source": "sitemaps", "message": ""}
    open_alert("monitor:1", title="Secret monitor fails", scope=f"user:{alice.pk}", **words)
    open_alert("server", title="For everyone", **words)
    for person, sees in ((alice, True), (bob, False), (operator, True)):
        client = client_of(person)
        assert ("Secret monitor fails" in client.get("/alerts/").text) is sees
        assert ("Secret monitor fails" in client.get("/").text) is sees
        titles = [item["title"] for item in client.get("/api/v1/alerts").json()["items"]]
        assert ("Secret monitor fails" in titles) is sees
        assert "For everyone" in titles
        assert Alert.objects.visible_to(person).open().count() == 1 + sees
