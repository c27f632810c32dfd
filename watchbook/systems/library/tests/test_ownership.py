"""Invitations into workspaces, roles of groups, and what becomes of workspaces when an account is removed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.hashers import BCryptSHA256PasswordHasher
from django.test import Client

from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts.models import User
from watchbook.core.people import groups, invitations, ownership, roles
from watchbook.core.people.models import Invitation
from watchbook.systems.library import access, actions
from watchbook.systems.library.models import SpaceMember, Workspace, WorkspaceMember, WorkspaceRole

pytestmark = pytest.mark.django_db

PASSWORD = "a long new password of nora"


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BCryptSHA256PasswordHasher, "rounds", 4)


def sign_up(path: str) -> User:
    Client().post(path, {"email": "nora@example.com", "password1": PASSWORD, "password2": PASSWORD})
    return User.objects.get(email="nora@example.com")


def invite(desk: Any, role: str = "member", who: str = "adam") -> Any:
    url = f"/library/workspaces/{desk.workspace.pk}/members/"
    return client_of(getattr(desk, who)).post(url, {"email": "nora@example.com", "role": role})


def test_address_without_an_account_is_invited_with_its_role(desk: Any) -> None:
    answer = invite(desk, "admin")
    found = re.search(r"/invite/[-\w]+/", answer.text)
    assert found, squeezed(answer.text)
    nora = sign_up(found.group())
    assert access.workspace_role(nora, desk.workspace.pk) == WorkspaceRole.ADMIN
    # A member showed the link: it proves nothing about the address.
    assert (nora.is_verified, nora.is_staff) == (False, False)


def test_address_is_invited_by_the_api(desk: Any) -> None:
    url = f"/api/v1/library/workspaces/{desk.workspace.pk}/members"
    body = {"email": "nora@example.com", "role": "member"}
    answer = client_of(desk.adam).post(url, body, content_type="application/json")
    assert answer.status_code == 200
    nora = sign_up("/invite/" + answer.json()["link"].split("/invite/")[1])
    assert access.workspace_role(nora, desk.workspace.pk) == WorkspaceRole.MEMBER


@pytest.mark.parametrize(("who", "status"), [("wanda", 403), ("otto", 403), ("xaver", 404)])
def test_only_who_runs_the_workspace_invites(desk: Any, who: str, status: int) -> None:
    assert invite(desk, who=who).status_code == status
    assert not Invitation.objects.exists()


def test_owner_cannot_be_invited_and_the_form_says_so(desk: Any) -> None:
    answer = invite(desk, "owner", who="olga")
    assert answer.status_code == 422
    assert "You cannot give this role." in squeezed(answer.text)
    assert 'value="nora@example.com"' in answer.text, "the form keeps what was typed"
    assert "<h1" in answer.text, "the page of the workspace, not a bare error"
    assert not Invitation.objects.exists()


def test_operators_can_keep_invitations_to_themselves(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_INVITATIONS", "operators")
    answer = invite(desk)
    assert answer.status_code == 422
    assert "Only operators can invite people to this server." in squeezed(answer.text)


def test_invitation_of_a_former_admin_no_longer_works(desk: Any) -> None:
    choice = roles.choice_of(desk.adam, f"library|workspace:{desk.workspace.pk}|member")
    _made, token = invitations.invite(invitations.Wanted(email="nora@example.com", place=choice), actor=desk.adam)
    actions.set_member(desk.olga, desk.workspace.pk, person=desk.adam, role="member")
    assert Client().get(f"/invite/{token}/").status_code == 410


def test_group_gives_a_space_role_and_removes_it_with_the_membership(desk: Any) -> None:
    operator = make_person("operator", is_staff=True)
    actions.set_member(desk.olga, desk.workspace.pk, person=operator, role="admin")
    group = groups.create("Harbour", actor=operator)
    groups.add_member(group, desk.xaver, actor=operator)
    groups.add_member(group, desk.wanda, actor=operator)
    choice = roles.choice_of(operator, f"library|space:{desk.space.pk}|reader")
    assert choice is not None
    groups.set_role(group, choice, actor=operator)
    assert access.space_role(desk.xaver, desk.space) == "reader"
    # What an admin gave by hand is more, and stays.
    assert access.space_role(desk.wanda, desk.space) == "writer"
    groups.delete(group, actor=operator)
    assert not WorkspaceMember.objects.filter(user=desk.xaver).exists()
    assert not SpaceMember.objects.filter(user=desk.xaver).exists()
    assert access.space_role(desk.wanda, desk.space) == "writer"


def test_operator_gives_no_role_where_the_operator_manages_nothing(desk: Any) -> None:
    operator = make_person("operator", is_staff=True)
    with pytest.raises(InvalidInput):
        roles.choice_of(operator, f"library|workspace:{desk.workspace.pk}|member")
    assert not [each for each in roles.choices(operator) if each.source == "library"]


def test_shared_workspace_goes_to_the_successor(desk: Any) -> None:
    held = {each.name: each.titles for each in ownership.holdings(desk.olga)}
    assert held["shared_workspaces"] == (desk.workspace.name,)
    removed = ownership.remove(desk.olga, successor=desk.xaver, actor=None)
    assert removed.transferred["shared_workspaces"] == 1
    assert access.workspace_role(desk.xaver, desk.workspace.pk) == WorkspaceRole.OWNER


def test_shared_workspace_without_successor_goes_to_its_admin(desk: Any) -> None:
    page = desk.file("Pier", desk.folder())
    removed = ownership.remove(desk.olga, successor=None, actor=None)
    assert removed.kept == {"shared_workspaces": 1}
    assert access.workspace_role(desk.adam, desk.workspace.pk) == WorkspaceRole.OWNER
    assert actions.open_page(desk.wanda, page.pk).title == "Pier"


def test_private_workspace_is_deleted_or_transferred(desk: Any) -> None:
    for name in ("Diary", "Plans"):
        actions.create_workspace(desk.xaver, name)
    actions.create_workspace(desk.otto, "Harbour")
    assert ownership.remove(desk.xaver, successor=None, actor=None).deleted["workspaces"] == 2
    assert set(Workspace.objects.filter(purged_at=None).values_list("name", flat=True)) == {
        desk.workspace.name, "Harbour"
    }  # fmt: skip
    ownership.remove(desk.otto, successor=desk.rene, actor=None)
    assert access.workspace_role(desk.rene, Workspace.objects.get(name="Harbour").pk) == WorkspaceRole.OWNER
