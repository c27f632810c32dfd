"""The card on the home page."""

from __future__ import annotations

from datetime import date, timedelta

from django.db.models import Count, Max, Min, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.kit import formatting
from watchbook.kit.badges import CARD_DAYS, Card, Fact
from watchbook.kit.templatetags.kit import when
from watchbook.systems.pages.health import health
from watchbook.systems.pages.models import PageEvent, SectionCount, Site, SiteDay


def card(request: HttpRequest) -> Card:
    user = person_of(request)
    title, url = _("Web pages"), reverse("pages:sites")
    facts = Site.objects.of(user).aggregate(
        total=Count("pk"), last=Max("last_success_at"), next=Min("next_at", filter=Q(is_paused=False))
    )
    if not facts["total"]:
        return Card(
            title,
            url,
            hint=_("No pages yet. Watchbook can read the pages of your sitemaps, or a single address."),
            action_title=_("Read pages"),
            action_url=reverse("pages:add"),
        )
    since = clock.now() - timedelta(days=1)
    number = PageEvent.objects.filter(site__in=Site.objects.of(user), at__gte=since).count()
    found = health(user)
    return Card(
        title=title,
        url=url,
        number=number,
        unit=ngettext("change since yesterday", "changes since yesterday", number),
        days=_days(user),
        health=found,
        badge=found.badge(),
        facts=[
            Fact(_("Last run"), when(facts["last"], "short")),
            Fact(_("Next run"), when(facts["next"], "short")),
            Fact(_("Pages"), formatting.number_text(_pages(user))),
        ],
    )


def _pages(user: User) -> int:
    whole = SectionCount.objects.filter(site__in=Site.objects.of(user), section="")
    return sum(row.total for row in whole)


def _days(user: User) -> dict[date, int]:
    today = clock.now().astimezone(SHANGHAI).date()
    rows = (
        SiteDay.objects.filter(site__in=Site.objects.of(user), day__gt=today - timedelta(days=CARD_DAYS))
        .values("day")
        .annotate(changes=Sum("changed") + Sum("moved") + Sum("gone") + Sum("delisted"))
        .order_by()
    )
    return {row["day"]: row["changes"] for row in rows}
