"""Telegram: a bot writes to one chat. The response names the message, or describes the error."""

from __future__ import annotations

from html import escape
from typing import Any

from django.utils.translation import gettext_lazy

from watchbook.base.web.response import Answer
from watchbook.core.notify.channels import Config
from watchbook.core.notify.chat import Markup, compose
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply
from watchbook.core.notify.message import Message

LIMIT = 4096
MARKUP = Markup(
    escape=escape, bold="<b>{}</b>", strike="<s>{}</s>", link='<a href="{url}">{text}</a>', escape_url=escape
)


class Telegram(ChatKind):
    name = "telegram"
    label = "Telegram"
    icon = "send"
    lead = gettext_lazy("From your own bot to a person, group or channel.")
    order = 40
    steps = (
        gettext_lazy("Open @BotFather in Telegram, send /newbot and copy the token."),
        gettext_lazy("Send any message to the bot, or add it to a group."),
        gettext_lazy("Send /start to @userinfobot to see your own chat ID. The ID of a group begins with -."),
    )
    picture = (
        ("BotFather", False),
        (gettext_lazy("Done! Congratulations on your new bot. Use this token to access the HTTP API:"), False),
        ("123456789:AAF-your-bot-token-35-characters…", True),
    )
    fields = (
        Field(
            "token",
            gettext_lazy("Bot token"),
            gettext_lazy("A number, a colon and 35 characters."),
            pattern=r"\d{5,15}:[A-Za-z0-9_-]{30,60}",
        ),
        Field(
            "chat_id",
            gettext_lazy("Chat ID"),
            gettext_lazy("A number, or @name of a public channel."),
            pattern=r"-?\d{1,20}|@\w{4,40}",
            is_secret=False,
        ),
        Field(
            "server",
            gettext_lazy("Server"),
            gettext_lazy("Change it only if you run your own Bot API server."),
            is_secret=False,
            is_required=False,
            is_address=True,
            default="https://api.telegram.org",
        ),
    )

    def target(self, config: Config) -> str:
        return str(config.get("chat_id", ""))

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        body = {
            "chat_id": config["chat_id"],
            "text": compose(message, LIMIT, MARKUP),
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": True},
        }
        return Outgoing(f"{config['server'].rstrip('/')}/bot{config['token']}/sendMessage", body)

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        if document.get("ok") is True:
            return Reply(is_accepted=True)
        pause = (document.get("parameters") or {}).get("retry_after")
        return Reply(
            is_accepted=False,
            said=str(document.get("description", "")),
            pause_seconds=float(pause) if isinstance(pause, int) else None,
        )


KIND = Telegram()
