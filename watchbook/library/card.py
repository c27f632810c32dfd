"""The card of the library on the home page: what was written in the spaces this person may read. Four queries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.core.ui import badges, moments
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.cards import Card, Fact
from watchbook.core.ui.templatetags.ui import when
from watchbook.library.access import spaces_of
from watchbook.library.models import FolderMigrationControl, Page, PageVersion


def card(request: HttpRequest) -> Card:
    title, url = _("Library"), reverse("library:shelves")
    spaces = list(spaces_of(request.user).values_list("pk", flat=True))
    if not spaces:
        return Card(
            title=title,
            url=url,
            hint=_("No pages yet. Make your first workspace, and keep what you find in folders."),
            action_title=_("Make a workspace"),
            action_url=url,
        )
    now = clock.now()
    number = PageVersion.objects.shown().filter(page__space__in=spaces, created_at__gte=now - timedelta(days=1)).count()
    return Card(
        title=title,
        url=url,
        number=number,
        unit=ngettext("save since yesterday", "saves since yesterday", number),
        badge=_badge(spaces),
        facts=_facts(spaces),
    )


def _badge(spaces: list[Any]) -> Badge:
    is_moving = FolderMigrationControl.objects.filter(active_space_id__in=spaces).exists()
    return badges.find("health", "running" if is_moving else "healthy")


def _facts(spaces: list[Any]) -> list[Fact]:
    live = Page.objects.filter(space__in=spaces)
    state = live.aggregate(pages=Count("pk", filter=Q(deleted_at=None)), last_at=Max("updated_at"))
    return [
        Fact(_("Last save"), when(state["last_at"], "short")),
        Fact(_("Spaces"), moments.number_text(len(spaces))),
        Fact(_("Pages"), moments.number_text(state["pages"])),
    ]
