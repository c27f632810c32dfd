"""Faults of receivers: a delivery is retried with the same id until it is accepted or given up."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import trustme

from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink
from tests.security.conftest import Trust
from tests.security.faults import FAULTS
from watchbook.core.notify import actions as channels
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.outbox import Notification, deliver_due, notify

pytestmark = pytest.mark.django_db

# 410 means that the receiver is gone for good; that has a test of its own beside the sender.
ON_WIRE = [fault for fault in FAULTS if fault.on_wire and fault.number != "status 410"]
NOTICE = Notification(event_id="e", source="x", kind="y", subject="Seven pages added", text="Seven.")
SOON, LATER = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def hooks(trust: Trust) -> Iterator[WebhookSink]:
    with WebhookSink() as sink:
        trust(sink.netloc)
        yield sink


def test_webhook_is_delivered_after_every_fault(
    hooks: WebhookSink, alice: Any, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchbook.core.notify.http.DEADLINE_SECONDS", 1.0)
    for fault in ON_WIRE:
        given = {"url": hooks.address(f"/{len(hooks.log.counts())}")}
        channel = channels.create(alice, name="hook", channel_type="webhook", given=given).channel
        notify([channel], NOTICE)
        with hooks.faults.on("*") as rule:
            fault.script(rule)
            deliver_due(noon)
        first = Delivery.objects.get(channel=channel)
        assert first.state == "sent" or first.last_error, fault.number
        assert len(first.last_body) <= 2048, fault.number
        deliver_due(noon + SOON)
        assert Delivery.objects.get(channel=channel).state == "sent", fault.number
        path = given["url"].removeprefix(hooks.url)
        came = hooks.deliveries(path)
        assert {(one.id, one.body) for one in came} == {(came[0].id, came[0].body)}, fault.number
        assert len(came) == (1 if first.state == "sent" else 2), fault.number


@pytest.fixture
def mails(settings: Any) -> Iterator[SmtpSink]:
    with SmtpSink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = sink.host, sink.port, 1
        yield sink


def mailbox(alice: Any) -> NotificationChannel:
    return channels.create(alice, name="mail", channel_type="email", given={"email": "alice@example.com"}).channel


PASSING = {
    "421 at connecting": lambda mails: mails.on(stage="connect", first=1).refuse(421),
    "450": lambda mails: mails.on(first=1).refuse(450),
    "452 at the end": lambda mails: mails.on(stage="end", first=1).refuse(452),
    "hang at connecting": lambda mails: mails.on(stage="connect", first=1).hang(),
    "hang at data": lambda mails: mails.on(stage="data", first=1).hang(),
    "disconnect at rcpt": lambda mails: mails.on(first=1).disconnect(),
    "disconnect after data": lambda mails: mails.on(stage="end", first=1).disconnect(),
    "taken, and the answer lost": lambda mails: mails.on(stage="end", first=1).lose(),
}


@pytest.mark.parametrize("trouble", PASSING)
def test_mail_after_a_temporary_error_keeps_its_message_id(
    trouble: str, mails: SmtpSink, alice: Any, noon: datetime
) -> None:
    """B21. At most one copy too many, and only where nobody can know whether the first one arrived."""
    PASSING[trouble](mails)
    channel = mailbox(alice)
    notify([channel], NOTICE)
    deliver_due(noon)
    assert Delivery.objects.get(channel=channel).state == "pending"
    deliver_due(noon + SOON)
    assert Delivery.objects.get(channel=channel).state == "sent"
    kept = mails.messages("alice@example.com")
    assert len({mail.message_id for mail in kept}) == 1
    assert len(kept) == (2 if "lost" in trouble else 1)


def test_permanently_refused_mail_is_not_sent_again(mails: SmtpSink, alice: Any, noon: datetime) -> None:
    mails.on().refuse(550)
    channel = mailbox(alice)
    notify([channel], NOTICE)
    for later in (timedelta(), SOON, LATER):
        deliver_due(noon + later)
    delivery = Delivery.objects.get(channel=channel)
    assert (delivery.state, delivery.attempt, delivery.last_status) == ("failed", 1, 550)


@pytest.mark.parametrize("starttls", ["refuse", "broken", "absent"])
def test_mail_without_tls_is_not_sent_where_tls_is_required(
    starttls: Any, alice: Any, settings: Any, noon: datetime
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with SmtpSink(tls=context, starttls=starttls) as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = sink.host, sink.port, 1
        settings.EMAIL_USE_TLS = True
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "desk", "s3ntinel-password"
        channel = mailbox(alice)
        notify([channel], NOTICE)
        deliver_due(noon)
        assert Delivery.objects.get(channel=channel).state == "pending"
        assert sink.journal.all() == []
        said = " ".join(command.line for command in sink.commands.all())
        assert "AUTH" not in said
        assert "alice" not in said


@pytest.mark.parametrize(
    "address", ["ünï@example.com", "a@b@example.com", "a\r\nBcc: x@example.com", "a" * 250 + "@b.c"]
)
def test_invalid_mail_address_is_refused_in_the_form(address: str, alice: Any) -> None:
    from watchbook.core.notify.channels import BadConfig

    with pytest.raises(BadConfig):
        channels.create(alice, name="mail", channel_type="email", given={"email": address})


def test_mail_of_ten_megabytes_is_truncated_and_sent(mails: SmtpSink, alice: Any, noon: datetime) -> None:
    text = "many words and {{ 7 * 7 }} {0.__class__} %(x)s\n" * 220_000
    subject = "one\r\nBcc: x@example.com\r\n\r\nbody" + "s" * 5000
    channel = mailbox(alice)
    notify([channel], Notification(event_id="big", source="x", kind="y", subject=subject, text=text))
    deliver_due(noon)
    (mail,) = mails.messages()
    assert len(mail.raw) < 1_000_000
    assert mail.recipients == ("alice@example.com",)
    assert "{{ 7 * 7 }} {0.__class__} %(x)s" in mail.text, "sent as it is"
