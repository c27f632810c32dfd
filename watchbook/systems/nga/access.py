"""Who may see the files of posts."""

from __future__ import annotations

from collections.abc import Collection

from watchbook.core.accounts.models import User
from watchbook.systems.nga.models import Post


def visible_posts(user: User, post_ids: Collection[str]) -> list[str]:
    """Return which of these posts a user may see: the archive is for every member."""
    if not user.is_active:
        return []
    numbers = [int(each) for each in post_ids if each.isascii() and each.isdigit() and len(each) < 19]
    return [str(pk) for pk in Post.objects.filter(pk__in=numbers).values_list("pk", flat=True)]
