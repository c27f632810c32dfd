"""Attributes of documents for the query language. Rows from before get theirs from the job `search.reindex`."""

from __future__ import annotations

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import Max

TEXT = "varchar(200) NOT NULL DEFAULT ''"
COLUMNS = {"author": TEXT, "place": TEXT, "site": TEXT, "score": "bigint NULL"}


def add_columns(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Django would copy the table once for each column on SQLite; this takes no time with millions of rows."""
    # Interrupted on MariaDB, which commits with each statement, the migration runs again.
    guard = "" if editor.connection.vendor == "sqlite" else "IF NOT EXISTS "
    for name, kind in COLUMNS.items():
        editor.execute(f"ALTER TABLE search_documents ADD COLUMN {guard}{name} {kind}")


def drop_columns(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    for name in COLUMNS:
        editor.execute(f"ALTER TABLE search_documents DROP COLUMN {name}")


def begin_reindexing(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    last = apps.get_model("search", "SearchDocument").objects.aggregate(last=Max("pk"))["last"]
    if last:
        apps.get_model("search", "Reindexing").objects.create(done_id=0, last_id=last)


class Migration(migrations.Migration):
    dependencies = [("search", "0002_word_index")]

    operations = [
        migrations.CreateModel(
            name="Reindexing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("done_id", models.BigIntegerField(default=0)),
                ("last_id", models.BigIntegerField()),
            ],
            options={"db_table": "search_reindexing"},
        ),
        migrations.CreateModel(
            name="ScoreChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("document_id", models.BigIntegerField()),
                ("before", models.BigIntegerField(null=True)),
                ("after", models.BigIntegerField()),
                ("changed_at", models.DateTimeField()),
            ],
            options={"db_table": "search_score_changes"},
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_columns, drop_columns)],
            state_operations=[
                *(
                    migrations.AddField(
                        "searchdocument", name, models.CharField(blank=True, default="", max_length=200)
                    )
                    for name in ("author", "place", "site")
                ),
                migrations.AddField(
                    "searchdocument", "score", models.BigIntegerField(blank=True, default=None, null=True)
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="searchdocument",
            index=models.Index(fields=["source", "occurred_at", "id"], name="search_documents_source"),
        ),
        migrations.RunPython(begin_reindexing, migrations.RunPython.noop),
    ]
