"""Webhooks as Standard Webhooks has them: a stable id, a moment, and a signature over exactly the bytes sent."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from watchbook.base import clock
from watchbook.base.text import cut
from watchbook.base.web import client
from watchbook.base.web.answer import Answer
from watchbook.base.web.errors import Busy, WebError
from watchbook.base.web.status import retry_after
from watchbook.core.notify import signing
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.notify.senders.message import Message
from watchbook.core.notify.senders.result import Result, failed, sent

DEADLINE_SECONDS = 30.0
TEXT_LENGTH = 900
# 4xx that may well pass: time-out, conflict, too early, too many.
PASSING = frozenset({408, 409, 425, 429})


def send(channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
    body = body_of(message)
    try:
        answer = client.send(
            config["method"],
            config["url"],
            body,
            headers=_headers(config, message, body),
            secrets=config["headers"],
            deadline_seconds=DEADLINE_SECONDS,
            raise_for_status=False,
            own_url=settings.PUBLIC_URL,
            # A key of its own for each try: a pause that the receiver asked for is kept by the outbox, whose clock
            # may be held, and not a second time by the pace of the host.
            account=f"{channel.pk}:{clock.now().timestamp()}",
        )
    except Busy as error:
        return failed(error.code, message=error.message, retry_after_seconds=error.retry_after_seconds, is_busy=True)
    except WebError as error:
        return failed(
            error.code,
            message=error.message,
            status=error.status,
            retry_after_seconds=error.retry_after_seconds,
            is_permanent=not error.is_temporary,
        )
    return judge(answer)


def judge(answer: Answer) -> Result:
    """Only 2xx is success."""
    status, body = answer.status, answer.body
    if 200 <= status < 300:
        return sent(status, body)
    if status == 410:
        return failed("gone", status=status, body=body, is_gone=True)
    if status < 400:
        return failed("redirect", status=status, body=body)
    is_permanent = status < 500 and status not in PASSING
    pause = None if is_permanent else retry_after(answer.headers)
    return failed("status", status=status, body=body, is_permanent=is_permanent, retry_after_seconds=pause)


def body_of(message: Message) -> bytes:
    """The same bytes at every try. Not escaped to ASCII, so that Chinese text keeps its size."""
    content = {
        "type": message.type,
        "id": message.id,
        "event_id": message.event_id,
        "timestamp": message.created_at.isoformat(),
        "sequence": message.sequence,
        "subject": message.subject,
        "text": cut(message.text, TEXT_LENGTH),
        "link": message.link,
        "data": message.payload,
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(config: dict[str, Any], message: Message, body: bytes) -> dict[str, str]:
    timestamp = int(clock.now().timestamp())
    return {
        "content-type": "application/json; charset=utf-8",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signing.signature(valid_secrets(config), message.id, timestamp, body),
    }


def valid_secrets(config: dict[str, Any]) -> list[str]:
    """The newest secret, and the one before it while a rotation lasts."""
    newest, *older = config["secrets"]
    until = config.get("old_until")
    return [newest, *older[:1]] if until and clock.now() < clock.parse(until) else [newest]
