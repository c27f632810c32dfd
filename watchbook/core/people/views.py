"""Operations › People: users, invitations and groups for operators; and leaving, for everyone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.contrib import messages
from django.contrib.auth import logout
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import clean_text
from watchbook.core import registry
from watchbook.core.accounts import actions, tokens
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.accounts.models import User, normalise_email
from watchbook.core.people import forms, groups, invitations, ownership, roles
from watchbook.core.people.models import Group, GroupMember, GroupRole, Invitation

SHOWN, MOST_SHOWN = 50, 1000
INVITATIONS_SHOWN = 100


@dataclass(frozen=True)
class Person:
    """One line of the list of users."""

    user: User
    groups: list[Group]
    has_second_factor: bool
    permissions: list[tuple[registry.TokenScope, bool]]

    @property
    def initials(self) -> str:
        return self.user.email[:2].upper()


@require_GET
@staff_required
def people(request: HttpRequest) -> HttpResponse:
    return _page(request)


def _page(request: HttpRequest, *, form: forms.InviteForm | None = None, link: str = "", **more: Any) -> HttpResponse:
    """The page; `link` is shown this once, and `form` may hold what was refused."""
    user = person_of(request)
    by_link = request.GET.get("by") == "link"
    query = clean_text(request.GET.get("q", "")[:200]).strip()
    found = User.objects.order_by("-is_staff", "email")
    if query:
        found = found.filter(email__icontains=query)
    limit = MOST_SHOWN if request.GET.get("all") else SHOWN
    context = {
        "people": _people(found[:limit]), "found": found.count(), "count": User.objects.count(), "query": query,
        "invitations": _invitations(user), "groups": _groups(), "by_link": by_link, "link": link,
        "form": form or forms.InviteForm(user=user, by_link=by_link), "mail": invitations.mail_state(),
    }  # fmt: skip
    return render(request, "people/people.html", {**context, **more}, status=422 if form and form.errors else 200)


def _people(found: QuerySet[User]) -> list[Person]:
    """Return the lines. Three queries, and one for each permission of a system."""
    rows = list(found)
    ids = [row.pk for row in rows]
    guarded = set(Authenticator.objects.filter(user_id__in=ids).values_list("user_id", flat=True))
    joined: dict[UUID, list[Group]] = {}
    for member in GroupMember.objects.filter(user_id__in=ids).select_related("group").order_by("group__folded"):
        joined.setdefault(member.user_id, []).append(member.group)
    holders = {scope: set(registry.load(scope.holders)()) for scope in tokens.permissions().values()}
    return [
        Person(
            row, joined.get(row.pk, []), row.pk in guarded,
            [] if row.is_staff else [(scope, row.pk in pks) for scope, pks in holders.items()],
        )
        for row in rows
    ]  # fmt: skip


def _invitations(viewer: User) -> list[dict[str, Any]]:
    now = clock.now()
    rows = Invitation.objects.filter(revoked_at=None).select_related("created_by", "group").order_by("-created_at")
    pending = [row for row in rows[:INVITATIONS_SHOWN] if row.state(now) in {"pending", "expired"}]
    return [{"row": row, "state": row.state(now), "gives": gives(row, viewer)} for row in pending]


def gives(invitation: Invitation, viewer: User) -> list[str]:
    """Return what an invitation gives, in words."""
    found = [_("Operator") if invitation.is_operator else _("Member")]
    if invitation.group:
        found.append(invitation.group.name)
    if invitation.place:
        found.append(roles.title_of(invitation.source, invitation.place, invitation.role, viewer=viewer))
    return found


def _groups() -> list[dict[str, Any]]:
    """Return the groups with their members. Three queries."""
    found = Group.objects.prefetch_related("members__user", "roles").order_by("folded")[: groups.MOST_GROUPS]
    return [
        {
            "group": row,
            "count": len(members := list(row.members.all())),
            "initials": [member.user.email[:2].upper() for member in members[:4]],
            "more": max(0, len(members) - 4),
            "roles": len(row.roles.all()),
        }
        for row in found
    ]


@never_cache
@require_POST
@staff_required
def invite_person(request: HttpRequest) -> HttpResponse:
    user = person_of(request)
    form = forms.InviteForm(request.POST, user=user, by_link=request.GET.get("by") == "link")
    if not form.is_valid():
        return _page(request, form=form)
    try:
        made, token = invitations.invite(form.wanted(), actor=user, request=request)
    except InvalidInput as error:
        error.add_to(form)
        return _page(request, form=form)
    return _show_or_send(request, made, token)


def _show_or_send(request: HttpRequest, made: Invitation, token: str) -> HttpResponse:
    """Send the mail. Without a mail, the link is on this one page and nowhere else."""
    if made.email and invitations.send(made, token):
        messages.success(request, _("Invitation sent to %(email)s.") % {"email": made.email})
        return redirect("people")
    return _page(request, link=invitations.link(token), made=made)


@never_cache
@require_POST
@staff_required
def change_invitation(request: HttpRequest, pk: UUID) -> HttpResponse:
    user = person_of(request)
    row = get_object_or_404(Invitation.objects.select_related("created_by", "group"), pk=pk)
    change = request.POST.get("change")
    try:
        if change == "revoke":
            invitations.revoke(row, actor=user, request=request)
            messages.success(request, _("Invitation revoked."))
        elif change in {"resend", "link"}:
            token = invitations.renew(row, actor=user, request=request)
            if change == "resend":
                return _show_or_send(request, row, token)
            return _page(request, link=invitations.link(token), made=row)
    except InvalidInput as error:
        messages.error(request, error.message)
    return redirect("people")


@require_POST
@staff_required
def change_person(request: HttpRequest, pk: UUID) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    try:
        _change_person(request, person, request.POST.get("change", ""))
    except InvalidInput as error:
        messages.error(request, error.message)
    return redirect("people")


def _change_person(request: HttpRequest, person: User, change: str) -> None:
    by: dict[str, Any] = {"actor": request.user, "request": request}
    if change in {"operator", "member"}:
        actions.set_role(person, operator=change == "operator", **by)
    elif change in {"enable", "disable"}:
        actions.set_active(person, active=change == "enable", **by)
    elif change == "confirm":
        actions.confirm_email(person, **by)
    elif change == "reset_2fa":
        actions.reset_second_factor(person, **by)
        messages.success(request, _("Two-factor authentication of %(email)s was reset.") % {"email": person.email})
    elif change == "sign_out":
        actions.sign_out_everywhere(person, **by)
        messages.success(request, _("All sessions of %(email)s ended.") % {"email": person.email})
    elif (scope := tokens.permissions().get(request.POST.get("permission", ""))) and change in {"allow", "remove"}:
        registry.load(scope.set_allowed)(person, change == "allow", actor=request.user)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_required
def remove_person(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show what the user owns; POST removes the account."""
    person = get_object_or_404(User, pk=pk)
    if person.pk == request.user.pk:
        return redirect("account_delete")
    held = ownership.holdings(person)
    form = forms.RemoveForm(request.POST or None, initial={"what": "transfer", "successor": person_of(request).email})
    if request.method == "POST" and form.is_valid():
        try:
            successor = ownership.successor_of(person, form.successor_email)
            removed = ownership.remove(person, successor=successor, actor=request.user, request=request)
        except InvalidInput as error:
            error.add_to(form)
        else:
            messages.success(request, removed_text(person.email, removed))
            return redirect("people")
    context = {"person": person, "holdings": held, "form": form}
    return render(request, "people/remove.html", context, status=422 if form.errors else 200)


