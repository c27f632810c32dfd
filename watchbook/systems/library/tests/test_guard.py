"""Every way of writing, on a deployment of the other channel and without the table: 423, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from django.apps import apps
from django.db import connection

from watchbook.base.testing.people import client_of
from watchbook.core.jobs.models import State
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.cli import group
from watchbook.systems.library.errors import OtherChannel
from watchbook.systems.library.models import WorkspaceReleaseChannel
from watchbook.systems.library.store.reconcile import backfill
from watchbook.systems.library.tests.walk import BASE, calls, make_world

pytestmark = pytest.mark.django_db(transaction=True)

ELSEWHERE = ("search_documents", "stream_entries", "audit_events")
READING = {
    "ImportPlan", "list_attachments", "open_attachment", "open_shared", "thumbnail",
    "from_markdown", "is_watching", "link_targets", "list_suggestions", "list_threads", "people_of", "titled",
    "short_name", "skip_reason",
    "Imported", "export_page", "open_import", "Links", "links_of", "list_backlinks", "unlinked_mentions",
    "breadcrumb", "check_workspace", "clips_folder", "compare_versions", "export_space", "find_person",
    "last_reconciliation", "list_children", "list_favourites", "list_items", "list_migrations", "list_shares",
    "list_trash", "list_versions", "member_person", "open_migration", "open_page", "open_share",
    "SourceState", "compare_source", "source_state",
    "Restriction", "grantable", "is_template", "list_tags", "list_templates", "properties_of", "recent_pages",
    "restriction_of", "tag_for", "tagged_pages", "tags_of",
    "open_trashed", "open_version", "plan_migration", "see_clip", "system_name", "version_before",
}  # fmt: skip


def dump(*more: str) -> dict[str, list]:
    """Every row of the library and of what it tells the house."""
    tables = [model._meta.db_table for model in apps.get_app_config("library").get_models()]
    found = {}
    with connection.cursor() as cursor:
        for table in [*tables, *ELSEWHERE, *more]:
            if table in connection.introspection.table_names(cursor):
                cursor.execute(f"SELECT * FROM {table}")
                found[table] = sorted(map(repr, cursor.fetchall()))
    return found


@contextmanager
def other_channel(monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("RELEASE_CHANNEL", "staging")
    yield
    monkeypatch.delenv("RELEASE_CHANNEL")


@contextmanager
def no_table(monkeypatch) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workspace_release_channel RENAME TO hidden_away")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE hidden_away RENAME TO workspace_release_channel")


@contextmanager
def no_row(monkeypatch) -> Iterator[None]:
    WorkspaceReleaseChannel.objects.all().delete()
    yield


TROUBLES = {"other channel": other_channel, "no table": no_table, "no row": no_row}


@pytest.fixture
def world(desk, clips):
    return make_world(desk)


@pytest.fixture(params=TROUBLES)
def trouble(request, monkeypatch):
    return lambda: TROUBLES[request.param](monkeypatch)


def is_refused_everywhere(call) -> bool:
    # A workspace that is made belongs to its maker's channel; it is refused only where there is no table.
    return call.method != "get" and call.route != "/workspaces"


def test_every_writing_route(world, trouble):
    client = client_of(world.desk.olga)
    before = None
    wrong = []
    with trouble():
        before = dump()
        for call in filter(is_refused_everywhere, calls(world)):
            answer = call.make(client)
            if answer.status_code != 423 or answer.json()["error"]["code"] != "wrong_release_channel":
                wrong.append(f"{call.method} {call.route}: {answer.status_code}")
        assert dump() == before
    assert not wrong, "\n".join(wrong)


def test_no_workspace_is_created_while_the_release_channel_is_unknown(world, monkeypatch):
    with no_table(monkeypatch):
        before = dump()
        answer = client_of(world.desk.olga).post(f"{BASE}/workspaces", {"name": "x"}, content_type="application/json")
        assert answer.status_code == 423
        assert dump() == before


def test_reading_stays_possible(world, monkeypatch):
    client = client_of(world.desk.olga)
    with other_channel(monkeypatch):
        for call in calls(world):
            if call.method == "get":
                assert call.make(client).status_code == 200, call.route
        plan = client.post(
            f"{BASE}/spaces/{world.desk.space.pk}/migrations", {"dry_run": True}, content_type="application/json"
        )
        assert plan.status_code == 200


def writing_actions(world) -> dict:
    desk, ws, space, page = world.desk, world.desk.workspace.pk, world.desk.space.pk, world.page.pk
    olga, rene = desk.olga, desk.rene
    return {
        "accept_suggestion": lambda: actions.accept_suggestion(olga, world.suggestion.pk),
        "add_comment": lambda: actions.add_comment(olga, page, words="x"),
        "be_here": lambda: actions.be_here(olga, page),
        "reject_suggestion": lambda: actions.reject_suggestion(olga, world.suggestion.pk),
        "reply_to": lambda: actions.reply_to(olga, world.thread.pk, words="x"),
        "resolve_thread": lambda: actions.resolve_thread(olga, world.thread.pk),
        "set_watch": lambda: actions.set_watch(olga, page, watched=True),
        "suggest_edit": lambda: actions.suggest_edit(rene, page, version=1, title="T", content="<p>x</p>"),
        "archive_space": lambda: actions.archive_space(olga, world.aside.space.pk),
        "archive_workspace": lambda: actions.archive_workspace(olga, world.aside.workspace.pk),
        "bulk_move": lambda: actions.bulk_move(olga, [page], parent_page_id=world.home.pk),
        "bulk_trash": lambda: actions.bulk_trash(olga, [page]),
        "cancel_migration": lambda: actions.cancel_migration(olga, world.active.pk),
        "clip": lambda: actions.clip(olga, kind="library_test", object_id="1", space_id=space),
        "convert_markdown": lambda: actions.convert_markdown(olga, page, "x"),
        "create_page": lambda: actions.create_page(olga, space, title="x", node_type="folder"),
        "create_space": lambda: actions.create_space(olga, ws, "x"),
        "delete_space": lambda: actions.delete_space(olga, world.aside.space.pk, name="Shelf"),
        "delete_workspace": lambda: actions.delete_workspace(olga, world.aside.workspace.pk, name="Aside"),
        "duplicate_page": lambda: actions.duplicate_page(olga, page),
        "empty_trash": lambda: actions.empty_trash(olga, space),
        "invite_member": lambda: actions.invite_member(olga, ws, email="new@example.com", role="member"),
        "import_file": lambda: actions.import_file(olga, space, None, "x.zip"),
        "plan_import": lambda: actions.plan_import(olga, space, None, "x.zip"),
        "remove_attachment": lambda: actions.remove_attachment(olga, world.file.pk),
        "undo_import": lambda: actions.undo_import(olga, world.brought.pk),
        "upload": lambda: actions.upload(olga, page, [b"x"], "x.txt"),
        "move_page": lambda: actions.move_page(olga, page, parent_page_id=world.home.pk),
        "pause_migration": lambda: actions.pause_migration(olga, world.active.pk),
        "pin_page": lambda: actions.pin_page(olga, page, pinned=True),
        "purge_page": lambda: actions.purge_page(olga, world.trashed.pk),
        "remove_member": lambda: actions.remove_member(olga, ws, person=rene),
        "remove_space_member": lambda: actions.remove_space_member(olga, space, person=rene),
        "rename_space": lambda: actions.rename_space(olga, space, "x"),
        "rename_workspace": lambda: actions.rename_workspace(olga, ws, "x"),
        "purge_space": lambda: actions.purge_space(olga, world.aside.deleted.pk, name="Deleted"),
        "purge_workspace": lambda: actions.purge_workspace(olga, world.aside.gone.pk, name="Gone"),
        "restore_page": lambda: actions.restore_page(olga, world.trashed.pk),
        "restore_space": lambda: actions.restore_space(olga, world.aside.deleted.pk),
        "restore_workspace": lambda: actions.restore_workspace(olga, world.aside.gone.pk),
        "restore_version": lambda: actions.restore_version(olga, page, 1),
        "resume_migration": lambda: actions.resume_migration(olga, world.active.pk),
        "retry_migration": lambda: actions.retry_migration(olga, world.over.pk),
        "revoke_share": lambda: actions.revoke_share(olga, world.link.pk),
        "rollback_migration": lambda: actions.rollback_migration(olga, world.over.pk),
        "save_page": lambda: actions.save_page(olga, page, version=2, content="<p>x</p>"),
        "set_favourite": lambda: actions.set_favourite(olga, page, kept=True),
        "set_flags": lambda: actions.set_flags(olga, ws, {"folders_enabled": True}),
        "set_member": lambda: actions.set_member(olga, ws, person=rene, role="admin"),
        "set_release_channel": lambda: actions.set_release_channel(olga, ws, "prod"),
        "set_space_member": lambda: actions.set_space_member(olga, space, person=rene, role="writer"),
        "share_page": lambda: actions.share_page(olga, page),
        "start_migration": lambda: actions.start_migration(olga, world.empty.pk),
        "store_reconciliation": lambda: actions.store_reconciliation(olga, ws),
        "trash_page": lambda: actions.trash_page(olga, page),
        "read_source": lambda: actions.read_source(olga, world.saved.pk),
        "save_address": lambda: actions.save_address(olga, "https://example.org/tide/1", space_id=space),
        "update_clip": lambda: actions.update_clip(olga, world.saved.pk),
        "merge_tags": lambda: actions.merge_tags(olga, world.tag.pk, world.other_tag.pk),
        "order_favourites": lambda: actions.order_favourites(olga, [page]),
        "rename_tag": lambda: actions.rename_tag(olga, world.tag.pk, "x"),
        "restrict_page": lambda: actions.restrict_page(olga, page, user_ids=[], group_ids=[]),
        "set_approved_only": lambda: actions.set_approved_only(olga, space, on=True),
        "set_properties": lambda: actions.set_properties(olga, page, {"status": "approved"}),
        "set_tags": lambda: actions.set_tags(olga, page, ["x"]),
        "set_template": lambda: actions.set_template(olga, page, on=True),
        "unrestrict_page": lambda: actions.unrestrict_page(olga, page),
    }


def test_every_writing_action(world, trouble):
    acts = writing_actions(world)
    # An invitation changes nothing here until it is accepted, and that is refused like any other write.
    assert set(acts) | READING | {"create_workspace"} == set(actions.__all__)
    with trouble():
        before = dump("job_runs")
        for name, act in acts.items():
            with pytest.raises(OtherChannel):
                act()
                pytest.fail(f"{name} was not refused")
        assert dump("job_runs") == before


def test_every_job(world, trouble, later):
    """The run goes back to the queue, for a worker of the deployment that owns the workspace."""
    page = world.desk.file("Typed", world.home)
    for version in (1, 2):
        actions.save_page(world.desk.wanda, page.pk, version=version, content=f"<p>{version}</p>", autosave=True)
    with trouble():
        before = dump()
        for name, job in (("library.migrate", world.active), ("library.rollback", world.over)):
            run = run_now(name, {"job_id": str(job.pk)})
            assert run.state == State.QUEUED, run.error
            assert "release channel" in run.error
        later(days=400)
        for name in ("library.empty_trash", "library.forget_steps"):
            assert run_now(name).state == State.DONE, "it leaves them to the deployment that owns them"
        assert dump() == before


def test_every_writing_command(world, trouble, tmp_path):
    (tmp_path / "page.md").write_text("words")
    ws, space = str(world.desk.workspace.pk), str(world.desk.space.pk)
    commands = [
        ["migrate-root", str(world.empty.pk)],
        ["rollback", str(world.over.pk)],
        ["reconcile", ws],
        ["clear-meta", ws],
        ["set-channel", ws, "staging"],
        ["import", str(tmp_path), space],
    ]
    with trouble():
        before = dump()
        for command in commands:
            result = CliRunner().invoke(group, [*command, "--json"])
            assert result.exit_code == 1, (command, result.output)
            assert "wrong_release_channel" in result.output
        assert dump() == before


def test_backfill_leaves_what_another_deployment_owns(world, monkeypatch):
    with other_channel(monkeypatch):
        before = dump()
        assert backfill().skipped_workspaces == 3
        assert dump() == before
    with no_table(monkeypatch):
        with pytest.raises(OtherChannel):
            backfill()
    WorkspaceReleaseChannel.objects.all().delete()
    with other_channel(monkeypatch):
        assert backfill().channels == 0, "old workspaces belong to prod; staging does not take them"
    assert backfill().channels == 3


def test_only_the_owning_deployment_hands_a_workspace_over(desk, monkeypatch):
    actions.set_release_channel(desk.olga, desk.workspace.pk, "staging")
    with pytest.raises(OtherChannel):
        desk.folder("Not any more")
    with pytest.raises(OtherChannel):
        actions.set_release_channel(desk.olga, desk.workspace.pk, "prod")
    with other_channel(monkeypatch):
        desk.folder("Here instead")
        actions.set_release_channel(desk.olga, desk.workspace.pk, "prod")
    desk.folder("Back again")
