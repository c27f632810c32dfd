"""Discord: a webhook of one Discord channel. With wait=true the response is the stored message."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext_lazy

from watchbook.base.web.response import Answer
from watchbook.core.notify.chat import Markup, compose
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply
from watchbook.core.notify.message import Message

LIMIT = 2000
_MARKUP = re.compile(r"([\\*_~`|>\[\]#-])")
# Shows no preview of links.
SUPPRESS_EMBEDS = 4


def escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def escape_url(url: str) -> str:
    return url.replace("(", "%28").replace(")", "%29")


MARKUP = Markup(escape=escape, bold="**{}**", strike="~~{}~~", link="[{text}]({url})", escape_url=escape_url)


class Discord(ChatKind):
    name = "discord"
    label = "Discord"
    icon = "chats"
    lead = gettext_lazy("To one channel of a Discord server.")
    order = 50
    steps = (
        gettext_lazy("In Discord open Edit channel, Integrations, Webhooks."),
        gettext_lazy("Create a webhook, choose the channel and select Copy webhook URL."),
    )
    picture = (
        (gettext_lazy("Edit channel · Integrations · Webhooks"), False),
        (gettext_lazy("Copy webhook URL"), False),
        ("https://discord.com/api/webhooks/…/…", True),
    )
    fields = (
        Field(
            "url",
            gettext_lazy("Webhook URL"),
            gettext_lazy("It begins with https://discord.com/api/webhooks/."),
            is_address=True,
            hosts=("discord.com", "discordapp.com"),
        ),
    )

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        body = {
            "content": compose(message, LIMIT, MARKUP),
            # A text of a website must not notify everyone on the server.
            "allowed_mentions": {"parse": []},
            "flags": SUPPRESS_EMBEDS,
        }
        return Outgoing(f"{config['url'].partition('?')[0]}?wait=true", body)

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        if document.get("id") and document.get("channel_id"):
            return Reply(is_accepted=True)
        pause = document.get("retry_after")
        return Reply(
            is_accepted=False,
            said=str(document.get("message", "")),
            pause_seconds=float(pause) if isinstance(pause, int | float) else None,
        )


KIND = Discord()
