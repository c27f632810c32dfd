"""A checked service address is connected at the checked host, however Apprise parses it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import apprise
import pytest
import requests

from standins.webhook_sink import WebhookSink
from tests.security.attempts import known_ports
from tests.security.conftest import Canary, Trust
from watchbook.core.accounts.models import User
from watchbook.core.notify.channels import BadConfig
from watchbook.core.notify.channels import apprise as service
from watchbook.core.notify.channels.apprise import HOSTED, check_service
from watchbook.core.notify.message import Message
from watchbook.core.notify.models import NotificationChannel

__all__ = ["known_ports"]

# {good} is the door that the operator named, {bad} the canary's.
TRICKS = (
    "{good}#@{bad}/", "{good}?@{bad}/", "{good}/@{bad}/", "{bad}#@{good}/", "{bad}?@{good}/x", "{bad}/@{good}/x",
    "{good};@{bad}/", "{bad};@{good}/", "u:p@{bad}/@{good}/", "u@{bad}@{good}/x", "u:p@{bad}@{good}/x",
    "{bad}%23@{good}/x", "{bad}%2f@{good}/x", "{bad}%3f@{good}/x", "{good}%40{bad}/", "{good}%2f@{bad}/",
    "u:p%2f@{bad}%23@{good}/x", "u%40{bad}/x@{good}/x", "a:b%40{bad}%2F@{good}/x", "{good}:9/", "[{good}]/",
    "{good}/x?to=http://{bad}/", "{good}/x?host={bad}", "{good}/x?url=http://{bad}/", "{good}/../../@{bad}",
    "{good}/x?+Host={bad}", "{good}/x?server={bad}", "{good}&@{bad}/", "{bad}&@{good}/", "u:p@{good}/x/y",
)  # fmt: skip
CHANNEL = NotificationChannel(user=User(email="alice@example.com"))
MESSAGE = Message(
    id="m", event_id="e", type="t", subject="s", text="x", html="", link="", created_at=datetime(2026, 1, 1, tzinfo=UTC)
)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plug-ins wait some seconds between two requests."""
    monkeypatch.setattr(apprise.URLBase, "throttle", lambda *_args, **_kwargs: None)


@pytest.fixture
def sink(trust: Trust) -> Iterator[WebhookSink]:
    with WebhookSink() as made:
        trust(made.netloc)
        yield made


def test_service_url_cannot_name_another_host(sink: WebhookSink, canary: Canary, known_ports: list[int]) -> None:
    known_ports.append(sink.port)
    taken = 0
    for scheme in HOSTED:
        for trick in TRICKS:
            url = f"{scheme}://{trick.format(good=sink.netloc, bad=f'127.0.0.1{canary.at}')}"
            try:
                check_service(url)
            except BadConfig:
                continue
            taken += 1
            service.send(CHANNEL, {"url": url}, MESSAGE)
    assert taken > len(HOSTED), "honest ones pass"
    assert sink.log.count() > 0


def test_matrix_server_cannot_name_another_host(
    sink: WebhookSink, canary: Canary, known_ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    known_ports.append(sink.port)
    asked: list[str] = []

    def answer(_session: Any, method: str, url: str, **_kwargs: Any) -> Any:
        asked.append(url)
        raise requests.ConnectionError

    # Nothing here speaks TLS, which the plug-in wants before it asks for another server.
    monkeypatch.setattr(requests.Session, "request", answer)
    service.send(CHANNEL, {"url": f"matrixs://user:token@{sink.netloc}/%23room"}, MESSAGE)
    assert asked
    assert not [url for url in asked if ".well-known" in url]
