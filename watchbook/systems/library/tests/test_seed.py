"""The seed's four tables as the database has them; `pages` knows no folder."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from watchbook.systems.library.models import (
    FolderMigrationJob,
    JobStatus,
    PageNodeMeta,
    WorkspaceReleaseChannel,
)

pytestmark = pytest.mark.django_db

# name: (columns that may be NULL, columns that may not, primary key, references)
TABLES = {
    "page_node_meta": (
        {"pinned_at"},
        {"page_id", "workspace_id", "space_id", "node_type", "is_pinned", "created_at", "updated_at"},
        ["page_id"],
        {"page_id": "pages", "workspace_id": "workspaces", "space_id": "spaces"},
    ),
    "workspace_release_channel": (
        {"updated_by"},
        {"workspace_id", "release_channel", "updated_at"},
        ["workspace_id"],
        {"workspace_id": "workspaces", "updated_by": "users"},
    ),
    "folder_migration_jobs": (
        {"created_by"},
        {"id", "workspace_id", "space_id", "status", "total_count", "success_count", "failed_count", "created_at",
         "updated_at"},
        ["id"],
        {"workspace_id": "workspaces", "space_id": "spaces", "created_by": "users"},
    ),
    "folder_migration_job_items": (
        {"old_parent_page_id", "new_parent_page_id", "error_code"},
        {"job_id", "page_id", "status", "updated_at"},
        ["job_id", "page_id"],
        {"job_id": "folder_migration_jobs", "page_id": "pages"},
    ),
}  # fmt: skip
WIDTHS = {
    ("page_node_meta", "node_type"): 16,
    ("workspace_release_channel", "release_channel"): 16,
    ("folder_migration_jobs", "status"): 16,
    ("folder_migration_job_items", "status"): 16,
    ("folder_migration_job_items", "error_code"): 64,
}


def look(table: str):
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, table)
        constraints = connection.introspection.get_constraints(cursor, table)
        keys = connection.introspection.get_relations(cursor, table)
    return columns, constraints, keys


@pytest.mark.parametrize("table", TABLES)
def test_columns_keys_and_references(table):
    nullable, needed, primary, references = TABLES[table]
    columns, constraints, keys = look(table)
    assert {column.name for column in columns if column.null_ok} == nullable
    assert {column.name for column in columns if not column.null_ok} == needed
    assert [c["columns"] for c in constraints.values() if c["primary_key"]] == [primary]
    assert {name: target for name, (_column, target, *_more) in keys.items()} == references
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT column_name, character_maximum_length FROM information_schema.columns WHERE table_name = %s"
                " AND character_maximum_length IS NOT NULL",
                [table],
            )
            assert dict(cursor.fetchall()) == {name: n for (place, name), n in WIDTHS.items() if place == table}


def test_indexes():
    _columns, constraints, _keys = look("page_node_meta")
    assert constraints["idx_page_node_meta_space_pin"]["columns"] == ["space_id", "is_pinned", "pinned_at"]
    if connection.vendor != "mysql":  # it reads the order back as NULL
        assert constraints["idx_page_node_meta_space_pin"]["orders"] == ["ASC", "ASC", "DESC"]
    assert constraints["idx_page_node_meta_workspace_type"]["columns"] == ["workspace_id", "node_type"]
    _columns, constraints, _keys = look("folder_migration_jobs")
    assert ["workspace_id", "status"] in [c["columns"] for c in constraints.values() if c["index"]]


def test_defaults_are_the_databases_own(desk):
    """The seed's defaults hold for whoever writes the tables, not only for this program."""
    page = desk.folder("Home")
    PageNodeMeta.objects.filter(page=page).delete()
    WorkspaceReleaseChannel.objects.all().delete()

    def prep(value):
        return PageNodeMeta._meta.pk.get_db_prep_value(value, connection)

    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO page_node_meta (page_id, workspace_id, space_id) VALUES (%s, %s, %s)",
            [prep(page.pk), prep(desk.workspace.pk), prep(desk.space.pk)],
        )
        cursor.execute("INSERT INTO workspace_release_channel (workspace_id) VALUES (%s)", [prep(desk.workspace.pk)])
    meta, channel = PageNodeMeta.objects.get(), WorkspaceReleaseChannel.objects.get()
    assert (meta.node_type, meta.is_pinned, meta.pinned_at) == ("file", False, None)
    assert meta.created_at
    assert meta.updated_at
    assert (channel.release_channel, channel.updated_by) == ("prod", None)


def test_checks_refuse_what_is_not_named(desk):
    page = desk.folder("Home")
    job = FolderMigrationJob.objects.create(workspace=desk.workspace, space=desk.space, status="pending")
    for rows, column in (
        (PageNodeMeta.objects.filter(page=page), "node_type"),
        (WorkspaceReleaseChannel.objects.all(), "release_channel"),
        (FolderMigrationJob.objects.filter(pk=job.pk), "status"),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**{column: "other"})
    assert set(JobStatus.values) == {"pending", "running", "success", "failed", "rolled_back", "canceled"}
    for status in JobStatus.values:
        FolderMigrationJob.objects.filter(pk=job.pk).update(status=status)


def test_pages_know_nothing_of_folders():
    columns, _constraints, _keys = look("pages")
    names = {column.name for column in columns}
    assert "parent_page_id" in names
    assert not [name for name in names if "folder" in name or "node" in name or "pin" in name or "type" in name]


@pytest.mark.parametrize("gone", ["pages", "spaces", "workspaces"])
def test_database_deletes_meta_rows_with_their_page_space_and_workspace(desk, gone):
    """The seed's ON DELETE CASCADE, for programs that delete rows without Django."""
    page = desk.folder("Home")
    assert (PageNodeMeta.objects.count(), WorkspaceReleaseChannel.objects.count()) == (1, 1)
    keys = {"pages": page.pk, "spaces": desk.space.pk, "workspaces": desk.workspace.pk}
    key = PageNodeMeta._meta.pk.get_db_prep_value(keys[gone], connection)
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            pytest.skip("MariaDB checks the other tables of the page, which the seed does not name, row by row")
        cursor.execute(f"DELETE FROM {gone} WHERE id = %s", [key])
    assert PageNodeMeta.objects.count() == 0
    assert WorkspaceReleaseChannel.objects.count() == (0 if gone == "workspaces" else 1)
    transaction.set_rollback(True)


def test_every_cascade_of_the_seed_is_in_the_database():
    expected = {
        ("page_node_meta", "page_id"), ("page_node_meta", "workspace_id"), ("page_node_meta", "space_id"),
        ("workspace_release_channel", "workspace_id"),
    }  # fmt: skip
    found = set()
    with connection.cursor() as cursor:
        for table in {table for table, _column in expected}:
            if connection.vendor == "sqlite":
                cursor.execute(f"PRAGMA foreign_key_list({table})")
                found |= {(table, row[3]) for row in cursor.fetchall() if row[6] == "CASCADE"}
                continue
            cursor.execute(
                "SELECT k.column_name FROM information_schema.referential_constraints r"
                " JOIN information_schema.key_column_usage k ON k.constraint_name = r.constraint_name"
                " AND k.constraint_schema = r.constraint_schema WHERE r.delete_rule = 'CASCADE' AND k.table_name = %s",
                [table],
            )
            found |= {(table, row[0]) for row in cursor.fetchall()}
    assert found == expected
