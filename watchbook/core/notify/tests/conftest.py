"""People, sinks on loopback, and channels that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink
from watchbook.base.testing import people
from watchbook.core.accounts.models import User
from watchbook.core.notify import actions
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.notify.outbox import Notification

alice, bob, charlie, operator, matrix = people.alice, people.bob, people.charlie, people.operator, people.matrix

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU="


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebhookSink]:
    with WebhookSink() as sink:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", sink.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        yield sink


@pytest.fixture
def mails(settings: Any) -> Iterator[SmtpSink]:
    with SmtpSink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = sink.host, sink.port
        settings.EMAIL_TIMEOUT = 5
        yield sink


@pytest.fixture
def webhook(alice: User, hooks: WebhookSink) -> NotificationChannel:
    given = {"url": hooks.address("/hook"), "secret": SECRET, "headers": {"Authorization": "Bearer t0p-secret-value"}}
    return actions.create(alice, name="hook", channel_type="webhook", given=given).channel


@pytest.fixture
def mailbox(alice: User, mails: SmtpSink) -> NotificationChannel:
    return actions.create(alice, name="mail", channel_type="email", given={"email": "alice@example.com"}).channel


@pytest.fixture
def notification() -> Callable[..., Notification]:
    def make(event_id: str = "change:1", **fields: Any) -> Notification:
        usual = {"source": "example", "kind": "change", "subject": "3 pages added", "text": "Three new pages."}
        return Notification(event_id=event_id, **{**usual, "link": "/sitemaps/changes/1/", **fields})

    return make