def removed_text(email: str, removed: ownership.Removed) -> str:
    """Say what happened to everything that the account owned."""
    moved, gone = sum(removed.transferred.values()), sum(removed.deleted.values())
    parts = [_("%(email)s was removed.") % {"email": email}]
    if moved:
        parts.append(ngettext("%(n)s item was transferred.", "%(n)s items were transferred.", moved) % {"n": moved})
    if gone:
        parts.append(ngettext("%(n)s item was deleted.", "%(n)s items were deleted.", gone) % {"n": gone})
    return " ".join(parts)


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def delete_account(request: HttpRequest) -> HttpResponse:
    """Leave this server: what the user owns is listed, then transferred or deleted."""
    person = person_of(request)
    form = forms.LeaveForm(request.POST or None, request=request, initial={"what": "delete"})
    if request.method == "POST" and form.is_valid():
        try:
            successor = ownership.successor_of(person, form.successor_email)
            ownership.remove(person, successor=successor, actor=person, request=request)
        except InvalidInput as error:
            error.add_to(form)
        else:
            logout(request)
            messages.success(request, _("Your account was deleted."))
            return redirect("account_login")
    return render(request, "people/leave.html", {"form": form, "holdings": ownership.holdings(person)})


@require_POST
@staff_required
def add_group(request: HttpRequest) -> HttpResponse:
    try:
        made = groups.create(request.POST.get("name", ""), actor=request.user, request=request)
    except InvalidInput as error:
        messages.error(request, error.message)
        return redirect("people")
    return redirect("group", made.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_required
def group(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A group with its members and roles; POST changes one of them."""
    row = get_object_or_404(Group, pk=pk)
    if request.method == "POST":
        try:
            _change_group(request, row, request.POST.get("change", ""))
        except InvalidInput as error:
            messages.error(request, error.message)
        return redirect("people" if request.POST.get("change") == "delete" else "group", *_key(request, row))
    user = person_of(request)
    members = [member.user for member in row.members.select_related("user").order_by("user__email")]
    given = [(role, roles.title_of(role.source, role.place, role.role, viewer=user)) for role in row.roles.all()]
    others = User.objects.filter(is_active=True).exclude(group_memberships__group=row).order_by("email")[:MOST_SHOWN]
    context = {"group": row, "members": members, "given": given, "others": others, "choices": roles.choices(user)}
    return render(request, "people/group.html", context)


def _key(request: HttpRequest, row: Group) -> tuple[UUID, ...]:
    return () if request.POST.get("change") == "delete" else (row.pk,)


def _change_group(request: HttpRequest, row: Group, change: str) -> None:
    by: dict[str, Any] = {"actor": person_of(request), "request": request}
    if change == "rename":
        groups.rename(row, request.POST.get("name", ""), **by)
    elif change == "delete":
        groups.delete(row, **by)
        messages.success(request, _("Group deleted."))
    elif change == "add":
        person = User.objects.filter(email=normalise_email(request.POST.get("email", "")), is_active=True)
        found = person.first()
        if found is None:
            raise InvalidInput("email", _("There is no active account with this address."))
        groups.add_member(row, found, **by)
    elif change == "remove":
        groups.remove_member(row, get_object_or_404(User, pk=_id(request.POST.get("user", ""))), **by)
    elif change == "give":
        choice = roles.choice_of(person_of(request), request.POST.get("role", ""))
        if choice is not None:
            groups.set_role(row, choice, **by)
    elif change == "take":
        number = request.POST.get("role", "")
        if not number.isascii() or not number.isdigit() or len(number) > 18:
            raise Http404
        groups.remove_role(get_object_or_404(GroupRole, pk=int(number), group=row), **by)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404 from None
