"""The home card: notes since yesterday, pending candidates, usable cookies, and the health of the source."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.base import clock
from watchbook.kit import formatting
from watchbook.kit.badges import CARD_DAYS, Card, Fact
from watchbook.kit.days import DayAxis
from watchbook.kit.templatetags.kit import when
from watchbook.systems.notes import encryption
from watchbook.systems.notes.health import health
from watchbook.systems.notes.models import Candidate, CandidateStatus, Cookie, Execution, Note

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
        days=_days(),
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


def _days() -> dict[date, int]:
    """Notes per day of the reader. A day without a run and without a note was not measured."""
    axis = DayAxis.last(CARD_DAYS, clock.now())

    def per_day(rows: QuerySet[Any], column: str) -> dict[date, int]:
        kept = rows.filter(**{f"{column}__gte": axis.start}).annotate(place=axis.bucket(column))
        counted = kept.values_list("place").annotate(n=Count("pk")).order_by()
        return {axis.days[place]: number for place, number in counted}

    runs = per_day(Execution.objects.all(), "started_at")
    return {**dict.fromkeys(runs, 0), **per_day(Note.objects.all(), "collected_at")}
