"""The cookie pool as operators see it, and what nobody ever sees: a cookie."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.core.accounts.models import AuditEvent
from watchbook.systems.notes import actions, encryption
from watchbook.systems.notes.models import Cookie, CookieLease
from watchbook.systems.notes.rules import COUNTED
from watchbook.systems.notes.store import pool
from watchbook.systems.notes.tests.browser import MOST_QUERIES, browser, get, post, said
from watchbook.systems.notes.tests.data import KEY, SECOND_KEY, START

pytestmark = pytest.mark.django_db

SECRET = "made-up-session-that-nobody-sees-4711"
LINE = f"a1=made-up-device-{'0' * 30}; web_session={SECRET}"
FIELDS = {"cookie_name": "desk-a", "cookie": LINE, "priority": "3", "daily_limit": "500", "user_agent": "Made Up/1.0"}


@pytest.fixture
def chief(operator):
    return browser(operator)


def add(name="one", **values):
    return actions.add_cookie(name, f"web_session=made-up-of-{name}-12345", **values)[0]


def use(row, cookie_error="", *, succeeded=0, failed=0, now=None):
    held = pool.lease("xhs", 1, now or clock.now())
    assert held.cookie_id == row.pk
    given = pool.Use(
        asked=1,
        succeeded=succeeded,
        failed=failed,
        cookie_error=cookie_error,
        cookie_error_code="COOKIE_INVALID",
        cookie_error_reason="blocked",
    )
    pool.end(held, given, now or clock.now())


class TestAdding:
    def test_cookie_is_stored_encrypted(self, chief):
        assert said(post(chief, "add_cookie", **FIELDS)) == ["desk-a was encrypted and added."]
        row = Cookie.objects.get()
        assert (row.priority, row.daily_limit, row.user_agent) == (3, 500, "Made Up/1.0")
        assert encryption.decrypt(row.cookie_encrypted, name="desk-a", platform="xhs") == LINE

    @pytest.mark.parametrize("wrong", [
        {"priority": "5000"}, {"priority": "many"}, {"daily_limit": "-1"}, {"daily_limit": "9" * 30},
        {"cookie_name": ""},
        {"cookie_name": "a\x00b"}, {"cookie_name": "<b>"}, {"cookie_name": "x" * 101}, {"user_agent": "x" * 401},
        {"cookie": f"{SECRET} without a name"}, {"cookie": f"{LINE}\x00"}, {"cookie": LINE + "x" * 9000},
        {"cookie": f"{LINE}\nX-Other: 1"},
    ])  # fmt: skip
    def test_refused_form_gives_everything_back_but_the_cookie(self, chief, wrong):
        answer = chief.post(reverse("notes:add_cookie"), FIELDS | wrong)
        page = answer.content.decode()
        assert answer.status_code == 422
        assert SECRET not in page
        assert "made-up-device" not in page
        assert "field-error" in page
        if wrong.keys() == {"cookie"}:
            assert 'value="desk-a"' in page
        assert Cookie.objects.count() == 0

    def test_field_keeps_nothing(self, chief):
        page = get(chief, "cookies").content.decode()
        [field] = [part for part in page.split("<input") if 'name="cookie"' in part]
        field = field.partition(">")[0]
        assert 'type="password"' in field
        assert 'autocomplete="off"' in field
        assert "value=" not in field

    def test_name_that_is_taken_is_not_replaced_by_accident(self, chief):
        row = add("desk-a")
        answer = chief.post(reverse("notes:add_cookie"), FIELDS)
        assert answer.status_code == 422
        assert b"A cookie with this name is already in the pool" in answer.content
        assert Cookie.objects.get().cookie_encrypted == row.cookie_encrypted

    def test_same_cookie_twice_is_refused_beside_its_field(self, chief):
        actions.add_cookie("other", LINE)
        answer = chief.post(reverse("notes:add_cookie"), FIELDS)
        assert "cookie" in answer.context["form"].errors
        assert SECRET not in answer.content.decode()

    def test_without_a_key_the_page_says_why_the_pool_is_closed(self, chief, monkeypatch):
        add("kept")
        monkeypatch.delenv("COOKIE_MASTER_KEY")
        closed = get(chief, "cookies")
        assert b"COOKIE_MASTER_KEY is not set" in closed.content
        assert closed.context["pool"]["ready"] == 0
        answer = chief.post(reverse("notes:add_cookie"), FIELDS)
        assert answer.status_code == 422
        assert SECRET not in answer.content.decode()
        assert Cookie.objects.get().cookie_name == "kept"


def test_no_answer_no_log_and_no_audit_line_holds_a_cookie(chief, operator, platform, caplog):
    """Every page and every button of the pool, one after the other."""
    caplog.set_level(logging.DEBUG)
    line = platform.add_account(SECRET)
    answers = [post(chief, "add_cookie", **FIELDS | {"cookie": line})]
    pk = Cookie.objects.get().pk
    for step in ("probe", "off", "on", "reset", "probe"):
        answers.append(post(chief, "cookie_step", pk, step))
    answers += [post(chief, "replace_cookie", pk, cookie=f"{line}; extra=1"), post(chief, "rotate")]
    answers += [post(chief, "cookie_limits", pk, priority="1", daily_limit="7", user_agent="")]
    answers += [chief.post(reverse("notes:replace_cookie", args=[pk]), {"cookie": f"{line}\x00"})]
    answers += [get(chief, name) for name in ("cookies", "candidates", "executions", "alerts", "keywords")]
    answers += [get(chief, "cookie", pk), chief.get("/audit/"), chief.get("/"), chief.get("/operations/")]
    for answer in answers:
        assert answer.status_code in {200, 422}
        assert SECRET not in answer.content.decode()
        assert Cookie.objects.get().cookie_encrypted not in answer.content.decode()
    assert SECRET not in caplog.text
    assert AuditEvent.objects.filter(event__startswith="notes.cookie").count() == 8
    assert not any(SECRET in str(values) for values in AuditEvent.objects.values_list())


class TestPool:
    def test_every_state_is_shown_as_it_is_now(self, chief):
        with clock.set_to(START):
            row = add()
            for _ in range(3):
                use(row, COUNTED, failed=1)
            page = get(chief, "cookies").content.decode()
            assert "Cooling" in page
            assert "3 errors in a row" in page
            assert "0 %" in page
        with clock.set_to(START + timedelta(minutes=31)):
            (line,) = get(chief, "cookies").context["lines"]
        assert (str(line.badge.text), line.errors["row"]) == ("Active", 0)
        # Looking changes nothing.
        assert Cookie.objects.get().status == "cooling"

    def test_quota_restarts_with_the_day_in_shanghai(self, chief):
        with clock.set_to(START):
            use(add(daily_limit=10), succeeded=1)
            assert get(chief, "cookies").context["lines"][0].used == 1
            assert get(chief, "cookies").context["pool"]["left"] == 9
        with clock.set_to(START + timedelta(days=1)):
            answer = get(chief, "cookies")
        assert answer.context["lines"][0].used == 0
        assert answer.context["pool"]["left"] == 10

    def test_cookie_in_use_is_shown_until_its_lease_ends(self, chief):
        with clock.set_to(START):
            add()
            held = pool.lease("xhs", 5, START)
            assert b"5 requests reserved" in get(chief, "cookies").content
        with clock.set_to(START + timedelta(minutes=31)):
            assert b"requests reserved" not in get(chief, "cookies").content
        with clock.set_to(START):
            pool.end(held, pool.Use(asked=5, succeeded=5), START)
            assert b"requests reserved" not in get(chief, "cookies").content

    def test_keys_that_are_old_or_missing_are_named_and_rotated(self, chief, monkeypatch):
        add()
        old = encryption.current_key_id()
        monkeypatch.setenv("COOKIE_MASTER_KEYS", f"k2:{SECOND_KEY}")
        answer = get(chief, "cookies")
        assert answer.context["pool"]["old_keys"] == [(old, 1, True)]
        assert said(post(chief, "rotate")) == ["1 cookie re-encrypted."]
        assert Cookie.objects.get().encryption_key_id == "k2"
        monkeypatch.delenv("COOKIE_MASTER_KEYS")
        monkeypatch.setenv("COOKIE_MASTER_KEY", KEY)
        assert get(chief, "cookies").context["pool"]["old_keys"] == [("k2", 1, False)]
        assert said(post(chief, "rotate"))[1] == "The key of 1 cookie is missing: one. The cookie was not changed."
        monkeypatch.delenv("COOKIE_MASTER_KEY")
        assert said(post(chief, "rotate")) == ["The cookie pool is unavailable: COOKIE_MASTER_KEY is not set."]

    def test_open_breaker_is_shown_and_closed_by_hand(self, chief):
        add()
        pool.open_breaker("xhs", "ip_block", clock.now())
        assert b"Circuit breaker open" in get(chief, "cookies").content
        assert b"blocks requests from this server" in get(chief, "cookies").content
        assert said(post(chief, "close_breaker")) == ["Circuit breaker closed. Requests to the platform continue."]
        assert b"Circuit breaker open" not in get(chief, "cookies").content
        assert said(post(chief, "close_breaker")) == ["The circuit breaker was already closed."]

    def test_pool_costs_the_same_for_one_and_for_thirty(self, chief):
        def cost():
            with CaptureQueriesContext(connection) as queries:
                get(chief, "cookies")
            return len(queries)

        add("cookie 0")
        get(chief, "cookies")
        few = cost()
        for number in range(1, 30):
            add(f"cookie {number}")
        assert cost() == few
        assert few <= MOST_QUERIES + 10


class TestOne:
    def test_tried_by_hand(self, chief, platform, pool):
        pool("good")
        row = Cookie.objects.get()
        assert said(post(chief, "cookie_step", row.pk, "probe")) == ["The platform accepted the cookie."]
        platform.account_mood("made-up-session-of-good-7731", "login")
        answer = post(chief, "cookie_step", row.pk, "probe")
        assert said(answer) == ["The platform no longer accepts this login. Replace the cookie."]
        assert b"Invalid" in answer.content
        assert CookieLease.objects.filter(is_probe=True).count() == 2

    def test_tried_without_an_adapter_it_says_so(self, chief):
        row = add()
        assert said(post(chief, "cookie_step", row.pk, "probe")) == [
            "No adapter is enabled. An operator chooses one under Settings."
        ]

    def test_settings_page_shows_the_answer_of_the_platform(self, chief, platform, pool):
        def tested():
            return squeezed(chief.post("/operations/settings/notes/test/").content.decode())

        assert "No cookie can be used. Add one to the cookie pool." in tested()
        pool("good")
        assert "The platform accepted the cookie good." in tested()
        platform.account_mood("made-up-session-of-good-7731", "login")
        assert "good: The platform no longer accepts this login. Replace the cookie." in tested()

    def test_cookie_is_disabled_enabled_and_reset(self, chief):
        row = add()
        post(chief, "cookie_step", row.pk, "off")
        assert Cookie.objects.get().is_enabled is False
        assert b"Disabled" in get(chief, "cookies").content
        post(chief, "cookie_step", row.pk, "on")
        Cookie.objects.update(status="banned", total_errors=9)
        post(chief, "cookie_step", row.pk, "reset")
        again = Cookie.objects.get()
        assert (again.is_enabled, again.status, again.total_errors) == (True, "active", 0)

    def test_replaced_it_keeps_its_limits_and_loses_its_past(self, chief):
        row = add(priority=4, daily_limit=30)
        Cookie.objects.update(status="invalid", total_errors=10)
        post(chief, "replace_cookie", row.pk, cookie=LINE)
        again = Cookie.objects.get()
        assert (again.priority, again.daily_limit, again.status, again.total_errors) == (4, 30, "active", 0)
        assert encryption.decrypt(again.cookie_encrypted, name="one", platform="xhs") == LINE

    def test_limits_change_and_nothing_else(self, chief):
        row = add()
        post(chief, "cookie_limits", row.pk, priority="9", daily_limit="12", user_agent="Made Up/2.0")
        again = Cookie.objects.get()
        assert (again.priority, again.daily_limit, again.user_agent) == (9, 12, "Made Up/2.0")
        assert again.cookie_encrypted == row.cookie_encrypted
        answer = chief.post(reverse("notes:cookie_limits", args=[row.pk]), {"priority": "x", "daily_limit": ""})
        assert answer.status_code == 422
        assert Cookie.objects.get().priority == 9

    def test_its_uses_are_listed(self, chief):
        row = add()
        use(row, COUNTED, failed=1)
        page = squeezed(get(chief, "cookie", row.pk).text)
        assert "1 error" in page
        assert "1<small>of 3</small>" in page
