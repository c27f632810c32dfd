"""Overview of the library, and the settings of workspaces and spaces."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.core.accounts.models import User
from watchbook.core.people.models import Invitation
from watchbook.systems.library import access, actions
from watchbook.systems.library.access import RUNS_WORKSPACE
from watchbook.systems.library.errors import NoAccount, NotFound, Wrong
from watchbook.systems.library.models import (
    FOLDERS_ENABLED,
    KNOWN_FLAGS,
    SHARING_ENABLED,
    Page,
    Space,
    SpaceRole,
    Workspace,
    WorkspaceMember,
    WorkspaceRole,
)
from watchbook.systems.library.models.listing import MOST_COUNTED, count_pages
from watchbook.systems.library.models.workspaces import CHANNELS
from watchbook.systems.library.options import RELEASE_CHANNEL, TRASH_DAYS
from watchbook.systems.library.store.reconcile import Check, title_of
from watchbook.systems.library.store.trash import stays_until
from watchbook.systems.library.views import answers, as_id, done, given, is_script, reader
from watchbook.systems.library.views.layout import channel_of, frame


@dataclass(frozen=True)
class WorkspaceWithSpaces:
    """A workspace with the spaces that the user can view."""

    workspace: Workspace
    role: str
    spaces: list[Space]

    @property
    def is_run_by_me(self) -> bool:
        return self.role in RUNS_WORKSPACE


@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    user = reader(request)
    context = {
        "workspaces": _workspaces(user),
        "archived": archived_items(user),
        "favourites": actions.list_favourites(user)[:6],
    }
    return render(request, "library/overview.html", context)


def _workspaces(user: User) -> list[WorkspaceWithSpaces]:
    """Return workspaces that are not archived. Four queries."""
    roles = dict(WorkspaceMember.objects.filter(user=user).values_list("workspace_id", "role"))
    spaces: dict[UUID, list[Space]] = {}
    newest = Page.objects.live().filter(space=OuterRef("pk")).order_by("-updated_at").values("updated_at")
    shown = Space.objects.in_use().filter(pk__in=access.spaces_of(user).values("pk")).order_by("name", "pk")
    found = list(shown.annotate(saved_at=Subquery(newest[:1])))
    counts = count_pages([space.pk for space in found])
    for space in found:
        space.page_count = min(counts[space.pk], MOST_COUNTED)
        space.is_count_cut = counts[space.pk] > MOST_COUNTED
        spaces.setdefault(space.workspace_id, []).append(space)
    mine = Workspace.objects.there().filter(pk__in=roles, archived_at=None).select_related("release_channel_row")
    return [WorkspaceWithSpaces(one, roles[one.pk], spaces.get(one.pk, [])) for one in mine.order_by("name", "pk")]


@dataclass(frozen=True)
class ArchivedItem:
    """A workspace or space that is archived or in the trash."""

    place: Workspace | Space
    is_mine: bool
    # Until when it can be restored from the trash; None: without limit.
    until: datetime | None = None

    @property
    def within(self) -> Workspace | None:
        return self.place.workspace if isinstance(self.place, Space) else None

    @property
    def is_deleted(self) -> bool:
        return self.place.deleted_at is not None

    @property
    def address(self) -> str:
        """Where it can be read; empty while it is in the trash."""
        kind = "workspace" if isinstance(self.place, Workspace) else "space"
        return "" if self.is_deleted else reverse(f"library:{kind}", args=[self.place.pk])

    @property
    def bring_back(self) -> str:
        return self._way("restore" if self.is_deleted else "archive")

    @property
    def purge(self) -> str:
        """Where it is deleted permanently; empty while it is not in the trash."""
        return self._way("purge") if self.is_deleted else ""

    def _way(self, act: str) -> str:
        kind = "workspace" if isinstance(self.place, Workspace) else "space"
        return reverse(f"library:{act}_{kind}", args=[self.place.pk])


def archived_items(user: User) -> list[ArchivedItem]:
    """Return archived items the user can view, and trashed ones the user can restore. Three queries."""
    roles = dict(WorkspaceMember.objects.filter(user=user).values_list("workspace_id", "role"))
    mine = {pk for pk, role in roles.items() if role == WorkspaceRole.OWNER}
    workspaces = Workspace.objects.filter(pk__in=roles, purged_at=None).exclude(archived_at=None, deleted_at=None)
    workspaces = workspaces.filter(Q(deleted_at=None) | Q(pk__in=mine))
    spaces = Space.objects.filter(workspace__deleted_at=None, workspace__archived_at=None, purged_at=None).filter(
        Q(archived_at__isnull=False, pk__in=access.spaces_of(user).values("pk"))
        | Q(deleted_at__isnull=False, workspace_id__in=mine)
    )
    found: list[Workspace | Space] = [
        *workspaces.order_by("name", "pk"), *spaces.select_related("workspace").order_by("name", "pk")
    ]  # fmt: skip
    return [archived_item(place, mine) for place in found]


def archived_item(place: Workspace | Space, mine: set[UUID]) -> ArchivedItem:
    workspace_id = place.pk if isinstance(place, Workspace) else place.workspace_id
    until = stays_until(place.deleted_at) if place.deleted_at else None
    return ArchivedItem(place, workspace_id in mine, until)


@require_POST
@answers
def create_workspace(request: HttpRequest) -> HttpResponse:
    """Create a workspace with its first space."""
    made = actions.create_workspace(reader(request), given(request, "name"))
    space = actions.create_space(reader(request), made.pk, given(request, "space") or _("Pages"))
    return done(
        request, reverse("library:space", args=[space.pk]), _("Workspace created. Add a folder to get started.")
    )


@require_POST
@answers
def create_space(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    made = actions.create_space(reader(request), workspace_id, given(request, "name"))
    return done(request, reverse("library:space", args=[made.pk]), _("Space created. Add a folder to get started."))


@dataclass(frozen=True)
class CheckLine:
    """One consistency check with its title."""

    title: str
    expected: int
    actual: int
    is_ok: bool


def flag_words() -> dict[str, tuple[str, str]]:
    """Return title and description of each feature."""
    return {
        FOLDERS_ENABLED: (
            _("Folders"),
            _("The top level holds only folders. If disabled, it can hold pages and you cannot create folders."),
        ),
        SHARING_ENABLED: (
            _("Share links"),
            _("Editors can create links for readers without an account. If disabled, existing links do not work."),
        ),
    }


@require_GET
@answers
def workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    return show_workspace(request, workspace_id)


def show_workspace(
    request: HttpRequest,
    workspace_id: UUID,
    *,
    wrong: Wrong | None = None,
    wrong_member: Wrong | None = None,
    invited: tuple[Invitation, str] | None = None,
) -> HttpResponse:
    """Render the settings; `wrong` is the error of the delete form, `wrong_member` that of the form for members.

    `invited` is a new invitation with its link, which is shown this once.
    """
    user = reader(request)
    found = access.workspace_for(user, workspace_id)
    role = access.workspace_role(user, workspace_id)
    flags, words = found.flags(), flag_words()
    context = {
        **_head(user, found, role),
        "members": found.members.select_related("user").order_by("pk"),
        "roles": WorkspaceRole.choices,
        "spaces": access.spaces_of(user).filter(workspace=found, archived_at=None).order_by("name", "pk"),
        "switches": [(name, *words[name], flags[name]) for name in KNOWN_FLAGS],
        "channels": CHANNELS,
        "mine": RELEASE_CHANNEL.value,
        "wrong": wrong,
        "wrong_member": wrong_member,
        "invited": invited,
    }
    error = wrong or wrong_member
    return render(request, "library/workspace.html", context, status=error.status if error else 200)


def _head(user: User, found: Workspace, role: str) -> dict[str, Any]:
    channel = channel_of(found.pk, is_archived=found.is_archived)
    runs = role in RUNS_WORKSPACE
    return {
        "workspace": found, "role": WorkspaceRole(role), "channel": channel, "runs": runs,
        "may_change": runs and channel.is_open, "is_owner": role == WorkspaceRole.OWNER,
        "may_shelve": role == WorkspaceRole.OWNER and channel.is_ours, "trash_days": TRASH_DAYS.value,
    }  # fmt: skip


@require_POST
@answers
def rename_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    actions.rename_workspace(reader(request), workspace_id, given(request, "name"))
    return _done(request, workspace_id, _("Renamed."))


@require_POST
@answers
def member(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Add a member by e-mail, or change the role. An address without an account is invited."""
    access.workspace_for(reader(request), workspace_id, WorkspaceRole.ADMIN)
    try:
        person = actions.find_person(email=given(request, "email"))
    except NoAccount:
        return _invite(request, workspace_id)
    actions.set_member(reader(request), workspace_id, person=person, role=given(request, "role"))
    return _done(request, workspace_id, _("%(email)s is a member of this workspace.") % {"email": person.email})


