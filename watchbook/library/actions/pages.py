"""What a person does with pages: make, read, write, move, copy, pin, keep at hand, share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.core.ui.diff import Difference, compare
from watchbook.library import access
from watchbook.library.errors import NotFound, Wrong
from watchbook.library.models import Favourite, NodeType, Page, PageVersion, ShareLink, SpaceRole
from watchbook.library.models.children import BadCursor, Children, children
from watchbook.library.models.pages import AUTOSAVED
from watchbook.library.models.walk import Crumb, way_to, whole
from watchbook.library.parse.html import to_text
from watchbook.library.store import copies, pages, sharing, text
from watchbook.library.store.lock import fresh, writing
from watchbook.library.store.pages import NewPage
from watchbook.library.store.rules import place_at

MOST_MOVED = 500
WRITER, READER = SpaceRole.WRITER, SpaceRole.READER


def create_page(
    user: Any,
    space_id: UUID,
    *,
    title: str,
    node_type: str = NodeType.FILE,
    parent_page_id: UUID | None = None,
    content: str = "",
) -> Page:
    """A folder or file at the end of its place. For writers. Hierarchy when the matrix refuses it there."""
    space = access.space_for(user, space_id, WRITER)
    with writing(space.pk):
        place = place_at(space, parent_page_id)
        return pages.add_page(place, NewPage(title, node_type, content), user)


def open_page(user: Any, page_id: UUID) -> Page:
    """A live page for somebody who may read it, with node_type, is_pinned and pinned_at."""
    return access.page_for(user, page_id)


def open_trashed(user: Any, page_id: UUID) -> Page:
    """A page in the trash for somebody who may read its space."""
    return access.page_for(user, page_id, trashed=True)


def breadcrumb(user: Any, page_id: UUID) -> list[Crumb]:
    """From the top level down to the page itself."""
    return way_to(access.page_for(user, page_id).pk)


def list_children(
    user: Any, *, space_id: UUID | None = None, page_id: UUID | None = None, cursor: str = "", limit: int = 100,
    order: str = "custom",
) -> Children:  # fmt: skip
    """A piece of the children of a page, or of a space's top level. `order` is custom, updated or title."""
    if page_id is not None:
        page = access.page_for(user, page_id)
        space_id, parent_id = page.space_id, page.pk
    else:
        assert space_id is not None
        space_id, parent_id = access.space_for(user, space_id).pk, None
    try:
        return children(space_id, parent_id, cursor=cursor, limit=limit, order=order)
    except BadCursor as error:
        raise Wrong("cursor", str(error), code="bad_cursor") from None
    except KeyError:
        raise Wrong("order", _("It is custom, updated or title.")) from None


def save_page(
    user: Any, page_id: UUID, *, version: int, title: str | None = None, content: str | None = None,
    autosave: bool = False,
) -> Page:  # fmt: skip
    """Save on top of the version that was read. VersionConflict brings both texts; nothing is overwritten.

    Autosaves of one person that follow each other are one version in the history.
    """
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id, structural=title is not None and title != page.title):
        page = fresh(page)
        reason = AUTOSAVED if autosave else "saved"
        text.save(page, user, version=version, title=title, content=content, reason=reason)
    return page


