"""The word index beside search_documents: one shape per database, as measured. Django knows none of these tables."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

CREATE = {
    "sqlite": [
        # Contentless: the text is in search_documents. The ascii tokenizer keeps every non-ASCII character, also those
        # that are younger than SQLite's own tables, and our tokens come separated by spaces.
        "CREATE VIRTUAL TABLE search_words USING fts5(words, content='', detail=none, columnsize=0, tokenize='ascii')",
    ],
    "postgresql": [
        "CREATE TABLE search_words (document_id bigint PRIMARY KEY, words tsvector NOT NULL)",
        "CREATE INDEX search_words_gin ON search_words USING gin (words)",
    ],
    "mysql": [
        # The list of stop words is bound to an index when it is made; ours has none.
        "SET SESSION innodb_ft_enable_stopword = OFF",
        # Interrupted between making and noting it, the migration runs again.
        "CREATE TABLE IF NOT EXISTS search_words (document_id bigint NOT NULL PRIMARY KEY,"
        " words mediumtext CHARACTER SET ascii COLLATE ascii_bin NOT NULL,"
        " FULLTEXT KEY search_words_fulltext (words)) ENGINE=InnoDB",
        "SET SESSION innodb_ft_enable_stopword = DEFAULT",
    ],
}


def create(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    for statement in CREATE[editor.connection.vendor]:
        editor.execute(statement)


def drop(_apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    editor.execute("DROP TABLE search_words")


class Migration(migrations.Migration):
    dependencies = [("search", "0001_initial")]

    # MariaDB commits with every statement that makes a table; on the others the migration's own transaction holds.
    operations = [migrations.RunPython(create, drop, atomic=False)]
