"""Deliveries in words."""

from __future__ import annotations

from django import template

from watchbook.core.notify.kinds import title_of
from watchbook.core.notify.models import Attempt, Delivery
from watchbook.core.notify.senders import explain, message_id

register = template.Library()


@register.simple_tag
def explain_delivery(delivery: Delivery) -> str:
    """The last answer as a sentence; empty while there is none."""
    if delivery.error_code:
        return explain(delivery.error_code, delivery.last_status, delivery.last_error)
    return str(delivery.last_status or "")


@register.simple_tag
def explain_attempt(attempt: Attempt) -> str:
    return explain(attempt.error_code, attempt.status, attempt.error)


@register.simple_tag
def delivery_kind(delivery: Delivery) -> str:
    """What it tells of, in words."""
    return title_of(delivery.source, delivery.kind)


@register.simple_tag(name="message_id")
def message_id_of(delivery: Delivery) -> str:
    return message_id(delivery.event_id, delivery.channel_id)
