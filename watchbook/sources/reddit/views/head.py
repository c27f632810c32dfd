"""What every page of this system shows: tabs, the crawl that goes on, open alerts, whether Reddit may be asked."""

from __future__ import annotations

import re
from typing import Any

from django.http import Http404, HttpRequest

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.shown import ShownRun
from watchbook.sources.reddit import actions, options
from watchbook.sources.reddit.models import CommunityCache, PostRaw
from watchbook.sources.reddit.pool import NAME

POST_ID = re.compile(r"[0-9a-z]{1,20}")


def head(request: HttpRequest, tab: str) -> dict[str, Any]:
    return {
        "tab": tab,
        "work": live_work(),
        "alert_count": Alert.objects.open().filter(source="reddit").count(),
        "is_operator": is_operator(request),
        "is_live": options.is_live(),
        "now": clock.now(),
    }


def is_operator(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_staff", False))


def live_work() -> ShownRun | None:
    """A crawl that somebody asked for or that the half hour began, while it waits or runs."""
    now = clock.now()
    rows = JobRun.objects.live().filter(name__in=(actions.CRAWL, actions.VISIT), due_at__lte=now)
    found = list(rows.select_related("requested_by").order_by("pk")[:10])
    running = [run for run in found if run.state == State.RUNNING]
    return ShownRun((running or found)[0], now) if found else None


def community_or_404(name: str) -> CommunityCache:
    """`webdev` of /reddit/r/webdev/, whatever its capitals. What cannot be a name is not asked for."""
    if NAME.fullmatch(name) is None:
        raise Http404
    try:
        return actions.community(name)
    except actions.Unknown:
        raise Http404 from None


def post_or_404(post_id: str) -> PostRaw:
    if POST_ID.fullmatch(post_id) is None:
        raise Http404
    try:
        return actions.post(post_id)
    except actions.Unknown:
        raise Http404 from None
