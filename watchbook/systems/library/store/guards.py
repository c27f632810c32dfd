"""Restrictions of pages: who can open a page and everything below it. Callers hold the lock of the space.

`page_guards` names for each page the restrictions that cover it, so that a list needs a join and no walk. The rows
follow every write that changes the tree: new pages take those of their parent, moved and restored ones are computed
again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.people.models import Group
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.models import (
    Page,
    PageGrant,
    PageGuard,
    PageRestriction,
    Space,
    WorkspaceMember,
)
from watchbook.systems.library.models.tree import whole_subtree
from watchbook.systems.library.store import chunks, publish

MOST_GRANTS = 500
Chain = tuple[UUID, ...]


def restrict(page: Page, user: User, *, user_ids: Collection[UUID], group_ids: Collection[UUID]) -> PageRestriction:
    """Let only these members and groups open the page and everything below it; others are added or removed."""
    people, groups = _known(page.space, user_ids, group_ids)
    found, is_new = PageRestriction.objects.get_or_create(
        page=page, defaults={"space": page.space, "created_by": user}
    )  # fmt: skip
    PageGrant.objects.filter(restriction=found).delete()
    PageGrant.objects.bulk_create(
        [PageGrant(restriction=found, user_id=pk) for pk in people]
        + [PageGrant(restriction=found, group_id=pk) for pk in groups]
    )
    audit.record(
        "library.restricted", actor=user, subject=str(page.pk), users=len(people), groups=len(groups)
    )  # fmt: skip
    if is_new:
        recompute(whole_subtree(page.pk))
    return found


def _known(space: Space, user_ids: Collection[UUID], group_ids: Collection[UUID]) -> tuple[list[UUID], list[UUID]]:
    if len(user_ids) + len(group_ids) > MOST_GRANTS:
        raise Wrong("user_ids", _("Choose at most %(n)s members and groups.") % {"n": MOST_GRANTS})
    members = WorkspaceMember.objects.filter(workspace_id=space.workspace_id, user_id__in=user_ids)
    people = list(members.values_list("user_id", flat=True))
    groups = list(Group.objects.filter(pk__in=group_ids).values_list("pk", flat=True))
    if len(people) != len(set(user_ids)):
        raise Wrong("user_ids", _("Only members of the workspace can be chosen."))
    if len(groups) != len(set(group_ids)):
        raise Wrong("group_ids", _("There is no such group."))
    return people, groups


def lift(page: Page, user: User) -> None:
    """Remove the restriction of a page. One of a page above it stays."""
    if PageRestriction.objects.filter(page=page).delete()[0]:
        audit.record("library.unrestricted", actor=user, subject=str(page.pk))
        recompute(whole_subtree(page.pk))


def cover_new(pages: Sequence[Page]) -> None:
    """Give new pages the restrictions of their parents. One query where there are none."""
    fresh = {page.pk for page in pages}
    outside = {page.parent_page_id for page in pages if page.parent_page_id and page.parent_page_id not in fresh}
    known = _chains(outside)
    if any(known.values()):
        parents = {page.pk: page.parent_page_id for page in pages}
        _write(_resolve(list(parents), parents, set(), known))


def follow(page: Page) -> None:
    """Compute the restrictions of a moved page and of all below it again, if those above it are others now."""
    above = page.parent_page_id
    chains = _chains({page.pk, *([above] if above else [])})
    own = (page.pk,) if PageRestriction.objects.filter(page=page).exists() else ()
    if chains.get(page.pk, ()) != (chains.get(above, ()) if above else ()) + own:
        recompute(whole_subtree(page.pk))


def follow_to_space(moved_ids: Sequence[UUID], page: Page, old_space: Space) -> None:
    """Restrictions go to the new space with their pages. What stays in the trash of the old one stays hidden there."""
    for some in chunks(moved_ids):
        PageRestriction.objects.filter(page__in=some).update(space=page.space)
    moved = set(moved_ids)
    left = [pk for pk in whole_subtree(page.pk) if pk not in moved]
    for some in chunks(left):
        covered = Page.objects.filter(pk__in=some, guards__isnull=False, parent_page__in=moved_ids).distinct()
        for pk in covered.values_list("pk", flat=True):
            PageRestriction.objects.get_or_create(page_id=pk, defaults={"space": old_space})
    follow(page)
    if left and PageRestriction.objects.filter(page__in=left[:500]).exists():
        recompute(left)


def keep_hidden(parent_ids: Sequence[UUID]) -> list[UUID]:
    """Restrict what stays when restricted pages above it are deleted, to admins; return all that was below these."""
    stays = Page.objects.filter(parent_page__in=parent_ids, guards__isnull=False).exclude(pk__in=parent_ids)
    tops = dict(stays.distinct().values_list("pk", "space_id"))
    known = set(PageRestriction.objects.filter(page__in=tops).values_list("pk", flat=True))
    fresh = [PageRestriction(page_id=pk, space_id=space) for pk, space in tops.items() if pk not in known]
    PageRestriction.objects.bulk_create(fresh)
    return list(dict.fromkeys(each for pk in tops for each in whole_subtree(pk)))


def recompute(page_ids: Sequence[UUID]) -> None:
    """Write the restrictions of these pages again, and the scopes of what search and activity know of them."""
    parents: dict[UUID, UUID | None] = {}
    own: set[UUID] = set()
    for some in chunks(page_ids):
        parents |= dict(Page.objects.filter(pk__in=some).values_list("pk", "parent_page_id"))
        own |= set(PageRestriction.objects.filter(page__in=some).values_list("pk", flat=True))
        PageGuard.objects.filter(page__in=some).delete()
    outside = {parent for parent in parents.values() if parent and parent not in parents}
    _write(_resolve(list(page_ids), parents, own, _chains(outside)))
    for some in chunks(page_ids):
        publish.rescope(list(Page.objects.live().filter(pk__in=some)))


def _chains(page_ids: Iterable[UUID]) -> dict[UUID, Chain]:
    """Return the restrictions that cover each page, the innermost last."""
    found: dict[UUID, Chain] = {}
    rows = PageGuard.objects.filter(page__in=list(page_ids)).order_by("page_id", "is_nearest", "pk")
    for page_id, restriction in rows.values_list("page_id", "restriction_id"):
        found[page_id] = (*found.get(page_id, ()), restriction)
    return found


def _resolve(
    page_ids: Sequence[UUID], parents: dict[UUID, UUID | None], own: set[UUID], known: dict[UUID, Chain]
) -> dict[UUID, Chain]:
    """Return the chain of each page from that of its parent. Not recursive: a tree can be deep."""
    found: dict[UUID, Chain] = {}
    for page_id in page_ids:
        way: list[UUID] = []
        here: UUID | None = page_id
        while here is not None and here in parents and here not in found:
            way.append(here)
            here = parents[here]
        chain = found.get(here, known.get(here, ())) if here else ()
        for each in reversed(way):
            chain = (*chain, each) if each in own else chain
            found[each] = chain
    return found


def _write(chains: dict[UUID, Chain]) -> None:
    rows = [
        PageGuard(page_id=page_id, restriction_id=restriction, is_nearest=restriction == chain[-1])
        for page_id, chain in chains.items()
        for restriction in chain
    ]
    PageGuard.objects.bulk_create(rows, batch_size=500)


def copy_restrictions(copies: dict[UUID, UUID], space: Space, user: User | None) -> None:
    """Give the copies of restricted pages restrictions with the same grants."""
    restricted = PageRestriction.objects.filter(page__in=list(copies)).prefetch_related("grants")
    for old in restricted:
        new = PageRestriction.objects.create(page_id=copies[old.pk], space=space, created_by=user)
        PageGrant.objects.bulk_create(
            [PageGrant(restriction=new, user_id=one.user_id, group_id=one.group_id) for one in old.grants.all()]
        )
    if restricted:
        recompute(list(copies.values()))
