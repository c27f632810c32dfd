"""Telegram: a bot writes to one chat. The response names the message, or describes the error."""

from __future__ import annotations

from html import escape
from typing import Any

from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from watchbook.base.logs.redact import remember
from watchbook.base.text import clean_text, cut
from watchbook.base.web.errors import WebError
from watchbook.base.web.response import Answer
from watchbook.core.notify.channels import BadConfig, Config, Listed
from watchbook.core.notify.chat import Markup, compose
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply, ask
from watchbook.core.notify.message import Message

LIMIT = 4096
MARKUP = Markup(
    escape=escape, bold="<b>{}</b>", strike="<s>{}</s>", link='<a href="{url}">{text}</a>', escape_url=escape
)


CHAT_TYPES = {
    "private": gettext_lazy("Private chat"),
    "group": pgettext_lazy("telegram", "Group"),
    "supergroup": pgettext_lazy("telegram", "Group"),
    "channel": pgettext_lazy("telegram", "Channel"),
}
# Kinds of updates that name the chat they came from.
UPDATES = ("message", "edited_message", "channel_post", "edited_channel_post", "my_chat_member")


class Telegram(ChatKind):
    name = "telegram"
    label = "Telegram"
    icon = "send"
    lead = gettext_lazy("From your own bot to a person, group or channel.")
    order = 40
    steps = (
        gettext_lazy("Open @BotFather in Telegram, send /newbot and copy the token."),
        gettext_lazy("Send any message to the bot, or add it to a group."),
        gettext_lazy("Paste the token below. Watchbook lists the chats that the bot sees; choose one."),
    )
    listed_field, listed_after = "chat_id", "token"
    listed_title = gettext_lazy("Find chats")
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

    def list_values(self, given: Config, known: Config) -> list[Listed]:
        """Return the chats whose messages the bot has received in the last 24 hours, newest first."""
        config = self.checked(given, known, "token", "server")
        remember(config["token"])
        try:
            document = ask(_address(config, "getUpdates"), {"limit": 100}, key=config["token"])
        except WebError as error:
            raise BadConfig("token", gettext(error.message)) from None
        if document.get("ok") is not True:
            said = str(document.get("description") or gettext("The response is not one of this service."))
            raise BadConfig("token", f"{self.label}: {said[:300]}")
        return chats_in(document.get("result"))

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        body = {
            "chat_id": config["chat_id"],
            "text": compose(message, LIMIT, MARKUP),
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": True},
        }
        return Outgoing(_address(config, "sendMessage"), body)

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        if document.get("ok") is True:
            return Reply(is_accepted=True)
        pause = (document.get("parameters") or {}).get("retry_after")
        return Reply(
            is_accepted=False,
            said=str(document.get("description", "")),
            pause_seconds=float(pause) if isinstance(pause, int) else None,
        )


def chats_in(updates: object) -> list[Listed]:
    """Read the chats from the answer of getUpdates, which is as foreign as any page."""
    found: dict[str, Listed] = {}
    for update in reversed(updates if isinstance(updates, list) else []):
        parts = [update.get(kind) for kind in UPDATES] if isinstance(update, dict) else []
        for part in parts:
            chat = part.get("chat") if isinstance(part, dict) else None
            if isinstance(chat, dict) and isinstance(chat.get("id"), int):
                found.setdefault(str(chat["id"]), _listed(chat))
    return list(found.values())


def _listed(chat: dict[str, Any]) -> Listed:
    names = [str(chat[name]) for name in ("first_name", "last_name") if chat.get(name)]
    title = str(chat.get("title") or " ".join(names) or chat.get("username") or chat["id"])
    kind = CHAT_TYPES.get(str(chat.get("type")))
    return Listed(str(chat["id"]), cut(clean_text(title), 100), str(kind or ""))


def _address(config: Config, method: str) -> str:
    return f"{config['server'].rstrip('/')}/bot{config['token']}/{method}"


KIND = Telegram()
