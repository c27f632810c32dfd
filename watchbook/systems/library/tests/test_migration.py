"""The seed's steps on a database with old pages, its four checks, and the way back."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Conflict, JobConflict, NotAllowed
from watchbook.systems.library.models import (
    FolderMigrationControl,
    FolderMigrationJob,
    Page,
    PageNodeMeta,
    Space,
    TrashBatch,
    WorkspaceFlag,
    WorkspaceReleaseChannel,
)
from watchbook.systems.library.models.tree import many_after
from watchbook.systems.library.store.reconcile import backfill, reconcile

pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2025, 1, 1, tzinfo=UTC)


def old_pages(space: Space, count: int, *, seed: int = 3) -> None:
    """Pages as they were before there were folders: no meta rows, texts at every level, empty ones among them."""
    dice = random.Random(seed)
    pages: list[Page] = []
    for n, key in enumerate(many_after(None, count)):
        parent = dice.choice(pages).pk if pages and dice.random() < 0.6 else None
        content = "" if dice.random() < 0.3 else f"<p>words of page {n} 第{n}页</p>"
        pages.append(
            Page(id=uuid4(), space=space, parent_page_id=parent, title=f"Page {n}", content=content, sort_key=key,
                 created_at=LONG_AGO, updated_at=LONG_AGO)
        )  # fmt: skip
    Page.objects.bulk_create(pages, batch_size=500)


def old_world(desk, count: int) -> None:
    """A workspace that knows nothing of flags, channels or folders."""
    WorkspaceFlag.objects.all().delete()
    WorkspaceReleaseChannel.objects.all().delete()
    old_pages(desk.space, count)


def books() -> dict:
    names = ("parent_page_id", "title", "content", "version", "sort_key", "updated_at", "deleted_at", "space_id")
    return {page.pk: tuple(getattr(page, name) for name in names) for page in Page.objects.all()}


def checks(desk) -> dict[str, bool]:
    return {check.name: check.is_ok for check in reconcile(desk.workspace)}


def root_files(desk) -> int:
    return Page.objects.below(desk.space.pk, None).files().count()


def run(name: str, job) -> None:
    assert run_now(name, {"job_id": str(job.pk)}, exclusive=f"library:{job.space_id}").state == State.DONE
    job.refresh_from_db()


@pytest.fixture
def migrated(desk):
    """Ten root files in a job that has not run yet."""
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    pages = [desk.file(f"Page {n}", content=f"<p>{n}</p>") for n in range(10)]
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
    return pages, actions.start_migration(desk.olga, desk.space.pk)


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_steps_of_the_seed_and_back(desk, count):
    old_world(desk, count)
    before = books()
    # Steps 2 and 3: only rows beside the pages.
    filled = backfill()
    assert filled.channels == 1
    assert filled.folders + filled.files == count
    assert books() == before
    assert checks(desk)["meta_rows"]
    assert checks(desk)["parents_unchanged"]
    with pytest.raises(Conflict):
        actions.start_migration(desk.olga, desk.space.pk)
    # Step 4: the flag moves nothing.
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
    assert books() == before
    # Step 5.
    wanted = root_files(desk)
    plan = actions.plan_migration(desk.adam, desk.space.pk)
    assert len(plan.moves) == wanted > 0
    assert FolderMigrationJob.objects.count() == 0
    job = actions.start_migration(desk.adam, desk.space.pk)
    assert set(job.items.values_list("status", flat=True)) == {"pending"}
    run("library.migrate", job)
    assert (job.status, job.success_count, job.failed_count, job.total_count) == ("success", wanted, 0, wanted)
    assert root_files(desk) == 0
    assert all(checks(desk).values()), checks(desk)
    assert job.reconciliations.get().is_ok
    # Texts, times, order and versions are as they were; only the parents of root files differ.
    after = books()
    assert {pk: after[pk][1:] for pk in before} == {pk: old[1:] for pk, old in before.items()}
    for _again in range(2):
        actions.rollback_migration(desk.olga, job.pk)
        run("library.rollback", job)
        assert job.status == "rolled_back"
        after = books()
        assert {pk: after[pk] for pk in before} == before
        assert all(checks(desk).values())
    assert TrashBatch.objects.count() == 1, "the empty folder of the job is put away once"


def test_backfill_makes_folders_only_of_empty_pages_and_never_below_a_file(desk):
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    empty, text = desk.file("empty"), desk.file("text", content="<p>words</p>")
    inner = desk.file("inner", text)
    nested = desk.file("nested", empty)
    for parent in (inner, nested, empty):
        desk.file("leaf", parent)
    PageNodeMeta.objects.all().delete()
    filled = backfill()
    kinds = dict(PageNodeMeta.objects.values_list("page__title", "node_type"))
    assert kinds == {"empty": "folder", "nested": "folder", "text": "file", "inner": "file", "leaf": "file"}
    assert filled.kept_as_files == 1
    assert backfill().as_json() == {
        "channels": 0,
        "folders": 0,
        "files": 0,
        "kept_as_files": 0,
        "skipped_workspaces": 0,
    }


def test_changes_by_users_during_a_migration_stay_and_are_reported(desk, migrated):
    pages, job = migrated
    own = desk.folder("Own")
    moved, trashed = pages[0], pages[1]
    actions.move_page(desk.wanda, moved.pk, parent_page_id=own.pk)
    actions.trash_page(desk.wanda, trashed.pk)
    run("library.migrate", job)
    assert job.status == "failed"
    assert (job.success_count, job.failed_count) == (8, 2)
    codes = dict(job.items.filter(status="failed").values_list("page_id", "error_code"))
    assert codes == {moved.pk: "conflict_moved_since", trashed.pk: "page_deleted"}
    later = pages[2]
    actions.move_page(desk.wanda, later.pk, parent_page_id=own.pk)
    actions.rollback_migration(desk.olga, job.pk)
    run("library.rollback", job)
    assert job.status == "rolled_back"
    parents = dict(Page.objects.values_list("pk", "parent_page_id"))
    assert parents[moved.pk] == parents[later.pk] == own.pk
    assert all(parents[page.pk] is None for page in pages[3:])
    left = job.items.get(page=later)
    assert (left.status, left.error_code) == ("conflict", "conflict_moved_since")
    assert checks(desk)["job_counts"]


def test_page_moved_by_a_user_is_moved_by_the_next_rollback(desk, migrated):
    pages, job = migrated
    own = desk.folder("Own")
    run("library.migrate", job)
    actions.move_page(desk.wanda, pages[0].pk, parent_page_id=own.pk)
    actions.rollback_migration(desk.olga, job.pk)
    run("library.rollback", job)
    folder = Page.objects.get(pk=job.control.folder_page_id)
    assert folder.deleted_at is not None, "it was empty"
    actions.restore_page(desk.wanda, folder.pk)
    actions.move_page(desk.wanda, pages[0].pk, parent_page_id=folder.pk)
    actions.rollback_migration(desk.olga, job.pk)
    run("library.rollback", job)
    assert Page.objects.get(pk=pages[0].pk).parent_page_id is None


def test_pause_resume_cancel_retry(desk, migrated):
    _pages, job = migrated
    actions.pause_migration(desk.olga, job.pk)
    run("library.migrate", job)
    assert (job.status, job.success_count) == ("pending", 0)
    actions.cancel_migration(desk.olga, job.pk)
    job.refresh_from_db()
    assert (job.status, job.failed_count) == ("canceled", 10)
    run("library.migrate", job)
    assert job.success_count == 0
    actions.retry_migration(desk.olga, job.pk)
    actions.pause_migration(desk.olga, job.pk)
    actions.resume_migration(desk.olga, job.pk)
    run("library.migrate", job)
    assert (job.status, job.success_count) == ("success", 10)
    for step in (actions.pause_migration, actions.cancel_migration, actions.resume_migration, actions.retry_migration):
        with pytest.raises(JobConflict):
            step(desk.olga, job.pk)
    assert JobRun.objects.filter(name="library.migrate", state=State.QUEUED).count() == 3


def test_one_job_per_space_is_kept_by_the_database(desk, migrated):
    _pages, job = migrated
    with pytest.raises(JobConflict):
        actions.start_migration(desk.olga, desk.space.pk)
    other = FolderMigrationJob.objects.create(workspace=desk.workspace, space=desk.space, status="pending")
    with pytest.raises(IntegrityError), transaction.atomic():
        FolderMigrationControl.objects.create(job=other, active_space_id=desk.space.pk)
    with pytest.raises(JobConflict):
        actions.rollback_migration(desk.olga, job.pk)


def test_folder_can_be_chosen_and_may_be_missing(desk, migrated):
    pages, job = migrated
    folder = Page.objects.get(pk=job.control.folder_page_id)
    actions.trash_page(desk.wanda, folder.pk)
    run("library.migrate", job)
    assert (job.status, job.failed_count) == ("failed", 10)
    assert set(job.items.values_list("error_code", flat=True)) == {"target_gone"}
    actions.restore_page(desk.wanda, folder.pk)
    actions.retry_migration(desk.olga, job.pk)
    run("library.migrate", job)
    assert job.status == "success"
    assert Page.objects.filter(parent_page=folder).count() == len(pages)


def test_jobs_are_for_owners_and_admins(desk):
    for person in (desk.sven, desk.wanda, desk.rene):
        with pytest.raises(NotAllowed):
            actions.plan_migration(person, desk.space.pk)
