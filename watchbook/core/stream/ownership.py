"""Private activity and feeds of a user, for the removal of an account."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.core.accounts.models import User
from watchbook.core.registry import Owned
from watchbook.core.stream.models import StreamEntry, StreamFeed

MODULE = "watchbook.core.stream.ownership"
OWNED = (
    Owned("feeds", _("Feeds"), f"{MODULE}:feed_titles"),
    Owned(
        "activity", _("Private activity"), f"{MODULE}:entry_ids",
        transfer=f"{MODULE}:transfer", delete=f"{MODULE}:delete", is_hidden=True,
    ),
)  # fmt: skip


def feed_titles(user: User) -> list[str]:
    return list(StreamFeed.objects.filter(user=user).order_by("name", "pk").values_list("name", flat=True))


def entry_ids(user: User) -> list[int]:
    return list(StreamEntry.objects.filter(scope=f"user:{user.pk}").values_list("pk", flat=True))


def transfer(user: User, successor: User) -> None:
    StreamEntry.objects.filter(scope=f"user:{user.pk}").update(scope=f"user:{successor.pk}")


def delete(user: User) -> None:
    StreamEntry.objects.filter(scope=f"user:{user.pk}").delete()
