from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from watchbook.base import clock
from watchbook.systems.notes import actions
from watchbook.systems.notes.models import Cookie, CookieLease
from watchbook.systems.notes.rules import COOL, COUNTED, DEAD, HEAVY, NotesError
from watchbook.systems.notes.store import pool
from watchbook.systems.notes.tests.data import START

pytestmark = pytest.mark.django_db


def add(name="one", **values):
    return actions.add_cookie(name, f"web_session=made-up-of-{name}-12345", **values)[0]


def lease(now=START, wanted=1):
    return pool.lease("xhs", wanted, now)


def use(cookie_error="", *, succeeded=0, now=START, asked=1):
    taken = lease(now)
    pool.end(
        taken,
        pool.Use(
            asked=asked, succeeded=succeeded, cookie_error=cookie_error, cookie_error_code="X", cookie_error_reason="y"
        ),
        now,
    )
    return Cookie.objects.get(pk=taken.cookie_id)


def test_three_errors_in_a_row_cool_for_thirty_minutes():
    add()
    assert use(COUNTED).status == "active"
    assert use(COUNTED).status == "active"
    cooling = use(COUNTED)
    assert (cooling.status, cooling.cooling_until) == ("cooling", START + timedelta(minutes=30))
    with pytest.raises(NotesError, match="COOKIE_EXHAUSTED"):
        lease(START + timedelta(minutes=29))
    assert lease(START + timedelta(minutes=30)).cookie_name == "one"
    assert Cookie.objects.get().consecutive_errors == 0


def test_success_ends_the_row_of_errors():
    add()
    use(COUNTED)
    use(COUNTED)
    assert use(succeeded=1).consecutive_errors == 0
    assert use(COUNTED).status == "active"
    assert Cookie.objects.get().total_errors == 3


def test_ten_errors_in_total_make_a_cookie_invalid():
    add()
    now = START
    for _ in range(9):
        now += timedelta(hours=1)
        use(COUNTED, now=now)
    row = use(COUNTED, now=now + timedelta(hours=1))
    assert (row.status, row.total_errors) == ("invalid", 10)


def test_ten_in_one_batch_with_three_in_a_row_is_invalid():
    row = add()
    Cookie.objects.filter(pk=row.pk).update(total_errors=9, consecutive_errors=2)
    assert use(COUNTED).status == "invalid"


@pytest.mark.parametrize(("cookie_error", "status"), [(DEAD, "invalid"), (COOL, "cooling"), (HEAVY, "cooling")])
def test_some_errors_need_no_second_one(cookie_error, status):
    add()
    assert use(cookie_error).status == status


def test_error_from_before_cooling_does_not_ban():
    add(daily_limit=10)
    early = [lease() for _ in range(4)]
    for one in early[:3]:
        pool.end(one, pool.Use(asked=1, failed=1, cookie_error=COUNTED), START)
    assert Cookie.objects.get().status == "cooling"
    pool.end(early[3], pool.Use(asked=1, failed=1, cookie_error=COUNTED), START)
    row = Cookie.objects.get()
    assert (row.status, row.total_errors) == ("cooling", 3)


def test_probe_that_fails_while_it_cools_bans():
    row = add()
    use(COOL)
    probe = pool.probe(row, START + timedelta(minutes=1))
    pool.end(probe, pool.Use(asked=1, failed=1, cookie_error=COUNTED), START + timedelta(minutes=1))
    assert Cookie.objects.get().status == "banned"
    with pytest.raises(NotesError):
        lease(START + timedelta(days=1))


def test_lease_counts_one_error():
    add()
    taken = lease()
    for _ in range(5):
        pool.end(taken, pool.Use(asked=1, failed=1, cookie_error=COUNTED), START)
    assert Cookie.objects.get().total_errors == 1


def test_priority_goes_first_and_then_the_least_used():
    add("low", priority=1)
    add("high b", priority=5)
    add("high a", priority=5)
    assert [lease().cookie_name for _ in range(4)] == ["high b", "high a", "high b", "high a"]
    Cookie.objects.filter(priority=5).update(status="banned")
    assert lease().cookie_name == "low"


def test_quota_is_reserved_and_what_was_not_used_comes_back():
    add(daily_limit=12)
    first = lease(wanted=10)
    second = lease(wanted=10)
    assert (first.granted, second.granted) == (10, 2)
    with pytest.raises(NotesError, match="COOKIE_EXHAUSTED"):
        lease()
    pool.end(first, pool.Use(asked=4, succeeded=4), START)
    assert Cookie.objects.get().daily_used == 6


