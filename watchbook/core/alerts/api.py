"""Alerts for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router

from watchbook.core import registry
from watchbook.core.alerts.models import Alert
from watchbook.core.api.answers import Answer, Listing, said
from watchbook.core.api.errors import must_be_known
from watchbook.core.api.paging import PageQuery, keyset

router = Router()


class AlertOut(Answer):
    """A condition that somebody should know of; it closes by itself when it no longer holds."""

    row = Alert

    id: int
    key: str = said("The condition; while it holds there is one open alert of it.")
    level: str = said("P0, P1 or P2; P0 is the worst.")
    source: str = said("The system it is about; empty for the installation itself.")
    title: str
    message: str
    link: str = said("Where one looks next; may be empty.")
    state: str = said("open or closed.")
    opened_at: datetime
    seen_at: datetime = said("When the condition was last found to hold.")
    closed_at: datetime | None
    note: str = said("What it was closed with.")


class AlertPage(Listing[AlertOut]):
    """Alerts, newest first."""


class AlertQuery(PageQuery):
    """`state` is open or closed, `source` a system; without them all are listed, newest first."""

    state: str = ""
    source: str = ""


def alert_out(alert: Alert) -> dict[str, Any]:
    own = {name: getattr(alert, name) for name in AlertOut.model_fields if name != "state"}
    return own | {"state": "open" if alert.live_slot else "closed"}


@router.get("/alerts", response=AlertPage)
def list_alerts(request: HttpRequest, page: Query[AlertQuery]) -> Any:
    """Alerts, newest first; `state` keeps those that are open or closed, `source` those of a system."""
    must_be_known("state", page.state, ("open", "closed"))
    must_be_known("source", page.source, (source.slug for source in registry.sources()))
    rows = Alert.objects.all()
    if page.state:
        rows = rows.filter(live_slot__isnull=page.state == "closed")
    if page.source:
        rows = rows.filter(source=page.source)
    return keyset(rows, page, by="-opened_at", make=alert_out)
