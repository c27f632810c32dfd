"""The delivery log: filters and columns that its pages, their exports and the API share."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.notify.message import message_id
from watchbook.core.notify.models import Delivery, NotificationChannel, State
from watchbook.kit import badges
from watchbook.kit.lists import Changes, Choice, Column, Days, List, Search
from watchbook.kit.lists.filters import Options


def _states() -> Options:
    return [(state, badges.find("delivery", state).text) for state in State.values]


def _sources() -> Options:
    return [(source.slug, _(source.title)) for source in registry.sources()]


FILTERS = (
    Search("q", _("Search deliveries"), columns=("subject", "last_error")),
    Choice("state", _("State"), "state", choices=_states),
    Choice("source", _("Source"), "source", choices=_sources, is_open=True, counted=False),
    Days("days", _("Date"), "created_at"),
)
COLUMNS = (
    Column("id"),
    Column("channel", "channel.name"),
    Column("channel_id"),
    Column("message_id", lambda row: message_id(row.event_id, row.channel_id)),
    Column("event_id"),
    Column("source"),
    Column("kind"),
    Column("subject"),
    Column("link"),
    Column("state"),
    Column("attempt"),
    Column("created_at"),
    Column("next_at"),
    Column("sent_at"),
    Column("last_status"),
    Column("error_code"),
    Column("last_error"),
)
CHANGES = Changes("pk", "created_at")
# The log of one channel.
CHANNEL_LOG = List("deliveries", filters=FILTERS, columns=COLUMNS, changes=CHANGES)


def log_of(user: User) -> List:
    """The log of all channels of a user, with a filter for each of them."""

    def channels() -> Options:
        own = NotificationChannel.objects.of(user).order_by("name", "id").values_list("pk", "name")
        return [(str(pk), name) for pk, name in own]

    channel = Choice("channel_id", _("Channel"), "channel", choices=channels)
    return List("deliveries", filters=(FILTERS[0], channel, *FILTERS[1:]), columns=COLUMNS, changes=CHANGES)


def deliveries(user: User) -> QuerySet[Delivery]:
    rows: Any = Delivery.objects.seen_by(user).filter(channel__account_slot=None)
    return rows.select_related("channel").defer("payload", "html", "text", "last_body")  # type: ignore[no-any-return]
