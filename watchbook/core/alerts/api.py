"""Alerts for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema

from watchbook.core.alerts.models import Alert
from watchbook.core.api.errors import Invalid
from watchbook.core.api.paging import PageQuery, keyset

router = Router()


class AlertOut(Schema):
    id: int
    key: str
    level: str
    source: str
    title: str
    message: str
    link: str
    state: str
    opened_at: datetime
    seen_at: datetime
    closed_at: datetime | None
    note: str


class AlertPage(Schema):
    items: list[AlertOut]
    next: str | None


class AlertQuery(PageQuery):
    """`state` is open or closed; without it all are listed, newest first."""

    state: str = ""
    source: str = ""


def alert_out(alert: Alert) -> dict[str, Any]:
    own = {name: getattr(alert, name) for name in AlertOut.model_fields if name != "state"}
    return own | {"state": "open" if alert.live_slot else "closed"}


@router.get("/alerts", response=AlertPage)
def list_alerts(request: HttpRequest, page: Query[AlertQuery]) -> Any:
    """Alerts, newest first; `state` keeps those that are open or closed."""
    if page.state not in {"", "open", "closed"}:
        raise Invalid(details=[{"field": "state", "message": "open or closed"}])
    rows = Alert.objects.all()
    if page.state:
        rows = rows.filter(live_slot__isnull=page.state == "closed")
    if page.source:
        rows = rows.filter(source=page.source)
    return keyset(rows, page, by="-opened_at", make=alert_out)
