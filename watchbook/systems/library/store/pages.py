"""Creates, copies and moves pages, one or many. Callers hold the lock of the space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Model
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts.models import User
from watchbook.systems.library.errors import Conflict, Wrong
from watchbook.systems.library.models import NodeType, Page, PageNodeMeta, PageSource, PageVersion, Space
from watchbook.systems.library.models.files import FILE_NAME_LENGTH
from watchbook.systems.library.models.pages import TITLE_LENGTH
from watchbook.systems.library.models.tree import LONG, between, many_after, subtree
from watchbook.systems.library.options import PAGE_KILOBYTES
from watchbook.systems.library.parse.archive import FileRecord, PageRecord, one_line
from watchbook.systems.library.parse.html import TooComplex, clean, to_text
from watchbook.systems.library.parse.links import with_ids
from watchbook.systems.library.store import (
    Parent,
    attachments,
    check_new,
    check_parent,
    chunks,
    guards,
    is_legal,
    order,
    publish,
    references,
)

BATCH = 500


@dataclass(frozen=True)
class NewPage:
    """A page to create. `content` is cleaned and `text` are its words: see `prepare`."""

    title: str
    node_type: str = NodeType.FILE
    content: str = ""
    text: str = ""


def prepare(title: str, node_type: str = NodeType.FILE, content: str = "") -> NewPage:
    """Return a page with clean title and content. Call it before the space is locked: cleaning takes time."""
    kept = clean_content(content)
    return NewPage(clean_title(title), node_type, kept, to_text(kept))


def clean_title(title: str) -> str:
    """Return the title as one line of at most 500 characters. Spaces inside are kept as they are."""
    kept = cut(one_line(clean_text(title)), TITLE_LENGTH)
    if not kept:
        raise Wrong("title", _("Enter a title."))
    return kept


def clean_content(content: str) -> str:
    """Return safe markup within the limits of a page."""
    most = PAGE_KILOBYTES.value * 1024
    try:
        # Checked before cleaning, because cleaning takes time, and after, because it may add to the text.
        kept = with_ids(clean(content), settings.PUBLIC_URL) if len(content) <= most else content
    except TooComplex:
        message = _("The text has too many tags, attributes or levels.")
        raise Wrong("content", message, code="too_complex") from None
    if len(kept.encode()) > most:
        raise Wrong("content", _("The text is too long for one page."), code="too_long")
    return kept


def add_page(place: Parent, new: NewPage, user: User | None, *, reason: str = "created", last: bool = True) -> Page:
    """A page at the end (or the beginning) of its row of siblings, with its meta row and first version."""
    if new.node_type not in NodeType.values:
        raise Wrong("node_type", _("Use folder or file."))
    check_new(place, new.node_type)
    if new.node_type == NodeType.FOLDER and new.content:
        raise Wrong("content", _("A folder has no text of its own."))
    page = _row(place.space, place.parent_id, new, user, _end_key(place, last=last))
    insert([(page, new.node_type)], reason=reason, user=user, texts={page.pk: new.text})
    return page


def _row(space: Space, parent_id: UUID | None, new: NewPage, user: User | None, key: str) -> Page:
    now = clock.now()
    page = Page(
        id=uuid4(), space=space, parent_page_id=parent_id, title=new.title,
        content=new.content, sort_key=key, created_by=user, updated_by=user, created_at=now,
        updated_at=now,
    )  # fmt: skip
    page.node_type, page.is_pinned, page.pinned_at = new.node_type, False, None
    return page


def insert(
    rows: Sequence[tuple[Page, str]], *, reason: str, user: User | None, told: bool = True,
    texts: Mapping[UUID, str] | None = None, known: Collection[UUID] = (),
) -> None:  # fmt: skip
    """Insert pages with meta rows, first versions and search documents, in bulk; parents before children."""
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
    references.record_new(pages, user, known)
    guards.cover_new(pages)
    publish.put(pages, texts)
    if told:
        publish.record_saved([page for page, kind in rows if kind == NodeType.FILE], user)


def meta_row(page: Page, node_type: str, now: datetime) -> PageNodeMeta:
    return PageNodeMeta(
        page_id=page.pk, workspace_id=page.space.workspace_id, space_id=page.space_id, node_type=node_type,
        created_at=now, updated_at=now,
    )  # fmt: skip


def move_page(page: Page, place: Parent, *, after: UUID | None = None, before: UUID | None = None) -> None:
    """Move a page within one space. Writes one row, however many pages are below it, unless restrictions change."""
    check_parent(place, page.node_type, moved=page)
    page.sort_key = key_for(place, after=after, before=before, moved=page)
    page.parent_page_id, page.moved_at = place.parent_id, clock.now()
    page.save(update_fields=["sort_key", "parent_page_id", "moved_at"])
    guards.follow(page)


def key_for(place: Parent, *, after: UUID | None, before: UUID | None, moved: Page | None = None) -> str:
    """Return a sort key after or before a sibling, or at the end. Clients never send keys."""
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
        raise Wrong("after_page_id" if is_after else "before_page_id", _("This page is not in the target folder."))
    # Siblings in one order: by key, then by id where two have the same.
    order = ("sort_key", "id") if is_after else ("-sort_key", "-id")
    compare = "gt" if is_after else "lt"
    same = row.filter(sort_key=found, **{f"id__{compare}": neighbour})
    other = row.filter(**{f"sort_key__{compare}": found})
    following = same.order_by(*order).first() or other.order_by(*order).first()
    key = following.sort_key if following else None
    return (found, key) if is_after else (key, found)


def _end_key(place: Parent, *, last: bool) -> str:
    row = Page.objects.below(place.space.pk, place.parent_id).order_by("-sort_key" if last else "sort_key")
    key = row.values_list("sort_key", flat=True).first()
    return between(key, None) if last else between(None, key)


def _fresh_keys(place: Parent) -> None:
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


MOST_COPIED = 2000


def duplicate(page: Page, place: Parent, user: User | None, hidden: Collection[UUID] = ()) -> Page:
    """The page and all below it once more, as new pages with a history of their own.

    Pages in `hidden` are not for this user and have no copies; neither has anything below them.
    """
    ids = [pk for pk in subtree(page.pk, page.space_id) if pk not in hidden]
    if len(ids) > MOST_COPIED:
        raise Conflict(_("Too many pages to copy."), code="too_many")
    check_new(place, page.node_type)
    key = key_for(place, after=page.pk if place.parent_id == page.parent_page_id else None, before=None)
    copies = _copies(page, place, ids, user, key)
    insert([(copy, copy.node_type) for copy in copies], reason="copied", user=user)
    guards.copy_restrictions({old: copy.pk for old, copy in zip(ids, copies, strict=True)}, place.space, user)
    return copies[0]


def _copies(page: Page, place: Parent, ids: list[UUID], user: User | None, key: str) -> list[Page]:
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


def move_to_space(page: Page, place: Parent, *, after: UUID | None = None, before: UUID | None = None) -> None:
    """Move a page to another space. Every row below changes, because each names its space.

    Pages below it in the trash stay in the trash of the old space.
    """
    check_parent(place, page.node_type)
    ids = subtree(page.pk, page.space_id)
    old_space = page.space
    page.sort_key = key_for(place, after=after, before=before)
    page.parent_page_id, page.moved_at, page.space = place.parent_id, clock.now(), place.space
    for some in chunks(ids):
        Page.objects.filter(pk__in=some).update(space=place.space)
        PageNodeMeta.objects.filter(page_id__in=some).update(
            space=place.space, workspace_id=place.space.workspace_id, updated_at=clock.now()
        )
    page.save(update_fields=["sort_key", "parent_page_id", "moved_at"])
    attachments.follow(ids, place.space.workspace_id)
    guards.follow_to_space(ids, page, old_space)
    order.follow(ids, place.space.workspace_id)
    # Immediately, not later: members of the old space must not find it any more.
    for some in chunks(ids):
        publish.rescope(list(Page.objects.filter(pk__in=some)))


@dataclass(frozen=True)
class ImportedPage:
    """A record of an import with clean title and content."""

    new: NewPage
    parent: int | None
    is_pinned: bool
    id: UUID
    file_name: str = ""
    front: str = ""

    @property
    def node_type(self) -> str:
        return self.new.node_type


def prepare_all(records: Sequence[PageRecord]) -> list[ImportedPage]:
    """Clean all titles and contents. Call it before the space is locked."""
    return [
        ImportedPage(
            prepare(record.title, record.node_type, record.content),
            record.parent,
            record.is_pinned,
            UUID(record.id),
            record.file_name[:FILE_NAME_LENGTH],
            record.front,
        )
        for record in records
    ]


def needs_folder(place: Parent, records: Sequence[ImportedPage], files: Sequence[FileRecord] = ()) -> bool:
    """Whether something of the import is not allowed at this place, so that all gets a new folder around it."""
    if place.parent is None and any(file.home is None for file in files):
        return True
    return any(record.parent is None and not is_legal(place, record.node_type) for record in records)


def add_all(
    place: Parent, records: Sequence[ImportedPage], user: User | None, *, wrap_title: str, reason: str,
    files: Sequence[FileRecord] = (),
) -> list[Page]:  # fmt: skip
    """Create the pages at the end of the parent. Pages not allowed there get a new folder around them."""
    tops = [record for record in records if record.parent is None]
    wrapping: list[Page] = []
    if needs_folder(place, records, files):
        wrapping = [add_page(place, NewPage(wrap_title, NodeType.FOLDER), user, reason=reason)]
        place = Parent(place.space, wrapping[0])
    for node_type in {record.node_type for record in tops}:
        check_new(place, node_type)
    rows = _rows(place, records, user)
    texts = {page.pk: record.new.text for page, record in zip(rows, records, strict=True)}
    attachments.add_all(place.space.workspace_id, [(UUID(file.id), _facts(file)) for file in files], user)
    known = {UUID(file.id) for file in files}
    insert([(page, page.node_type) for page in rows], reason=reason, user=user, told=False, texts=texts, known=known)
    homes = {UUID(file.id): rows[file.home].pk if file.home is not None else place.parent_id for file in files}
    attachments.settle({pk: home for pk, home in homes.items() if home is not None})
    _keep_sources(rows, records)
    _pin(rows)
    return [*wrapping, *rows]


def _facts(file: FileRecord) -> attachments.FileFacts:
    return attachments.FileFacts(
        Path(file.path), file.name, file.media_type, file.size, file.width, file.height
    )  # fmt: skip


def _keep_sources(rows: Sequence[Page], records: Sequence[ImportedPage]) -> None:
    """Keep names and front matter of the imported files, for the next export."""
    kept = [
        PageSource(page=page, file_name=record.file_name, title=page.title, front=record.front)
        for page, record in zip(rows, records, strict=True)
        if record.file_name or record.front
    ]
    PageSource.objects.bulk_create(kept, batch_size=BATCH)


def _rows(place: Parent, records: Sequence[ImportedPage], user: User | None) -> list[Page]:
    now = clock.now()
    keys = _keys(place, records)
    rows: list[Page] = []
    for record, key in zip(records, keys, strict=True):
        page = Page(
            id=record.id, space=place.space, title=record.new.title, content=record.new.content,
            parent_page_id=rows[record.parent].pk if record.parent is not None else place.parent_id,
            sort_key=key, created_by=user, updated_by=user, created_at=now, updated_at=now,
        )  # fmt: skip
        page.node_type, page.is_pinned, page.pinned_at = record.node_type, record.is_pinned, None
        rows.append(page)
    return rows


def _keys(place: Parent, records: Sequence[ImportedPage]) -> list[str]:
    """Siblings in the order of the list, behind those who are there already."""
    last = Page.objects.below(place.space.pk, place.parent_id).order_by("-sort_key").values_list("sort_key", flat=True)
    counts: dict[int | None, int] = {}
    for record in records:
        counts[record.parent] = counts.get(record.parent, 0) + 1
    waiting = {
        parent: iter(many_after(last.first() if parent is None else None, count)) for parent, count in counts.items()
    }
    return [next(waiting[record.parent]) for record in records]


def _pin(rows: Sequence[Page]) -> None:
    pinned: list[UUID] = [page.pk for page in rows if page.is_pinned]
    if pinned:
        PageNodeMeta.objects.filter(page_id__in=pinned).update(is_pinned=True, pinned_at=clock.now())
