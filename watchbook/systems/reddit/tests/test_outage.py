"""A failure of the whole client stops the crawl, counts against no community, and opens one alert."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.systems.reddit.cli import group
from watchbook.systems.reddit.fetch import outage, rate_limit
from watchbook.systems.reddit.fetch.errors import RequestFailed
from watchbook.systems.reddit.health import health
from watchbook.systems.reddit.models import CommunityCache, Outcome

NAMES = [f"made{number:02}" for number in range(14)]
MAX_ATTEMPTS = 3


def wrong_secret(scanner, monkeypatch):
    monkeypatch.setenv("REDDIT_CLIENT_SECRET", "another-secret")
    return lambda: scanner.site.clients.update({"made-up-client": "another-secret"})


def blocked(scanner, monkeypatch):
    scanner.site.mishaps.wall = 1
    return lambda: setattr(scanner.site.mishaps, "wall", 0)


def throttled(scanner, monkeypatch):
    scanner.site.mishaps.throttle = 1
    return lambda: setattr(scanner.site.mishaps, "throttle", 0)


def failing(scanner, monkeypatch):
    return scanner.site.faults.on("*").fail(503).lift


def unreachable(scanner, monkeypatch):
    return scanner.site.faults.on_connection().reset().lift


OUTAGES = {
    "auth": wrong_secret,
    "wall": blocked,
    "throttled": throttled,
    "upstream": failing,
    "unreachable": unreachable,
}


@pytest.mark.parametrize("outcome", OUTAGES)
def test_outage_stops_requests_and_blames_no_community(scanner, monkeypatch, outcome):
    scanner.add(*NAMES)
    repair = OUTAGES[outcome](scanner, monkeypatch)
    run = scanner.run("reddit.incremental", detailed=True)
    sent = run.http_request_count
    assert sent <= MAX_ATTEMPTS + 1  # and one for the token
    assert (run.state, run.error_code) == ("failed", outcome)
    assert "Next attempt" in run.error
    assert not CommunityCache.objects.exclude(failures_in_row=0, failure_hit=0, refusals_in_row=0).exists()
    scanner.wait(seconds=30)
    assert scanner.run("reddit.incremental").http_request_count == 0  # the pause holds
    assert Alert.objects.filter(key="reddit.outage", live_slot="reddit.outage").count() == 1
    with clock.set_to(scanner.now):
        found = health()
    assert found.state in ("blocked", "error")
    assert found.reason == Alert.objects.get(key="reddit.outage").title
    assert (found.last_success_at, found.next_try_at is not None, bool(found.remedy)) == (None, True, True)
    repair()
    scanner.wait(hours=2)
    run = scanner.run("reddit.incremental")
    assert (run.state, run.progress["crawled"]) == ("done", len(NAMES))
    alert = Alert.objects.get(key="reddit.outage")  # opened once, resolved once
    assert (alert.live_slot, alert.closed_at) == (None, scanner.now)
    with clock.set_to(scanner.now):
        assert health().state == "healthy"


def test_attempt_after_pause_sends_one_request(scanner, monkeypatch):
    scanner.add(*NAMES)
    failing(scanner, monkeypatch)
    scanner.run("reddit.incremental")
    first = outage.current()
    scanner.wait(minutes=6)
    run = scanner.run("reddit.incremental")
    assert (run.state, run.http_request_count) == ("failed", 1)
    with clock.set_to(scanner.now):
        again = outage.current()
    assert again.since == first.since
    assert again.retry_at - scanner.now == timedelta(minutes=10)  # twice as long


def test_third_failure_in_a_row_begins_an_outage_without_a_further_request(scanner, monkeypatch):
    """Two requests of other processes failed before: this one is not repeated and nothing else is asked."""
    scanner.add(*NAMES)
    scanner.crawl("made00")  # the token is known now
    outage.add_failure()
    outage.add_failure()
    failing(scanner, monkeypatch)
    before = scanner.site.log.count()
    run = scanner.run("reddit.incremental")
    assert (run.state, run.error_code) == ("failed", "upstream")
    assert scanner.site.log.count() - before == 1


def test_only_one_process_at_a_time_tries_again(scanner, monkeypatch):
    """While another process tries again, this one waits; then it knows the outage and sends nothing more."""
    scanner.add(*NAMES)
    scanner.crawl("made00")  # the token is known now
    failing(scanner, monkeypatch)
    before = scanner.site.log.count()
    waits = []

    def other_process(seconds):
        waits.append(seconds)
        outage.add_failure()
        error = RequestFailed(Outcome.UPSTREAM, "503")
        with clock.set_to(scanner.now):
            outage.begin(error)
        rate_limit.change(lambda bucket: setattr(bucket, "retrying_until", 0))

    rate_limit.change(lambda bucket: setattr(bucket, "retrying_until", rate_limit.now_ms() + 60_000))
    monkeypatch.setattr(outage, "time", SimpleNamespace(sleep=other_process))
    run = scanner.run("reddit.incremental")
    assert (run.state, run.error_code) == ("failed", "upstream")
    assert waits == [outage.WAIT_SECONDS]
    assert scanner.site.log.count() - before == 1
    assert outage.current().attempts == 1


def test_a_process_that_took_too_long_does_not_end_the_turn_of_another(scanner):
    until = rate_limit.now_ms() + 9000
    with outage.retrying():
        rate_limit.change(lambda bucket: setattr(bucket, "retrying_until", until))
    assert rate_limit.shared_row().state["retrying_until"] == until


def test_success_between_failures_begins_no_outage(scanner):
    scanner.add("made00", "made01")
    outage.add_failure()
    outage.add_failure()
    assert scanner.run("reddit.incremental").state == "done"
    assert not outage.add_failure()


def test_one_broken_community_is_not_an_outage(scanner):
    scanner.add(*NAMES)
    scanner.site.faults.on("/r/made03/new").fail(503)
    run = scanner.run("reddit.incremental", detailed=True)
    outcomes = {line["community"]: line["outcome"] for line in run.progress["communities"]}
    assert outcomes.pop("r/made03") == "upstream"
    assert set(outcomes.values()) == {"empty"}
    assert len(outcomes) == len(NAMES) - 1
    assert scanner.community("made03").failures_in_row == 1
    assert not Alert.objects.exists()
    with clock.set_to(scanner.now):
        assert health().state == "failing"


def test_changed_secret_ends_the_pause(scanner, monkeypatch):
    scanner.add("webdev")
    monkeypatch.setenv("REDDIT_CLIENT_SECRET", "another-secret")
    assert scanner.run("reddit.incremental").state == "failed"
    monkeypatch.setenv("REDDIT_CLIENT_SECRET", "made-up-secret")
    assert scanner.run("reddit.incremental").state == "done"


def test_crawl_command_exits_with_the_reason_of_an_outage(scanner, monkeypatch):
    scanner.add(*NAMES)
    wrong_secret(scanner, monkeypatch)
    words = ["crawl", "--now", scanner.now.isoformat(), "--json"]
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["code"]) == (1, "auth")
    assert "Reddit refused the sign-in." in error["message"]


@pytest.mark.django_db(transaction=True)
def test_parallel_crawl_stops_at_an_outage(site, monkeypatch):
    from watchbook.systems.reddit.tests.conftest import Scanner

    scanner = Scanner(site)
    scanner.add(*NAMES)
    monkeypatch.setenv("CRAWLER_MAX_CONCURRENCY", "2")
    failing(scanner, monkeypatch)
    run = scanner.run("reddit.incremental")
    assert (run.state, run.error_code) == ("failed", "upstream")
    assert site.log.count() <= MAX_ATTEMPTS + 1


def test_recheck_during_outage_fails_and_keeps_posts_due(scanner, monkeypatch):
    scanner.add("webdev")
    scanner.world.post("webdev", "A lantern")
    scanner.crawl("webdev")
    scanner.wait(hours=3)
    failing(scanner, monkeypatch)
    run = scanner.run("reddit.recheck")
    assert (run.state, run.error_code) == ("failed", "upstream")
    assert run.http_request_count <= MAX_ATTEMPTS
