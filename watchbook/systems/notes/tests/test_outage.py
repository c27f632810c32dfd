"""Outages: no candidate loses an attempt, the run stops asking, one alert opens and resolves."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.runner import run_now
from watchbook.systems.notes import actions
from watchbook.systems.notes.health import health
from watchbook.systems.notes.jobs.collect import collect, has_pending
from watchbook.systems.notes.models import Breaker, Candidate, Cookie, CookieLease, Execution, Keyword
from watchbook.systems.notes.tests.data import START, add_candidates, held, holder, offer

pytestmark = pytest.mark.django_db

FEED, SEARCH = "/api/sns/web/v1/feed", "/api/sns/web/v1/search/notes"


def at(minutes):
    return clock.set_to(START + timedelta(minutes=minutes))


def attempts():
    return set(Candidate.objects.values_list("status", "retry_count"))


@pytest.mark.parametrize("status", [503, 500, 403])
def test_ten_minutes_of_outage_cost_no_candidate_an_attempt(platform, pool, status):
    pool()
    offer(*platform.add_many(25))
    platform.faults.on("*").fail(status)
    for minute in (0, 5, 10):
        with at(minute):
            if has_pending(clock.now()):
                collect()
            run_now("notes.watch")
    assert attempts() == {("pending", 0)}
    assert len(platform.log.all(FEED)) <= 5, "three requests, then one after each pause"
    assert Alert.objects.open().filter(key="notes:platform_unavailable").count() == 1
    platform.faults.clear()
    with at(60):
        assert health().state in {"failing", "error"}
        collect()
        run_now("notes.watch")
        assert health().state == "healthy"
    assert attempts() == {("collected", 0)}
    assert Alert.objects.filter(key="notes:platform_unavailable").count() == 1
    assert not Alert.objects.open().filter(key="notes:platform_unavailable").exists()


def cookies():
    return set(Cookie.objects.values_list("status", "total_errors", "consecutive_errors"))


@pytest.mark.parametrize("names", [["one"], ["one", "two"]])
def test_twelve_outages_that_refuse_every_cookie_count_against_none(platform, pool, names):
    """Ten errors in all make a cookie invalid; a platform that refuses all of them says nothing about one."""
    for name in names:
        pool(name)
    for day in range(12):
        offer(*platform.add_many(4))
        refusal = platform.faults.on("*").forbid()
        for minute in (0, 10, 30, 60):
            with at(day * 1440 + minute):
                collect()
        refusal.lift()
        for minute in (200, 300):
            with at(day * 1440 + minute):
                collect()
        assert attempts() == {("collected", 0)}
    assert cookies() == {("active", 0, 0)}


def test_cookie_that_alone_is_refused_keeps_its_errors(platform, pool):
    refused = Cookie.objects.get(cookie_name=pool("one"))
    pool("two")
    platform.account_mood("made-up-session-of-one-7731", "blocked")
    for minute in range(0, 600, 20):
        with at(minute):
            offer(*platform.add_many(4))
            collect()
    refused.refresh_from_db()
    assert refused.total_errors > 0
    assert Cookie.objects.exclude(pk=refused.pk).get().total_errors == 0


def test_outage_in_the_middle_of_a_batch_stops_the_run(platform, pool):
    pool()
    entries = platform.add_many(15)
    offer(*entries)
    platform.faults.on(FEED, from_nth=5).fail(503)
    with at(0):
        totals = collect()
    assert (totals.collected, totals.failed, totals.claimed) == (4, 0, 10)
    assert len(platform.log.all(FEED)) == 7, "three requests without a response"
    assert attempts() == {("pending", 0), ("collected", 0)}
    assert Execution.objects.get().status == "failed"
    assert Breaker.objects.get().reason == "outage"


def test_one_bad_note_is_no_outage_and_fails_after_three_runs(platform, pool):
    pool()
    bad, *others = platform.add_many(6)
    platform.mood(bad.note_id, "ill")
    offer(bad, *others)
    for minute in range(3):
        with at(minute):
            collect()
    assert Candidate.objects.get(note_id=bad.note_id).status == "failed"
    assert Candidate.objects.filter(status="collected").count() == 5
    assert not Breaker.objects.filter(trips__gt=0).exists()


def test_run_does_not_claim_again_what_it_returned():
    add_candidates(5)
    mine = holder()
    first = [row["note_id"] for row in actions.claim({**held(mine), "batch_size": 3})["records"]]
    for one in first:
        actions.fail({**held(mine), "note_id": one, "error": {"code": "NETWORK_ERROR", "retryable": True}})
    second = [row["note_id"] for row in actions.claim({**held(mine), "batch_size": 10})["records"]]
    assert (len(second), set(first) & set(second)) == (2, set())
    assert actions.claim(held(mine))["locked_count"] == 0


@pytest.mark.parametrize("error", [
    {"code": "COOKIE_INVALID", "reason": "login_dead"}, {"code": "RATE_LIMITED", "reason": "throttled"},
    {"code": "PLATFORM_ERROR", "reason": "ip_block"}, {"code": "PLATFORM_ERROR", "reason": "captcha"},
    {"code": "NETWORK_ERROR", "outage": True}, {"code": "NETWORK_ERROR", "asked": False},
])  # fmt: skip
def test_failure_that_is_not_the_note_counts_no_attempt(error):
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    answer = actions.fail({**held(mine), "note_id": one, "error": {**error, "retryable": True}})
    assert answer == {"status": "pending", "retry_count": 0}


def test_ip_block_opens_one_alert_and_resolves_it(platform, pool):
    pool()
    entries = platform.add_many(2)
    offer(*entries)
    platform.mood(entries[0].note_id, "ip_block")
    with at(0):
        collect()
        run_now("notes.watch")
        alert = Alert.objects.open().get(key="notes:platform_unavailable")
        assert (alert.level, "IP address" in alert.message) == ("P1", True)
        found = health()
        assert (found.state, found.next_try_at) == ("blocked", Breaker.objects.get().open_until)
    with at(20):
        run_now("notes.watch")
    platform.mood(entries[0].note_id, "fine")
    with at(35):
        run_now("notes.watch")
        collect()
        run_now("notes.watch")
    assert Alert.objects.filter(key="notes:platform_unavailable").count() == 1
    assert not Alert.objects.open().filter(key="notes:platform_unavailable").exists()


def test_breaker_stays_open_after_a_batch_with_successes(platform, pool):
    pool()
    entries = platform.add_many(3)
    platform.mood(entries[2].note_id, "ip_block")
    offer(*entries)
    with at(0):
        assert collect().collected == 2
        assert Breaker.objects.get().open_until > clock.now()


def test_search_outage_keeps_keywords_due_and_stops(platform, pool):
    pool()
    for number in range(8):
        actions.add_keyword(f"Lantern {number}")
    Keyword.objects.update(next_search_at=START)
    platform.faults.on("*").fail(503)
    with at(0):
        run_now("notes.search")
    assert len(platform.log.all(SEARCH)) == 3
    assert Keyword.objects.filter(next_search_at__lte=START + timedelta(minutes=15)).count() == 8


def test_dead_login_is_named_in_meta(platform, pool, n8n):
    name = pool()
    platform.account_mood(f"made-up-session-of-{name}-7731", "login")
    note = platform.add("One")
    body = {"note_id": note.note_id, "xsec_token": note.token}
    answer = n8n.post("detail", body)
    assert (answer["error"]["code"], answer["meta"]["cookie_used"]) == ("COOKIE_INVALID", name)
    actions.reset_cookie(name)
    answer = n8n.post("search", {"keyword": "One"})
    assert (answer["error"]["code"], answer["meta"]["cookie_used"]) == ("COOKIE_INVALID", name)


def test_failed_candidate_with_new_token_is_pending_again():
    [one] = add_candidates(1)
    Candidate.objects.update(status="failed", retry_count=3, last_error_code="PLATFORM_ERROR")
    actions.add_candidates({"items": [{"note_id": one, "xsec_token": "NEW-TOKEN="}]})
    assert attempts() == {("pending", 0)}
    Candidate.objects.update(status="failed", last_error_code="NOT_FOUND")
    actions.add_candidates({"items": [{"note_id": one, "xsec_token": "NEWER-TOKEN="}]})
    assert attempts() == {("failed", 0)}, "a note that does not exist stays failed"


def test_candidate_of_another_platform_is_claimed_for_that_platform_only():
    add_candidates(1)
    actions.add_candidates({"items": [{"note_id": "7300000000000000001", "platform": "douyin"}]})
    mine = holder()
    assert [row["platform"] for row in actions.claim(held(mine))["records"]] == ["xhs"]
    other = holder("collect-douyin")
    records = actions.claim({**held(other), "platform": "douyin"})["records"]
    assert [row["note_id"] for row in records] == ["7300000000000000001"]


def test_batch_of_another_platform_uses_no_foreign_cookie(platform, pool, n8n):
    pool()
    body = {"items": [{"note_id": "7300000000000000001", "platform": "douyin"}]}
    n8n.post("batch", body)
    assert n8n.status == 400
    answer = n8n.post("batch", {**body, "platform": "douyin"})
    assert answer["error"]["code"] == "COOKIE_EXHAUSTED"
    assert platform.ledger.reads == []
    assert CookieLease.objects.count() == 0


@pytest.mark.parametrize("path", ["detail", "batch", "workflow/candidates"])
@pytest.mark.parametrize("sign", ["\x00", "\x07", "\n"])
def test_control_character_in_a_note_id_is_refused(n8n, platform, pool, path, sign):
    pool()
    item = {"note_id": f"68000001{sign}0000000000000001"}
    body = item if path == "detail" else {"items": [item]}
    answer = n8n.post(path, json.dumps(body))
    assert (n8n.status, answer["error"]["code"]) == (400, "INVALID_INPUT")
    assert platform.ledger.reads == []
    assert Candidate.objects.count() == 0
