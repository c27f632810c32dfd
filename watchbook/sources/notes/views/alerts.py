"""The three alerts of notes: what each watches, whether it is open, and what was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_GET

from watchbook.core.alerts.models import Alert
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.paging import keyset
from watchbook.sources.notes.jobs.watching import SOURCE, Condition, conditions
from watchbook.sources.notes.models import Watched
from watchbook.sources.notes.views.head import head

OPEN = Badge(pgettext_lazy("alert", "Open"), "bad", "s-bad")
LASTING = Badge(pgettext_lazy("alert", "Holds, not long enough"), "warn", "s-hold")
NEVER = Badge(pgettext_lazy("alert", "Never open"), "ok", "s-ok")
CLOSED = Badge(pgettext_lazy("alert", "Closed"), "ok", "s-ok")
PER_PAGE = 20
MOST_OPEN = 100


@dataclass(frozen=True)
class Watch:
    """A condition as it is now; `since` while it holds and has not lasted long enough."""

    condition: Condition
    alert: Alert | None
    since: datetime | None
    was_open: bool

    @property
    def badge(self) -> Badge:
        if self.alert is not None:
            return OPEN
        if self.condition.holds:
            return LASTING
        return CLOSED if self.was_open else NEVER


@require_GET
def alerts(request: HttpRequest) -> HttpResponse:
    shown = head(request, "alerts")
    open_ = list(Alert.objects.open().filter(source=SOURCE)[:MOST_OPEN])
    by_key = {alert.key: alert for alert in open_}
    found = conditions(shown["now"])
    since = dict(Watched.objects.values_list("key", "since"))
    past = Alert.objects.past().filter(source=SOURCE)
    was_open = set(past.filter(key__in=[one.key for one in found]).values_list("key", flat=True).distinct())
    page = keyset(past, request.GET, by="opened_at", size=PER_PAGE)
    # An alert keeps the words it was told with; those of a known condition are said in the reader's language.
    titles = {one.key: one.title for one in found}
    context = {
        **shown,
        "watches": [Watch(one, by_key.get(one.key), since.get(one.key), one.key in was_open) for one in found],
        "is_open": OPEN,
        "others": [alert for alert in open_ if alert.key not in {one.key for one in found}],
        "page": page,
        "past": [(alert, titles.get(alert.key, alert.title)) for alert in page],
    }
    return render(request, "notes/alerts.html", context)
