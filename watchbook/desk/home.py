"""The home page, in a fixed number of queries: cards, items per day, open alerts, latest changes, first steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.alerts.models import Alert
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.ops import backup
from watchbook.core.stream.entries import Day, by_day
from watchbook.core.stream.inbox_views import reader_for
from watchbook.core.stream.models import StreamEntry
from watchbook.desk.activity import activity
from watchbook.kit import formatting
from watchbook.kit.badges import Card

LATEST = 10
ALERTS = 4


@dataclass(frozen=True)
class Desk:
    """A system and its card."""

    source: registry.Source
    card: Card


def home_page(request: HttpRequest) -> dict[str, Any]:
    now = clock.now()
    scopes = reader_for(request).scopes
    cards = desks(request)
    alerts = list(Alert.objects.visible_to(person_of(request)).open()[: ALERTS + 1])
    if len(alerts) <= ALERTS:
        # The bell in the top bar need not count again.
        request.alerts_open = len(alerts)  # type: ignore[attr-defined]
    steps = first_steps(request, has_read=any(_was_read(desk.card) for desk in cards))
    return {
        "now": now,
        "today": formatting.heading_text(formatting.today()),
        "desks": cards,
        "activity": activity(scopes, now),
        "alerts": alerts[:ALERTS],
        "has_more_alerts": len(alerts) > ALERTS,
        "days": latest(scopes),
        "steps": steps,
        "steps_done": sum(step.is_done for step in steps),
    }


def desks(request: HttpRequest) -> list[Desk]:
    return [Desk(source, _card(source, request)) for source in registry.sources() if source.home_url]


def _was_read(card: Card) -> bool:
    """Whether a source was read at least once: a success was seen, not only a source added."""
    return card.health is not None and card.health.last_success_at is not None


def _card(source: registry.Source, request: HttpRequest) -> Card:
    if source.card:
        made: Card = registry.load(source.card)(request)
        return made
    return Card(title=_(source.title), url=reverse(source.home_url), hint=_("No statistics for this source."))


def latest(scopes: Sequence[str]) -> list[Day]:
    """The newest entries that this reader may see, by the reader's days."""
    return by_day(StreamEntry.objects.visible_to(scopes).newest_first()[:LATEST])


@dataclass(frozen=True)
class Step:
    """A first step on a new server, shown until the user finishes the list."""

    title: str
    url: str
    note: str = ""
    is_done: bool = False


def first_steps(request: HttpRequest, *, has_read: bool) -> list[Step]:
    """Nothing once the reader has finished: the page then costs no query for it."""
    user = request.user
    if not user.is_authenticated or user.has_completed_onboarding:
        return []
    channels = NotificationChannel.objects.filter(user=user, last_test_success=True)
    found = [
        Step(
            _("Add source"),
            reverse("add_source"),
            _("Paste any address or a keyword. This step is done after the first success."),
            is_done=has_read,
        ),
        Step(
            _("Add channel"),
            reverse("channels"),
            _("Get notifications by e-mail or webhook. Select Send test to try the channel."),
            is_done=channels.exists(),
        ),
    ]
    if user.is_staff:
        # A backup counts wherever it was started, if it can be read. A second user counts after the first sign-in.
        has_backup = any(kept.manifest for kept in backup.listed())
        others = User.objects.filter(is_active=True, last_login__isnull=False).exclude(pk=user.pk)
        found.append(
            Step(
                _("Create backup"),
                reverse("ops_backups"),
                _("Watchbook verifies every backup. A second user who has signed in counts, too."),
                is_done=has_backup or others.exists(),
            )
        )
    return found
