"""kill -9 at every step of a migration, its rollback, and of emptying the trash: the next worker ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models.functions import Now

from watchbook.base.testing import servers
from watchbook.base.testing.environment import by_day
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun, State
from watchbook.systems.library import actions
from watchbook.systems.library.errors import NotFound
from watchbook.systems.library.models import Page, PageNodeMeta, TrashBatch
from watchbook.systems.library.store import migrations, trash
from watchbook.systems.library.store.reconcile import backfill, reconcile
from watchbook.systems.library.tests.crashing import SMALL
from watchbook.systems.library.tests.test_migration import old_pages

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.crash]

SHARED = ("job.claimed", "job.before_commit", "job.after_commit", "job.before_finish", "job.finished")
FORWARD = (*SHARED, "library.migrate.moved", "library.migrate.batch", "library.migrate.released")
BACK = (*SHARED, "library.rollback.moved", "library.rollback.batch", "library.migrate.released")
ONCE = {"job.claimed", "job.before_finish", "job.finished", "library.migrate.released"}
KILLED = 9
FILES = 10


def plans(places) -> list[str]:
    return [f"{place}:{visit}" for place in places for visit in ((1,) if place in ONCE else (1, 2))]


def prepared(desk) -> tuple:
    """A space with ten files at its top level and a job that waits in the queue."""
    space = actions.create_space(desk.olga, desk.workspace.pk, "Doomed")
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    pages = [actions.create_page(desk.olga, space.pk, title=f"{n}", content=f"<p>{n}</p>") for n in range(FILES)]
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
    return pages, actions.start_migration(desk.olga, space.pk)


def kill(wishes: dict[str, JobRun | None]) -> None:
    asked = [f"{plan}={run.pk if run else ''}" for plan, run in wishes.items()]
    command = [sys.executable, "-m", "watchbook.systems.library.tests.crashing", *asked]
    environment = {**os.environ, "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME)}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=True)
    ends = json.loads(done.stdout)
    assert set(ends.values()) == {KILLED}, (ends, done.stderr[-2000:])


def recover() -> None:
    """What the next worker does when the leases of a dead one have ended; nobody wants to wait for that here."""
    JobRun.objects.filter(state=State.RUNNING).update(lease_until=Now() - timedelta(seconds=1))
    queue.requeue_expired()
    while (run := queue.claim_next(["maintenance_queue", "cleanup_queue"], "heir")) is not None:
        assert runner.execute(run).state == State.DONE


def run_of(job) -> JobRun:
    return JobRun.objects.filter(args__job_id=str(job.pk)).latest("pk")


def agree(job) -> None:
    """Whatever was committed: an item that is settled has its page where it says."""
    for item in job.items.select_related("page"):
        there = item.page.parent_page_id == item.new_parent_page_id
        assert there == (item.status == "success"), (item.status, there)
    assert job.items.count() == FILES


def test_killed_at_every_step_it_is_brought_to_its_end_and_back(desk, monkeypatch):
    monkeypatch.setattr(migrations, "BATCH", SMALL)
    forward = {plan: prepared(desk) for plan in plans(FORWARD)}
    before = dict(Page.objects.values_list("pk", "content"))
    kill({plan: run_of(job) for plan, (_pages, job) in forward.items()})
    for _pages, job in forward.values():
        agree(job)
    recover()
    for plan, (_pages, job) in forward.items():
        job.refresh_from_db()
        assert (job.status, job.success_count, job.failed_count) == ("success", FILES, 0), plan
        agree(job)
    assert all(check.is_ok for check in reconcile(desk.workspace))

    back = dict(zip(plans(BACK), forward.values(), strict=False))
    assert len(back) == len(plans(BACK))
    for _pages, job in forward.values():
        actions.rollback_migration(desk.olga, job.pk)
    kill({plan: run_of(job) for plan, (_pages, job) in back.items()})
    for _pages, job in back.values():
        agree(job)
    recover()
    for plan, (pages, job) in back.items():
        job.refresh_from_db()
        assert job.status == "rolled_back", plan
        assert not Page.objects.filter(pk__in=[page.pk for page in pages]).exclude(parent_page_id=None).exists()
    assert dict(Page.objects.values_list("pk", "content")) == before
    assert all(check.is_ok for check in reconcile(desk.workspace))


@pytest.mark.parametrize("place", by_day([*SHARED, "library.purge.piece"], 3))
def test_partly_deleted_trash_is_hidden_and_deleted_later(desk, place, monkeypatch):
    """Killed in the first and in the second piece: nothing can be restored by halves, and nothing is left behind."""
    monkeypatch.setattr(trash, "PIECE", SMALL)
    for visit in (1,) if place in ONCE else (1, 2):
        kept, top = desk.folder("Kept"), desk.folder("Top")
        for number in range(FILES):
            desk.file(str(number), top)
        desk.file("Kept file", kept)
        actions.trash_page(desk.wanda, top.pk)
        actions.purge_page(desk.olga, top.pk)
        kill({f"{place}:{visit}": JobRun.objects.filter(name="library.empty_trash").latest("pk")})
        assert not actions.list_trash(desk.olga, desk.space.pk)
        with pytest.raises(NotFound):
            actions.restore_page(desk.olga, top.pk)
        assert all(check.is_ok for check in reconcile(desk.workspace))
        recover()
        assert not TrashBatch.objects.exists()
        assert set(Page.objects.values_list("title", flat=True)) == {"Kept", "Kept file"}
        assert all(check.is_ok for check in reconcile(desk.workspace))


def test_killed_backfill_continues_where_it_stopped(desk):
    old_pages(desk.space, 1200)
    before = dict(Page.objects.values_list("pk", "parent_page_id"))
    kill({"library.backfill.batch:2": None})
    assert PageNodeMeta.objects.count() == 500, "whole batches or nothing of them"
    backfill()
    assert PageNodeMeta.objects.count() == 1200
    assert dict(Page.objects.values_list("pk", "parent_page_id")) == before
    assert all(check.is_ok for check in reconcile(desk.workspace))
