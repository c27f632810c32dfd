"""Notifications that a user chose, for the removal of an account."""

from __future__ import annotations

from watchbook.core.accounts.models import User
from watchbook.systems.nga.models import Subscription


def titles(user: User) -> list[str]:
    """Return the topics and authors; the rows go with the account."""
    return [str(chosen) for chosen in Subscription.objects.of(user).select_related("thread").order_by("pk")]
