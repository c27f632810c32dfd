"""Every endpoint as every kind of person, with ids of other workspaces too."""

from __future__ import annotations

import copy
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client

from watchbook.base.testing.people import client_of, make_person
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Conflict, NotAllowed, NotFound
from watchbook.systems.library.tests.conftest import add_clips
from watchbook.systems.library.tests.walk import ALLOWED, BASE, calls, client_for, expected, make_world, routes

pytestmark = pytest.mark.django_db

PEOPLE = ("anonymous", *sorted(ALLOWED["anybody"]))


@pytest.fixture(scope="module")
def shared_world(shared_desk, shared_rows):
    with shared_rows(), pytest.MonkeyPatch.context() as patch:
        add_clips(patch)
        return make_world(copy.deepcopy(shared_desk))


@pytest.fixture
def world(shared_world, clips, db):
    return copy.deepcopy(shared_world)


def undone(call, client) -> int:
    """Make the call and take back what it did, so that the next one finds the same world."""
    with transaction.atomic():
        status = call.make(client).status_code
        transaction.set_rollback(True)
    return status


def test_every_route_is_walked(world):
    assert {(call.method, call.route) for call in calls(world)} == routes()


@pytest.mark.parametrize("name", PEOPLE)
def test_who_may_do_what(world, name):
    client = client_for(world, name)
    wrong = []
    for call in calls(world):
        status = undone(call, client)
        if status not in expected(call, name):
            wrong.append(f"{call.method} {call.route}: {status}, expected {expected(call, name)}")
    assert not wrong, "\n".join(wrong)


def test_share_link_gives_that_page_and_nothing_else(world):
    _link, token = actions.share_page(world.desk.wanda, world.page.pk)
    assert actions.open_share(token).pk == world.page.pk
    holder = Client(headers={"Authorization": f"Bearer {token}"})
    assert {undone(call, holder) for call in calls(world)} == {401}
    for wrong in ("", token[:-1], token + "x", "x" * 500, "\0"):
        with pytest.raises(NotFound):
            actions.open_share(wrong)


def test_share_link_is_inactive_in_trash_and_ends_when_revoked(world):
    desk = world.desk
    link, token = actions.share_page(desk.wanda, world.page.pk)
    actions.trash_page(desk.wanda, world.page.pk)
    with pytest.raises(NotFound):
        actions.open_share(token)
    actions.restore_page(desk.wanda, world.page.pk)
    assert actions.open_share(token)
    actions.set_flags(desk.olga, desk.workspace.pk, {"sharing_enabled": False})
    with pytest.raises(NotFound):
        actions.open_share(token)
    actions.set_flags(desk.olga, desk.workspace.pk, {"sharing_enabled": True})
    actions.revoke_share(desk.wanda, link.pk)
    with pytest.raises(NotFound):
        actions.open_share(token)
    assert token not in str(list(type(link).objects.values()))


def test_ids_of_another_workspace_open_nothing(world):
    """Everywhere an id can be put, the id of something that is there, but not for us."""
    stranger = make_person("stranger")
    other = actions.create_workspace(stranger, "Elsewhere")
    space = actions.create_space(stranger, other.pk, "Their space")
    folder = actions.create_page(stranger, space.pk, title="Theirs", node_type="folder")
    client, page = client_of(world.desk.olga), world.page.pk
    ours = str(world.desk.space.pk)
    attempts = [
        (f"/pages/{page}/move", {"parent_page_id": str(folder.pk)}),
        (f"/pages/{page}/move", {"parent_page_id": None, "space_id": str(space.pk)}),
        (f"/pages/{page}/move", {"parent_page_id": str(world.home.pk), "after_page_id": str(folder.pk)}),
        (f"/pages/{page}/duplicate", {"parent_page_id": str(folder.pk)}),
        (f"/pages/{world.trashed.pk}/restore", {"parent_page_id": str(folder.pk)}),
        ("/pages/bulk-move", {"page_ids": [str(page), str(folder.pk)], "parent_page_id": str(world.home.pk)}),
        ("/pages/bulk-move", {"page_ids": [str(page)], "parent_page_id": str(folder.pk)}),
        ("/pages/bulk-trash", {"page_ids": [str(folder.pk)]}),
        (f"/spaces/{ours}/pages", {"title": "x", "parent_page_id": str(folder.pk)}),
        (f"/spaces/{space.pk}/pages", {"title": "x", "parent_page_id": str(world.home.pk)}),
        ("/clip", {"kind": "library_test", "id": "1", "space_id": ours, "parent_page_id": str(folder.pk)}),
        ("/clip", {"kind": "library_test", "id": "1", "space_id": str(space.pk)}),
        (f"/spaces/{ours}/migrations", {"folder_page_id": str(folder.pk)}),
        (f"/spaces/{ours}/members", {"user_id": str(stranger.pk), "role": "reader"}),
        (f"/pages/{uuid4()}/move", {"parent_page_id": None}),
    ]
    for path, body in attempts:
        with transaction.atomic():
            answer = client.post(BASE + path, body, content_type="application/json")
            transaction.set_rollback(True)
        assert answer.status_code in {404, 422}, (path, body, answer.content)


def test_only_an_owner_makes_and_unmakes_owners(desk):
    with pytest.raises(NotAllowed):
        actions.set_member(desk.adam, desk.workspace.pk, person=desk.wanda, role="owner")
    with pytest.raises(NotAllowed):
        actions.remove_member(desk.adam, desk.workspace.pk, person=desk.olga)
    with pytest.raises(Conflict, match="needs an owner"):
        actions.remove_member(desk.olga, desk.workspace.pk, person=desk.olga)
    actions.set_member(desk.olga, desk.workspace.pk, person=desk.adam, role="owner")
    actions.remove_member(desk.olga, desk.workspace.pk, person=desk.olga)
    with pytest.raises(NotFound):
        actions.set_flags(desk.olga, desk.workspace.pk, {})


def test_who_leaves_the_workspace_loses_its_spaces(desk):
    actions.remove_member(desk.olga, desk.workspace.pk, person=desk.wanda)
    with pytest.raises(NotFound):
        desk.folder("Too late")
