"""The home card: notes since yesterday, pending candidates, usable cookies, and the health of the source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.kit import formatting
from watchbook.kit.badges import Card, Fact
from watchbook.kit.charts.svg import Value
from watchbook.kit.templatetags.kit import when
from watchbook.systems.notes import encryption
from watchbook.systems.notes.health import health
from watchbook.systems.notes.models import Candidate, CandidateStatus, Cookie, Execution, Note

DAYS = 14
URL, COOKIES_URL, SOURCE = "/notes/", "/notes/cookies/", "notes"


def card(request: HttpRequest) -> Card:
    title = _("Notes")
    state, found = _state(), health()
    if not state["notes"] and not state["candidates"] and not found.needs_attention:
        return Card(
            title=title,
            url=URL,
            hint=_("No notes yet. Add a cookie and a keyword, then choose an adapter under Settings."),
            **_first_step(request),
        )
    return Card(
        title=title,
        url=URL,
        number=state["late"],
        unit=ngettext("note since yesterday", "notes since yesterday", state["late"]),
        trend=_days(),
        health=found,
        badge=found.badge(),
        facts=[
            Fact(_("Last run"), when(state["last_at"], "short")),
            Fact(pgettext("candidate", "Pending"), formatting.number_text(state["pending"])),
            Fact(_("Cookies"), _("%(active)s of %(all)s usable") % {"active": state["active"], "all": state["all"]}),
        ],
    )


def _first_step(request: HttpRequest) -> dict[str, Any]:
    """Offer the cookie pool only to operators."""
    if not getattr(getattr(request, "user", None), "is_staff", False):
        return {}
    return {"action_title": _("Add cookie"), "action_url": COOKIES_URL}


def _state() -> dict[str, Any]:
    """Four queries, however much there is."""
    now = clock.now()
    notes = Note.objects.aggregate(
        notes=Count("pk"), late=Count("pk", filter=Q(collected_at__gte=now - timedelta(days=1)))
    )
    waiting = Candidate.objects.aggregate(
        candidates=Count("pk"), pending=Count("pk", filter=Q(status=CandidateStatus.PENDING))
    )
    active = 0 if encryption.unavailable_reason() else Cookie.objects.usable(now).count()
    cookies = {"all": Cookie.objects.count(), "active": active}
    return {**notes, **waiting, **cookies, "last_at": Execution.objects.aggregate(at=Max("started_at"))["at"]}


def _days() -> Sequence[Value]:
    """Notes per day in Shanghai, oldest first; one query."""
    midnight = clock.now().astimezone(SHANGHAI).replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [midnight - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    days = {
        f"day_{number}": Count("pk", filter=Q(collected_at__gte=start, collected_at__lt=start + timedelta(days=1)))
        for number, start in enumerate(starts)
    }
    counts = Note.objects.filter(collected_at__gte=starts[0]).aggregate(**days)
    return [counts[name] for name in days]