def test_day_is_a_day_in_shanghai():
    add(daily_limit=1)
    late = datetime(2026, 3, 2, 15, 59, tzinfo=UTC)
    lease(late)
    with pytest.raises(NotesError):
        lease(late)
    assert lease(late + timedelta(minutes=1)).cookie_name == "one"


def test_quota_of_yesterday_is_not_given_back_today():
    add(daily_limit=5)
    old = lease(wanted=5)
    tomorrow = START + timedelta(days=1)
    lease(tomorrow, wanted=2)
    pool.end(old, pool.Use(asked=0), tomorrow)
    assert Cookie.objects.get().daily_used == 2


def test_ip_block_stops_all_requests():
    add("one")
    add("two")
    pool.open_breaker("xhs", "ip_block", START)
    pool.open_breaker("xhs", "ip_block", START)
    with pytest.raises(NotesError, match="PLATFORM_ERROR") as caught:
        lease(START + timedelta(minutes=29))
    assert caught.value.reason == "ip_block"
    later = START + timedelta(minutes=31)
    assert lease(later)
    pool.open_breaker("xhs", "ip_block", later)
    with pytest.raises(NotesError):
        lease(later + timedelta(minutes=59))
    taken = lease(later + timedelta(minutes=61))
    pool.end(taken, pool.Use(asked=1, succeeded=1), later + timedelta(minutes=61))
    pool.open_breaker("xhs", "ip_block", later + timedelta(hours=2))
    assert lease(later + timedelta(hours=2, minutes=31)), "after a success the next pause is small again"


def test_without_a_key_the_pool_says_why_it_is_closed(monkeypatch):
    add()
    monkeypatch.delenv("COOKIE_MASTER_KEY")
    with pytest.raises(NotesError) as caught:
        lease()
    assert caught.value.code == "COOKIE_EXHAUSTED"
    assert "COOKIE_MASTER_KEY" in caught.value.message
    assert CookieLease.objects.count() == 0


def test_cookie_that_cannot_be_opened_is_passed_over_and_kept(monkeypatch):
    old = add("old")
    monkeypatch.setenv("COOKIE_MASTER_KEY", "a-third-made-up-master-key-of-forty-chars")
    add("new")
    Cookie.objects.filter(cookie_name="old").update(priority=9)
    assert lease().cookie_name == "new"
    row = Cookie.objects.get(cookie_name="old")
    assert (row.cookie_encrypted, row.status, row.daily_used) == (old.cookie_encrypted, "active", 0)
    assert row.last_error_code == "CANNOT_OPEN"


def test_new_secret_begins_with_a_clean_record():
    add()
    in_flight = lease()
    use(DEAD)
    row, is_new = actions.add_cookie("one", "web_session=made-up-and-new-98765")
    assert (is_new, row.status, row.total_errors) == (False, "active", 0)
    pool.end(in_flight, pool.Use(asked=1, failed=1, cookie_error=DEAD), START)
    assert Cookie.objects.get().status == "active", "a lease of the old secret says nothing about the new one"


def test_same_cookie_is_not_taken_twice():
    add()
    with pytest.raises(NotesError, match="INVALID_INPUT"):
        actions.add_cookie("two", "web_session=made-up-of-one-12345")


@pytest.mark.parametrize("plain", ["", "no pairs here", "a=1\r\nSet-Cookie: x=1", "a=" + "x" * 9000])
def test_what_is_no_cookie_is_refused(plain):
    with pytest.raises(NotesError, match="INVALID_INPUT"):
        actions.add_cookie("one", plain)


def test_watch_job_starts_cooling_down():
    add()
    use(COOL)
    pool.wake(START + timedelta(minutes=31))
    assert Cookie.objects.get().status == "active"


def test_operator_probe_sends_a_request(platform, pool):
    name = pool()
    assert actions.probe_cookie(name)["success"] is True
    platform.account_mood("made-up-session-of-account_01-7731", "login")
    found = actions.probe_cookie(name)
    assert (found["success"], found["status"]) == (False, "invalid")
    assert actions.reset_cookie(name).status == "active"
    with clock.set_to(START):
        assert actions.switch_cookie(name, on=False).disabled_at == START
