"""Channels of a user, for the removal of an account."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.registry import Owned

MODULE = "watchbook.core.notify.ownership"
OWNED = (Owned("channels", _("Channels"), f"{MODULE}:titles", transfer=f"{MODULE}:transfer"),)


def titles(user: User) -> list[str]:
    return list(NotificationChannel.objects.of(user).order_by("name", "pk").values_list("name", flat=True))


def transfer(user: User, successor: User) -> None:
    """Give the channels away. Alerts were for the operator who left: the successor chooses the level again.

    Phones and browsers stay with the one who left, so their channels end.
    """
    NotificationChannel.objects.of(user).filter(channel_type="push").delete()
    NotificationChannel.objects.of(user).update(user=successor, alert_level="")
