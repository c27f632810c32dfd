"""The card of notes on the home page: what was collected since yesterday, what waits, which cookies can be used."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.alerts.models import Alert
from watchbook.core.ui import badges, moments
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.cards import Card, Fact
from watchbook.core.ui.charts.record import Value
from watchbook.core.ui.templatetags.ui import when
from watchbook.sources.notes import vault
from watchbook.sources.notes.models import Candidate, CandidateStatus, Cookie, Execution, Note

DAYS = 14
URL, COOKIES_URL, SOURCE = "/notes/", "/notes/cookies/", "notes"


def card(request: HttpRequest) -> Card:
    title = _("Notes")
    state = _state()
    if not state["notes"] and not state["candidates"]:
        return Card(
            title=title,
            url=URL,
            hint=_("Nothing collected yet. Add a cookie and a keyword, and switch an adapter on."),
            **_first_step(request),
        )
    days = _days()
    return Card(
        title=title,
        url=URL,
        number=state["late"],
        unit=ngettext("note since yesterday", "notes since yesterday", state["late"]),
        trend=days,
        badge=_badge(state),
        facts=[
            Fact(_("Last run"), when(state["last_at"], "short")),
            Fact(_("Waiting"), moments.number_text(state["pending"])),
            Fact(
                _("Cookies"), _("%(active)s of %(all)s can be used") % {"active": state["active"], "all": state["all"]}
            ),
        ],
    )


def _first_step(request: HttpRequest) -> dict[str, Any]:
    """The pool is for operators; to others its button would be a closed door."""
    if not getattr(getattr(request, "user", None), "is_staff", False):
        return {}
    return {"action_title": _("Add a cookie"), "action_url": COOKIES_URL}


def _state() -> dict[str, Any]:
    """Four queries, however much there is."""
    now = clock.now()
    notes = Note.objects.aggregate(
        notes=Count("pk"), late=Count("pk", filter=Q(collected_at__gte=now - timedelta(days=1)))
    )
    waiting = Candidate.objects.aggregate(
        candidates=Count("pk"), pending=Count("pk", filter=Q(status=CandidateStatus.PENDING))
    )
    active = 0 if vault.why_closed() else Cookie.objects.usable(now).count()
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


def _badge(state: dict[str, Any]) -> Badge:
    level = Alert.objects.open().filter(source=SOURCE).values_list("level", flat=True).first()
    if level:
        return badges.find("alert", level)
    return badges.find("health", "healthy" if state["last_at"] else "never")
