"""Actions on pages: create, read, save, move, copy, pin, favourite, share, trash, restore, delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.core.accounts.models import User
from watchbook.kit.diff import Difference, compare
from watchbook.kit.paging import InvalidCursor
from watchbook.systems.library import access
from watchbook.systems.library.errors import Conflict, NotFound, Wrong
from watchbook.systems.library.models import (
    Favourite,
    NodeType,
    Page,
    PageTemplate,
    PageVersion,
    ShareLink,
    Space,
    SpaceRole,
    Tag,
    TrashBatch,
)
from watchbook.systems.library.models.pages import AUTOSAVED
from watchbook.systems.library.models.tree import Children, Crumb, ancestors, children, subtree, whole
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.store import (
    OLD_PARENT,
    ParentChoice,
    fresh,
    order,
    pages,
    parent_at,
    publish,
    text,
    trash,
    writing,
)

MOST_MOVED = 500
WRITER, READER = SpaceRole.WRITER, SpaceRole.READER


def create_page(
    user: User,
    space_id: UUID,
    *,
    title: str,
    node_type: str = NodeType.FILE,
    parent_page_id: UUID | None = None,
    content: str = "",
    template_id: UUID | None = None,
) -> Page:
    """Create a folder or page at the end of its siblings. For editors. Raises Hierarchy if not allowed there.

    With `template_id` it has the text and the tags of that page.
    """
    space = access.space_for(user, space_id, WRITER)
    template = _template(user, space, template_id) if template_id else None
    if template is not None and content:
        raise Wrong("content", _("Give either a text or a template, not both."))
    new = pages.prepare(title, node_type, template.content if template else content)
    access.may_hold(user, parent_page_id)
    with writing(space.pk):
        page = pages.add_page(parent_at(space, parent_page_id), new, user)
        if template is not None:
            order.set_tags(page, [tag.name for tag in Tag.objects.filter(page_rows__page=template)])
    return page


def _template(user: User, space: Space, template_id: UUID) -> Page:
    found = access.page_for(user, template_id)
    if found.space.workspace_id != space.workspace_id or not PageTemplate.objects.filter(page=found).exists():
        raise Wrong("template_id", _("There is no such template in this workspace."))
    return found


def open_page(user: User, page_id: UUID) -> Page:
    """Return a live page with node_type, is_pinned and pinned_at. For viewers."""
    return access.page_for(user, page_id)


def open_trashed(user: User, page_id: UUID) -> Page:
    """Return a page in the trash. For viewers of its space."""
    return access.page_for(user, page_id, trashed=True)


def breadcrumb(user: User, page_id: UUID) -> list[Crumb]:
    """Return the path from the top level down to the page itself."""
    page = access.page_for(user, page_id)
    return access.sight(user).way(ancestors(page.pk), page.space_id)


def list_children(
    user: User, *, space_id: UUID | None = None, page_id: UUID | None = None, cursor: str = "", limit: int = 100,
    order: str = "custom",
) -> Children:  # fmt: skip
    """A piece of the children of a page, or of a space's top level. `order` is custom, updated or title."""
    with access.reading():
        seen, space_id = _seen_in(user, space_id, page_id)
        return _list_children(seen, space_id, page_id, cursor=cursor, limit=limit, order=order)


def _seen_in(user: User, space_id: UUID | None, page_id: UUID | None) -> tuple[access.Sight, UUID]:
    if page_id is None:
        assert space_id is not None
        return access.sight(user), access.space_for(user, space_id).pk
    if open_space := access.open_space_of(user, page_id):
        return access.Sight(), open_space
    return access.sight(user), access.page_for(user, page_id).space_id


def _list_children(
    seen: access.Sight, space_id: UUID, parent_id: UUID | None, *, cursor: str, limit: int, order: str
) -> Children:
    try:
        found = children(space_id, parent_id, narrow=seen.narrow, cursor=cursor, limit=limit, order=order)
        return replace(found, items=seen.show(found.items))
    except InvalidCursor:
        raise Wrong("cursor", _("The cursor is not valid for this list."), code="bad_cursor") from None
    except KeyError:
        raise Wrong("order", _("Use custom, updated or title.")) from None


def save_page(
    user: User, page_id: UUID, *, version: int, title: str | None = None, content: str | None = None,
    autosave: bool = False,
) -> Page:  # fmt: skip
    """Save on top of the version that was read. VersionConflict returns both texts; nothing is overwritten.

    Consecutive autosaves of one user are one version in the history.
    """
    page = access.page_for(user, page_id, WRITER)
    new = text.draft(title, content)
    with writing(page.space_id, structural=title is not None and title != page.title):
        page = fresh(page)
        page.is_written = text.save(page, user, new, version=version, reason=AUTOSAVED if autosave else "saved")
    return page


