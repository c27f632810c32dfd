"""The Health page, its endpoint and its command show what the systems' health functions say, and nothing else."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from click.testing import CliRunner
from django.test import Client
from django.urls import get_resolver

from watchbook.base import clock
from watchbook.base.testing.people import alice, bob, matrix, operator  # noqa: F401 - fixtures
from watchbook.core import health, registry
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.ops.cli import health as command

pytestmark = pytest.mark.django_db

NOW = clock.now()
GOOD = Health(health.HEALTHY, last_success_at=NOW, next_try_at=NOW + timedelta(hours=1), url="/one/")
BAD = Health(
    health.ERROR,
    last_failure_at=NOW,
    last_failure="The site returned HTTP 503.",
    reason="The last 3 checks failed: The site returned HTTP 503.",
    remedy="Check the address.",
    url="/two/",
)
OWNER = "alice-id"


def source_health(user):
    return BAD


def source_items(user):
    items = [HealthItem("Good thing", "Monitor", GOOD), HealthItem("Private thing", "Monitor", BAD, OWNER, "/try/")]
    return items + [HealthItem(f"Thing {n}", "Monitor", GOOD) for n in range(60)]


def two_items_with_one_reason(user):
    private = HealthItem("A of Alice", "Monitor", BAD, OWNER, "/try/alice/")
    return [private, HealthItem("B of the operator", "Monitor", BAD, User.objects.get(is_staff=True).pk, "/try/own/")]


def source(items):
    return registry.Source(
        "tides", "Tides", "stream", home_url="alerts",
        health=f"{__name__}:source_health", health_items=f"{__name__}:{items.__name__}",
    )  # fmt: skip


@pytest.fixture
def tides(monkeypatch):
    found = source(source_items)
    # The addresses are those of the real systems; only health is made up.
    assert get_resolver().url_patterns
    assert registry.jobs()
    monkeypatch.setattr(registry, "sources", lambda: (found,))
    return found


@pytest.fixture
def page(operator, tides):  # noqa: F811 - the fixture
    client = Client()
    client.force_login(operator)
    return lambda query="": client.get(f"/operations/health/{query}").content.decode()


def test_problems_are_listed_first_with_reason_and_remedy(page):
    text = page()
    assert text.index("Private thing") < text.index("Good thing")
    assert BAD.reason in text
    assert BAD.remedy in text
    assert "50 of 62 shown" in " ".join(text.split())


def test_things_of_other_users_are_shown_without_a_link(page):
    text = page()
    assert 'href="/one/"' in text
    assert 'href="/two/"' not in text
    assert "/try/" not in text


def test_own_source_can_be_tried_when_another_users_fails_for_the_same_reason(page, monkeypatch):
    monkeypatch.setattr(registry, "sources", lambda: (source(two_items_with_one_reason),))
    text = page()
    assert text.count(BAD.reason) == 1
    assert (text.count('action="/try/own/"'), "/try/alice/" in text) == (1, False)


@pytest.mark.parametrize(
    ("query", "shown", "hidden"),
    [
        ("?state=failing", "Private thing", "Good thing"),
        ("?state=healthy", "Good thing", "Private thing"),
        ("?q=private", "Private thing", "Good thing"),
        ("?all=1", "Thing 59", "no such thing"),
        ("?q=no+such+thing", "No matches", "Private thing"),
    ],
)
def test_filters_narrow_the_list(page, query, shown, hidden):
    text = page(query).partition('<section class="section">')[2]
    assert shown in text
    assert hidden not in text.replace('value="no such thing"', "")


def test_only_operators_open_the_page(matrix):  # noqa: F811 - the fixture
    assert matrix.statuses("GET", "/operations/health/")["operator"] == 200
    assert matrix.statuses("GET", "/operations/health/")["alice"] == 403


def test_own_channels_are_listed_and_those_of_others_are_not(page, operator, alice):  # noqa: F811 - the fixtures
    for user, name in ((operator, "My phone"), (alice, "Her phone")):
        NotificationChannel.objects.create(user=user, channel_type="email", name=name, failure_count=3)
    text = page("?q=phone")
    assert "My phone" in text
    assert "The last delivery failed." in text
    assert "Her phone" not in text


def test_endpoint_gives_the_same_record_and_counts_what_it_leaves_out(client, operator, tides):  # noqa: F811
    client.force_login(operator)
    found = client.get("/api/v1/health/tides?limit=2").json()
    assert (found["state"], found["reason"], found["total"]) == ("error", BAD.reason, 62)
    assert [item["title"] for item in found["watched"]] == ["Private thing", "Good thing"]
    assert found["left_out"] == 60
    assert found["counts"]["failing"] == 1
    assert client.get("/api/v1/health").json()["items"][0]["source"] == "tides"
    assert client.get("/api/v1/health/nothing").status_code == 404
    assert client.get("/api/v1/health/tides?size=2").status_code == 422


def test_command_ends_with_1_while_a_source_fails(tides):
    done = CliRunner().invoke(command, ["--json"])
    assert done.exit_code == 1
    assert json.loads(done.output)["sources"][0]["last_failure"] == BAD.last_failure
    assert "There is no source nothing" in CliRunner().invoke(command, ["--source", "nothing", "--json"]).output
