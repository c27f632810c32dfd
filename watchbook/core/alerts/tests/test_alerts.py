"""Alerts open once, send one notification, and resolve."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.core import mail
from django.db import connections, transaction

from watchbook.base import clock
from watchbook.base.testing.people import client_of, make_person
from watchbook.base.text import Sentence
from watchbook.core.accounts import tokens
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.alerts.models import Alert
from watchbook.core.notify import actions, outbox
from watchbook.core.notify.models import Delivery

pytestmark = pytest.mark.django_db
WORDS = {"source": "notes", "title": "Success rate under 90 %", "message": "17 of 120 reads failed.", "link": "/notes/"}


@pytest.fixture
def operator(db):
    return make_person("operator", is_staff=True)


@pytest.fixture
def channels(operator):
    """One channel for each level an operator may ask for, and one that asks for none."""
    made = {}
    for level in ("P0", "P1", "P2", ""):
        given = {"email": f"ops-{level or 'none'}@example.com".lower()}
        saved = actions.create(operator, name=level or "none", channel_type="email", given=given, alert_level=level)
        made[level] = saved.channel
    return made


def notified() -> set[str]:
    return set(Delivery.objects.values_list("channel__name", flat=True))


def test_condition_opens_one_alert_with_one_notification(channels):
    assert open_alert("notes:rate", level="P1", **WORDS) is True
    assert open_alert("notes:rate", level="P1", **WORDS) is False
    assert Alert.objects.open().count() == 1
    assert notified() == {"P1", "P2"}
    assert Delivery.objects.count() == 2
    assert all(Delivery.objects.values_list("bypass_digest", flat=True))


def test_it_closes_and_may_open_again_as_a_new_one(channels):
    open_alert("notes:rate", level="P1", **WORDS)
    assert resolve_alert("notes:rate", "back at 97 %") is True
    assert resolve_alert("notes:rate") is False
    (past,) = Alert.objects.past()
    assert (past.note, past.closed_at is not None) == ("back at 97 %", True)
    assert open_alert("notes:rate", level="P1", **WORDS) is True
    opened = Delivery.objects.filter(kind="alert")
    assert opened.count() == 4


def test_resolved_alert_notifies_once_those_who_received_it(channels, operator):
    open_alert("notes:rate", level="P1", **WORDS)
    late = {"email": "late@example.com"}
    actions.create(operator, name="late", channel_type="email", given=late, alert_level="P2")
    with clock.set_to(clock.now() + timedelta(minutes=24)):
        resolve_alert("notes:rate", "back at 97 %")
        resolve_alert("notes:rate")
    resolved = Delivery.objects.filter(kind="resolved")
    assert set(resolved.values_list("channel__name", flat=True)) == {"P1", "P2"}
    assert {row.subject for row in resolved} == {"[P1] Resolved after 24 min: Success rate under 90 %"}
    assert all(row.bypass_digest for row in resolved)


def test_resolved_alert_does_not_notify_former_operators(channels, operator):
    open_alert("notes:rate", level="P1", **WORDS)
    operator.is_staff = False
    operator.save()
    resolve_alert("notes:rate")
    assert not Delivery.objects.filter(kind="resolved").exists()


def test_alert_says_what_to_do_on_the_page_in_the_api_and_in_the_mail(channels, operator):
    remedy = Sentence("Replace the login or the key in the settings, then select Test.")
    open_alert("notes:rate", level="P1", remedy=remedy, **WORDS)
    browser = client_of(operator)
    assert remedy.english in browser.get("/alerts/").content.decode()
    assert browser.get("/api/v1/alerts").json()["items"][0]["remedy"] == remedy.english
    outbox.deliver_due()
    assert f"What to do. {remedy.english}" in mail.outbox[0].body


def test_higher_level_notifies_only_channels_not_notified_before(channels):
    open_alert("notes:rate", level="P2", **WORDS)
    assert notified() == {"P2"}
    open_alert("notes:rate", level="P0", **WORDS)
    assert notified() == {"P0", "P1", "P2"}
    assert Delivery.objects.count() == 3
    open_alert("notes:rate", level="P2", **WORDS)
    assert Alert.objects.get().level == "P0"


def test_members_see_no_details_of_the_server(channels, operator):
    operator.is_staff = False
    operator.save()
    open_alert("notes:rate", level="P0", **WORDS)
    assert notified() == set()


def test_unknown_level_is_an_error():
    with pytest.raises(ValueError, match="P0, P1 or P2"):
        open_alert("x", level="P9", **WORDS)


def test_inside_a_transaction_that_rolls_back_nothing_opens(channels):
    with transaction.atomic():
        open_alert("notes:rate", level="P1", **WORDS)
        transaction.set_rollback(True)
    assert not Alert.objects.exists()
    assert not Delivery.objects.exists()


def test_page_shows_open_and_past_ones_as_text(channels, operator):
    evil = '"><img src=x onerror=alert(1)>'
    open_alert("a", level="P1", source="notes", title=evil, message=evil)
    open_alert("b", level="P2", source="nga", title="5 floors missing", message="")
    resolve_alert("b", evil)
    page = client_of(operator).get("/alerts/").content.decode()
    assert "<img src=x" not in page
    assert "not sent to any channel" in page
    outbox.deliver_due()
    page = client_of(operator).get("/alerts/").content.decode()
    assert "sent to 2 channels" in page
    assert "5 floors missing" in page


def test_anonymous_user_is_redirected_to_sign_in():
    assert client_of().get("/alerts/").status_code == 302
    assert client_of().get("/api/v1/alerts").status_code == 401


def test_api_lists_by_state(operator):
    open_alert("a", level="P1", **WORDS)
    open_alert("b", level="P2", **WORDS)
    resolve_alert("b")
    headers = {"Authorization": f"Bearer {tokens.make(operator, ['read'], 1)[1]}"}

    def keys(query: str) -> list[str]:
        return [item["key"] for item in client_of().get(f"/api/v1/alerts{query}", headers=headers).json()["items"]]

    assert sorted(keys("")) == ["a", "b"]
    assert keys("?state=open") == ["a"]
    assert keys("?state=closed") == ["b"]
    for query in ("state=x", "source=x"):
        refused = client_of().get(f"/api/v1/alerts?{query}", headers=headers)
        assert refused.status_code == 422
        assert refused.json()["error"]["details"][0]["field"] == query[:-2]


def test_api_lists_by_system(operator):
    open_alert("a", level="P1", **{**WORDS, "source": "notes"})
    open_alert("b", level="P1", **{**WORDS, "source": "reddit"})
    headers = {"Authorization": f"Bearer {tokens.make(operator, ['read'], 1)[1]}"}
    found = client_of().get("/api/v1/alerts?source=notes", headers=headers).json()["items"]
    assert [item["key"] for item in found] == ["a"]


@pytest.mark.django_db(transaction=True)
def test_many_workers_that_find_it_together_open_one(operator):
    given = {"email": "ops@example.com"}
    actions.create(operator, name="ops", channel_type="email", given=given, alert_level="P2")
    start, results = threading.Barrier(6), []

    def find() -> None:
        start.wait(10)
        results.append(open_alert("disk:full", level="P0", **WORDS))
        connections.close_all()

    threads = [threading.Thread(target=find) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(results) == [False] * 5 + [True]
    assert Alert.objects.count() == 1
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize(("link", "is_shown"), [("/operations/", False), ("/alerts/?a=1", True), ("/nowhere/", True)])
def test_member_gets_no_link_to_a_page_of_operators(operator, link, is_shown):
    open_alert("test", level="P0", **{**WORDS, "link": link})
    button = f'href="{link}">Show'.encode()
    member, chief = client_of(make_person("alice")), client_of(operator)
    for path in ("/", "/alerts/"):
        assert (button in member.get(path).content) is is_shown
        assert button in chief.get(path).content
