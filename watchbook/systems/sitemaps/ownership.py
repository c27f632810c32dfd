"""Monitors of a user, for the removal of an account."""

from __future__ import annotations

from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.systems.sitemaps.models import MonitorTask


def titles(user: User) -> list[str]:
    return list(MonitorTask.objects.of(user).order_by("name", "pk").values_list("name", flat=True))


def transfer(user: User, successor: User) -> None:
    """Give the monitors away with their history. Where both watched a sitemap, the leaving user's is deleted."""
    watched = MonitorTask.objects.filter(user=successor).exclude(live_url_digest=None).values_list("live_url_digest")
    both = MonitorTask.objects.filter(user=user, live_url_digest__in=[digest for (digest,) in watched])
    both.update(deleted_at=clock.now(), live_url_digest=None, updated_at=clock.now())
    MonitorTask.objects.filter(user=user).update(user=successor, updated_at=clock.now())
