"""What the head of every page of notes shows: what waits, what is wrong, what runs, and why nothing might be read."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.sources.notes import fetch, options
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.jobs.watching import SOURCE
from watchbook.sources.notes.models import Candidate
from watchbook.sources.notes.views.live import live_work


def head(request: HttpRequest, tab: str) -> dict[str, Any]:
    now = clock.now()
    return {
        "tab": tab,
        "now": now,
        "is_operator": is_operator(request),
        "pending_count": Candidate.objects.pending().count(),
        "alert_count": Alert.objects.open().filter(source=SOURCE).count(),
        "work": live_work(now),
        "closed": why_nothing_is_read(),
        "runner": options.RUNNER.value,
    }


def is_operator(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_staff", False))


def why_nothing_is_read() -> str:
    """Empty while an adapter can be used, else a sentence for the operator."""
    try:
        fetch.adapter()
    except Trouble as trouble:
        return _(trouble.message)
    return ""


def top_of(name: str, *args: object) -> str:
    """A page from its beginning: without this a browser keeps the place of the form that was sent."""
    return f"{reverse(f'notes:{name}', args=args)}#main"


def named(text: str, longest: int) -> str:
    """A name in an address that a column can hold; anything else leads nowhere."""
    if not text.isprintable() or len(text) > longest:
        raise Http404
    return text
