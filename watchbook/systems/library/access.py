"""Permissions. Not a member: NotFound. Role too low: NotAllowed.

Owners and admins of a workspace are admins of all its spaces. A member has the role that the space gives, or none.
A restricted page, with everything below it, does not exist for members without a grant; admins of the space always have
access. In a space that shows viewers approved versions only, a page is for viewers what was approved last, or nothing.
`Sight` says both for one user, and every read of pages goes through it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from watchbook.core.accounts.models import User
from watchbook.core.people.models import GroupMember
from watchbook.systems.library.errors import NotAllowed, NotFound
from watchbook.systems.library.models import (
    Attachment,
    AttachmentUse,
    NodeType,
    Page,
    PageGrant,
    PageGuard,
    PageRestriction,
    PageVersion,
    Space,
    SpaceMember,
    SpaceRole,
    SpaceSettings,
    Workspace,
    WorkspaceMember,
    WorkspaceRole,
)
from watchbook.systems.library.models.listing import as_uuid
from watchbook.systems.library.models.pages import PageQuerySet
from watchbook.systems.library.models.tree import Crumb, ask
from watchbook.systems.library.models.workspaces import SpaceQuerySet

T = TypeVar("T")
ContainerState = Literal["in_use", "archived", "deleted"]
WORKSPACE_RANK = {WorkspaceRole.MEMBER: 1, WorkspaceRole.ADMIN: 2, WorkspaceRole.OWNER: 3}
SPACE_RANK = {SpaceRole.READER: 1, SpaceRole.WRITER: 2, SpaceRole.ADMIN: 3}
BATCH = 500
RUNS_WORKSPACE = (WorkspaceRole.OWNER, WorkspaceRole.ADMIN)
_known: ContextVar[dict[Hashable, Any] | None] = ContextVar("library_access", default=None)


@contextmanager
def reading() -> Iterator[None]:
    """Look up each role and page once while a page is drawn. Only for requests that write nothing."""
    known = _known.get()
    token = _known.set({} if known is None else known)
    try:
        yield
    finally:
        _known.reset(token)


def _once(key: Hashable, look_up: Callable[[], T]) -> T:
    known = _known.get()
    if known is None:
        return look_up()
    if key not in known:
        known[key] = look_up()
    found: T = known[key]
    return found


def workspace_role(user: User, workspace_id: UUID) -> str:
    """Return the role of a user in a workspace; empty for non-members."""
    rows = WorkspaceMember.objects.filter(workspace_id=workspace_id, user=user).values_list("role", flat=True)
    return _once((workspace_id, user.pk), rows.first) or ""


def space_role(user: User, space: Space) -> str:
    """Return the stronger of the workspace role and the space role; empty for non-members."""
    role = workspace_role(user, space.workspace_id)
    if not role or role in RUNS_WORKSPACE:
        return SpaceRole.ADMIN if role else ""
    rows = space.members.filter(user=user).values_list("role", flat=True)
    return _once((space.pk, user.pk), rows.first) or ""


def workspace_for(user: User, workspace_id: UUID, need: WorkspaceRole = WorkspaceRole.MEMBER) -> Workspace:
    """Return the workspace if the user has at least this role."""
    workspace = Workspace.objects.there().filter(pk=workspace_id).first()
    role = workspace_role(user, workspace_id) if workspace else ""
    if workspace is None or not role:
        raise NotFound
    _need(WORKSPACE_RANK[WorkspaceRole(role)] >= WORKSPACE_RANK[need])
    return workspace


def space_for(user: User, space_id: UUID, need: SpaceRole = SpaceRole.READER) -> Space:
    """Return the space if the user has at least this role."""
    space = Space.objects.there().filter(pk=space_id).select_related("workspace").first()
    role = space_role(user, space) if space else ""
    if space is None or not role:
        raise NotFound
    _need(SPACE_RANK[SpaceRole(role)] >= SPACE_RANK[need])
    return space


def page_for(user: User, page_id: UUID, need: SpaceRole = SpaceRole.READER, *, trashed: bool = False) -> Page:
    """Return a live page (or a page in the trash) as the user sees it, if the user has at least this role."""
    page = _once((page_id, trashed, user.pk), lambda: _seen(user, page_id, trashed=trashed))
    if page is None:
        raise NotFound
    _need(SPACE_RANK[SpaceRole(space_role(user, page.space))] >= SPACE_RANK[need])
    return page


# Where a page is and what its reader needs to see it, in one query. Conditions as in Page.objects.there() and live().
# Rows that may be absent are subqueries: planning eight joins cost PostgreSQL more than reading the list.
DOOR = """
SELECT p.space_id, w.role,
       (SELECT m.role FROM space_members m WHERE m.space_id = p.space_id AND m.user_id = w.user_id),
       (SELECT settings.approved_only FROM space_settings settings WHERE settings.space_id = p.space_id),
       (SELECT 1 FROM page_restrictions r WHERE r.space_id = p.space_id LIMIT 1)
