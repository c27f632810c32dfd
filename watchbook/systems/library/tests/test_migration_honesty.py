"""Folder migrations say what is true: no empty success, no success while pages move back, one meaning of null."""

from __future__ import annotations

import json

import pytest
from django.db import IntegrityError, transaction

from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Hierarchy, JobConflict
from watchbook.systems.library.models import FolderMigrationControl, FolderMigrationJob, JobStatus, Page, Phase
from watchbook.systems.library.store.reconcile import reconcile
from watchbook.systems.library.tests.test_pages import client_of, url


@pytest.fixture
def moved(desk):
    """A migration that succeeded, of three pages."""
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    for number in range(3):
        desk.file(f"Old {number}")
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
    job = actions.start_migration(desk.olga, desk.space.pk)
    run_now("library.migrate", {"job_id": str(job.pk)})
    return job


def test_migration_with_nothing_to_move_makes_no_job(desk, moved):
    with pytest.raises(JobConflict) as refused:
        actions.start_migration(desk.olga, desk.space.pk)
    assert refused.value.code == "nothing_to_move"
    assert actions.plan_migration(desk.olga, desk.space.pk).obstacles == ("nothing_to_move",)
    assert list(FolderMigrationJob.objects.values_list("pk", flat=True)) == [moved.pk]
    answer = client_of(desk.olga).post(url("migrations", desk.space.pk), headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "nothing_to_move")


def test_empty_job_of_an_older_release_does_not_fail_the_check_of_the_job_before(desk, moved):
    empty = FolderMigrationJob.objects.create(
        workspace=desk.workspace, space=desk.space, status=JobStatus.SUCCESS, created_by=desk.olga
    )
    FolderMigrationControl.objects.create(job=empty)
    actions.rollback_migration(desk.olga, moved.pk)
    run_now("library.rollback", {"job_id": str(moved.pk)})
    assert [check.name for check in reconcile(desk.workspace) if not check.is_ok] == []


def test_job_is_not_success_while_it_is_rolled_back(desk, moved):
    assert FolderMigrationJob.objects.get(pk=moved.pk).status == JobStatus.SUCCESS
    shown = actions.rollback_migration(desk.olga, moved.pk)
    assert (shown.status, shown.control.phase) == (JobStatus.RUNNING, Phase.ROLLBACK)
    page = client_of(desk.olga).get(url("migration", moved.pk)).text
    assert "Rolling back" in page
    with pytest.raises(JobConflict):
        actions.rollback_migration(desk.olga, moved.pk)
    run_now("library.rollback", {"job_id": str(moved.pk)})
    assert FolderMigrationJob.objects.get(pk=moved.pk).status == JobStatus.ROLLED_BACK


def test_rollback_stops_writes_disables_folders_restores_and_checks(desk, moved):
    page = moved.items.first().page
    actions.rollback_migration(desk.olga, moved.pk)
    assert desk.workspace.flags()["folders_enabled"] is False
    for refused in (
        lambda: desk.file("New", desk.folder("Home")),
        lambda: actions.move_page(desk.wanda, page.pk, parent_page_id=None),
        lambda: actions.trash_page(desk.wanda, page.pk),
    ):
        with pytest.raises(JobConflict) as conflict:
            refused()
        assert conflict.value.code == "rolling_back"
    run_now("library.rollback", {"job_id": str(moved.pk)})
    assert moved.reconciliations.order_by("-pk").first().is_ok
    assert Page.objects.live().below(desk.space.pk, None).count() == 3
    actions.move_page(desk.wanda, page.pk, parent_page_id=None)


def test_database_refuses_an_unknown_item_status(moved):
    with pytest.raises(IntegrityError), transaction.atomic():
        moved.items.update(status="lost")


def call(client, path, body):
    return client.post(f"/api/v1/library/pages/{path}", json.dumps(body), "application/json")


@pytest.mark.parametrize("act", ["duplicate", "restore", "move"])
def test_null_parent_means_top_level_and_absent_means_old_parent(desk, act):
    home = desk.folder("Home")
    inner = desk.folder("Inner", home)
    client = client_of(desk.wanda)

    def parent_of(body):
        if act == "restore":
            actions.trash_page(desk.wanda, inner.pk)
        answer = call(client, f"{inner.pk}/{act}", body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["parent_page_id"]

    if act == "move":
        assert call(client, f"{inner.pk}/move", {}).status_code == 422, "a move names its target"
    else:
        assert parent_of({}) == str(home.pk)
    assert parent_of({"parent_page_id": None}) is None
    assert parent_of({"parent_page_id": str(home.pk)}) == str(home.pk)


def test_page_with_text_is_refused_at_the_top_level_by_name(desk):
    page = desk.file("Page", desk.folder("Home"))
    with pytest.raises(Hierarchy):
        actions.duplicate_page(desk.wanda, page.pk, parent_page_id=None)
    actions.trash_page(desk.wanda, page.pk)
    with pytest.raises(Hierarchy):
        actions.restore_page(desk.wanda, page.pk, parent_page_id=None)
    assert Page.objects.get(pk=page.pk).deleted_at is not None


def test_sample_of_pages_is_compared_with_the_newest_version(desk):
    pages = [desk.file(f"Page {number}", desk.folder(f"Home {number}")) for number in range(3)]
    sample = {check.name: check for check in reconcile(desk.workspace)}["sample"]
    assert (sample.expected, sample.is_ok) == (1, True), "1%, at least one"
    Page.objects.filter(pk__in=[page.pk for page in pages]).update(content="<p>changed behind the history</p>")
    Page.objects.exclude(pk__in=[page.pk for page in pages]).update(title="changed behind the history")
    assert not {check.name: check for check in reconcile(desk.workspace)}["sample"].is_ok
