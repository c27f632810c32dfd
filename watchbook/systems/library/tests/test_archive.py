"""Workspaces and spaces that are archived or deleted: who may, what is left to do in them, and the way back."""

from __future__ import annotations

from threading import Event

import pytest

from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.runner import run_now
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import Archived, JobConflict, NotAllowed, NotFound, Wrong
from watchbook.systems.library.models import Page, Space, TrashBatch, Workspace
from watchbook.systems.library.tests.test_pages import url
from watchbook.systems.library.tests.test_together import refusal, together
from watchbook.systems.library.tests.walk import calls, make_world

pytestmark = pytest.mark.django_db

JOB = "library.empty_trash"


@pytest.fixture
def page(desk):
    return desk.file("Harbour", desk.folder("Home"), "<p>lighthouse</p>")


def ways(desk):
    """Archive, delete and bring back, of both kinds of places."""
    space, workspace = desk.space.pk, desk.workspace.pk
    return [
        lambda who: actions.archive_space(who, space),
        lambda who: actions.delete_space(who, space, name="Space"),
        lambda who: actions.archive_workspace(who, workspace),
        lambda who: actions.delete_workspace(who, workspace, name="Team"),
    ]


def test_only_an_owner_may(desk):
    for way in ways(desk):
        for person in (desk.adam, desk.sven, desk.wanda, desk.rene):
            with pytest.raises(NotAllowed):
                way(person)
        with pytest.raises(NotFound):
            way(desk.xaver)
    assert not Space.objects.exclude(archived_at=None, deleted_at=None).exists()
    assert not Workspace.objects.exclude(archived_at=None, deleted_at=None).exists()