def move_page(
    user: User,
    page_id: UUID,
    *,
    parent_page_id: UUID | None,
    space_id: UUID | None = None,
    after_page_id: UUID | None = None,
    before_page_id: UUID | None = None,
) -> Page:
    """Below another page or to the top level, also of another space; at the end, or beside a sibling. For writers."""
    page = access.page_for(user, page_id, WRITER)
    target = access.space_for(user, space_id or page.space_id, WRITER)
    if after_page_id and before_page_id:
        raise Wrong("before_page_id", _("Give either the page before or the page after, not both."))
    access.may_hold(user, parent_page_id)
    with writing(page.space_id, target.pk):
        page = fresh(page)
        _check_whole(user, page, target)
        place = parent_at(target, parent_page_id)
        mover = pages.move_page if target.pk == page.space_id else pages.move_to_space
        mover(page, place, after=after_page_id, before=before_page_id)
    return page


def bulk_move(
    user: User, page_ids: Sequence[UUID], *, parent_page_id: UUID | None, space_id: UUID | None = None
) -> list[Page]:
    """Move the pages in the given order, in one transaction. A page below another given page moves with it."""
    found = chosen(user, page_ids)
    target = access.space_for(user, space_id or _target_space(user, parent_page_id, found), WRITER)
    access.may_hold(user, parent_page_id)
    with writing(target.pk, *{page.space_id for page in found}):
        place = parent_at(target, parent_page_id)
        tops = set(whole(page.pk for page in found))
        moved = [fresh(page) for page in found if page.pk in tops]
        for page in moved:
            _check_whole(user, page, target)
            mover = pages.move_page if target.pk == page.space_id else pages.move_to_space
            mover(page, place)
    return moved


def _check_whole(user: User, page: Page, target: Space) -> None:
    """Refuse to take pages that are hidden from the user to another space: its admins open every page."""
    if page.space_id != target.pk and access.sight(user).hidden(subtree(page.pk, page.space_id)):
        raise Conflict(_("Pages below it are hidden from you. An admin of the space can move it."), code="hidden_pages")


def chosen(user: User, page_ids: Sequence[UUID]) -> list[Page]:
    """The pages of a bulk action, for writers; bounded in number."""
    wanted = list(dict.fromkeys(page_ids))
    if not wanted or len(wanted) > MOST_MOVED:
        raise Wrong("page_ids", _("Choose 1 to %(n)s pages.") % {"n": MOST_MOVED})
    return access.pages_for(user, wanted, WRITER)


def _target_space(user: User, parent_page_id: UUID | None, found: Sequence[Page]) -> UUID:
    if parent_page_id is not None:
        return access.page_for(user, parent_page_id).space_id
    spaces = {page.space_id for page in found}
    if len(spaces) != 1:
        raise Wrong("space_id", _("The pages are in several spaces. Give the target space."))
    return spaces.pop()


def duplicate_page(user: User, page_id: UUID, *, parent_page_id: ParentChoice = OLD_PARENT) -> Page:
    """Copy a page and all pages below it, after the original or to another parent of the space. For editors."""
    page = access.page_for(user, page_id, WRITER)
    access.may_hold(user, None if parent_page_id is OLD_PARENT else parent_page_id)
    with writing(page.space_id):
        page = fresh(page)
        place = parent_at(page.space, page.parent_page_id if parent_page_id is OLD_PARENT else parent_page_id)
        inside = Page.objects.filter(pk__in=subtree(page.pk, page.space_id))
        hidden = set(inside.values_list("pk", flat=True)) - set(
            access.sight(user).rows(inside).values_list("pk", flat=True)
        )
        return pages.duplicate(page, place, user, hidden)


def pin_page(user: User, page_id: UUID, *, pinned: bool) -> Page:
    """Pin or unpin a page for all members. For editors."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id):
        page = fresh(page)
        pages.set_pin(page, pinned=pinned)
    return page


def set_favourite(user: User, page_id: UUID, *, kept: bool) -> None:
    """Keep a page at hand, for oneself alone. For readers."""
    page = access.page_for(user, page_id)
    with writing(page.space_id, structural=False):
        rows = Favourite.objects.filter(user=user, page=page)
        if not kept:
            rows.delete()
        elif not rows.exists():
            Favourite.objects.bulk_create([Favourite(user=user, page=page)], ignore_conflicts=True)


def list_favourites(user: User) -> list[Page]:
    """Return the favourites that the user can still view, in the user's own order, new ones first."""
    mine = access.readable(user).live().with_type().filter(favourites__user=user).select_related("space")
    rows = mine.order_by("favourites__position", "-favourites__created_at", "id")[:200]
    return access.sight(user).show(rows)


def list_versions(user: User, page_id: UUID) -> Any:
    """QuerySet of the page's versions, the newest first, without their texts."""
    page = access.page_for(user, page_id)
    rows = PageVersion.objects.shown().filter(page=page).select_related("author").defer("content").order_by("-number")
    # Where only the approved version is for the user, `page` is that version.
    return rows.filter(number=page.version) if page.space_id in access.sight(user).approved else rows


