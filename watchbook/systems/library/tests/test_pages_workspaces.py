"""The pages of workspaces and spaces: people, switches, channel, home card, reconciliation, migration."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.card import card
from watchbook.systems.library.models import FolderMigrationJob, JobStatus, Page
from watchbook.systems.library.tests.test_pages import tree, url

pytestmark = pytest.mark.django_db

__all__ = ["tree"]


class TestPlaces:
    def test_nothing_yet_says_what_to_do(self, desk):
        client = client_of(desk.xaver)
        assert "Create your first workspace" in client.get(url("overview")).text
        page = client.post(url("create_workspace"), {"name": "Mine", "space": "Notes"}, follow=True).text
        assert "This space is empty" in page

    def test_home_page_shows_what_the_user_may_read(self, desk, tree):
        newcomer, reader = (card(SimpleNamespace(user=user)) for user in (desk.xaver, desk.rene))
        assert (newcomer.number, "Create your first workspace" in newcomer.hint) == (None, True)
        assert (reader.number, [fact.value for fact in reader.facts[1:]]) == (2, ["1", "2"])
        assert "Library" in client_of(desk.rene).get("/").text

    def test_people_flags_and_names(self, desk):
        client, ws = client_of(desk.olga), desk.workspace
        client.post(url("member", ws.pk), {"email": "xaver@example.com", "role": "member"})
        client.post(url("space_member", desk.space.pk), {"person": desk.xaver.pk, "role": "reader"})
        assert client_of(desk.xaver).get(url("space", desk.space.pk)).status_code == 200
        client.post(url("remove_space_member", desk.space.pk), {"person": desk.xaver.pk})
        assert client_of(desk.xaver).get(url("space", desk.space.pk)).status_code == 404
        client.post(url("remove_member", ws.pk), {"person": desk.xaver.pk})
        assert client_of(desk.xaver).get(url("workspace", ws.pk)).status_code == 404
        client.post(url("flags", ws.pk), {"flag": ["folders_enabled"]})
        assert ws.flags() == {"folders_enabled": True, "sharing_enabled": False}
        client.post(url("rename_workspace", ws.pk), {"name": "Harbour"})
        client.post(url("rename_space", desk.space.pk), {"name": "Quay"})
        assert "Quay" in client.get(url("overview")).text
        assert client_of(desk.wanda).post(url("flags", ws.pk)).status_code == 403

    def test_another_channel_is_said_and_nothing_is_offered(self, desk, tree):
        client = client_of(desk.olga)
        client.post(url("channel", desk.workspace.pk), {"channel": "staging"})
        page = client.get(url("page", tree[1].pk)).text
        assert "This workspace belongs to the staging deployment" in page
        assert "contenteditable" not in page
        answer = client.post(url("rename", tree[1].pk), {"title": "X"})
        assert answer.status_code == 423
        assert "is read-only here" in answer.text

    def test_consistency_checks_are_compared_and_stored(self, desk, tree):
        client = client_of(desk.olga)
        assert "Not run yet" in client.get(url("reconciliation", desk.workspace.pk)).text
        page = client.post(url("reconciliation", desk.workspace.pk), follow=True).text
        assert "All checks passed" in page


class TestMigration:
    def test_plan_start_progress_and_rollback(self, desk):
        actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
        files = [desk.file(f"Old {number}") for number in range(3)]
        client = client_of(desk.olga)
        assert "Enable them first" in client.get(url("migrations", desk.space.pk)).text
        actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
        page = client.get(url("migrations", desk.space.pk)).text
        assert "3 pages to move" in page
        assert not FolderMigrationJob.objects.exists()
        client.post(url("migrations", desk.space.pk))
        job = FolderMigrationJob.objects.get()
        assert "hx-get" in client.get(url("migration", job.pk)).text
        client.post(url("migration_pause", job.pk))
        assert "Paused" in client.get(url("migration", job.pk)).text
        client.post(url("migration_resume", job.pk))
        run_now("library.migrate", args={"job_id": str(job.pk)})
        live = client.get(url("migration_live", job.pk))
        assert live.headers["HX-Refresh"] == "true"
        job.refresh_from_db()
        assert job.status == JobStatus.SUCCESS
        client.post(url("migration_rollback", job.pk))
        run_now("library.rollback", args={"job_id": str(job.pk)})
        assert {Page.objects.get(pk=file.pk).parent_page_id for file in files} == {None}
        assert "Rolled back" in client.get(url("migration", job.pk)).text
        page = client.get(url("migration", job.pk, status="rolled_back"))
        assert squeezed(page.text).count('<th scope="row"><a') == 3
        assert client.post(url("migration_pause", job.pk)).status_code == 409


def test_link_to_a_trashed_page_leads_to_the_trash(desk):
    folder = desk.folder("Walks")
    file = desk.file("Old lanterns", folder)
    actions.trash_page(desk.wanda, file.pk)
    answer = client_of(desk.rene).get(url("page", file.pk), follow=True)
    assert answer.redirect_chain == [(url("trash", desk.space.pk), 302)]
    assert "Old lanterns moved to trash." in answer.text
    assert client_of(desk.xaver).get(url("page", file.pk)).status_code == 404
