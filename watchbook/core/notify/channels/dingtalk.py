"""DingTalk: a bot in a group. It responds 200 also to messages that it refuses; errcode 0 is success."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.web.response import Answer
from watchbook.core.notify.chat import compose
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply
from watchbook.core.notify.message import Message

LIMIT = 6000
# Too many messages; the same message is accepted later.
TOO_MANY = frozenset({130101, 130102, 410100})


class DingTalk(ChatKind):
    name = "dingtalk"
    label = gettext_lazy("DingTalk")
    icon = "bolt"
    lead = gettext_lazy("From a bot in a DingTalk group.")
    order = 80
    steps = (
        gettext_lazy("In the group open Group settings, Bots, Add bot, and choose Custom."),
        gettext_lazy("Choose Additional signature and copy both the webhook URL and the secret."),
        gettext_lazy("If you choose Custom keywords instead, add the keyword Watchbook."),
    )
    picture = (
        (gettext_lazy("Group settings · Bots · Custom"), False),
        ("https://oapi.dingtalk.com/robot/send?access_token=…", True),
        (gettext_lazy("Additional signature"), False),
        ("SEC…", True),
    )
    fields = (
        Field(
            "url",
            gettext_lazy("Webhook URL"),
            gettext_lazy("It begins with https://oapi.dingtalk.com/robot/send?access_token=."),
            is_address=True,
            hosts=("oapi.dingtalk.com",),
        ),
        Field(
            "secret",
            gettext_lazy("Signing secret"),
            gettext_lazy("Only with additional signature. It begins with SEC."),
            pattern=r"SEC[A-Za-z0-9]{20,100}",
            is_required=False,
        ),
    )

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        url = config["url"]
        if config["secret"]:
            timestamp = str(int(clock.now().timestamp() * 1000))
            url += f"&timestamp={timestamp}&sign={quote(signature(timestamp, config['secret']), safe='')}"
        # The name is also the keyword that a bot with keywords requires.
        content = f"{compose(message, LIMIT)}\nWatchbook"
        return Outgoing(url, {"msgtype": "text", "text": {"content": content}, "at": {"isAtAll": False}})

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        code = document.get("errcode")
        if code == 0:
            return Reply(is_accepted=True)
        return Reply(is_accepted=False, said=str(document.get("errmsg", "")), is_passing=code in TOO_MANY)


def signature(timestamp: str, secret: str) -> str:
    signed = f"{timestamp}\n{secret}".encode()
    return base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()


KIND = DingTalk()
