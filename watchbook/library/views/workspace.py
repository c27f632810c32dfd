"""A workspace from behind: its name, people, switches, release channel, and whether its books agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.library import access, actions
from watchbook.library.access import RUNS_WORKSPACE
from watchbook.library.channels import CHANNELS
from watchbook.library.errors import NotFound, Wrong
from watchbook.library.models import FOLDERS_ENABLED, KNOWN_FLAGS, SHARING_ENABLED, Workspace, WorkspaceRole
from watchbook.library.options import RELEASE_CHANNEL, TRASH_DAYS
from watchbook.library.store.reconcile import Check, title_of
from watchbook.library.views.frame import channel_of
from watchbook.library.views.ways import answers, as_id, done, given, reader


@dataclass(frozen=True)
class Line:
    """One check of the books, in words."""

    title: str
    expected: int
    actual: int
    is_ok: bool


def flag_words() -> dict[str, tuple[str, str]]:
    """Name and consequence of each switch."""
    return {
        FOLDERS_ENABLED: (
            _("Folders"),
            _("The top level holds folders only. Off: it may hold files, and no new folders are made."),
        ),
        SHARING_ENABLED: (
            _("Read-only links"),
            _("Writers may make links for people without an account. Off: existing links do not open."),
        ),
    }


@require_GET
@answers
def workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    return shown(request, workspace_id)


def shown(request: HttpRequest, workspace_id: UUID, *, wrong: Wrong | None = None) -> HttpResponse:
    """The page; with what was `wrong` in the form that deletes it."""
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
    }
    return render(request, "library/workspace.html", context, status=wrong.status if wrong else 200)


def _head(user: Any, found: Workspace, role: str) -> dict[str, Any]:
    channel = channel_of(found.pk, is_archived=found.is_archived)
    runs = role in RUNS_WORKSPACE
    return {
        "workspace": found, "role": WorkspaceRole(role), "channel": channel, "runs": runs,
        "may_change": runs and channel.is_open, "is_owner": role == WorkspaceRole.OWNER,
        "may_shelve": role == WorkspaceRole.OWNER and channel.is_ours, "trash_days": TRASH_DAYS.value,
    }  # fmt: skip


@require_POST
@answers
def rename(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    actions.rename_workspace(reader(request), workspace_id, given(request, "name"))
    return _done(request, workspace_id, _("Renamed."))


@require_POST
@answers
def member(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Add somebody by address, or give somebody another role."""
    access.workspace_for(reader(request), workspace_id, WorkspaceRole.ADMIN)
    person = actions.find_person(email=given(request, "email"))
    actions.set_member(reader(request), workspace_id, person=person, role=given(request, "role"))
    return _done(request, workspace_id, _("%(email)s belongs to this workspace.") % {"email": person.email})


@require_POST
@answers
def remove_member(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    access.workspace_for(reader(request), workspace_id)
    person = actions.member_person(workspace_id, as_id(given(request, "person")))
    actions.remove_member(reader(request), workspace_id, person=person)
    if person.pk == reader(request).pk:
        return done(request, reverse("library:shelves"), _("You left the workspace."))
    return _done(request, workspace_id, _("%(email)s does not belong to it any more.") % {"email": person.email})


@require_POST
@answers
def flags(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    chosen = request.POST.getlist("flag")
    actions.set_flags(reader(request), workspace_id, {name: name in chosen for name in KNOWN_FLAGS})
    return _done(request, workspace_id, _("Saved."))


@require_POST
@answers
def channel(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Hand it over: from then on only the other deployment may write."""
    actions.set_release_channel(reader(request), workspace_id, given(request, "channel"))
    return _done(request, workspace_id, _("Handed over. The other deployment writes it from now on."))


def _done(request: HttpRequest, workspace_id: UUID, words: str) -> HttpResponse:
    return done(request, reverse("library:workspace", args=[workspace_id]), words)


@require_http_methods(["GET", "POST"])
@answers
def reconciliation(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """The last comparison of the books; a new one at the press of a button."""
    user = reader(request)
    found = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    if request.method == "POST":
        kept = actions.store_reconciliation(user, workspace_id)
        words = _("All checks agree.") if kept.is_ok else _("Some checks do not agree.")
        return done(request, reverse("library:reconciliation", args=[workspace_id]), words)
    last = actions.last_reconciliation(user, workspace_id)
    context = {**_head(user, found, access.workspace_role(user, workspace_id)), "last": last}
    if last is not None:
        context["lines"] = lines_of(last.checks)
    return render(request, "library/reconciliation.html", context)


def lines_of(checks: list[dict[str, Any]]) -> list[Line]:
    """As stored; the name of a check that is no longer made stands for itself."""
    read = (Check(str(each["name"]), int(each["expected"]), int(each["actual"])) for each in checks)
    return [Line(title_of(check.name), check.expected, check.actual, check.is_ok) for check in read]


def person_in(workspace_id: UUID, text: str) -> Any:
    """Somebody of the workspace, by the id in a form."""
    try:
        return actions.member_person(workspace_id, UUID(text))
    except ValueError:
        raise NotFound from None
