"""The home card of the library: saves in the spaces that the user can view. Eight queries."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.core.accounts.access import person_of
from watchbook.core.health import Health
from watchbook.kit import badges, formatting
from watchbook.kit.badges import CARD_DAYS, Badge, Card, Fact
from watchbook.kit.days import DayAxis
from watchbook.kit.templatetags.kit import when
from watchbook.systems.library.access import spaces_of
from watchbook.systems.library.health import health
from watchbook.systems.library.models import FolderMigrationControl, Page, PageVersion


def card(request: HttpRequest) -> Card:
    title, url = _("Library"), reverse("library:overview")
    spaces = list(spaces_of(person_of(request)).values_list("pk", flat=True))
    if not spaces:
        return Card(
            title=title,
            url=url,
            hint=_("No pages yet. Create your first workspace and keep your pages in folders."),
            action_title=_("Create workspace"),
            action_url=url,
        )
    now, found = clock.now(), health(person_of(request))
    number, days = _saves(spaces, now)
    return Card(
        title=title,
        url=url,
        number=number,
        unit=ngettext("save since yesterday", "saves since yesterday", number),
        days=days,
        health=found,
        badge=_badge(found, spaces),
        facts=_facts(spaces),
    )


def _saves(spaces: list[Any], now: datetime) -> tuple[int, dict[date, int]]:
    """Count the saves since yesterday and those of each day since the first."""
    axis = DayAxis.last(CARD_DAYS, now)
    rows = PageVersion.objects.shown().filter(page__space__in=spaces, created_at__gte=axis.start)
    late = Count("pk", filter=Q(created_at__gte=now - timedelta(days=1)))
    placed = rows.annotate(place=axis.bucket("created_at"))
    counted = list(placed.values_list("place").annotate(saves=Count("pk"), late=late).order_by())
    days = {axis.days[place]: saves for place, saves, _late in counted}
    # Nothing has to run for a save to be seen: a day without one is a zero.
    known = dict.fromkeys(axis.days[min((row[0] for row in counted), default=len(axis)) :], 0)
    return sum(row[2] for row in counted), known | days


def _badge(found: Health, spaces: list[Any]) -> Badge:
    if found.needs_attention:
        return found.badge()
    is_moving = FolderMigrationControl.objects.filter(active_space_id__in=spaces).exists()
    return badges.find("health", "running") if is_moving else found.badge()


def _facts(spaces: list[Any]) -> list[Fact]:
    live = Page.objects.filter(space__in=spaces)
    state = live.aggregate(pages=Count("pk", filter=Q(deleted_at=None)), last_at=Max("updated_at"))
    return [
        Fact(_("Last save"), when(state["last_at"], "short")),
        Fact(_("Spaces"), formatting.number_text(len(spaces))),
        Fact(_("Pages"), formatting.number_text(state["pages"])),
    ]
