"""ON DELETE CASCADE of the seed's DDL in the database itself, for programs that delete rows without Django."""

from django.db import migrations

# table: {column: referenced table}
CASCADES = {
    "page_node_meta": {"page_id": "pages", "workspace_id": "workspaces", "space_id": "spaces"},
    "workspace_release_channel": {"workspace_id": "workspaces"},
}


def _foreign_key(editor, table, column):
    with editor.connection.cursor() as cursor:
        found = editor.connection.introspection.get_constraints(cursor, table)
    return next(name for name, one in found.items() if one["foreign_key"] and one["columns"] == [column])


def _on_servers(editor):
    is_postgres = editor.connection.vendor == "postgresql"
    drop = "DROP CONSTRAINT" if is_postgres else "DROP FOREIGN KEY"
    deferred = " DEFERRABLE INITIALLY DEFERRED" if is_postgres else ""
    quote = editor.quote_name
    for table, columns in CASCADES.items():
        for column, target in columns.items():
            name = quote(_foreign_key(editor, table, column))
            editor.execute(f"ALTER TABLE {quote(table)} {drop} {name}")
            editor.execute(
                f"ALTER TABLE {quote(table)} ADD CONSTRAINT {name} FOREIGN KEY ({quote(column)})"
                f" REFERENCES {quote(target)} ({quote('id')}) ON DELETE CASCADE{deferred}"
            )


def _on_sqlite(editor):
    """The rows stay as they are: only the text of the schema changes, as SQLite's documentation describes."""
    with editor.connection.cursor() as cursor:
        version = cursor.execute("PRAGMA schema_version").fetchone()[0]
        cursor.execute("PRAGMA writable_schema = ON")
        for table, columns in CASCADES.items():
            for target in columns.values():
                old = f'REFERENCES "{target}" ("id") DEFERRABLE'
                new = f'REFERENCES "{target}" ("id") ON DELETE CASCADE DEFERRABLE'
                cursor.execute(
                    "UPDATE sqlite_master SET sql = replace(sql, %s, %s) WHERE type = 'table' AND name = %s",
                    [old, new, table],
                )
        cursor.execute(f"PRAGMA schema_version = {version + 1}")
        cursor.execute("PRAGMA writable_schema = RESET")


def add_cascades(apps, editor):
    if editor.connection.vendor == "sqlite":
        _on_sqlite(editor)
    else:
        _on_servers(editor)


class Migration(migrations.Migration):
    dependencies = [("library", "0003_role_labels")]
    # Not atomic by itself: MariaDB changes no table inside a transaction. The others run the whole migration in one.
    operations = [migrations.RunPython(add_cascades, migrations.RunPython.noop, atomic=False)]
