"""A space from behind: its name, and who may read and write in it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.library import access, actions
from watchbook.library.access import RUNS_WORKSPACE
from watchbook.library.errors import Wrong
from watchbook.library.models import SpaceRole
from watchbook.library.options import TRASH_DAYS
from watchbook.library.views.frame import frame
from watchbook.library.views.ways import answers, done, given, reader
from watchbook.library.views.workspace import person_in


@require_GET
@answers
def settings(request: HttpRequest, space_id: UUID) -> HttpResponse:
    return shown(request, space_id)


def shown(request: HttpRequest, space_id: UUID, *, wrong: Wrong | None = None) -> HttpResponse:
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
        # Whoever runs the workspace is an admin here, whatever the space itself says.
        "members": [one for one in members if one.user_id not in running],
        "runners": runners,
        "others": [one for one in everybody if one.user_id not in known],
        "roles": SpaceRole.choices,
        "trash_days": TRASH_DAYS.value,
        "wrong": wrong,
    }
    return render(request, "library/space.html", context, status=wrong.status if wrong else 200)


@require_POST
@answers
def rename(request: HttpRequest, space_id: UUID) -> HttpResponse:
    actions.rename_space(reader(request), space_id, given(request, "name"))
    return _done(request, space_id, _("Renamed."))


@require_POST
@answers
def member(request: HttpRequest, space_id: UUID) -> HttpResponse:
    space = access.space_for(reader(request), space_id, SpaceRole.ADMIN)
    person = person_in(space.workspace_id, given(request, "person"))
    actions.set_space_member(reader(request), space_id, person=person, role=given(request, "role"))
    return _done(request, space_id, _("Saved."))


@require_POST
@answers
def remove_member(request: HttpRequest, space_id: UUID) -> HttpResponse:
    space = access.space_for(reader(request), space_id)
    person = person_in(space.workspace_id, given(request, "person"))
    actions.remove_space_member(reader(request), space_id, person=person)
    if person.pk == reader(request).pk:
        return done(request, reverse("library:shelves"), _("You left the space."))
    return _done(request, space_id, _("%(email)s has no role here any more.") % {"email": person.email})


def _done(request: HttpRequest, space_id: UUID, words: str) -> HttpResponse:
    return done(request, reverse("library:space_settings", args=[space_id]), words)
