"""The page of alerts: what is wrong now, and what was."""

from __future__ import annotations

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core.accounts.access import person_of
from watchbook.core.alerts.models import Alert
from watchbook.core.notify.models import Delivery, State
from watchbook.kit.paging import keyset

MOST_OPEN = 200


@require_GET
def alerts(request: HttpRequest) -> HttpResponse:
    visible = Alert.objects.visible_to(person_of(request))
    open_ = list(visible.open()[:MOST_OPEN])
    sent = dict(
        Delivery.objects.filter(event_id__in=[f"alert:{alert.pk}" for alert in open_], state=State.SENT)
        .values_list("event_id")
        .annotate(count=Count("pk"))
    )
    shown = [(alert, sent.get(f"alert:{alert.pk}", 0)) for alert in open_]
    history = keyset(visible.past(), request.GET, by="opened_at", size=30)
    return render(request, "alerts/alerts.html", {"open": shown, "page": history, "now": clock.now()})
