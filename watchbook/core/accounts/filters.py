"""The audit log as a list: filters and columns that its page, its export and the API share."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from watchbook.core.accounts import audit
from watchbook.core.accounts.models import normalise_email
from watchbook.kit.lists import Changes, Choice, Column, Days, List, Search, Text
from watchbook.kit.lists.filters import Options


def _events() -> Options:
    return sorted(((name, str(title)) for name, title in audit.titles().items()), key=lambda pair: pair[1])


def _actor(value: str) -> Q:
    return Q(actor_email=normalise_email(value))


AUDIT = List(
    "audit-log",
    filters=(
        Search("q", _("Search audit log"), columns=("subject", "actor_email", "address", "request_id")),
        Choice("event", _("Event"), "event", choices=_events, counted=False),
        Text("who", _("User e-mail"), where=_actor),
        Days("days", _("Date"), "happened_at"),
    ),
    columns=(
        Column("id"),
        Column("happened_at"),
        Column("event"),
        Column("actor_id"),
        Column("actor_email"),
        Column("subject"),
        Column("address"),
        Column("user_agent"),
        Column("request_id"),
        Column("details"),
    ),
    size=50,
    changes=Changes("pk", "happened_at"),
)
