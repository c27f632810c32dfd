"""Pages come into being, are moved, pinned and copied. Callers hold the lock of the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db.models import Model
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.library.errors import Wrong
from watchbook.library.models import NodeType, Page, PageNodeMeta, PageVersion, Space
from watchbook.library.models.pages import TITLE_LENGTH
from watchbook.library.options import PAGE_KILOBYTES
from watchbook.library.parse.html import TooDeep, clean
from watchbook.library.store import news
from watchbook.library.store.order import LONG, between, many_after
from watchbook.library.store.rules import Place, check_new, check_place

BATCH = 500


@dataclass(frozen=True)
class NewPage:
    """A page to be made; `content` is cleaned on the way in."""

    title: str
    node_type: str = NodeType.FILE
    content: str = ""


def clean_title(title: str) -> str:
    """One line of at most 500 characters; a page has a name."""
    kept = cut(" ".join(clean_text(title).split()), TITLE_LENGTH)
    if not kept:
        raise Wrong("title", _("Give it a title."))
    return kept


def clean_content(content: str) -> str:
    """Safe markup within the bounds of a page."""
    most = PAGE_KILOBYTES.value * 1024
    try:
        # Asked before it is cleaned, because cleaning takes its time, and after, because it may add to it.
        kept = clean(content) if len(content) <= most else content
    except TooDeep:
        raise Wrong("content", _("The text is nested too deeply."), code="too_deep") from None
    if len(kept.encode()) > most:
        raise Wrong("content", _("The text is too long for one page."), code="too_long")
    return kept


def add_page(place: Place, new: NewPage, user: Any, *, reason: str = "created", last: bool = True) -> Page:
    """A page at the end (or the beginning) of its row of siblings, with its meta row and first version."""
    if new.node_type not in NodeType.values:
        raise Wrong("node_type", _("It is a folder or a file."))
    check_new(place, new.node_type)
    if new.node_type == NodeType.FOLDER and new.content:
        raise Wrong("content", _("A folder has no text of its own."))
    page = _row(place.space, place.parent_id, new, user, _end_key(place, last=last))
    insert([(page, new.node_type)], reason=reason, user=user)
    return page


def _row(space: Space, parent_id: UUID | None, new: NewPage, user: Any, key: str) -> Page:
    now = clock.now()
    page = Page(
        id=uuid4(), space=space, parent_page_id=parent_id, title=clean_title(new.title),
        content=clean_content(new.content), sort_key=key, created_by=user, updated_by=user, created_at=now,
        updated_at=now,
    )  # fmt: skip
    page.node_type, page.is_pinned, page.pinned_at = new.node_type, False, None
    return page


def insert(rows: Sequence[tuple[Page, str]], *, reason: str, user: Any, told: bool = True) -> None:
    """Pages with their meta rows, first versions and search documents, in bulk; parents stand before children."""
    now = clock.now()
    pages = [page for page, _type in rows]
    Page.objects.bulk_create(pages, batch_size=BATCH)
    PageNodeMeta.objects.bulk_create([meta_row(page, kind, now) for page, kind in rows], batch_size=BATCH)
    PageVersion.objects.bulk_create(
        [
            PageVersion(page=page, number=page.version, title=page.title, content=page.content, author=user,
                        reason=reason, created_at=now)
            for page in pages
        ],
        batch_size=BATCH,
    )  # fmt: skip
    news.put(pages)
    if told:
        news.tell([page for page, kind in rows if kind == NodeType.FILE], user)


def meta_row(page: Page, node_type: str, now: datetime) -> PageNodeMeta:
    return PageNodeMeta(
        page_id=page.pk, workspace_id=page.space.workspace_id, space_id=page.space_id, node_type=node_type,
        created_at=now, updated_at=now,
    )  # fmt: skip


def move_page(page: Page, place: Place, *, after: UUID | None = None, before: UUID | None = None) -> None:
    """Within one space: one row is written, however much hangs below it."""
    check_place(place, page.node_type, moved=page)
    page.sort_key = key_for(place, after=after, before=before, moved=page)
    page.parent_page_id, page.moved_at = place.parent_id, clock.now()
    page.save(update_fields=["sort_key", "parent_page_id", "moved_at"])


def key_for(place: Place, *, after: UUID | None, before: UUID | None, moved: Page | None = None) -> str:
    """A key behind or in front of a sibling, else at the end. Found on the server, never taken from a client."""
    neighbour = after or before
    if neighbour is None:
        return _end_key(place, last=True)
    row = Page.objects.below(place.space.pk, place.parent_id)
    if moved is not None:
        row = row.exclude(pk=moved.pk)
    keys = _keys_at(row, neighbour, is_after=after is not None)
    if (keys[0] is not None and keys[0] == keys[1]) or len(between(*keys)) > LONG:
        _fresh_keys(place)
        keys = _keys_at(row, neighbour, is_after=after is not None)
    return between(*keys)


def _keys_at(row: Any, neighbour: UUID, *, is_after: bool) -> tuple[str | None, str | None]:
    found = row.filter(pk=neighbour).values_list("sort_key", flat=True).first()
    if found is None:
        raise Wrong("after_page_id" if is_after else "before_page_id", _("This page is not in that place."))
    # Siblings in one order: by key, then by id where two have the same.
    order = ("sort_key", "id") if is_after else ("-sort_key", "-id")
    compare = "gt" if is_after else "lt"
    same = row.filter(sort_key=found, **{f"id__{compare}": neighbour})
    other = row.filter(**{f"sort_key__{compare}": found})
    following = same.order_by(*order).first() or other.order_by(*order).first()
    key = following.sort_key if following else None
    return (found, key) if is_after else (key, found)


def _end_key(place: Place, *, last: bool) -> str:
    row = Page.objects.below(place.space.pk, place.parent_id).order_by("-sort_key" if last else "sort_key")
    key = row.values_list("sort_key", flat=True).first()
    return between(key, None) if last else between(None, key)


def _fresh_keys(place: Place) -> None:
    """Short keys for a whole row of siblings, in the order they have."""
    row = list(Page.objects.below(place.space.pk, place.parent_id).in_order().only("sort_key"))
    for page, key in zip(row, many_after(None, len(row)), strict=True):
        page.sort_key = key
    Page.objects.bulk_update(row, ["sort_key"], batch_size=BATCH)


def set_pin(page: Page, *, pinned: bool) -> None:
    now = clock.now()
    meta, _made = PageNodeMeta.objects.get_or_create(page_id=page.pk, defaults=_meta_defaults(page, now))
    if meta.is_pinned != pinned:
        meta.is_pinned, meta.pinned_at, meta.updated_at = pinned, now if pinned else None, now
        meta.save(update_fields=["is_pinned", "pinned_at", "updated_at"])
    page.is_pinned, page.pinned_at = meta.is_pinned, meta.pinned_at


def fill_meta(page: Page) -> None:
    """A page from before the folders gets its meta row when it is written: a file, as it was read all along."""
    PageNodeMeta.objects.get_or_create(page_id=page.pk, defaults=_meta_defaults(page, clock.now()))


def _meta_defaults(page: Page, now: datetime) -> dict[str, Any]:
    row: Model = meta_row(page, NodeType.FILE, now)
    names = ("workspace_id", "space_id", "node_type", "created_at", "updated_at")
    return {name: getattr(row, name) for name in names}
