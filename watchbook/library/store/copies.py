"""Whole subtrees: copied beside themselves, and moved to another space."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.library.errors import Conflict
from watchbook.library.models import Page, PageNodeMeta
from watchbook.library.models.walk import subtree
from watchbook.library.store import news
from watchbook.library.store.pages import insert, key_for
from watchbook.library.store.rules import Place, check_new, check_place
from watchbook.library.store.trash import chunks

MOST_COPIED = 2000


def duplicate(page: Page, place: Place, user: Any) -> Page:
    """The page and all below it once more, as new pages with a history of their own."""
    ids = subtree(page.pk, page.space_id)
    if len(ids) > MOST_COPIED:
        raise Conflict(_("There are too many pages to copy at once."), code="too_many")
    check_new(place, page.node_type)
    key = key_for(place, after=page.pk if place.parent_id == page.parent_page_id else None, before=None)
    copies = _copies(page, place, ids, user, key)
    insert([(copy, copy.node_type) for copy in copies], reason="copied", user=user)
    return copies[0]


def _copies(page: Page, place: Place, ids: list[UUID], user: Any, key: str) -> list[Page]:
    now = clock.now()
    fresh = {pk: uuid4() for pk in ids}
    found: dict[UUID, Page] = {}
    for some in chunks(ids):
        found |= Page.objects.with_type().in_bulk(list(some))
    copies = []
    for pk in ids:
        old = found[pk]
        above = place.parent_id if pk == page.pk or old.parent_page_id is None else fresh[old.parent_page_id]
        is_top = pk == page.pk
        copy = Page(
            id=fresh[pk], space=place.space,
            parent_page_id=above,
            title=_("%(title)s (copy)") % {"title": old.title[:480]} if is_top else old.title,
            content=old.content, sort_key=key if is_top else old.sort_key,
            created_by=user, updated_by=user, created_at=now, updated_at=now,
        )  # fmt: skip
        copy.node_type, copy.is_pinned, copy.pinned_at = old.node_type, False, None
        copies.append(copy)
    return copies


def move_to_space(page: Page, place: Place, *, after: UUID | None = None, before: UUID | None = None) -> None:
    """To another tree: every row below goes along, because each says to which space it belongs.

    What is in the trash below it stays behind in the trash of the old space.
    """
    check_place(place, page.node_type)
    ids = subtree(page.pk, page.space_id)
    page.sort_key = key_for(place, after=after, before=before)
    page.parent_page_id, page.moved_at, page.space = place.parent_id, clock.now(), place.space
    for some in chunks(ids):
        Page.objects.filter(pk__in=some).update(space=place.space)
        PageNodeMeta.objects.filter(page_id__in=some).update(
            space=place.space, workspace_id=place.space.workspace_id, updated_at=clock.now()
        )
    page.save(update_fields=["sort_key", "parent_page_id", "moved_at"])
    # At once, not later: members of the old space must not find it any more.
    for some in chunks(ids):
        news.put(Page.objects.filter(pk__in=some))