def open_version(user: User, page_id: UUID, number: int) -> PageVersion:
    page = access.page_for(user, page_id)
    found = PageVersion.objects.filter(page=page, number=number).select_related("author").first()
    is_hidden = page.space_id in access.sight(user).approved and number != page.version
    if found is None or (is_hidden and page.node_type != NodeType.FOLDER):
        raise NotFound
    return found


def version_before(user: User, page_id: UUID, number: int) -> int:
    """The number of the version before this one in the history; of the first one, its own."""
    earlier = list_versions(user, page_id).filter(number__lt=number).values_list("number", flat=True)
    return earlier.first() or number


def compare_versions(user: User, page_id: UUID, old: int, new: int) -> Difference:
    """Word by word, over titles and texts without their markup."""
    first, second = (open_version(user, page_id, number) for number in (old, new))
    return compare(*(f"{one.title}\n{to_text(one.content)}" for one in (first, second)))


def restore_version(user: User, page_id: UUID, number: int) -> Page:
    """An old version becomes the newest; nothing is lost. For writers."""
    page = access.page_for(user, page_id, WRITER)
    open_version(user, page_id, number)
    with writing(page.space_id):
        page = fresh(page)
        text.restore_version(page, user, number)
    return page


def share_page(user: User, page_id: UUID, *, expires_at: datetime | None = None) -> tuple[ShareLink, str]:
    """A read-only link and its token, which is shown only now. For writers."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id, structural=False):
        return publish.share(fresh(page), user, expires_at)


def list_shares(user: User, page_id: UUID) -> Any:
    """QuerySet of the page's links that were not revoked. For writers: readers need not know who else reads."""
    page = access.page_for(user, page_id, WRITER)
    return ShareLink.objects.filter(page=page, revoked_at=None).select_related("created_by").order_by("-created_at")


def revoke_share(user: User, link_id: UUID) -> None:
    """The address stops working immediately. For writers."""
    link = ShareLink.objects.filter(pk=link_id).first()
    if link is None:
        raise NotFound
    page = Page.objects.select_related("space").get(pk=link.page_id)
    access.space_for(user, page.space_id, WRITER)
    if access.sight(user).hidden([page.pk]):
        raise NotFound
    with writing(page.space_id, structural=False):
        publish.revoke(link, user)


def open_share(token: str) -> Page:
    """Return the page of a share link. Raises NotFound for any other token."""
    page = publish.opened(token)
    if page is None:
        raise NotFound
    return page


def trash_page(user: User, page_id: UUID) -> TrashBatch:
    """The page and all below it, as one batch. For writers."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id):
        return trash.trash(fresh(page), user)


def bulk_trash(user: User, page_ids: Sequence[UUID]) -> list[TrashBatch]:
    """Trash the pages in one transaction; one batch for each chosen subtree. For editors."""
    found = chosen(user, page_ids)
    with writing(*{page.space_id for page in found}):
        tops = set(whole(page.pk for page in found))
        return [trash.trash(fresh(page), user) for page in found if page.pk in tops]


def restore_page(user: User, page_id: UUID, *, parent_page_id: ParentChoice = OLD_PARENT) -> Page:
    """Restore the batch of this page to its old parent or to another one (None: top level). For editors.

    Raises NoAllowedParent if the old parent no longer exists; its details list folders.
    """
    page = access.page_for(user, page_id, WRITER, trashed=True)
    access.may_hold(user, None if parent_page_id is OLD_PARENT else parent_page_id)
    with writing(page.space_id):
        page = fresh(page, trashed=True)
        batch = page.trash_batch
        if batch is None or batch.restored_at is not None:
            raise NotFound
        place = None if parent_page_id is OLD_PARENT else parent_at(page.space, parent_page_id)
        return trash.restore(batch, place, access.sight(user).rows)


def purge_page(user: User, page_id: UUID) -> Page:
    """Delete the batch of this page permanently. For admins of the space."""
    page = access.page_for(user, page_id, SpaceRole.ADMIN, trashed=True)
    with writing(page.space_id, structural=False):
        page = fresh(page, trashed=True)
        batch = page.trash_batch
        if batch is None or batch.page_id != page.pk:
            raise NotFound
        trash.purge(batch, user)
        trash.soon()
    return page


def empty_trash(user: User, space_id: UUID) -> int:
    """Delete the whole trash of a space permanently; return the number of batches. For admins of the space."""
    space = access.space_for(user, space_id, SpaceRole.ADMIN)
    with writing(space.pk, structural=False):
        count = trash.purge_all(space, user)
        if count:
            trash.soon()
    return count


def list_trash(user: User, space_id: UUID) -> Any:
    """QuerySet of the batches in the trash of a space, the newest first, each with its page."""
    space = access.space_for(user, space_id)
    seen = access.sight(user).rows(Page.objects.filter(space=space).exclude(deleted_at=None))
    rows = TrashBatch.objects.open().filter(space=space, page__in=seen).select_related("page", "deleted_by")
    return rows.order_by("-deleted_at", "id")
