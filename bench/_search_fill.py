"""Many documents into the search in bulk, without asking for each whether it is known.

The proof that they are those that the product writes is here, too.

Indexes that can be sorted at the end are dropped and built again. On SQLite the word index has no such way: it is
written with a larger buffer, so that fewer small segments are merged.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from bench._search_texts import Corpus, Floors, Tokens, Values

BATCH, BULK = 5000, 100_000
SAMPLE = 2000
COLUMNS = (
    "id, kind, object_id, source, scope, occurred_at, indexed_at, fingerprint, url_path, title, author, place, site,"
    " score, body"
)
# Bytes of the word index that SQLite holds in memory before it writes a segment; its own number is 1 MB.
BUFFER, OWN_BUFFER = 256 << 20, 1 << 20
GIN = "CREATE INDEX search_words_gin ON search_words USING gin (words)"


def fill(corpus: Corpus, count: int, connection: Any) -> float:
    begun = time.monotonic()
    if isinstance(corpus, Floors):
        fill_floors(corpus, count, connection)
    else:
        put(corpus.documents(count), count)
    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE search_documents"
            if connection.vendor == "sqlite"
            else "ANALYZE TABLE search_documents"
            if connection.vendor == "mysql"
            else "VACUUM ANALYZE"
        )
    return time.monotonic() - begun


def put(documents: Iterator[Any], count: int) -> None:
    from django.db import transaction

    from watchbook.core.search import index

    done = 0
    while batch := list(islice(documents, BATCH)):
        with transaction.atomic():
            index.put(batch)
        done += len(batch)
        say(done, count)


def fill_floors(corpus: Floors, count: int, connection: Any) -> None:
    from django.db import transaction

    rows, done = corpus.rows(count), 0
    with without_indexes(connection):
        while batch := list(islice(rows, BULK)):
            with transaction.atomic():
                write(connection, batch)
            done += len(batch)
            say(done, count)
        print(f"indexes at {time.strftime('%H:%M:%S')}", file=sys.stderr, flush=True)


def say(done: int, count: int) -> None:
    if sys.stderr.isatty() or done % 500_000 == 0:
        print(f"{done:,} of {count:,} at {time.strftime('%H:%M:%S')}", file=sys.stderr, flush=True)


def write(connection: Any, batch: Iterable[tuple[Values, Tokens]]) -> None:
    documents, words = zip(*batch, strict=True)
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        driver = connection.connection
        places = ", ".join("?" * len(documents[0]))
        driver.executemany(f"INSERT INTO search_documents ({COLUMNS}) VALUES ({places})", documents)
        spelt = ((number, " ".join(tokens)) for number, tokens in words)
        driver.executemany("INSERT INTO search_words(rowid, words) VALUES (?, ?)", spelt)
        return
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY search_documents ({COLUMNS}) FROM STDIN") as lines:
            for document in documents:
                lines.write_row(document)
        with cursor.copy("COPY search_words (document_id, words) FROM STDIN") as lines:
            for number, tokens in words:
                lines.write_row((number, "'" + "' '".join(tokens) + "'"))


@contextmanager
def without_indexes(connection: Any) -> Iterator[None]:
    from watchbook.core.search.models import SearchDocument as Model

    # SQLite keeps the unique key: it would copy the whole table.
    unique = [] if connection.vendor == "sqlite" else Model._meta.constraints
    settings(connection, is_bulk=True)
    with connection.schema_editor() as editor:
        for index in Model._meta.indexes:
            editor.remove_index(Model, index)
        for constraint in unique:
            editor.remove_constraint(Model, constraint)
        if connection.vendor == "postgresql":
            editor.execute("DROP INDEX search_words_gin")
    yield
    with connection.schema_editor() as editor:
        for constraint in unique:
            editor.add_constraint(Model, constraint)
        for index in Model._meta.indexes:
            editor.add_index(Model, index)
        if connection.vendor == "postgresql":
            editor.execute(GIN)
    settings(connection, is_bulk=False)


def settings(connection: Any, *, is_bulk: bool) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # A database that is thrown away needs no safe writes.
            cursor.execute("PRAGMA synchronous = OFF")
            cursor.execute(f"PRAGMA cache_size = {-1_000_000 if is_bulk else -64_000}")
            size = BUFFER if is_bulk else OWN_BUFFER
            cursor.execute("INSERT INTO search_words(search_words, rank) VALUES ('hashsize', %s)", [size])
        else:
            cursor.execute("SET synchronous_commit = off")
            cursor.execute(f"SET maintenance_work_mem = '{'1500MB' if is_bulk else '64MB'}'")


def prove(corpus: Floors, connection: Any) -> int:
    """The first posts, written by the product and in bulk: the same rows and words. Returns how many were compared."""
    from django.db import transaction

    from watchbook.core.search import index

    stored, drawn = [], corpus.random.getstate()
    for is_bulk in (False, True):
        with transaction.atomic():
            if is_bulk:
                write(connection, corpus.rows(SAMPLE))
            else:
                index.put(corpus.documents(SAMPLE))
            stored.append(everything(connection))
            transaction.set_rollback(True)
        corpus.made = 0
        corpus.random.setstate(drawn)
    if stored[0] != stored[1]:
        raise SystemExit("What is written in bulk is not what the product writes.")
    return len(stored[0])


def everything(connection: Any) -> dict[str, tuple[Any, ...]]:
    """Every document by its name: what the table holds (not ids, digests and times of indexing), and its words."""
    from watchbook.core.search.models import SearchDocument

    columns = [name.strip() for name in COLUMNS.split(",") if name.strip() not in ("indexed_at", "fingerprint")]
    words = words_of(connection)
    return {row[2]: (*row[1:], words[row[0]]) for row in SearchDocument.objects.values_list(*columns)}


def words_of(connection: Any) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = {}
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("CREATE VIRTUAL TABLE temp.kept_words USING fts5vocab(main, search_words, instance)")
            cursor.execute("SELECT doc, term FROM kept_words")
        else:
            cursor.execute("SELECT document_id, unnest(tsvector_to_array(words)) FROM search_words")
        for number, term in cursor.fetchall():
            found.setdefault(number, set()).add(term)
        if connection.vendor == "sqlite":
            cursor.execute("DROP TABLE temp.kept_words")
    return {number: frozenset(terms) for number, terms in found.items()}