def _invite(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    email, role = given(request, "email"), given(request, "role")
    try:
        made, link = actions.invite_member(reader(request), workspace_id, email=email, role=role)
    except Wrong as error:
        return show_workspace(request, workspace_id, wrong_member=error)
    if link and not is_script(request):
        return show_workspace(request, workspace_id, invited=(made, link))
    return _done(request, workspace_id, _("Invitation sent to %(email)s.") % {"email": made.email})


@require_POST
@answers
def remove_member(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    access.workspace_for(reader(request), workspace_id)
    person = actions.member_person(workspace_id, as_id(given(request, "person")))
    actions.remove_member(reader(request), workspace_id, person=person)
    if person.pk == reader(request).pk:
        return done(request, reverse("library:overview"), _("You left the workspace."))
    return _done(
        request, workspace_id, _("%(email)s is no longer a member of this workspace.") % {"email": person.email}
    )


@require_POST
@answers
def flags(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    chosen = request.POST.getlist("flag")
    actions.set_flags(reader(request), workspace_id, {name: name in chosen for name in KNOWN_FLAGS})
    return _done(request, workspace_id, _("Saved."))


@require_POST
@answers
def channel(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Transfer the workspace to the other deployment."""
    actions.set_release_channel(reader(request), workspace_id, given(request, "channel"))
    return _done(
        request, workspace_id, _("Transferred. From now on, only the other deployment can change this workspace.")
    )


def _done(request: HttpRequest, workspace_id: UUID, words: str) -> HttpResponse:
    return done(request, reverse("library:workspace", args=[workspace_id]), words)


@require_http_methods(["GET", "POST"])
@answers
def reconciliation(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Show the last consistency check; POST runs a new one."""
    user = reader(request)
    found = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    if request.method == "POST":
        kept = actions.store_reconciliation(user, workspace_id)
        words = _("All checks passed.") if kept.is_ok else _("Some checks failed.")
        return done(request, reverse("library:reconciliation", args=[workspace_id]), words)
    last = actions.last_reconciliation(user, workspace_id)
    context = {**_head(user, found, access.workspace_role(user, workspace_id)), "last": last}
    if last is not None:
        context["lines"] = lines_of(last.checks)
    return render(request, "library/reconciliation.html", context)


def lines_of(checks: list[dict[str, Any]]) -> list[CheckLine]:
    """Return the stored checks; a check that no longer exists keeps its name as title."""
    read = (Check(str(each["name"]), int(each["expected"]), int(each["actual"])) for each in checks)
    return [CheckLine(title_of(check.name), check.expected, check.actual, check.is_ok) for check in read]


def person_in(workspace_id: UUID, text: str) -> Any:
    """Return a member of the workspace by the id in a form."""
    try:
        return actions.member_person(workspace_id, UUID(text))
    except ValueError:
        raise NotFound from None


@require_GET
@answers
def space_settings(request: HttpRequest, space_id: UUID) -> HttpResponse:
    return show_space(request, space_id)


def show_space(request: HttpRequest, space_id: UUID, *, wrong: Wrong | None = None) -> HttpResponse:
    """The page; with what was `wrong` in the form that deletes it."""
    user = reader(request)
    space = access.space_for(user, space_id)
    members = list(space.members.select_related("user").order_by("pk"))
    everybody = space.workspace.members.select_related("user").order_by("user__email")
    runners = [one for one in everybody if one.role in RUNS_WORKSPACE]
    running = {one.user_id for one in runners}
    known = running | {one.user_id for one in members}
    context = {
        **frame(user, space),
        # Owners and admins of the workspace are admins here, whatever the space itself says.
        "members": [one for one in members if one.user_id not in running],
        "runners": runners,
        "others": [one for one in everybody if one.user_id not in known],
        "roles": SpaceRole.choices,
        "approved_only": access.is_reviewed(space.pk),
        "trash_days": TRASH_DAYS.value,
        "wrong": wrong,
    }
    return render(request, "library/space.html", context, status=wrong.status if wrong else 200)


@require_POST
@answers
def rename_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    actions.rename_space(reader(request), space_id, given(request, "name"))
    return _space_done(request, space_id, _("Renamed."))


@require_POST
@answers
def approved_only(request: HttpRequest, space_id: UUID) -> HttpResponse:
    actions.set_approved_only(reader(request), space_id, on=given(request, "on") == "1")
    return _space_done(request, space_id, _("Saved."))


@require_POST
@answers
def space_member(request: HttpRequest, space_id: UUID) -> HttpResponse:
    space = access.space_for(reader(request), space_id, SpaceRole.ADMIN)
    person = person_in(space.workspace_id, given(request, "person"))
    actions.set_space_member(reader(request), space_id, person=person, role=given(request, "role"))
    return _space_done(request, space_id, _("Saved."))


@require_POST
@answers
def remove_space_member(request: HttpRequest, space_id: UUID) -> HttpResponse:
    space = access.space_for(reader(request), space_id)
    person = person_in(space.workspace_id, given(request, "person"))
    actions.remove_space_member(reader(request), space_id, person=person)
    if person.pk == reader(request).pk:
        return done(request, reverse("library:overview"), _("You left the space."))
    return _space_done(request, space_id, _("%(email)s no longer has access to this space.") % {"email": person.email})


def _space_done(request: HttpRequest, space_id: UUID, words: str) -> HttpResponse:
    return done(request, reverse("library:space_settings", args=[space_id]), words)
