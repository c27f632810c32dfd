"""Webhooks over a real line: signature, tries, refusals."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import transaction

from standins.webhook_sink import verify
from watchbook.base import clock
from watchbook.core.notify import actions, channels, outbox
from watchbook.core.notify.channels import BadConfig
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.outbox import result

from .conftest import SECRET

pytestmark = pytest.mark.django_db


def row() -> Delivery:
    return Delivery.objects.exclude(channel__name="account").get()


def test_notification_arrives_signed_with_its_headers(webhook, hooks, notification):
    outbox.notify([webhook], notification(payload={"counts": {"added": 3}}))
    assert outbox.deliver_due().sent == 1

    (came,) = hooks.deliveries("/hook")
    assert came.request.method == "POST"
    assert came.is_signed_with(SECRET)
    assert came.headers.get("authorization") == "Bearer t0p-secret-value"
    assert came.headers.get("content-type").startswith("application/json")
    body = came.json()
    assert body["type"] == "example.change"
    assert body["id"] == came.id == came.headers.get("webhook-id")
    assert body["sequence"] == 1
    assert body["data"] == {"counts": {"added": 3}}
    assert body["link"] == "http://127.0.0.1:8000/sitemaps/changes/1/"
    assert row().state == "sent"
    assert row().last_status == 200


def test_signature_does_not_fit_another_body_secret_or_time(webhook, hooks, notification):
    outbox.notify([webhook], notification())
    outbox.deliver_due()
    (came,) = hooks.deliveries()
    assert verify(SECRET, came.headers, came.body)
    assert not verify(SECRET, came.headers, came.body + b" ")
    assert not verify("whsec_" + "eHh4" * 10, came.headers, came.body)
    assert not verify(SECRET, came.headers, came.body, now=clock.now().timestamp() + 600)


def test_text_with_odd_characters_is_sent_byte_by_byte_as_signed(webhook, hooks, notification):
    outbox.notify(
        [webhook], notification(subject="线\u2028分隔 {{7*7}} %(x)s {0.__class__} $x", payload={"名": "值\u2029"})
    )
    outbox.deliver_due()
    (came,) = hooks.deliveries()
    assert came.is_signed_with(SECRET)
    assert "{{7*7}} %(x)s {0.__class__} $x" in came.json()["subject"]
    assert came.json()["data"] == {"名": "值\u2029"}


def test_failed_attempts_back_off_and_the_owner_is_notified_of_the_outage_and_the_end(
    webhook, hooks, mails, notification, noon
):
    hooks.plan("/hook", "500")
    outbox.notify([webhook], notification())
    moments = []
    now = noon
    while True:
        with clock.set_to(now):
            outbox.deliver_due(now)
        moments.append(now)
        if row().state != "pending":
            break
        assert len(moments) < 20
        now = row().next_at

    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    assert len(gaps) == len(result.STEPS)
    for gap, step in zip(gaps, result.STEPS, strict=True):
        assert 0.8 * step <= gap <= 1.2 * step
    assert row().state == "failed"
    assert len(hooks.ids()) == 1  # the same id at every try
    assert len({came.body for came in hooks.deliveries()}) == 1
    assert len({came.headers.get("webhook-timestamp") for came in hooks.deliveries()}) == len(moments)

    outbox.deliver_due(now + timedelta(minutes=1))
    failing, given_up = mails.messages(to="alice@example.com")
    assert "failing" in failing.subject
    assert "not delivered" in given_up.subject
    assert SECRET not in failing.text + given_up.text

    hooks.faults.clear()
    with clock.set_to(now + timedelta(hours=1)):
        actions.replay(row())
        outbox.deliver_due(clock.now())
        outbox.deliver_due(clock.now())
    assert row().state == "sent"
    assert len(hooks.ids()) == 1
    assert [mail.subject for mail in mails.messages()[2:]] == ["Deliveries working again: hook"]


@pytest.mark.parametrize(("asked", "seconds"), [("30", 30), ("0", 1), ("999999", 86400), ("-5", 1)])
def test_retry_after_replaces_the_backoff_and_is_bounded(webhook, hooks, notification, noon, asked, seconds):
    hooks.plan("/hook", f"429:{asked}", "ok")
    outbox.notify([webhook], notification())
    outbox.notify([webhook], notification("change:2"))
    outbox.deliver_due(noon)

    first = Delivery.objects.get(event_id="change:1")
    assert (first.next_at - noon).total_seconds() == seconds
    assert len(hooks.deliveries()) == 1, "the pause is meant for the whole channel"
    outbox.deliver_due(noon + timedelta(seconds=seconds))
    assert set(Delivery.objects.values_list("state", flat=True)) == {"sent"}


def test_gone_disables_the_channel_and_skips_pending_deliveries(webhook, hooks, mails, notification, noon):
    hooks.plan("/hook", "410")
    outbox.notify([webhook], notification())
    outbox.notify([webhook], notification("change:2"))
    outbox.deliver_due(noon)

    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason) == (False, "gone")
    states = dict(Delivery.objects.filter(channel=webhook).values_list("event_id", "state"))
    assert states == {"change:1": "failed", "change:2": "skipped"}
    assert outbox.notify([webhook], notification("change:3")) == []
    outbox.deliver_due(noon)
    assert len(mails.messages()) == 1
    assert len(hooks.deliveries()) == 1


@pytest.mark.parametrize(("plan", "words"), [("410", "HTTP 410"), ("503", "接收地址返回 HTTP 503")])
def test_owner_reads_the_last_response_in_their_language(webhook, hooks, mails, notification, noon, plan, words):
    webhook.user.language = "zh-hans"
    webhook.user.save()
    hooks.plan("/hook", *[plan] * 3)
    for number in range(3):
        outbox.notify([webhook], notification(f"change:{number}"))
    outbox.deliver_due(noon)
    outbox.deliver_due(noon)
    text = mails.messages()[0].parsed.get_body(("plain",)).get_content()
    assert f"最近一次响应：{words}" in text
    assert "endpoint" not in text


@pytest.mark.parametrize("status", ["400", "413", "422"])
def test_refused_request_is_attempted_twice(webhook, hooks, notification, noon, status):
    hooks.plan("/hook", status)
    outbox.notify([webhook], notification())
    for hours in range(6):
        outbox.deliver_due(noon + timedelta(hours=hours))
    assert len(hooks.deliveries()) == 2
    assert row().state == "failed"
    assert row().last_status == int(status)


@pytest.mark.parametrize("status", ["401", "403", "404", "407"])
def test_refused_sender_is_an_outage_and_no_message_is_given_up(webhook, hooks, mails, notification, noon, status):
    hooks.plan("/hook", status)
    for number in range(3):
        outbox.notify([webhook], notification(f"change:{number}"))
    for minutes in (0, 1, 10, 60, 240):
        outbox.deliver_due(noon + timedelta(minutes=minutes))
    waiting = Delivery.objects.filter(event_id__startswith="change:")
    assert set(waiting.values_list("state", flat=True)) == {"pending"}
    assert Delivery.objects.filter(kind="channel_failing").count() == 1, "the owner hears of it once"

    hooks.plan("/hook", "ok")
    outbox.deliver_due(noon + timedelta(days=1))
    assert set(waiting.values_list("state", flat=True)) == {"sent"}


@pytest.mark.parametrize("status", ["408", "409", "425", "503"])
def test_temporary_error_is_retried(webhook, hooks, notification, noon, status):
    hooks.plan("/hook", status, status, status, "ok")
    outbox.notify([webhook], notification())
    for hours in range(8):
        outbox.deliver_due(noon + timedelta(hours=hours))
    assert row().state == "sent"
    assert row().attempt == 4


def test_one_refusal_after_other_errors_is_retried(webhook, hooks, notification, noon):
    hooks.plan("/hook", "500", "404", "500", "404", "ok")
    outbox.notify([webhook], notification())
    for hours in range(0, 60, 12):
        outbox.deliver_due(noon + timedelta(hours=hours))
    assert row().state == "sent"


def test_redirects_are_failures_and_not_followed(webhook, hooks, notification, noon):
    hooks.plan("/hook", "307:/elsewhere")
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    assert [came.request.path for came in hooks.deliveries()] == ["/hook"]
    assert row().error_code == "redirect"
    assert row().state == "pending"


def test_broken_connection_is_retried_with_the_same_id(webhook, hooks, notification, noon):
    hooks.plan("/hook", "reset", "ok")
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    assert row().error_code == "unreachable"
    outbox.deliver_due(noon + timedelta(seconds=7))
    assert row().state == "sent"
    assert list(hooks.ids().values()) == [2]


def test_answer_is_kept_short_and_shown_as_text_only(webhook, hooks, notification, noon, client):
    hooks.faults.on("/hook").answer(500, "<script>alert(1)</script>" * 1000, {})
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    assert len(row().last_body) <= 2048

    client.force_login(webhook.user)
    page = client.get(f"/deliveries/{row().pk}/").content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_two_signatures_while_a_secret_is_rotated_and_one_afterwards(webhook, hooks, notification, noon):
    fresh = actions.rotate_secret(webhook)
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    (came,) = hooks.deliveries()
    assert came.is_signed_with(SECRET, now=noon.timestamp())
    assert came.is_signed_with(fresh, now=noon.timestamp())

    later = noon + timedelta(hours=25)
    with clock.set_to(later):
        outbox.notify([webhook], notification("change:2"))
        outbox.deliver_due(later)
    came = hooks.deliveries()[1]
    assert not came.is_signed_with(SECRET, now=later.timestamp())
    assert came.is_signed_with(fresh, now=later.timestamp())


def test_private_address_is_refused_when_saved_and_when_dialled(alice, webhook, notification, noon, monkeypatch):
    with pytest.raises(BadConfig, match="private"):
        channels.check("webhook", {"url": "http://169.254.169.254/latest"})
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "")
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(hours=1))
    assert row().state == "failed"
    assert row().error_code in {"private_address", "bad_port"}


def test_our_own_address_is_refused(settings, hooks):
    settings.PUBLIC_URL = hooks.url
    with pytest.raises(BadConfig, match="this server"):
        channels.check("webhook", {"url": hooks.address("/api/v1/channels")})


def test_rolled_back_change_sends_nothing(webhook, hooks, notification):
    with transaction.atomic():
        outbox.notify([webhook], notification())
        transaction.set_rollback(True)
    assert outbox.deliver_due().figures() == {"sent": 0, "failed": 0, "retried": 0, "skipped": 0}
    assert hooks.deliveries() == []


def test_same_event_is_sent_once(webhook, hooks, notification):
    assert len(outbox.notify([webhook, webhook], notification())) == 1
    assert outbox.notify([webhook], notification()) == []
    outbox.deliver_due()
    assert len(hooks.deliveries()) == 1


def test_long_ids_that_differ_at_their_end_stay_two(webhook, notification):
    outbox.notify([webhook], notification("x" * 300 + "a"))
    outbox.notify([webhook], notification("x" * 300 + "b"))
    assert Delivery.objects.count() == 2


def test_large_change_is_sent_in_a_small_message(webhook, hooks, notification):
    urls = [{"url": f"https://www.example.com/a-rather-long-path/{n}", "lastmod": "2026-01-01"} for n in range(10_000)]
    payload = {"counts": {"added": 10_000, "removed": 0}, "added": urls, "removed": []}
    outbox.notify([webhook], notification(payload=payload, text="x" * 100_000))
    outbox.deliver_due()
    (came,) = hooks.deliveries()
    assert len(came.body) < 20_000
    data = json.loads(came.body)["data"]
    assert data["counts"]["added"] == 10_000
    assert 10 <= len(data["added"]) <= 100
    assert data["truncated"] is True


def test_channel_that_keeps_failing_is_paused_and_recovers(webhook, hooks, mails, notification, noon):
    hooks.plan("/hook", "500")
    for n in range(30):
        outbox.notify([webhook], notification(f"change:{n}"))
    outbox.deliver_due(noon)
    assert len(hooks.deliveries()) == 3
    webhook.refresh_from_db()
    assert webhook.blocked_until > noon
    outbox.deliver_due(webhook.blocked_until)
    assert len(hooks.deliveries()) == 4, "one probe, then it is left alone again"

    hooks.faults.clear()
    webhook.refresh_from_db()
    later = webhook.blocked_until + timedelta(hours=1)
    outbox.deliver_due(later)
    assert set(Delivery.objects.filter(channel=webhook).values_list("state", flat=True)) == {"sent"}
    webhook.refresh_from_db()
    assert (webhook.failure_count, webhook.blocked_until) == (0, None)
    outbox.deliver_due(later)
    failing, recovered = [message.subject for message in mails.messages()]
    assert (failing, recovered) == ("Deliveries failing: hook", "Deliveries working again: hook")
    outbox.notify([webhook], notification("change:later"))
    outbox.deliver_due(later)
    assert len(mails.messages()) == 2, "the next success is no news"


def test_one_failed_delivery_that_is_retried_sends_no_mail(webhook, hooks, mails, notification, noon):
    hooks.plan("/hook", "500", "ok")
    outbox.notify([webhook], notification())
    for minutes in (0, 10):
        outbox.deliver_due(noon + timedelta(minutes=minutes))
    assert row().state == "sent"
    assert not mails.messages()


def test_channel_that_fails_for_days_is_disabled(webhook, hooks, mails, notification, noon):
    hooks.plan("/hook", "500")
    for n in range(12):
        outbox.notify([webhook], notification(f"change:{n}"))
    now = noon
    for _ in range(60):
        outbox.deliver_due(now)
        now += timedelta(hours=6)
    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason) == (False, "failing")
    assert not Delivery.objects.filter(channel=webhook, state="pending").exists()
    assert len(mails.messages()) == 1


def test_secrets_are_in_no_column_and_no_log(webhook, hooks, notification, noon, caplog, capsys):
    caplog.set_level("DEBUG")
    hooks.plan("/hook", "500")
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    dump = json.dumps([*NotificationChannel.objects.values(), *Delivery.objects.values()], default=str)
    seen = dump + caplog.text + "".join(capsys.readouterr())
    for secret in (SECRET, SECRET.removeprefix("whsec_"), "t0p-secret-value", "/hook"):
        assert secret not in seen, secret
    assert str(hooks.port) in dump  # the host may be seen
