"""WeCom: a bot in a group. It responds 200 also to messages that it refuses; errcode 0 is success."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from watchbook.base.web.response import Answer
from watchbook.core.notify.chat import BYTES, compose
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply
from watchbook.core.notify.message import Message

LIMIT = 2048
TOO_MANY = 45009


class WeCom(ChatKind):
    name = "wecom"
    label = gettext_lazy("WeCom")
    icon = "chat"
    lead = gettext_lazy("From a bot in a WeCom group.")
    order = 70
    steps = (
        gettext_lazy("In the group open the menu, select Add group bot and create a bot."),
        gettext_lazy("Copy the webhook URL of the bot."),
    )
    picture = (
        (gettext_lazy("Group · Group bots · Webhook address"), False),
        ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…", True),
    )
    fields = (
        Field(
            "url",
            gettext_lazy("Webhook URL"),
            gettext_lazy("It begins with https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=."),
            is_address=True,
            hosts=("qyapi.weixin.qq.com",),
        ),
    )

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        content = compose(message, LIMIT, BYTES)
        return Outgoing(config["url"], {"msgtype": "text", "text": {"content": content}})

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        code = document.get("errcode")
        if code == 0:
            return Reply(is_accepted=True)
        return Reply(is_accepted=False, said=str(document.get("errmsg", "")), is_passing=code == TOO_MANY)


KIND = WeCom()