FROM pages p
JOIN spaces s ON s.id = p.space_id AND s.deleted_at IS NULL
JOIN workspaces o ON o.id = s.workspace_id AND o.deleted_at IS NULL
JOIN workspace_members w ON w.workspace_id = s.workspace_id AND w.user_id = %s
WHERE p.id = %s AND p.deleted_at IS NULL
AND (SELECT b.purged_at FROM page_trash_batches b WHERE b.id = p.trash_batch_id) IS NULL
"""


def open_space_of(user: User, page_id: UUID) -> UUID | None:
    """Return the space of a page that the user can read, if nothing in it is restricted or shown as approved only.

    None: ask `page_for`, which knows everything. Lists of children are asked with every step in the tree; where no
    page is hidden, this query replaces three.
    """
    known = _known.get()
    is_known = known is not None and (page_id, False, user.pk) in known
    rows = [] if is_known else ask(DOOR, user.pk, page_id)
    if not rows:
        return None
    space_id, above, given, approved_only, is_restricted = rows[0]
    is_member = above in RUNS_WORKSPACE or bool(given)
    return as_uuid(space_id) if is_member and not approved_only and not is_restricted else None


def may_hold(user: User, parent_id: UUID | None) -> None:
    """Check that the user can put pages below this one; None is the top level of a space."""
    if parent_id is not None:
        page_for(user, parent_id, SpaceRole.WRITER)


def _seen(user: User, page_id: UUID, *, trashed: bool) -> Page | None:
    rows = Page.objects.there().with_type().select_related("space__workspace").filter(pk=page_id)
    page = rows.filter(deleted_at__isnull=not trashed).first()
    if page is None or not space_role(user, page.space):
        return None
    # While a page is drawn, lists ask for all spaces anyway; a write needs this one.
    seen = sight(user) if _known.get() is not None else _sight(user, Space.objects.filter(pk=page.space_id))
    return page if seen.shows(page) else None


def pages_for(user: User, page_ids: Sequence[UUID], need: SpaceRole) -> list[Page]:
    """Return live pages in the given order. Raises NotFound with the ids of those that are not readable."""
    found: dict[UUID, Page] = {}
    for start in range(0, len(page_ids), BATCH):
        rows = Page.objects.there().live().with_type().select_related("space__workspace")
        found |= rows.in_bulk(list(page_ids[start : start + BATCH]))
    roles = {space.pk: space_role(user, space) for space in {page.space for page in found.values()}}
    hidden = sight(user).hidden(page_ids)
    if missing := [pk for pk in page_ids if pk not in found or not roles[found[pk].space_id] or pk in hidden]:
        raise NotFound(details=[{"field": "page_ids", "message": str(pk)} for pk in missing])
    _need(all(SPACE_RANK[SpaceRole(role)] >= SPACE_RANK[need] for role in roles.values()))
    return [found[pk] for pk in page_ids]


def owned_workspace(user: User, workspace_id: UUID, *, trashed: bool = False) -> Workspace:
    """A workspace for its owner, also from the trash; with `trashed` only from there."""
    workspace = Workspace.objects.filter(pk=workspace_id, purged_at=None).first()
    role = workspace_role(user, workspace_id) if workspace else ""
    if workspace is None or not role or (workspace.deleted_at and role != WorkspaceRole.OWNER):
        raise NotFound
    _need(role == WorkspaceRole.OWNER)
    if trashed and not workspace.deleted_at:
        raise NotFound
    return workspace


def owned_space(user: User, space_id: UUID, *, trashed: bool = False) -> Space:
    """A space for an owner of its workspace, also from the trash; with `trashed` only from there.

    Who may not read it does not learn of it.
    """
    space = Space.objects.filter(pk=space_id, purged_at=None, workspace__deleted_at=None).select_related("workspace")
    found = space.first()
    role = workspace_role(user, found.workspace_id) if found else ""
    if found is None or not space_role(user, found) or (found.deleted_at and role != WorkspaceRole.OWNER):
        raise NotFound
    _need(role == WorkspaceRole.OWNER)
    if trashed and not found.deleted_at:
        raise NotFound
    return found


def spaces_of(user: User) -> SpaceQuerySet:
    """Return all spaces that the user can view, including archived ones."""
    mine = WorkspaceMember.objects.filter(user=user)
    runs = mine.filter(role__in=RUNS_WORKSPACE).values("workspace_id")
    belongs = mine.values("workspace_id")
    there = Space.objects.there()
    return there.filter(Q(workspace_id__in=runs) | Q(workspace_id__in=belongs, members__user=user)).distinct()


def workspaces_of(user: User, state: ContainerState) -> QuerySet[Workspace]:
    """Return the workspaces of a user by state; those in the trash only for owners."""
    if state == "deleted":
        owned = Workspace.objects.filter(members__user=user, members__role=WorkspaceRole.OWNER, purged_at=None)
        return owned.exclude(deleted_at=None)
    return Workspace.objects.of(user).filter(archived_at__isnull=state == "in_use")


def spaces_in(user: User, workspace_id: UUID, state: ContainerState) -> QuerySet[Space]:
    """Return the spaces of a workspace that the user can view, by state; those in the trash only for owners."""
    if state == "deleted":
        is_owner = workspace_role(user, workspace_id) == WorkspaceRole.OWNER
        gone = Space.objects.filter(workspace_id=workspace_id, purged_at=None).exclude(deleted_at=None)
        return gone if is_owner else gone.none()
    return spaces_of(user).filter(workspace_id=workspace_id, archived_at__isnull=state == "in_use")


@dataclass(frozen=True)
class Sight:
    """The part of the pages in some spaces that a reader sees. Without any value: all of them, as they are now."""

    # The spaces that were asked about.
    spaces: tuple[UUID, ...] = ()
    # Restrictions without a grant for the reader.
    denied: frozenset[UUID] = frozenset()
    # Spaces in which the reader sees approved versions only.
    approved: frozenset[UUID] = frozenset()
    # Restrictions that the reader passes, with those above them, and their spaces.
    passed: Mapping[UUID, UUID] = field(default_factory=dict)
    # Spaces that show approved versions to viewers, for the reader or not.
    reviewed: frozenset[UUID] = frozenset()

    def rows(self, rows: PageQuerySet) -> PageQuerySet:
        """Leave the pages that the reader can open."""
        if self.denied:
            rows = rows.exclude(Exists(PageGuard.objects.filter(page=OuterRef("pk"), restriction__in=self.denied)))
        if self.approved:
            has_text = Q(node_meta__node_type=NodeType.FOLDER) | Q(properties__approved_number__isnull=False)
            rows = rows.filter(~Q(space_id__in=self.approved) | has_text)
        return rows

    @property
    def narrow(self) -> Callable[[PageQuerySet], PageQuerySet] | None:
        """`rows`, or None where the reader sees everything as it is now."""
        return self.rows if self.denied or self.approved else None

    def hidden(self, page_ids: Collection[UUID]) -> set[UUID]:
        """Return those of these pages that a restriction hides."""
        guards = PageGuard.objects.filter(restriction__in=self.denied).values_list("page_id", flat=True)
        found: set[UUID] = set()
        for some in _pieces(list(page_ids)) if self.denied else ():
            found.update(guards.filter(page__in=some))
        return found

    def shows(self, page: Page) -> bool:
        """Put the version that the reader sees into the page; False if the reader sees none."""
        if self.hidden([page.pk]):
            return False
        if page.space_id not in self.approved or page.node_type == NodeType.FOLDER:
            return True
        return bool(self._approve([page], whole=True))

    def show(self, pages: Iterable[Page]) -> list[Page]:
        """Put approved titles into the pages of a list, which `rows` has narrowed."""
        found = list(pages)
        self._approve([page for page in found if page.space_id in self.approved], whole=False)
        return found

    def way(self, crumbs: Sequence[Crumb], space_id: UUID) -> list[Crumb]:
        """Return a breadcrumb with the titles that the reader sees, without pages that the reader does not."""
        if space_id not in self.approved:
            return list(crumbs)
        rows = self.rows(Page.objects.filter(pk__in=[crumb.id for crumb in crumbs])).defer("content")
        titles = {page.pk: page.title for page in self.show(rows)}
        return [Crumb(crumb.id, titles[crumb.id]) for crumb in crumbs if crumb.id in titles]

    def _approve(self, pages: Sequence[Page], *, whole: bool) -> int:
        by_id = {page.pk: page for page in pages}
        count = 0
        for some in _pieces(list(by_id)):
            rows = PageVersion.objects.filter(page__in=some, number=F("page__properties__approved_number"))
            for version in rows.select_related("author") if whole else rows.defer("content"):
                page, count = by_id[version.page_id], count + 1
                page.title, page.version, page.updated_at = version.title, version.number, version.created_at
                page.updated_by_id = version.author_id
                if whole:
                    page.content, page.updated_by = version.content, version.author
        return count

    def uses(self, rows: QuerySet[AttachmentUse]) -> QuerySet[AttachmentUse]:
        """Leave the attachments in the texts that the reader sees now."""
        newest = Q(last_number=None)
        if not self.approved:
            return rows.filter(newest)
        number = F("page__properties__approved_number")
        shown = Q(first_number__lte=number) & (newest | Q(last_number__gte=number))
        is_approved = Q(page__space_id__in=self.approved)
        return rows.filter((~is_approved & newest) | (is_approved & shown))


def sight(user: User) -> Sight:
    """What the user sees in all spaces. One query where nothing is restricted or approved."""
    return _once(("sight", user.pk), lambda: _sight(user, spaces_of(user)))


def _sight(user: User, spaces: SpaceQuerySet) -> Sight:
    # The menu of every page asks this, so spaces, their settings and their restrictions come in one query.
    rows = list(spaces.order_by("pk").values_list("pk", "settings_row__approved_only", "restrictions__pk").distinct())
    asked = tuple(dict.fromkeys(pk for pk, _only, _restriction in rows))
    restricted = {restriction: pk for pk, _only, restriction in rows if restriction}
    reviewed = {pk for pk, only, _restriction in rows if only}
    if not restricted and not reviewed:
        return Sight(spaces=asked)
    roles = roles_in(user, {*restricted.values(), *reviewed})
    groups = GroupMember.objects.filter(user=user).values("group_id")
    grants = PageGrant.objects.filter(Q(user=user) | Q(group__in=groups), restriction__in=restricted)
    granted = set(grants.values_list("restriction_id", flat=True))
    denied = {pk for pk, space in restricted.items() if pk not in granted and roles.get(space) != SpaceRole.ADMIN}
    within = PageGuard.objects.filter(restriction__in=denied, page__in=restricted).values_list("page_id", flat=True)
    hidden = denied | set(within) if denied else denied
    return Sight(
        spaces=asked,
        denied=frozenset(denied),
        approved=frozenset(pk for pk in reviewed if roles.get(pk) == SpaceRole.READER),
        passed={pk: space for pk, space in restricted.items() if pk not in hidden},
        reviewed=frozenset(reviewed),
    )


def roles_in(user: User, space_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the role of a user in each of these spaces. Three queries."""
    places = dict(Space.objects.filter(pk__in=space_ids).values_list("pk", "workspace_id"))
    mine = WorkspaceMember.objects.filter(user=user, workspace_id__in=places.values())
    above = dict(mine.values_list("workspace_id", "role"))
    given = dict(SpaceMember.objects.filter(user=user, space_id__in=places).values_list("space_id", "role"))
    return {
        pk: SpaceRole.ADMIN if above.get(workspace) in RUNS_WORKSPACE else given.get(pk, "")
        for pk, workspace in places.items()
        if workspace in above
    }


