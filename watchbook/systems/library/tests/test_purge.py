"""The trash empties itself: after its days, whole acts, with all that hangs on them, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import run_now
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Conflict, JobConflict, NoAllowedParent, NotAllowed, NotFound
from watchbook.systems.library.models import Page, PageVersion, ShareLink, TrashBatch
from watchbook.systems.library.store import trash
from watchbook.systems.library.store.reconcile import reconcile
from watchbook.systems.library.tests.test_pages import url

pytestmark = pytest.mark.django_db

JOB = "library.empty_trash"


def filled(desk, title="Doomed"):
    """A folder with a file that has been saved, shared, pinned, kept at hand and told of."""
    top = desk.folder(title)
    page = desk.file(f"{title} file", top, "<p>one</p>")
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>two</p>")
    actions.share_page(desk.wanda, page.pk)
    actions.set_favourite(desk.rene, page.pk, kept=True)
    actions.pin_page(desk.wanda, page.pk, pinned=True)
    return top, page


def rows_about(*pages) -> dict[str, int]:
    """How many rows of any table of the library and of the house name one of these pages."""
    ids = [page.pk for page in pages]
    found = {}
    for model in apps.get_app_config("library").get_models():
        for field in model._meta.get_fields():
            if getattr(field, "related_model", None) is Page and field.concrete:
                found[f"{model.__name__}.{field.name}"] = model.objects.filter(**{f"{field.name}__in": ids}).count()
    texts = [str(pk) for pk in ids]
    found["Page"] = Page.objects.filter(pk__in=ids).count()
    found["search"] = SearchDocument.objects.filter(object_id__in=texts).count()
    found["stream"] = StreamEntry.objects.filter(object_id__in=texts).count()
    return {name: count for name, count in found.items() if count}


def test_page_is_deleted_with_all_its_rows_after_thirty_days(desk, later):
    top, page = filled(desk)
    kept, other = filled(desk, "Kept")
    actions.trash_page(desk.wanda, top.pk)
    before = rows_about(kept, other)
    later(days=29.9)
    assert run_now(JOB).progress == {}
    assert len(actions.list_trash(desk.rene, desk.space.pk)) == 1
    assert rows_about(top, page)["stream"] == 1, "a trashed page can still be led to"
    later(days=0.2)
    run = run_now(JOB)
    assert (run.state, run.progress) == (State.DONE, {"removed": 1, "pages": 2, "held": 0})
    assert rows_about(top, page) == {}
    assert rows_about(kept, other) == before
    assert not TrashBatch.objects.exists()
    told = AuditEvent.objects.get(event="library.purged")
    assert (told.actor_id, told.subject, told.details) == (None, str(desk.space.pk), {"page": str(top.pk), "pages": 2})
    assert all(check.is_ok for check in reconcile(desk.workspace))


def test_zero_days_keep_the_trash(desk, later, monkeypatch):
    monkeypatch.setenv("LIBRARY_TRASH_DAYS", "0")
    top, _page = filled(desk)
    actions.trash_page(desk.wanda, top.pk)
    later(days=9999)
    assert run_now(JOB).progress == {}
    assert "for ever" in client_of(desk.rene).get(url("trash", desk.space.pk)).text
    actions.restore_page(desk.wanda, top.pk)


def test_page_trashed_earlier_below_it_loses_only_its_parent(desk):
    top, page = filled(desk)
    actions.trash_page(desk.wanda, page.pk)
    actions.trash_page(desk.wanda, top.pk)
    actions.purge_page(desk.sven, top.pk)
    run_now(JOB)
    assert not Page.objects.filter(pk=top.pk).exists()
    with pytest.raises(NoAllowedParent):
        actions.restore_page(desk.wanda, page.pk)
    home = desk.folder("Home")
    back = actions.restore_page(desk.wanda, page.pk, parent_page_id=home.pk)
    assert (back.title, back.version) == ("Doomed file", 2)
    assert all(check.is_ok for check in reconcile(desk.workspace))


def test_restored_page_is_not_deleted(desk, later):
    top, page = filled(desk)
    actions.trash_page(desk.wanda, top.pk)
    actions.restore_page(desk.wanda, top.pk)
    later(days=400)
    run_now(JOB)
    assert actions.open_page(desk.rene, page.pk).version == 2
    actions.trash_page(desk.wanda, top.pk)
    later(days=31)
    run_now(JOB)
    assert rows_about(top, page) == {}, "the line of its first stay in the trash goes, too"


def test_page_in_use_below_it_prevents_deletion(desk, later):
    """No act of ours makes this; a tree from elsewhere may have it, and the page in use must keep its place."""
    top, page = filled(desk)
    actions.trash_page(desk.wanda, top.pk)
    Page.objects.filter(pk=page.pk).update(deleted_at=None, trash_batch=None)
    with pytest.raises(Conflict):
        actions.purge_page(desk.olga, top.pk)
    assert actions.empty_trash(desk.olga, desk.space.pk) == 0
    later(days=31)
    assert run_now(JOB).progress == {"removed": 0, "pages": 0, "held": 1}
    assert Page.objects.filter(pk=top.pk).exists()


def test_deletion_waits_for_a_running_migration_and_updates_its_counts(desk):
    space = actions.create_space(desk.olga, desk.workspace.pk, "Old")
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    for number in range(3):
        actions.create_page(desk.olga, space.pk, title=str(number))
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
    job = actions.start_migration(desk.olga, space.pk)
    trashed = Page.objects.filter(space=space, parent_page=None).exclude(pk=job.control.folder_page_id).first()
    actions.trash_page(desk.olga, trashed.pk)
    with pytest.raises(JobConflict):
        actions.purge_page(desk.olga, trashed.pk)
    run_now("library.migrate", {"job_id": str(job.pk)})
    job.refresh_from_db()
    assert (job.total_count, job.success_count, job.failed_count) == (3, 2, 1)
    actions.purge_page(desk.olga, trashed.pk)
    run_now(JOB)
    job.refresh_from_db()
    assert (job.total_count, job.success_count, job.failed_count) == (2, 2, 0)
    assert {check.name: check.is_ok for check in reconcile(desk.workspace)}["job_counts"]


def test_admins_can_delete_immediately(desk):
    top, page = filled(desk)
    actions.trash_page(desk.wanda, top.pk)
    for person, refusal in ((desk.wanda, NotAllowed), (desk.rene, NotAllowed), (desk.xaver, NotFound)):
        with pytest.raises(refusal):
            actions.purge_page(person, top.pk)
    with pytest.raises(NotFound):
        actions.purge_page(desk.sven, page.pk)  # it came with its folder, and goes with it
    client = client_of(desk.sven)
    assert "2 pages will be deleted with their history" in client.get(url("purge", top.pk)).text
    shown = client.post(url("purge", top.pk), follow=True).text
    assert "Doomed was deleted permanently." in shown
    assert "The trash is empty" in shown
    with pytest.raises(NotFound):
        actions.restore_page(desk.olga, top.pk)
    assert client.get(url("page", top.pk)).status_code == 404
    run = JobRun.objects.get(name=JOB)
    assert run.state == State.QUEUED, "a worker removes the rows"
    run_now(JOB)
    assert rows_about(top, page) == {}
    assert AuditEvent.objects.get(event="library.purged").actor_id == desk.sven.pk


def test_purge_continues_although_the_space_was_archived(desk):
    top, page = filled(desk)
    actions.trash_page(desk.wanda, top.pk)
    actions.purge_page(desk.olga, top.pk)
    actions.archive_space(desk.olga, desk.space.pk)
    assert run_now(JOB).progress == {"removed": 1, "pages": 2, "held": 0}
    assert rows_about(top, page) == {}


def test_whole_trash_by_hand(desk):
    for title in ("One", "Two"):
        actions.trash_page(desk.wanda, filled(desk, title)[0].pk)
    page = client_of(desk.sven).get(url("trash", desk.space.pk)).text
    assert "Empty trash" in page
    assert "Empty trash" not in client_of(desk.wanda).get(url("trash", desk.space.pk)).text
    assert "4 pages will be deleted" in client_of(desk.sven).get(url("empty_trash", desk.space.pk)).text
    client_of(desk.sven).post(url("empty_trash", desk.space.pk))
    assert not actions.list_trash(desk.olga, desk.space.pk)
    assert AuditEvent.objects.get(event="library.purged").details == {"items": 2, "pages": 4}
    assert run_now(JOB).progress == {"removed": 2, "pages": 4, "held": 0}


def test_page_says_until_when(desk):
    top, _page = filled(desk)
    with clock.set_to(datetime(2026, 3, 1, 4, tzinfo=UTC)):
        actions.trash_page(desk.wanda, top.pk)
    page = client_of(desk.wanda).get(url("trash", desk.space.pk)).text
    assert "2026-03-31" in page
    assert "deleted permanently after 30 days" in page
    chinese = client_of(desk.wanda).get(url("trash", desk.space.pk), headers={"Accept-Language": "zh-hans"}).text
    assert "保留至" in chinese


def test_piece_costs_the_same_for_two_pages_and_for_two_hundred(desk):
    costs = []
    for count in (2, trash.PIECE - 1):
        top = desk.folder("Top")
        for number in range(count):
            desk.file(str(number), top)
        batch = actions.trash_page(desk.wanda, top.pk)
        with CaptureQueriesContext(connection) as asked:
            assert trash.remove_piece(batch) == count + 1
        costs.append(len(asked))
    # Django deletes the rows themselves a hundred at a time: pages, and their activity entries.
    assert costs[0] <= 45, costs
    assert costs[1] <= costs[0] + 2, costs


def test_many_pages_go_in_pieces(desk, monkeypatch):
    monkeypatch.setattr(trash, "PIECE", 3)
    top = desk.folder("Top")
    for number in range(7):
        desk.file(str(number), top)
    actions.trash_page(desk.wanda, top.pk)
    batch = TrashBatch.objects.get()
    trash.purge(batch)
    assert [trash.remove_piece(batch) for _turn in range(3)] == [3, 3, 2]
    assert not TrashBatch.objects.exists()
    assert not PageVersion.objects.exists()
    assert not ShareLink.objects.exists()


def test_purged_page_leaves_no_words_anywhere(desk, later):
    """Search documents and their internal blocks, activity, outbox and audit log: the words are gone from all."""
    page = desk.file("Xylophonetitle", desk.folder("Home"), "<p>zebrafishword</p>")
    actions.trash_page(desk.wanda, page.pk)
    actions.purge_page(desk.sven, page.pk)
    run_now(JOB)
    for run in JobRun.objects.filter(name="search.compact", state=State.QUEUED):
        run_now(run.name)
    with connection.cursor() as cursor:
        # The index itself cannot be read row by row; its words are in the tables of its blocks.
        for table in set(connection.introspection.table_names()) - {"search_words"}:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            for row in cursor.fetchall():
                words = " ".join(
                    value.decode("utf-8", "ignore") if isinstance(value, bytes) else str(value) for value in row
                ).lower()
                assert "xylophone" not in words, table
                assert "zebrafish" not in words, table
