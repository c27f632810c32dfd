"""Success needs evidence: no page, card or API answer calls a monitor healthy that was not read."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest
from django.urls import reverse
from django.utils.html import escape

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.core import health as states
from watchbook.core.health import all_health
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.card import card
from watchbook.systems.sitemaps.health import ORDER, _rank, health, monitor_health
from watchbook.systems.sitemaps.models import FAR_AHEAD, Health, MonitorTask, Status
from watchbook.systems.sitemaps.tests.builders import START, browser, get, make_monitor, make_snapshot

pytestmark = pytest.mark.django_db

FORBIDDEN = ("Healthy", "No changes since the baseline", "No change<", "all read completely")


@pytest.fixture
def failing(site, watch):
    """Return a monitor of a site that breaks in one of several ways before the first check."""

    def make(kind):
        site.add("/a")
        w = watch()
        if kind == "refused":
            MonitorTask.objects.update(sitemap_url="http://127.0.0.1:9/sitemap.xml")
        elif kind == "name not found":
            MonitorTask.objects.update(sitemap_url="http://nowhere.invalid/sitemap.xml")
        elif isinstance(kind, int):
            site.faults.on("/sitemap.xml").answer(kind)
        else:
            site.faults.on("/sitemap.xml").answer(200, kind)
        w.check()
        return w

    return make


KINDS = ["name not found", "refused", 403, 404, 500, 503, b"\x00garbage\xff" * 50, b"", b"<html><body>x</body></html>"]


@pytest.mark.parametrize("checks", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_failing_monitor_names_the_same_reason_everywhere(failing, rf, alice, kind, checks):
    w = failing(kind)
    for _ in range(checks - 1):
        w.check()
    client = browser(alice)
    with clock.set_to(w.now):
        state = health(alice)
        assert state.state in (states.FAILING, states.BLOCKED, states.ERROR)
        assert (state.state == states.ERROR) == (checks == 3)
        reason = monitor_health(w.monitor, w.now).reason
        assert len(reason) > 30
        request = rf.get("/")
        request.user = alice
        made = card(request)
        pages = {
            "list": squeezed(get(client, "monitors").text),
            "monitor": squeezed(get(client, "monitor", w.monitor.pk).text),
            "files": squeezed(get(client, "parts", w.monitor.pk).text),
            "card": f"{made.badge.text} {escape(made.health.reason)}",
            "home": squeezed(client.get("/").text),
        }
        answer = client.get(f"/api/v1/sitemaps/monitors/{w.monitor.pk}").json()
    for name, page in pages.items():
        assert not [words for words in FORBIDDEN if words in page], name
        assert name == "files" or escape(reason) in page, name
    assert (answer["state"], answer["reason"], answer["last_success_at"]) == (state.state, reason, None)


def test_never_read_monitor_claims_no_baseline(failing, alice):
    page = get(browser(alice), "monitor", failing(500).monitor.pk).text
    assert "No baseline yet" in page
    assert "since the baseline" not in page


def test_successful_check_is_the_evidence(site, watch, alice):
    site.add("/a")
    w = watch()
    with clock.set_to(w.now):
        assert health(alice).state == states.NEVER
    w.check()
    with clock.set_to(w.now):
        found = all_health(alice)["sitemaps"]
    assert (found.state, found.last_success_at) == (states.HEALTHY, w.now)
    site.faults.on("/sitemap.xml").answer(503)
    before = w.now
    w.check()
    with clock.set_to(w.now):
        found = health(alice)
    assert (found.state, found.last_success_at, found.last_failure_at) == (states.FAILING, before, w.now)
    assert found.next_try_at > w.now
    assert "HTTP 503" in found.reason


def test_database_and_python_agree_on_every_state(alice):
    now = START
    moments = (now + timedelta(hours=1), now - timedelta(hours=2), now + FAR_AHEAD + timedelta(hours=1))
    for number, (status, result, due, read) in enumerate(
        product(Status.values, Health.values, moments, (None, START - timedelta(days=1)))
    ):
        make_monitor(
            alice, number, status=status, health=result, next_check_at=due, last_success_at=read, last_error="x"
        )
    for hours, schedule, quiet in product((26, 50), ("", "0 9 * * 1"), ("", "22:00-07:00")):
        number += 1
        due = now + timedelta(hours=hours)
        make_monitor(alice, number, next_check_at=due, schedule=schedule, quiet_hours=quiet, last_success_at=START)
    for monitor in MonitorTask.objects.annotate(rank=_rank(now)):
        assert ORDER[monitor.rank] == monitor_health(monitor, now).state


def test_weekly_monitor_is_not_called_late(site, watch, alice):
    site.add("/a")
    w = watch()
    actions.change_monitor(w.monitor, {"schedule": "weekly mon 03:00"})
    w.check()
    assert w.monitor.next_check_at > w.now + FAR_AHEAD
    with clock.set_to(w.now):
        assert health(alice).state == states.HEALTHY


def test_health_of_others_is_not_shown(alice, bob):
    make_monitor(bob, status=Status.ERROR, last_error="The site could not be reached.", error_count=3)
    assert health(alice).state == states.NEVER
    assert health(None).state == health(bob).state == states.ERROR


def test_late_check_is_shown(alice):
    monitor = make_monitor(alice, health=Health.OK, last_success_at=START, next_check_at=START, last_check_at=START)
    make_snapshot(monitor, START)
    with clock.set_to(START + timedelta(hours=3)):
        assert health(alice).state == states.LATE
        assert "did not run" in get(browser(alice), "monitor", monitor.pk).text


def test_paused_monitor_is_neither_healthy_nor_failing(site, watch, alice):
    site.add("/a")
    w = watch()
    w.check()
    actions.pause(w.monitor)
    assert health(alice).state == states.PAUSED
    assert "Healthy" not in browser(alice).get(reverse("sitemaps:monitor", args=[w.monitor.pk])).text