def viewer_sight(space: Space) -> Sight:
    """What a viewer without any grant sees: for share links, and for exports that no user asks for."""
    restricted = PageRestriction.objects.filter(space=space).values_list("pk", flat=True)
    return Sight(denied=frozenset(restricted), approved=frozenset({space.pk} if is_reviewed(space.pk) else ()))


def is_reviewed(space_id: UUID) -> bool:
    """True if viewers of the space see approved versions only."""
    return SpaceSettings.objects.filter(space_id=space_id, approved_only=True).exists()


def readable(user: User) -> PageQuerySet:
    """Return all pages, live or not, that the user can view."""
    # By ids, which were read with the restrictions: with subqueries the databases read all pages to find the newest.
    seen = sight(user)
    return seen.rows(Page.objects.filter(trash_batch__purged_at=None, space_id__in=seen.spaces))


def attachments_of(user: User) -> QuerySet[Attachment]:
    """Attachments at home or used, now or in an old version, on a page that the user can view.

    Of a text that has versions the user does not see, only those in the approved one.
    """
    pages, seen = readable(user), sight(user)
    uses = AttachmentUse.objects.filter(attachment=OuterRef("pk"), page__in=pages)
    if not seen.approved:
        return Attachment.objects.filter(Q(home__in=pages) | Exists(uses))
    homes = pages.filter(Q(node_meta__node_type=NodeType.FOLDER) | ~Q(space_id__in=seen.approved))
    others = uses.exclude(page__space_id__in=seen.approved)
    return Attachment.objects.filter(Q(home__in=homes) | Exists(seen.uses(uses)) | Exists(others))


