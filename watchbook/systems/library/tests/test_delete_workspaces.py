"""The ends of a place: its name typed wrong, removed for good by hand, and left while it is archived."""

from __future__ import annotations

import re

import pytest

from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import Archived, Conflict, NotAllowed, NotFound, OtherChannel, Wrong
from watchbook.systems.library.models import Page, Space, Workspace
from watchbook.systems.library.tests.test_pages import url

pytestmark = pytest.mark.django_db

JOB = "library.empty_trash"
BOTH = pytest.mark.parametrize("kind", ["space", "workspace"])


def delete(desk, kind):
    place = getattr(desk, kind)
    getattr(actions, f"delete_{kind}")(desk.olga, place.pk, name=place.name)
    return place


@BOTH
def test_wrong_name_is_said_beside_the_field(desk, kind):
    place = getattr(desk, kind)
    answer = client_of(desk.olga).post(url(f"delete_{kind}", place.pk), {"name": '"><b>Tea'})
    assert answer.status_code == 422
    assert 'id="delete-wrong" role="alert"' in answer.text
    assert "The name does not match" in answer.text
    field = re.search(r'<input[^>]*id="delete-name"[^>]*>', answer.text)
    assert field
    assert 'value="&quot;&gt;&lt;b&gt;Tea"' in field[0]
    assert 'aria-invalid="true" aria-describedby="delete-wrong"' in field[0]
    assert f'action="{url(f"delete_{kind}", place.pk)}"' in answer.text, "it can be tried again from here"
    assert type(place).objects.get().deleted_at is None


@BOTH
def test_script_gets_the_wrong_name_as_json(desk, kind):
    place = getattr(desk, kind)
    answer = client_of(desk.olga).post(
        url(f"delete_{kind}", place.pk), {"name": "x"}, headers={"accept": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


@BOTH
def test_in_trash_it_is_deleted_permanently_by_its_name(desk, kind):
    desk.file("Harbour", desk.folder("Home"))
    place, owner = delete(desk, kind), client_of(desk.olga)
    address = url(f"purge_{kind}", place.pk)
    assert address in owner.get(url("overview")).text
    asked = owner.get(address).text
    assert "This cannot be undone" in asked
    assert "2 pages will be deleted" in asked
    wrong = owner.post(address, {"name": "something else"})
    assert wrong.status_code == 422
    assert 'aria-invalid="true"' in wrong.text
    assert type(place).objects.get(pk=place.pk).purged_at is None
    done = owner.post(address, {"name": place.name}, follow=True).text
    assert f"{place.name} was deleted permanently." in done
    assert address not in done
    with pytest.raises(NotFound):
        getattr(actions, f"restore_{kind}")(desk.olga, place.pk)
    event = AuditEvent.objects.get(event="library.place_purged")
    assert (event.subject, event.actor_id) == (str(place.pk), desk.olga.pk)
    assert JobRun.objects.filter(name=JOB).exists(), "its rows go now, not only at night"
    run_now(JOB)
    assert not type(place).objects.filter(pk=place.pk).exists()
    assert not Page.objects.exists()
    assert Workspace.objects.filter(pk=desk.workspace.pk).exists() == (kind == "space")


@BOTH
def test_only_an_owner_learns_of_it_and_only_from_the_trash(desk, kind):
    place, purge = getattr(desk, kind), getattr(actions, f"purge_{kind}")
    with pytest.raises(NotFound):
        purge(desk.olga, place.pk, name=place.name)
    with pytest.raises(NotAllowed):
        purge(desk.adam, place.pk, name=place.name)
    delete(desk, kind)
    for person in (desk.adam, desk.sven, desk.wanda, desk.xaver):
        with pytest.raises(NotFound):
            purge(person, place.pk, name=place.name)
        assert client_of(person).get(url(f"purge_{kind}", place.pk)).status_code == 404
    with pytest.raises(Wrong):
        purge(desk.olga, place.pk, name=place.name + "x")
    assert type(place).objects.get(pk=place.pk).purged_at is None


@BOTH
def test_another_deployment_removes_nothing(desk, kind, monkeypatch):
    place = delete(desk, kind)
    monkeypatch.setenv("RELEASE_CHANNEL", "staging")
    with pytest.raises(OtherChannel):
        getattr(actions, f"purge_{kind}")(desk.olga, place.pk, name=place.name)
    assert not AuditEvent.objects.filter(event="library.place_purged").exists()


@BOTH
def test_members_can_leave_an_archived_place_but_not_be_removed(desk, kind):
    getattr(actions, f"archive_{kind}")(desk.olga, getattr(desk, kind).pk)
    with pytest.raises(Archived):
        actions.remove_space_member(desk.olga, desk.space.pk, person=desk.wanda)
    client = client_of(desk.rene)
    address = url("remove_space_member", desk.space.pk)
    assert address in client.get(url("space_settings", desk.space.pk)).text
    assert "You left the space." in client.post(address, {"person": desk.rene.pk}, follow=True).text
    assert access.space_role(desk.rene, desk.space) == ""
    assert AuditEvent.objects.filter(event="library.space_member", actor_id=desk.rene.pk).exists()


def test_archived_workspace_can_be_left_but_not_by_its_last_owner(desk):
    actions.archive_workspace(desk.olga, desk.workspace.pk)
    with pytest.raises(Archived):
        actions.remove_member(desk.olga, desk.workspace.pk, person=desk.wanda)
    with pytest.raises(Conflict, match="needs an owner"):
        actions.remove_member(desk.olga, desk.workspace.pk, person=desk.olga)
    client = client_of(desk.wanda)
    address = url("remove_member", desk.workspace.pk)
    assert address in client.get(url("workspace", desk.workspace.pk)).text
    assert "You left the workspace." in client.post(address, {"person": desk.wanda.pk}, follow=True).text
    assert access.workspace_role(desk.wanda, desk.workspace.pk) == ""
    assert not Space.objects.filter(members__user=desk.wanda).exists()


def test_members_cannot_leave_a_workspace_in_trash(desk):
    actions.delete_workspace(desk.olga, desk.workspace.pk, name="Team")
    with pytest.raises(NotFound):
        actions.remove_member(desk.wanda, desk.workspace.pk, person=desk.wanda)
