"""Web Push against a service that verifies the signature and decrypts as a browser does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from standins.push_service import PushService, unb64
from watchbook.base.testing.people import client_of
from watchbook.core.notify import actions, http, outbox, push
from watchbook.core.notify.channels import BadConfig
from watchbook.core.notify.models import Delivery, NotificationChannel, PushKey, State
from watchbook.kit.letter import Item, Letter, Section

pytestmark = pytest.mark.django_db


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, noon: Any) -> Iterator[PushService]:
    with PushService() as standin:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", standin.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        standin.now = noon.timestamp
        yield standin


@pytest.fixture
def phone(alice: Any, service: PushService) -> NotificationChannel:
    push.public_key()
    return actions.create(alice, name="Phone", channel_type="push", given=service.subscribe()).channel


def row() -> Delivery:
    return Delivery.objects.exclude(channel__name="account").get()


def test_browser_decrypts_title_items_and_link(phone, service, notification, noon):
    pages = tuple(Item(f"冬季航线 {n}", f"https://ferry.example.com/{n}", sign="+") for n in range(8))
    letter = Letter("x", sections=(Section(items=pages, more=2),))
    outbox.notify([phone], notification(subject="Ferry: 10 new pages", letter=letter, thread="monitor:7"))
    outbox.deliver_due(noon)
    (shown,) = service.shown
    said = shown.json()
    assert (said["title"], said["url"]) == ("Ferry: 10 new pages", "http://127.0.0.1:8000/sitemaps/changes/1/")
    assert said["body"].splitlines()[0] == "+ 冬季航线 0"
    assert said["body"].splitlines()[-1] == "and 5 more"
    assert (row().state, row().last_status) == (State.SENT, 201)
    assert (shown.urgency, shown.ttl) == ("normal", 3 * 86_400)


def test_topic_is_one_per_item_and_hides_its_name(phone, service, notification, noon):
    for event, thread in (("change:1", "monitor:7"), ("change:2", "monitor:7"), ("change:3", "monitor:8")):
        outbox.notify([phone], notification(event, thread=thread))
    outbox.deliver_due(noon)
    first, second, other = (shown.topic for shown in service.shown)
    assert first == second != other
    assert "monitor" not in first
    assert [shown.json()["tag"] for shown in service.shown] == [first, second, other]


@pytest.mark.parametrize("status", [404, 410])
def test_device_that_is_gone_is_disabled_and_its_owner_gets_one_mail(phone, service, notification, noon, status):
    service.faults.on("/push/phone").answer(status)
    outbox.notify([phone], notification())
    outbox.deliver_due(noon)
    phone.refresh_from_db()
    assert (phone.is_active, phone.disabled_reason) == (False, "gone")
    assert row().error_code == "device_gone"
    assert Delivery.objects.filter(kind="channel_failing").count() == 1
    outbox.notify([phone], notification("change:2"))
    assert not Delivery.objects.filter(event_id="change:2").exists()


def test_service_with_a_lower_limit_gets_the_subject_alone(phone, service, notification, noon):
    service.limit = 500
    outbox.notify([phone], notification(text="\n".join(f"line {n} of a long text" for n in range(60))))
    outbox.deliver_due(noon)
    (shown,) = service.shown
    assert (shown.json()["title"], shown.json()["body"]) == ("3 pages added", "")
    assert row().state == State.SENT


def test_too_large_in_every_form_is_given_up(phone, service, notification, noon):
    service.limit = 50
    outbox.notify([phone], notification())
    outbox.deliver_due(noon)
    assert (row().state, row().last_status) == (State.FAILED, 413)
    assert len(service.log.all("/push/phone")) == 2


def test_rate_limit_is_kept_and_the_message_is_sent_later(phone, service, notification, noon):
    service.faults.on("/push/phone", nth=1).answer(429, "slow down", {"Retry-After": "120"})
    outbox.notify([phone], notification())
    outbox.deliver_due(noon)
    assert (row().state, (row().next_at - noon).total_seconds()) == (State.PENDING, 120)
    service.now = (noon + timedelta(seconds=120)).timestamp
    outbox.deliver_due(noon + timedelta(seconds=120))
    assert row().state == State.SENT
    assert len(service.shown) == 1


def test_slow_service_is_retried(phone, service, notification, noon, monkeypatch):
    monkeypatch.setattr(http, "DEADLINE_SECONDS", 0.3)
    service.faults.on("/push/phone", nth=1).hang()
    outbox.notify([phone], notification())
    outbox.deliver_due(noon)
    assert (row().state, row().attempt) == (State.PENDING, 1)
    outbox.deliver_due(noon + timedelta(seconds=10))
    assert row().state == State.SENT


def test_key_is_created_once_and_encrypted(alice):
    first = push.public_key()
    assert push.public_key() == first
    stored = PushKey.objects.get()
    assert "PRIVATE" not in stored.secret
    assert len(unb64(stored.public)) == 65
    answer = client_of(alice).post("/channels/push/key/")
    assert answer.json() == {"key": first}
    assert Client().post("/channels/push/key/").status_code in (302, 401, 403)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("endpoint", "http://127.0.0.1:9/push/x"),
        ("endpoint", "ftp://example.com/x"),
        ("endpoint", "http://push.example.com/x"),
        ("p256dh", "AAAA"),
        ("p256dh", "not base64!"),
        ("auth", "AAAA"),
        ("auth", "ÿ"),
        ("colour", "red"),
    ],
)
def test_wrong_subscription_is_refused_by_field(alice, service, name, value):
    given = service.subscribe() | {name: value}
    with pytest.raises(BadConfig) as refused:
        actions.create(alice, name="x", channel_type="push", given=given)
    assert refused.value.field == (name if name != "colour" else "config")


def add(browser: Client, service: PushService, name: str) -> NotificationChannel:
    fields = {"name": name, "digest": "immediate", "then": "test", **service.subscribe()}
    assert browser.post("/channels/add/push/", fields).status_code == 302
    return NotificationChannel.objects.get(name=name)


def test_page_adds_a_device_lists_it_and_shows_no_secret(alice, bob, service):
    push.public_key()
    service.now = time.time
    browser = client_of(alice)
    made = add(browser, service, "Phone of Alice")
    page = browser.get("/channels/add/push/").text
    assert "Phone of Alice" in page
    secrets = service.subscribe()
    assert secrets["endpoint"] not in page + json.dumps(made.config)
    assert secrets["auth"] not in page + json.dumps(made.config)
    assert "Phone of Alice" not in client_of(bob).get("/channels/add/push/").text
    assert client_of(bob).get(f"/channels/{made.pk}/").status_code == 404


def test_browser_that_subscribes_again_has_one_channel_and_signing_out_ends_it(alice, bob, service):
    push.public_key()
    browser = client_of(alice)
    add(browser, service, "first")
    second = add(browser, service, "second")
    assert list(NotificationChannel.objects.of(alice)) == [second]
    browser.post("/accounts/logout/")
    second.refresh_from_db()
    assert (second.is_active, second.disabled_reason) == (False, "signed_out")


def test_same_browser_of_another_user_ends_the_former_channel(alice, bob, service):
    push.public_key()
    first = add(client_of(alice), service, "Alice")
    add(client_of(bob), service, "Bob")
    first.refresh_from_db()
    assert (first.is_active, first.disabled_reason) == (False, "signed_out")


def test_app_is_described_and_its_worker_stores_nothing(client):
    about = client.get("/manifest.webmanifest")
    assert about["Content-Type"] == "application/manifest+json"
    for icon in about.json()["icons"]:
        assert client.get(icon["src"]).status_code == 200
    worker = client.get("/sw.js")
    script = b"".join(worker.streaming_content).decode()
    assert "no-cache" in worker["Cache-Control"]
    assert "caches" not in script
    assert 'addEventListener("fetch"' not in script


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36", "Chrome, Android"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Safari/604.1", "Safari, iPhone"),
        ("", ""),
    ],
)
def test_device_gets_a_name_from_its_browser(alice: Any, agent: str, name: str) -> None:
    page = client_of(alice).get("/channels/add/push/", headers={"User-Agent": agent}).content.decode()
    assert (f'name="name" value="{name}"' in page) is bool(name)
