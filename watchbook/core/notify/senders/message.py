"""What goes out, independent of the way it goes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from watchbook.core.notify.models import Delivery


@dataclass(frozen=True)
class Message:
    """`id` is the same for every try of one notice on one channel: receivers drop what they know."""

    id: str
    event_id: str
    type: str
    subject: str
    text: str
    html: str
    link: str
    created_at: datetime
    sequence: int | None = None
    thread: str = ""
    payload: dict[str, Any] = field(default_factory=dict)


def message_id(event_id: str, channel_id: object) -> str:
    """Letters and digits only: the id is signed between dots and stands in mail headers."""
    return "msg_" + hashlib.sha256(f"{event_id}\0{channel_id}".encode()).hexdigest()[:32]


def message_of(delivery: Delivery) -> Message:
    return Message(
        id=message_id(delivery.event_id, delivery.channel_id),
        event_id=delivery.event_id,
        type=f"{delivery.source}.{delivery.kind}",
        subject=delivery.subject,
        text=delivery.text,
        html=delivery.html,
        link=delivery.link,
        created_at=delivery.created_at,
        sequence=delivery.sequence,
        thread=delivery.reference,
        payload=delivery.payload,
    )
