"""Home, the list of keys, the two switches in the top bar, and the end of the first steps.

The home page, in a fixed number of queries: cards, items per day, open alerts, latest changes, first steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.accounts.access import person_of, safe_next
from watchbook.core.accounts.models import User
from watchbook.core.alerts.models import Alert
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.ops import backup
from watchbook.core.stream.entries import Day, by_day
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.reading import reader_for
from watchbook.desk.activity import activity
from watchbook.kit import formatting
from watchbook.kit.badges import Card
from watchbook.kit.formatting import THEME_COOKIE, THEMES, keep_in_cookie

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
    steps = first_steps(request, [desk.card for desk in cards])
    return {
        "now": now,
        "today": formatting.heading_text(formatting.today()),
        "desks": cards,
        "activity": activity({desk.source.slug: desk.card for desk in cards}, now),
        "alerts": alerts[:ALERTS],
        "has_more_alerts": len(alerts) > ALERTS,
        "days": latest(scopes),
        "steps": steps,
        "steps_done": sum(step.is_done for step in steps),
    }


def desks(request: HttpRequest) -> list[Desk]:
    return [Desk(source, _card(source, request)) for source in registry.sources() if source.home_url]


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
    """A first step on a new server, shown until the user hides the list.

    `seen` is what the finished step ended in, and `seen_url` shows it; before that, `note` says what to do. `other` is
    a second way to do the same step.
    """

    title: str
    url: str
    note: str = ""
    seen: str = ""
    seen_url: str = ""
    other: tuple[str, str] | None = None

    @property
    def is_done(self) -> bool:
        return bool(self.seen)


def first_steps(request: HttpRequest, cards: Sequence[Card]) -> list[Step]:
    """Nothing once the reader has finished: the page then costs no query for it."""
    user = request.user
    if not user.is_authenticated or user.has_completed_onboarding:
        return []
    found = [_source_step(cards), _channel_step(user)]
    if user.is_staff:
        found.append(_safety_step(user))
    return found


def _source_step(cards: Sequence[Card]) -> Step:
    """Done after the first success: a source that was only added has shown nothing yet."""
    step = Step(
        _("Add source"),
        reverse("add_source"),
        _("Paste any address or a keyword. This step is done after the first success."),
    )
    for card in cards:
        if card.health is not None and (at := card.health.last_success_at) is not None:
            words = _("%(name)s: last success %(when)s") % {"name": card.title, "when": formatting.moment_text(at)}
            return replace(step, seen=words, seen_url=card.url)
    return step


def _channel_step(user: User) -> Step:
    step = Step(
        _("Add channel"),
        reverse("channel_choose"),
        _("Get notifications on your phone, by e-mail or in a chat. Select Send test to try the channel."),
    )
    tested = NotificationChannel.objects.of(user).filter(last_test_success=True).order_by("pk").first()
    if tested is None:
        return step
    given = {"name": tested.name, "when": formatting.moment_text(tested.last_test_at or tested.created_at)}
    return replace(step, seen=_("%(name)s: test sent %(when)s") % given, seen_url=reverse("channel", args=[tested.pk]))


def _safety_step(user: User) -> Step:
    """A backup counts wherever it was started, if it can be read. A second user counts after the first sign-in."""
    step = Step(
        _("Create backup"),
        reverse("ops_backups"),
        _("Watchbook verifies every backup. A second user who has signed in counts, too."),
        other=(_("Invite user"), reverse("people")),
    )
    kept = next((each for each in backup.listed() if each.manifest), None)
    if kept is not None:
        words = _("Verified backup of %(when)s") % {"when": formatting.moment_text(kept.written_at)}
        return replace(step, seen=words, seen_url=step.url)
    second = User.objects.filter(is_active=True, last_login__isnull=False).exclude(pk=user.pk).order_by("pk").first()
    if second is None:
        return step
    return replace(step, seen=_("%(name)s has signed in") % {"name": second.email}, seen_url=reverse("people"))


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "desk/home.html", home_page(request))


@require_GET
def keys(request: HttpRequest) -> HttpResponse:
    return render(request, "desk/keys.html")


@login_not_required
@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    """Kept on the account when there is one, and in a cookie for the sign-in page."""
    language = request.POST.get("language", "")
    response = HttpResponseRedirect(safe_next(request, request.POST.get("next", "")))
    if language in dict(settings.LANGUAGES):
        _remember(request, "language", language)
        keep_in_cookie(response, settings.LANGUAGE_COOKIE_NAME, language)
    return response


@login_not_required
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """An empty theme follows the reader's system again."""
    theme = request.POST.get("theme", "")
    response = HttpResponseRedirect(safe_next(request, request.POST.get("next", "")))
    if theme in THEMES:
        _remember(request, "theme", theme)
        keep_in_cookie(response, THEME_COOKIE, theme)
    return response


@require_POST
def finish_onboarding(request: HttpRequest) -> HttpResponse:
    _remember(request, "has_completed_onboarding", True)
    return redirect("home")


def _remember(request: HttpRequest, name: str, value: str | bool) -> None:
    user = request.user
    if user.is_authenticated and getattr(user, name) != value:
        setattr(user, name, value)
        user.save(update_fields=[name])
