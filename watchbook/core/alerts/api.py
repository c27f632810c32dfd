"""Alert endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router

from watchbook.core import registry
from watchbook.core.accounts.access import person_of
from watchbook.core.alerts.models import Alert
from watchbook.core.api.errors import must_be_known
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.schemas import Answer, Listing, said

router = Router()


class AlertOut(Answer):
    """A condition that needs attention. It resolves automatically when the condition is over."""

    row = Alert

    id: int
    key: str = said("Name of the condition; at most one alert with this key is open.")
    level: str = said("P0, P1 or P2; P0 is the highest.")
    source: str = said("The source it is about; empty for the server.")
    title: str
    message: str
    remedy: str = said("What to do, or that nothing needs to be done; may be empty.")
    link: str = said("Page with more details; may be empty.")
    state: str = said("open or closed.")
    opened_at: datetime
    seen_at: datetime = said("When the condition was last true.")
    closed_at: datetime | None
    note: str = said("Details given when it was resolved.")


class AlertPage(Listing[AlertOut]):
    """Alerts, newest first."""


class AlertQuery(PageQuery):
    """Filters of the list: `state` is open or closed, `source` is the slug of a source."""

    state: str = ""
    source: str = ""


def alert_out(alert: Alert) -> dict[str, Any]:
    own = {name: getattr(alert, name) for name in AlertOut.model_fields if name != "state"}
    return own | {"state": "open" if alert.live_slot else "closed"}


@router.get("/alerts", response=AlertPage)
def list_alerts(request: HttpRequest, page: Query[AlertQuery]) -> Any:
    """List alerts, newest first. Filter by `state` (open or closed) and `source`."""
    must_be_known("state", page.state, ("open", "closed"))
    must_be_known("source", page.source, (source.slug for source in registry.sources()))
    rows = Alert.objects.visible_to(person_of(request))
    if page.state:
        rows = rows.filter(live_slot__isnull=page.state == "closed")
    if page.source:
        rows = rows.filter(source=page.source)
    return keyset(rows, page, by="-opened_at", make=alert_out)
