"""ntfy: push to a topic on ntfy.sh or your own server. The response repeats the message with its ID."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from watchbook.base.web.response import Answer
from watchbook.core.notify.channels import MASK, Config
from watchbook.core.notify.chat import TITLES, body_lines, short_subject
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply
from watchbook.core.notify.message import Message

LIMIT = 4000
PRIORITIES = {"P0": 5, "P1": 4}


class Ntfy(ChatKind):
    name = "ntfy"
    label = "ntfy"
    icon = "bell"
    lead = gettext_lazy("Push to the free ntfy app on your phone.")
    order = 35
    steps = (
        gettext_lazy("Install the ntfy app and subscribe to a topic with a name that is hard to guess."),
        gettext_lazy("Enter the same topic here. Anyone who knows its name can read it on ntfy.sh."),
    )
    picture = (
        (gettext_lazy("ntfy app · Subscribe to topic"), False),
        ("harbour-7f3k2m", True),
    )
    fields = (
        Field(
            "topic",
            gettext_lazy("Topic"),
            gettext_lazy("Letters, digits, dashes and underscores, up to 64."),
            pattern=r"[A-Za-z0-9_-]{1,64}",
        ),
        Field(
            "server",
            gettext_lazy("Server"),
            gettext_lazy("Change it only if you run your own ntfy server."),
            is_secret=False,
            is_required=False,
            is_address=True,
            default="https://ntfy.sh",
        ),
        Field(
            "token",
            gettext_lazy("Access token"),
            gettext_lazy("Only for protected topics. It begins with tk_."),
            pattern=r"tk_[A-Za-z0-9]{10,60}",
            is_required=False,
        ),
    )

    def target(self, config: Config) -> str:
        return f"{config.get('server', '')} {MASK}"

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        level = str(message.payload.get("level", "")) if message.type == "alerts.alert" else ""
        body = {
            "topic": config["topic"],
            "title": short_subject(message.subject),
            "message": "\n".join(body_lines(message, LIMIT, TITLES)) or message.subject,
            "priority": PRIORITIES.get(level, 2 if message.type == "notify.digest" else 3),
            **({"click": message.link} if message.link else {}),
        }
        headers = {"Authorization": f"Bearer {config['token']}"} if config["token"] else {}
        return Outgoing(config["server"].rstrip("/") + "/", body, headers)

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        if document.get("id") and document.get("event") == "message":
            return Reply(is_accepted=True)
        return Reply(is_accepted=False, said=str(document.get("error", "")))


KIND = Ntfy()
