"""Sending one message on one channel. A sender never raises for what the other side did: it answers with a Result."""

from watchbook.core.notify.senders.choose import send
from watchbook.core.notify.senders.message import Message, message_id, message_of
from watchbook.core.notify.senders.result import Result, explain, failed

__all__ = ["Message", "Result", "explain", "failed", "message_id", "message_of", "send"]