@pytest.mark.parametrize("kind", ["space", "workspace"])
def test_archived_it_can_be_read_and_not_changed(desk, page, kind):
    archive, place = getattr(actions, f"archive_{kind}"), getattr(desk, kind)
    _link, token = actions.share_page(desk.wanda, page.pk)
    archive(desk.olga, place.pk)
    reader = client_of(desk.wanda)
    shown = reader.get(url("page", page.pk)).text
    assert "Archived" in shown
    assert "lighthouse" in shown
    assert "contenteditable" not in shown
    assert actions.open_share(token).pk == page.pk
    assert desk.space not in [
        each for entry in reader.get(url("overview")).context["workspaces"] for each in entry.spaces
    ]
    assert "Archived and deleted" in reader.get(url("overview")).text
    for write in (
        lambda: desk.folder("New"),
        lambda: actions.save_page(desk.olga, page.pk, version=1, content="<p>x</p>"),
        lambda: actions.trash_page(desk.olga, page.pk),
        lambda: actions.rename_space(desk.olga, desk.space.pk, "x"),
        lambda: actions.set_space_member(desk.olga, desk.space.pk, person=desk.otto, role="reader"),
        lambda: actions.remove_space_member(desk.olga, desk.space.pk, person=desk.rene),
    ):
        with pytest.raises(Archived):
            write()
    answer = reader.patch(f"/api/v1/library/pages/{page.pk}", {"version": 1, "title": "x"}, "application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "archived")
    archive(desk.olga, place.pk, archived=False)
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>again</p>")
    told = [event.event for event in AuditEvent.objects.filter(subject=str(place.pk)).order_by("pk")]
    assert told[-2:] == ["library.archived", "library.unarchived"]


def test_every_writing_call_is_refused_in_an_archived_workspace(desk, clips):
    """The walk of the guard, once more: what another channel refuses with 423 is here 409, and nothing is written."""
    world = make_world(desk)
    actions.cancel_migration(desk.olga, world.active.pk)
    actions.archive_workspace(desk.olga, desk.workspace.pk)
    client = client_of(desk.olga)
    before = Page.objects.count(), Space.objects.count(), TrashBatch.objects.filter(purged_at=None).count()
    wrong = []
    for call in calls(world):
        is_here = str(world.aside.workspace.pk) not in call.url and str(world.aside.gone.pk) not in call.url
        is_here &= not any(str(space.pk) in call.url for space in world.aside.workspace.spaces.all())
        if call.method != "get" and is_here and call.route not in ("/workspaces", RELEASE):
            answer = call.make(client)
            if answer.status_code != 409:
                wrong.append(f"{call.method} {call.route}: {answer.status_code}")
    assert not wrong, "\n".join(wrong)
    assert before == (
        Page.objects.count(), Space.objects.count(), TrashBatch.objects.filter(purged_at=None).count()
    )  # fmt: skip


# An archived workspace can be handed over: that changes nothing in it.
RELEASE = "/workspaces/{workspace_id}/release-channel"


def test_it_is_out_of_the_lists_and_of_the_targets(desk, page):
    client = client_of(desk.olga)
    other = actions.create_space(desk.olga, desk.workspace.pk, "Other")
    actions.archive_space(desk.olga, desk.space.pk)
    base = f"/api/v1/library/workspaces/{desk.workspace.pk}/spaces"
    listed = {
        state: [each["name"] for each in client.get(f"{base}?state={state}").json()["items"]]
        for state in ("in_use", "archived", "deleted")
    }
    assert listed == {"in_use": ["Other"], "archived": ["Space"], "deleted": []}
    targets = client.get(url("targets", other.pk)).context["spaces"]
    assert [space.name for space in targets] == ["Other"]
    actions.archive_workspace(desk.olga, desk.workspace.pk)
    assert client.get("/api/v1/library/workspaces").json()["items"] == []
    assert client.get("/api/v1/library/workspaces?state=archived").json()["items"][0]["name"] == "Team"
    assert client.get("/api/v1/library/workspaces?state=nonsense").status_code == 422


@pytest.mark.parametrize("kind", ["space", "workspace"])
def test_deleted_workspace_is_hidden_until_its_owner_restores_it(desk, page, kind):
    place = getattr(desk, kind)
    _link, token = actions.share_page(desk.wanda, page.pk)
    owner = client_of(desk.olga)
    answer = owner.post(url(f"delete_{kind}", place.pk), {"name": "something else"})
    assert answer.status_code == 422
    assert "The name does not match" in answer.text
    with pytest.raises(Wrong):
        getattr(actions, f"delete_{kind}")(desk.olga, place.pk, name="")
    assert "moved to trash" in owner.post(url(f"delete_{kind}", place.pk), {"name": place.name}, follow=True).text
    for person in (desk.olga, desk.wanda):
        client = client_of(person)
        assert client.get(url("page", page.pk)).status_code == 404
        assert client.get(url("space", desk.space.pk)).status_code == 404
        assert client.get("/api/v1/search?q=lighthouse").json()["items"] == []
        assert client.get("/api/v1/stream?source=library").json()["items"] == []
    with pytest.raises(NotFound):
        actions.open_share(token)
    assert place.name not in client_of(desk.wanda).get(url("overview")).text
    assert "in the trash until" in owner.get(url("overview")).text
    with pytest.raises(NotFound):
        getattr(actions, f"restore_{kind}")(desk.adam, place.pk)
    owner.post(url(f"restore_{kind}", place.pk))
    assert "lighthouse" in client_of(desk.wanda).get(url("page", page.pk)).text
    assert actions.open_share(token).pk == page.pk


@pytest.mark.parametrize("kind", ["space", "workspace"])
def test_trash_is_deleted_after_its_retention_and_the_rest_stays(desk, page, kind, later):
    other = actions.create_workspace(desk.olga, "Other")
    kept = actions.create_space(desk.olga, other.pk, "Kept")
    home = actions.create_page(desk.olga, kept.pk, title="Home", node_type="folder")
    actions.trash_page(desk.wanda, desk.folder("Trashed").pk)
    place = getattr(desk, kind)
    getattr(actions, f"delete_{kind}")(desk.olga, place.pk, name=place.name)
    later(days=29)
    assert run_now(JOB).progress == {}
    later(days=2)
    run = run_now(JOB)
    assert run.progress["pages"] == 3
    assert not type(place).objects.filter(pk=place.pk).exists()
    assert list(Page.objects.values_list("pk", flat=True)) == [home.pk]
    assert not StreamEntry.objects.filter(source="library").exclude(object_id=str(home.pk)).exists()
    assert set(SearchDocument.objects.filter(kind="page").values_list("object_id", flat=True)) == {str(home.pk)}
    assert Workspace.objects.filter(pk=desk.workspace.pk).exists() == (kind == "space")
    assert AuditEvent.objects.filter(event="library.purged", subject=str(place.pk)).exists()


def test_what_is_being_removed_cannot_come_back(desk, page, later):
    """Its days were over and a run marked it; the run died before the first page went."""
    actions.delete_space(desk.olga, desk.space.pk, name="Space")
    Space.objects.filter(pk=desk.space.pk).update(purged_at="2026-01-01T00:00:00Z")
    with pytest.raises(NotFound):
        actions.restore_space(desk.olga, desk.space.pk)
    run_now(JOB)
    assert not Space.objects.filter(pk=desk.space.pk).exists()


def test_archived_space_keeps_its_trash(desk, page, later):
    actions.trash_page(desk.wanda, page.pk)
    actions.archive_space(desk.olga, desk.space.pk)
    later(days=400)
    run_now(JOB)
    assert Page.objects.filter(pk=page.pk).exists()
    assert "Delete permanently" not in client_of(desk.olga).get(url("trash", desk.space.pk)).text


def test_running_migration_blocks_archiving(desk):
    desk.old_file()
    actions.start_migration(desk.olga, desk.space.pk)
    for way in ways(desk):
        with pytest.raises(JobConflict):
            way(desk.olga)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["space", "workspace"])
def test_no_write_is_accepted_after_archiving(desk, kind):
    """Four people write while it is archived: whatever was refused or done, nothing came after the archive was shut."""
    place = getattr(desk, kind)
    home = desk.folder("Home")
    shut = Event()

    def writer() -> int:
        late = 0
        for number in range(30):
            was_shut = shut.is_set()
            if refusal(lambda n=number: desk.file(str(n), home), {"archived"}) is None:
                late += was_shut
        return late

    def archiver() -> int:
        getattr(actions, f"archive_{kind}")(desk.olga, place.pk)
        shut.set()
        return 0

    assert sum(together(*[writer] * 4, archiver)) == 0
    before = Page.objects.count()
    with pytest.raises(Archived):
        desk.file("late", home)
    assert Page.objects.count() == before


def test_workspace_lists_need_constant_queries(desk, django_assert_max_num_queries):
    for number in range(6):
        space = actions.create_space(desk.olga, desk.workspace.pk, f"S{number}")
        (actions.archive_space if number % 2 else lambda *_given: None)(desk.olga, space.pk)
    client = client_of(desk.olga)
    client.get(url("overview"))
    with django_assert_max_num_queries(19):
        client.get(url("overview"))


def test_scopes_follow(desk):
    scope = access.scope_of(desk.space.pk)
    assert scope in access.scopes_of(desk.rene)
    actions.archive_space(desk.olga, desk.space.pk)
    assert scope in access.scopes_of(desk.rene), "what is archived can still be found"
    actions.delete_space(desk.olga, desk.space.pk, name="Space")
    assert scope not in access.scopes_of(desk.rene)
