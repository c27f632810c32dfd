"""Feishu and Lark: a custom bot in a group. It responds 200 also to messages that it refuses; code 0 is success."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Any

from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.web.response import Answer
from watchbook.core.notify.chat import Markup, body_lines, link_text, short_subject
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply
from watchbook.core.notify.message import Message

TEXT_LENGTH = 8000
# Too many messages; the same message is accepted later.
TOO_MANY = frozenset({9499, 11232})

_MARKUP = re.compile(r"[*~\[\]()_`#<>$&!@-]")


def escape(text: str) -> str:
    """Every sign that could be markup or a mention, as the service wants it escaped."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)


def escape_url(url: str) -> str:
    return url.replace("(", "%28").replace(")", "%29")


MARKUP = Markup(escape=escape, bold="**{}**", strike="~~{}~~", link="[{text}]({url})", escape_url=escape_url)


class Feishu(ChatKind):
    name = "feishu"
    label = gettext_lazy("Feishu")
    icon = "wing"
    lead = gettext_lazy("From a bot in a Feishu or Lark group.")
    order = 60
    steps = (
        gettext_lazy("In the group open Settings, Bots, Add bot, and choose Custom bot."),
        gettext_lazy("Copy the webhook URL. If you enable signature verification, also copy the secret."),
    )
    picture = (
        (gettext_lazy("Group · Settings · Bots · Custom bot"), False),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/…", True),
        (gettext_lazy("Signature verification"), False),
    )
    fields = (
        Field(
            "url",
            gettext_lazy("Webhook URL"),
            gettext_lazy("It begins with https://open.feishu.cn/open-apis/bot/v2/hook/."),
            is_address=True,
            hosts=("open.feishu.cn", "open.larksuite.com"),
        ),
        Field(
            "secret",
            gettext_lazy("Signing secret"),
            gettext_lazy("Only with signature verification."),
            pattern=r"\S{8,100}",
            is_required=False,
        ),
    )

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        is_urgent = message.payload.get("level") in ("P0", "P1")
        text = "\n".join(body_lines(message, TEXT_LENGTH, MARKUP)) or escape(message.subject)
        elements: list[dict[str, Any]] = [{"tag": "div", "text": {"tag": "lark_md", "content": text}}]
        if message.link:
            button = {"tag": "button", "text": _plain(link_text(message)), "url": message.link, "type": "default"}
            elements.append({"tag": "action", "actions": [button]})
        header = {"title": _plain(short_subject(message.subject)), "template": "red" if is_urgent else "blue"}
        body: dict[str, Any] = {"msg_type": "interactive", "card": {"header": header, "elements": elements}}
        if config["secret"]:
            timestamp = str(int(clock.now().timestamp()))
            body |= {"timestamp": timestamp, "sign": signature(timestamp, config["secret"])}
        return Outgoing(config["url"], body)

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        code = document.get("code", document.get("StatusCode"))
        if code == 0:
            return Reply(is_accepted=True)
        return Reply(is_accepted=False, said=str(document.get("msg", "")), is_passing=code in TOO_MANY)


def signature(timestamp: str, secret: str) -> str:
    """Sign an empty text with the key "timestamp, newline, secret", as the service specifies."""
    return base64.b64encode(hmac.new(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256).digest()).decode()


def _plain(text: str) -> dict[str, str]:
    """Plain text: markup and mentions in it have no effect."""
    return {"tag": "plain_text", "content": text}


KIND = Feishu()
