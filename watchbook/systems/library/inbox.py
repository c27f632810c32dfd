"""Saved pages in the inbox, with the words of the last two versions up to then."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.core.accounts.models import User
from watchbook.core.stream.inbox import Compared, Detail
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Problem
from watchbook.systems.library.models import Page, PageVersion
from watchbook.systems.library.store.together import COMMENTED

KIND = "page"
# An entry represents the saves of one user on one day.
SAME_TIME = timedelta(seconds=2)


def detail(entry: StreamEntry, user: User) -> Detail | None:
    """None for pages that the user can no longer open."""
    try:
        page = actions.open_page(user, UUID(entry.object_id))
        # The entry of a comment shows its words; no version belongs to it.
        compared, evidence = (None, ()) if entry.kind == COMMENTED else _compared(entry, page, user)
    except (Problem, ValueError):
        return None
    return Detail(
        compared=compared,
        place=page.space.name,
        place_url=reverse("library:space", args=[page.space_id]),
        history_url=reverse("library:history", args=[page.pk]),
        evidence=evidence,
    )


def _compared(entry: StreamEntry, page: Page, user: User) -> tuple[Compared | None, tuple[str, ...]]:
    until = actions.list_versions(user, page.pk).filter(created_at__lte=entry.occurred_at + SAME_TIME)
    found: list[PageVersion] = list(until[:2])
    if not found:
        return None, ()
    author = found[0].author
    evidence = (author.email,) if author else ()
    if len(found) < 2:
        return None, evidence
    new, old = found
    difference = actions.compare_versions(user, page.pk, old.number, new.number)
    names = [_("version %(n)s") % {"n": one.number} for one in (old, new)]
    return Compared(difference, *names), evidence
