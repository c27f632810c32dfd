"""The document's twelve tables, read back from the database: columns, types, nulls, comments, constraints."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from watchbook.base import clock
from watchbook.core.jobs import runner
from watchbook.systems.nga.jobs.crawl import has_boards
from watchbook.systems.nga.models import (
    CrawlRun,
    CrawlRunResult,
    Forum,
    Thread,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadTag,
)
from watchbook.systems.nga.models.forum import TagSource
from watchbook.systems.nga.models.runs import AUDIT_TRIGGERS, RUN_TRIGGERS, ErrorCategory, FloorRepair, ThreadRepair
from watchbook.systems.nga.tests.document import INDEXES, TABLES, UNIQUE

pytestmark = pytest.mark.django_db

# Where the document is overruled: an absolute page and a count without limit do not fit into a byte, and numbers of
# boards are signed.
WIDER = {
    ("threads", "truncated_at_page_number"): "smallint unsigned",
    ("crawl_run_threads", "fetched_page_count"): "smallint unsigned",
    ("forums", "source_forum_id"): "bigint",
}
POSTGRES = {
    "bigint unsigned": "bigint",
    "bigint": "bigint",
    "int unsigned": "integer",
    "smallint unsigned": "smallint",
    "tinyint unsigned": "smallint",
    "tinyint(1)": "boolean",
    "mediumtext": "text",
    "datetime": "timestamp without time zone",
    "date": "date",
}
MARIADB = {"datetime": "datetime(6)"}
LENGTHS = re.compile(r"(varchar|char|decimal)\(([\d,]+)\)")

needs_server = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite keeps neither comments nor widths")


def described(table):
    with connection.cursor() as cursor:
        return {column.name: column for column in connection.introspection.get_table_description(cursor, table)}


def constraints(table):
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, table).values()


@pytest.mark.parametrize("table", TABLES)
def test_columns_are_named_as_the_document_names_them_and_null_where_it_says_so(table):
    found = {name: bool(column.null_ok) for name, column in described(table).items()}
    assert found == {name: "NULL" in kind for name, (kind, _) in TABLES[table].columns.items()}
    assert list(found) == list(TABLES[table].columns)


@pytest.mark.parametrize("table", TABLES)
def test_uniqueness_and_indexes(table):
    unique = {tuple(one["columns"]) for one in constraints(table) if one["unique"] or one["primary_key"]}
    indexed = [tuple(one["columns"]) for one in constraints(table) if one["index"] or one["unique"]]
    assert set(UNIQUE.get(table, ())) <= unique
    for wanted in INDEXES.get(table, ()):
        assert any(columns[: len(wanted)] == wanted for columns in indexed), wanted


@needs_server
@pytest.mark.parametrize("table", TABLES)
def test_types_and_widths(table):
    for name, (kind, _) in TABLES[table].columns.items():
        wanted = WIDER.get((table, name), re.sub(r" (PK|FK|NULL|UNIQUE)\b", "", kind))
        assert stored_type(table, name) == portable(wanted), (table, name)


def portable(kind):
    if connection.vendor == "mysql":
        return MARIADB.get(kind, kind)
    if hit := LENGTHS.fullmatch(kind):
        return f"{ {'varchar': 'character varying', 'char': 'character', 'decimal': 'numeric'}[hit[1]] }({hit[2]})"
    return POSTGRES[kind]


def stored_type(table, column):
    mysql = "SELECT column_type FROM information_schema.columns WHERE table_schema=DATABASE()"
    postgres = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid=%s::regclass AND attname=%s"
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute(f"{mysql} AND table_name=%s AND column_name=%s", [table, column])
            # Later servers print no width for whole numbers; tinyint(1) is the truth value.
            kind = cursor.fetchone()[0]
            return kind if kind == "tinyint(1)" else re.sub(r"int\(\d+\)", "int", kind)
        cursor.execute(postgres, [table, column])
        return cursor.fetchone()[0]


@needs_server
@pytest.mark.parametrize("table", TABLES)
def test_comments_are_those_of_the_document(table):
    wanted = {name: comment for name, (_, comment) in TABLES[table].columns.items()}
    assert {name: column.comment for name, column in described(table).items()} == wanted
    with connection.cursor() as cursor:
        listed = {one.name: one.comment for one in connection.introspection.get_table_list(cursor)}
    assert listed[table] == TABLES[table].comment


def test_all_tables_are_there_and_no_board_is_chosen():
    names = {model._meta.db_table for model in apps.get_app_config("nga").get_models()}
    assert set(TABLES) < names
    assert {"thread_search_documents", "media_assets", "post_media_maps"} < names
    # A new installation sends no requests to the forum by itself.
    assert not Forum.objects.exists()
    assert not has_boards(clock.now())


def test_boards_of_the_option_are_crawled(board, crawler, monkeypatch):
    Forum.objects.all().delete()
    monkeypatch.setenv("NGA_FORUMS", "7, -7")
    assert has_boards(clock.now())
    board.world.add_topic("[讨论]一")
    runner.run_now("nga.crawl")
    assert list(Forum.objects.order_by("pk").values_list("source_forum_id", flat=True)) == [7, -7]
    assert Forum.objects.get(source_forum_id=7).list_url.endswith("order_by=postdatedesc")


def test_columns_hold_the_time_of_a_shanghai_clock(board, crawler):
    board.world.set_time("2026-06-08T15:59:59+00:00")
    board.world.add_topic("[讨论]帖")
    crawler.crawl()
    with connection.cursor() as cursor:
        cursor.execute("SELECT thread_created_at, last_reply_at, last_crawled_at FROM threads")
        assert {str(value)[:19] for value in cursor.fetchone()} == {"2026-06-08 23:59:59"}


KNOWN_VALUES = [
    ("ThreadTag", "tag_source"),
    ("CrawlRun", "run_trigger_text"),
    ("CrawlRunResult", "run_kind"),
    ("ThreadFloorAuditRun", "run_trigger_text"),
    ("ThreadFloorAuditThread", "repair_status"),
    ("ThreadFloorAuditThread", "repair_error_category"),
    ("ThreadFloorAuditPost", "repair_status"),
    ("ThreadFloorAuditPost", "repair_error_category"),
]


@pytest.fixture
def one_of_each():
    """A row of each table that has a list of values, with every value that is known."""
    now = clock.now()
    times = {"created_at": now, "updated_at": now}
    forum = Forum.objects.create(source_forum_id=7, list_url="https://example.com/", **times)
    thread = Thread.objects.create(
        forum=forum, source_thread_id=1, title="灯笼", thread_created_at=now, last_reply_at=now, **times
    )
    for source in TagSource.values:
        ThreadTag.objects.create(tag_text="灯笼", tag_source=source, **times)
    for trigger in RUN_TRIGGERS:
        run = CrawlRun.objects.create(
            forum=forum, run_started_at=now, run_trigger_text=trigger, date_window_start=now.date(),
            date_window_end=now.date(), **times,
        )  # fmt: skip
    CrawlRunResult.objects.create(crawl_run=run, run_kind="list", finished_at=now)
    for trigger in AUDIT_TRIGGERS:
        audit = ThreadFloorAuditRun.objects.create(
            run_started_at=now, run_trigger_text=trigger, repair_enabled=True, **times
        )
    for status in ThreadRepair.values:
        row = ThreadFloorAuditThread.objects.create(
            audit_run=audit, thread=thread, source_thread_id=1, max_floor_number=3, post_count=2,
            missing_floor_count=2, repair_status=status, **times,
        )  # fmt: skip
    for number, status in enumerate(FloorRepair.values):
        ThreadFloorAuditPost.objects.create(
            audit_run=audit, audit_thread=row, thread_id=thread.pk, source_thread_id=1, floor_number=number,
            repair_status=status, repair_error_category=[None, *ErrorCategory.values][number], **times,
        )  # fmt: skip


@pytest.mark.parametrize(("name", "column"), KNOWN_VALUES)
def test_database_refuses_a_value_that_the_document_does_not_list(one_of_each, name, column):
    rows = apps.get_model("nga", name).objects.all()
    with pytest.raises(IntegrityError), transaction.atomic():
        rows.filter(pk=rows.values_list("pk", flat=True)[0]).update(**{column: "made_up"})


def test_every_list_of_values_is_in_the_database():
    """A column with choices that has no constraint would be a list that only the program knows."""
    known = {(model, column) for model, column in KNOWN_VALUES}
    found = {
        (model.__name__, field.name)
        for model in apps.get_app_config("nga").get_models()
        for field in model._meta.get_fields()
        if getattr(field, "choices", None)
    }
    assert found <= known, "a list of values without a CHECK constraint"
