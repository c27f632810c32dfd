"""What a page links to, what links to it, and pages that name it without a link. All as the user may see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q

from watchbook.core.accounts.models import User
from watchbook.core.search.find import Hit, find
from watchbook.core.stream.clip import find_address, find_clip
from watchbook.systems.library import access
from watchbook.systems.library.models import Page, PageLink, PageVersion
from watchbook.systems.library.models.pages import PageQuerySet
from watchbook.systems.library.parse.links import addresses
from watchbook.systems.library.store.publish import page_id_of
from watchbook.systems.library.store.references import PAGE, VERSION, is_of_a_source

MOST = 50
# Linking pages that are named by id, and up to which they are counted.
FEW = 5000
# Each linked item asks its own system once.
MOST_ITEMS = 20


@dataclass(frozen=True)
class LinkedItem:
    """A topic, post, note, change or version that the text links to; without a title it is gone or hidden."""

    kind: str
    key: str
    title: str = ""
    address: str = ""


@dataclass
class Links:
    """Links of a page. `broken` are ids of linked pages that this user cannot open.

    `is_count_cut`: more pages link to it than are counted.
    """

    backlinks: list[Page] = field(default_factory=list)
    backlink_count: int = 0
    is_count_cut: bool = False
    items: list[LinkedItem] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def links_of(user: User, page: Page) -> Links:
    """Return the links of a page. Five queries, and a few for each linked item of a source, at most 20."""
    rows = list(PageLink.objects.filter(page=page).order_by("kind", "key").values_list("kind", "key"))
    wanted = {key for kind, key in rows if kind == PAGE}
    there = access.readable(user).live().filter(pk__in=wanted).values_list("pk", flat=True)
    broken = sorted(wanted - {str(pk) for pk in there}) if wanted else []
    linking, is_cut = _linking(page)
    newest = list(_newest(_linking_by(user, page, linking)).values_list("pk", flat=True))
    others = [(kind, key) for kind, key in rows if kind != PAGE][:MOST_ITEMS]
    ours = _item_addresses(page) if any(kind != VERSION for kind, _key in others) else {}
    return Links(
        backlinks=_shown(user, newest[:MOST]),
        backlink_count=len(newest),
        is_count_cut=is_cut,
        items=[_item(user, kind, key, ours) for kind, key in others],
        broken=broken,
    )


def list_backlinks(user: User, page_id: UUID) -> Any:
    """QuerySet of live pages that link to a page and that the user can view."""
    page = access.page_for(user, page_id)
    linking, is_cut = _linking(page)
    found = _linking_by(user, page, linking)
    if is_cut:  # so many that the newest pages show enough of them soon
        links = PageLink.objects.filter(page=OuterRef("pk"), kind=PAGE, key=str(page.pk))
        found = access.readable(user).live().exclude(pk=page.pk).filter(Exists(links))
    return found.select_related("space").defer("content")


def _linking(page: Page) -> tuple[list[UUID], bool]:
    """Return the ids of pages that link to this one, and True if there are more of them."""
    found = list(PageLink.objects.filter(kind=PAGE, key=str(page.pk)).values_list("page_id", flat=True)[: FEW + 1])
    return found[:FEW], len(found) > FEW


def _linking_by(user: User, page: Page, linking: list[UUID]) -> PageQuerySet:
    # By ids: with a join or a subquery, SQLite reads all pages by date and looks for a link of each.
    return access.readable(user).live().exclude(pk=page.pk).filter(pk__in=linking)


def _newest(rows: PageQuerySet) -> PageQuerySet:
    return rows.order_by("-updated_at", "pk")


def _shown(user: User, ids: list[UUID]) -> list[Page]:
    rows = Page.objects.filter(pk__in=ids).select_related("space").defer("content")
    return access.sight(user).show(_newest(rows)) if ids else []


def _item_addresses(page: Page) -> dict[tuple[str, str], str]:
    """Return the addresses on this server that the text gives for items of sources."""
    given = sorted(address for address in addresses(page.content) if is_of_a_source(address))
    return {target: address for address in given[:MOST_ITEMS] if (target := find_address(address))}


def _item(user: User, kind: str, key: str, ours: dict[tuple[str, str], str]) -> LinkedItem:
    if kind == VERSION:
        return _version(user, key)
    found = find_clip(kind, key, user)
    return LinkedItem(kind, key, found.title, ours.get((kind, key), "")) if found else LinkedItem(kind, key)


def _version(user: User, key: str) -> LinkedItem:
    page_id, _colon, number = key.partition(":")
    rows = PageVersion.objects.filter(page_id=UUID(page_id), number=int(number), page__in=access.readable(user).live())
    if approved := access.sight(user).approved:
        rows = rows.exclude(~Q(number=F("page__properties__approved_number")), page__space_id__in=approved)
    found = rows.only("title").first()
    address = f"/library/pages/{page_id}/history/?new={number}"
    return LinkedItem(VERSION, key, found.title, address) if found else LinkedItem(VERSION, key)


def unlinked_mentions(user: User, page_id: UUID) -> list[Hit]:
    """Return pages whose text has the title of this page as words, but no link to it."""
    page = access.page_for(user, page_id)
    words = page.title.replace('"', " ").strip()
    if len(words) < 2:
        return []
    found = find(f'"{words}"', scopes=access.scopes_of(user), kinds=["page"], limit=MOST)
    linking = PageLink.objects.filter(kind=PAGE, key=str(page.pk)).values_list("page_id", flat=True)
    known = {str(page.pk), *map(str, linking)}
    return [hit for hit in found.items if page_id_of(hit.object_id) not in known]
