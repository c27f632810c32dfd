"""Health of the library: evidence for healthy, and one reason for each failure, for those who can manage it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from watchbook.base import clock
from watchbook.core.health import ERROR, FAILING, HEALTHY, NEVER
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.card import card
from watchbook.systems.library.health import health
from watchbook.systems.library.models import Page, PageNodeMeta


def test_library_without_a_save_is_not_healthy(desk):
    assert health(None).state == health(desk.olga).state == NEVER
    desk.file("Page", desk.folder("Home"))
    assert health(None).state == health(desk.rene).state == HEALTHY
    assert health(desk.xaver).state == NEVER, "saves of others are no evidence"


def test_failed_migration_is_reported_until_it_is_repaired(desk):
    page = desk.old_file("Old")
    job = actions.start_migration(desk.olga, desk.space.pk)
    actions.trash_page(desk.olga, page.pk)
    run_now("library.migrate", {"job_id": str(job.pk)})
    for user in (None, desk.olga, desk.adam):
        found = health(user)
        assert (found.state, str(job.pk) in found.url) == (FAILING, True)
        assert "failed for 1 of 1 pages" in found.reason
    assert health(desk.wanda).state == HEALTHY, "an editor cannot open migrations"
    shown = card(SimpleNamespace(user=desk.olga))
    assert shown.badge == health(desk.olga).badge()
    assert shown.health.reason == health(desk.olga).reason
    actions.restore_page(desk.olga, page.pk, parent_page_id=job.control.folder_page_id)
    actions.rollback_migration(desk.olga, job.pk)
    run_now("library.rollback", {"job_id": str(job.pk)})
    assert health(desk.olga).state == HEALTHY


def test_failed_consistency_check_is_an_error_until_it_passes(desk):
    page = desk.file("Page", desk.folder("Home"))
    PageNodeMeta.objects.filter(page_id=page.pk).delete()
    actions.store_reconciliation(desk.olga, desk.workspace.pk)
    found = health(desk.olga)
    assert (found.state, found.detail) == (ERROR, "meta_rows")
    assert "Team" in found.reason
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>x</p>")
    actions.store_reconciliation(desk.olga, desk.workspace.pk)
    assert health(desk.olga).state == HEALTHY
    assert Page.objects.count() == 2


@pytest.mark.parametrize("name", ["library.empty_trash", "library.forget_steps"])
def test_failed_cleaning_job_is_reported_to_operators(desk, name):
    desk.folder("Home")
    run = run_now(name)
    JobRun.objects.filter(pk=run.pk).update(state=State.FAILED, error_code="boom", finished_at=clock.now())
    desk.olga.is_staff = True
    for user in (None, desk.olga):
        found = health(user)
        assert (found.state, found.detail) == (FAILING, "boom")
        assert found.last_failure_at is not None
    assert health(desk.wanda).state == HEALTHY