def readers_of(page: Page, *, newest: bool = False) -> QuerySet[User]:
    """Return the accounts that can read a page; with `newest` those that see its newest text."""
    members = WorkspaceMember.objects.filter(workspace_id=page.space.workspace_id)
    runs = members.filter(role__in=RUNS_WORKSPACE).values("user_id")
    invited = page.space.members.filter(user_id__in=members.values("user_id"))
    admins = invited.filter(role=SpaceRole.ADMIN).values("user_id")
    if newest and is_reviewed(page.space_id):
        invited = invited.exclude(role=SpaceRole.READER)
    found = User.objects.filter(Q(pk__in=runs) | Q(pk__in=invited.values("user_id")), is_active=True)
    for restriction in PageGuard.objects.filter(page=page).values_list("restriction_id", flat=True):
        grants = PageGrant.objects.filter(restriction=restriction)
        in_groups = GroupMember.objects.filter(group__in=grants.values("group_id")).values("user_id")
        named = grants.exclude(user=None).values("user_id")
        found = found.filter(Q(pk__in=runs) | Q(pk__in=admins) | Q(pk__in=named) | Q(pk__in=in_groups))
    return found


# The audiences of search documents and activity entries: all who can open the page; of a space that shows viewers
# approved versions only, those who see the newest text, and those who do not.
ALL, NEWEST, APPROVED = "", "drafts", "approved"


def scope_of(space_id: UUID, audience: str = ALL, restriction: UUID | None = None) -> str:
    """Return the visibility scope of the search documents and activity entries of pages."""
    kind = f"restricted-{audience}".rstrip("-") if restriction else audience or "space"
    return f"{kind}:{restriction or space_id}"


def scopes_of(user: User) -> list[str]:
    """Return the scopes of everything that the user can view."""
    seen = sight(user)
    return _scopes(seen, seen.spaces)


def scopes_in(user: User, space_ids: Collection[UUID]) -> list[str]:
    """Return the scopes of what the user can view in these spaces."""
    return _scopes(sight(user), space_ids)


def _scopes(seen: Sight, space_ids: Collection[UUID]) -> list[str]:
    found: list[str] = []
    places = [(pk, None) for pk in space_ids] + [(space, pk) for pk, space in seen.passed.items()]
    for space, restriction in places:
        if space in space_ids:
            found.append(scope_of(space, ALL, restriction))
            if space in seen.reviewed:
                found.append(scope_of(space, APPROVED if space in seen.approved else NEWEST, restriction))
    return found


def _pieces(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def _need(is_enough: bool) -> None:
    if not is_enough:
        raise NotAllowed(_("Your role does not allow this."))
