"""The sender for a channel's kind."""

from __future__ import annotations

from watchbook.core.notify import config
from watchbook.core.notify.errors import Unreadable
from watchbook.core.notify.models import ChannelType, NotificationChannel
from watchbook.core.notify.senders import mail, service, webhook
from watchbook.core.notify.senders.message import Message
from watchbook.core.notify.senders.result import Result, failed

SENDERS = {
    ChannelType.EMAIL: mail.send,
    ChannelType.WEBHOOK: webhook.send,
    ChannelType.APPRISE: service.send,
}


def send(channel: NotificationChannel, message: Message) -> Result:
    try:
        settings = config.read(channel)
    except Unreadable:
        return failed("sealed")
    return SENDERS[ChannelType(channel.channel_type)](channel, settings, message)