def move_page(
    user: Any,
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
        raise Wrong("before_page_id", _("Name one neighbour, not two."))
    with writing(page.space_id, target.pk):
        page = fresh(page)
        place = place_at(target, parent_page_id)
        mover = pages.move_page if target.pk == page.space_id else copies.move_to_space
        mover(page, place, after=after_page_id, before=before_page_id)
    return page


def bulk_move(
    user: Any, page_ids: Sequence[UUID], *, parent_page_id: UUID | None, space_id: UUID | None = None
) -> list[Page]:
    """All or none, in the given order. A page below another of them stays where it is in that one's subtree."""
    found = chosen(user, page_ids)
    target = access.space_for(user, space_id or _target_space(user, parent_page_id, found), WRITER)
    with writing(target.pk, *{page.space_id for page in found}):
        place = place_at(target, parent_page_id)
        tops = set(whole(page.pk for page in found))
        moved = [fresh(page) for page in found if page.pk in tops]
        for page in moved:
            mover = pages.move_page if target.pk == page.space_id else copies.move_to_space
            mover(page, place)
    return moved


def chosen(user: Any, page_ids: Sequence[UUID]) -> list[Page]:
    """The pages of a bulk action, for writers; bounded in number."""
    wanted = list(dict.fromkeys(page_ids))
    if not wanted or len(wanted) > MOST_MOVED:
        raise Wrong("page_ids", _("Choose 1 to %(n)s pages.") % {"n": MOST_MOVED})
    return access.pages_for(user, wanted, WRITER)


def _target_space(user: Any, parent_page_id: UUID | None, found: Sequence[Page]) -> UUID:
    if parent_page_id is not None:
        return access.page_for(user, parent_page_id).space_id
    spaces = {page.space_id for page in found}
    if len(spaces) != 1:
        raise Wrong("space_id", _("The pages come from several spaces: name the one they go to."))
    return spaces.pop()


def duplicate_page(user: Any, page_id: UUID, *, parent_page_id: UUID | None = None) -> Page:
    """The page with all below it once more, behind itself or below another page of the space. For writers."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id):
        page = fresh(page)
        place = place_at(page.space, parent_page_id or page.parent_page_id)
        return copies.duplicate(page, place, user)


def pin_page(user: Any, page_id: UUID, *, pinned: bool) -> Page:
    """On top of its siblings for everybody, or back among them. For writers."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id):
        page = fresh(page)
        pages.set_pin(page, pinned=pinned)
    return page


def set_favourite(user: Any, page_id: UUID, *, kept: bool) -> None:
    """Keep a page at hand, for oneself alone. For readers."""
    page = access.page_for(user, page_id)
    with writing(page.space_id, structural=False):
        rows = Favourite.objects.filter(user=user, page=page)
        if not kept:
            rows.delete()
        elif not rows.exists():
            Favourite.objects.bulk_create([Favourite(user=user, page=page)], ignore_conflicts=True)


def list_favourites(user: Any) -> list[Page]:
    """Live favourites in spaces this person may still read, the newest first."""
    mine = Page.objects.live().with_type().filter(favourites__user=user, space__in=access.spaces_of(user))
    return list(mine.select_related("space").order_by("-favourites__created_at", "id")[:200])


def list_versions(user: Any, page_id: UUID) -> Any:
    """QuerySet of the page's versions, the newest first, without their texts."""
    page = access.page_for(user, page_id)
    return PageVersion.objects.shown().filter(page=page).select_related("author").defer("content").order_by("-number")


def open_version(user: Any, page_id: UUID, number: int) -> PageVersion:
    page = access.page_for(user, page_id)
    found = PageVersion.objects.filter(page=page, number=number).select_related("author").first()
    if found is None:
        raise NotFound
    return found


def version_before(user: Any, page_id: UUID, number: int) -> int:
    """The number of the version before this one in the history; of the first one, its own."""
    earlier = list_versions(user, page_id).filter(number__lt=number).values_list("number", flat=True)
    return earlier.first() or number


def compare_versions(user: Any, page_id: UUID, old: int, new: int) -> Difference:
    """Word by word, over titles and texts without their markup."""
    first, second = (open_version(user, page_id, number) for number in (old, new))
    return compare(*(f"{one.title}\n{to_text(one.content)}" for one in (first, second)))


def restore_version(user: Any, page_id: UUID, number: int) -> Page:
    """An old version becomes the newest; nothing is lost. For writers."""
    page = access.page_for(user, page_id, WRITER)
    open_version(user, page_id, number)
    with writing(page.space_id):
        page = fresh(page)
        text.restore_version(page, user, number)
    return page


def share_page(user: Any, page_id: UUID, *, expires_at: datetime | None = None) -> tuple[ShareLink, str]:
    """A read-only link and its token, which is shown only now. For writers."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id, structural=False):
        return sharing.share(fresh(page), user, expires_at)


def list_shares(user: Any, page_id: UUID) -> Any:
    """QuerySet of the page's links that were not revoked. For writers: readers need not know who else reads."""
    page = access.page_for(user, page_id, WRITER)
    return ShareLink.objects.filter(page=page, revoked_at=None).select_related("created_by").order_by("-created_at")


def revoke_share(user: Any, link_id: UUID) -> None:
    """The address stops working at once. For writers."""
    link = ShareLink.objects.filter(pk=link_id).first()
    if link is None:
        raise NotFound
    page = Page.objects.select_related("space").get(pk=link.page_id)
    access.space_for(user, page.space_id, WRITER)
    with writing(page.space_id, structural=False):
        sharing.revoke(link, user)


def open_share(token: str) -> Page:
    """The page behind a link, for whoever holds it. NotFound for anything else."""
    page = sharing.opened(token)
    if page is None:
        raise NotFound
    return page
