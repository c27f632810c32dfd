"""Fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from django.utils import translation

from watchbook.base import clock, env
from watchbook.base.testing import environment, migrated, servers

WITHOUT_WORDS = "INSERT INTO search_words(search_words) VALUES ('delete-all')"
WRITTEN_BY_MIGRATE = ("django_content_type", "auth_permission")


def pytest_configure() -> None:
    # The real hasher with fewer rounds: a test that makes a user must not wait a second for it.
    from django.contrib.auth.hashers import BCryptSHA256PasswordHasher

    BCryptSHA256PasswordHasher.rounds = 4
    _list_static_files_once()
    _empty_only_filled_tables()
    servers.know_that_invalid_names_have_no_address()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Keep tests of an `xdist_group` in one process: xdist 3.8 writes the group where pytest 9.2 no longer reads."""
    for item in items:
        if hasattr(item, "_id") and "_nodeid" in vars(item):
            item._id = type(item._id).parse(item._nodeid)


def _list_static_files_once() -> None:
    """Keep WhiteNoise's list of files for the process: a server starts once, but each test client loads it again."""
    from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]

    listed: dict[str, Any] = {}
    read_folders = WhiteNoiseMiddleware.add_files_from_finders

    def add_files(middleware: Any) -> None:
        if not listed:
            read_folders(middleware)
            listed.update(middleware.files)
        middleware.files.update(listed)

    WhiteNoiseMiddleware.add_files_from_finders = add_files


def _empty_only_filled_tables() -> None:
    """After a test that commits: delete from the few tables that have rows; content types and permissions stay.

    Django deletes these two as well and then writes them again row by row, which takes longer than the test. On
    PostgreSQL a TRUNCATE of all tables is slow.
    """
    flush: Any = import_module("django.core.management.commands.flush")
    whole, write_again = flush.sql_flush, flush.emit_post_migrate_signal

    def statements(style: Any, connection: Any, *, reset_sequences: bool = True, **given: Any) -> list[str]:
        if reset_sequences:
            return [*whole(style, connection, reset_sequences=reset_sequences, **given), *_without_words(connection)]
        deletions = [f"DELETE FROM {connection.ops.quote_name(name)}" for name in _filled_tables(connection)]  # noqa: S608
        if connection.vendor == "mysql":
            return ["SET FOREIGN_KEY_CHECKS = 0", *deletions, "SET FOREIGN_KEY_CHECKS = 1"]
        return [*deletions, *_without_words(connection)]

    def write_missing(verbosity: int, interactive: bool, database: str, **given: Any) -> None:
        with connections[database].cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM auth_permission")
            if cursor.fetchone() == (0,):
                write_again(verbosity, interactive, database, **given)

    flush.sql_flush, flush.emit_post_migrate_signal = statements, write_missing


def _filled_tables(connection: Any) -> list[str]:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    nothing = " FROM DUAL" if connection.vendor == "mysql" else ""
    asked = (
        f"SELECT '{name}'{nothing} WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(name)})"  # noqa: S608 - of models
        for name in tables
        if name not in WRITTEN_BY_MIGRATE
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(asked))
        return [name for (name,) in cursor.fetchall()]


def _without_words(connection: Any) -> list[str]:
    # No model has the word index, so Django leaves it: the next test would find words of this one in the file.
    has_words = connection.vendor == "sqlite" and "search_words" in connection.introspection.table_names()
    return [WITHOUT_WORDS] if has_words else []


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """Begin with a copy of a migrated database. Django looks for missing migrations and finds none."""
    if connection.vendor == "sqlite":
        migrated.copy_to(Path(str(connection.settings_dict["TEST"]["NAME"])))
        yield
        return
    creation: Any = connection.creation
    url = servers.beside(os.environ["DATABASE_URL"], creation._get_test_db_name())
    migrated.copy_to_server(url)
    yield
    servers.drop(url)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """The copy is there already, and goes with the folder of this run or with the fixture above."""
    return True


@pytest.fixture(autouse=True)
def language_is_put_back() -> Iterator[None]:
    """A test that switched the language leaves the next one as it would be alone."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def stored_settings_are_put_back() -> Iterator[None]:
    """A test that stored settings leaves the next one as it would be alone, the host of the test client included."""
    hosts = settings.ALLOWED_HOSTS
    yield
    env.use_stored({})
    settings.ALLOWED_HOSTS = hosts


@pytest.fixture
def noon() -> Iterator[datetime]:
    """The clock held at a made-up noon."""
    moment = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
    with clock.set_to(moment):
        yield moment


@pytest.fixture(scope="session")
def files_that_commit(request: pytest.FixtureRequest) -> frozenset[Path]:
    """The files with a test that commits: it would commit rows that the module shares."""
    return frozenset(item.path for item in request.session.items if environment.commits(item))


SharedRows = Callable[[], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def shared_rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[SharedRows]:
    """Rows that all tests of a module share: written once, each test in a savepoint above them.

        @pytest.fixture(scope="module")
        def shop(shared_rows: SharedRows) -> Shop:
            with shared_rows():
                return Shop.objects.create(...)

    A test that uses such a fixture also needs `db` (its savepoint) and may not be transactional: it would commit the
    shared rows as well.
    """

    @contextmanager
    def allowed() -> Iterator[None]:
        with django_db_blocker.unblock():
            yield

    outer = transaction.atomic()
    outer._from_testcase = True  # type: ignore[attr-defined]  # as Django marks the transaction of a test
    with django_db_blocker.unblock():
        outer.__enter__()
    yield allowed
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        outer.__exit__(None, None, None)
