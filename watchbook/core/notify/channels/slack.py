"""Slack: an incoming webhook of one Slack channel. It responds with the word ok, or with the name of an error."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from watchbook.base.web.response import Answer
from watchbook.core.notify.chat import Markup, compose
from watchbook.core.notify.http import ChatKind, Field, Outgoing, Reply
from watchbook.core.notify.message import Message

LIMIT = 3000


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_url(url: str) -> str:
    return escape(url).replace("|", "%7C")


MARKUP = Markup(escape=escape, bold="*{}*", strike="~{}~", link="<{url}|{text}>", escape_url=escape_url)


class Slack(ChatKind):
    name = "slack"
    label = "Slack"
    icon = "hash"
    lead = gettext_lazy("To one channel in Slack.")
    order = 30
    steps = (
        gettext_lazy("Open api.slack.com/apps, create an app and select Incoming Webhooks."),
        gettext_lazy("Enable incoming webhooks, add one for a channel and copy its URL."),
    )
    picture = (
        ("api.slack.com/apps · Incoming Webhooks", False),
        (gettext_lazy("Webhook URL · Channel"), False),
        ("https://hooks.slack.com/services/T…/B…/…", True),
    )
    fields = (
        Field(
            "url",
            gettext_lazy("Webhook URL"),
            gettext_lazy("It begins with https://hooks.slack.com/services/."),
            is_address=True,
            hosts=("hooks.slack.com", "hooks.slack-gov.com"),
        ),
    )

    def outgoing(self, config: dict[str, Any], message: Message) -> Outgoing:
        text = compose(message, LIMIT, MARKUP)
        return Outgoing(config["url"], {"text": text, "unfurl_links": False})

    def reply(self, answer: Answer, document: dict[str, Any]) -> Reply:
        said = answer.body.decode("utf-8", "replace").strip()
        if said == "ok":
            return Reply(is_accepted=True)
        # Names such as no_service or channel_is_archived; a page of another server is not one.
        return Reply(is_accepted=False, said=said if said.replace("_", "").isalnum() else "")


KIND = Slack()
