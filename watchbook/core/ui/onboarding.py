"""The first steps on a new desk, shown until the reader says that they are done."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.core import registry
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.ops.backup import shelf


@dataclass(frozen=True)
class Step:
    title: str
    url: str
    note: str = ""
    is_done: bool = False


def steps(request: HttpRequest, *, has_data: bool) -> list[Step]:
    """Nothing once the reader has finished: the page then costs no query for it."""
    user = request.user
    if not user.is_authenticated or user.has_completed_onboarding:
        return []
    channels = NotificationChannel.objects.filter(user=user, last_test_success=True)
    found = [
        Step(_("Create an account"), reverse("account"), is_done=True),
        Step(
            _("Add a first source"),
            _first_source(),
            _("A forum, a sitemap, a community: whatever you want to watch."),
            is_done=has_data,
        ),
        Step(
            _("Add a channel and press Test"),
            reverse("channels"),
            _("So that changes reach you by e-mail or webhook."),
            is_done=channels.exists(),
        ),
    ]
    if user.is_staff:
        # A backup counts wherever it was started, if it can be read.
        has_backup = any(kept.manifest for kept in shelf.listed())
        found.append(
            Step(
                _("Make a backup"),
                reverse("ops_backups"),
                _("It is verified after it was written."),
                is_done=has_backup,
            )
        )
    return found


def _first_source() -> str:
    return next((reverse(source.home_url) for source in registry.sources() if source.home_url), reverse("home"))
