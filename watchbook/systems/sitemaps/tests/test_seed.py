"""The tables are those of the data model they were built from: every column, width, index and state, stated here.

Where the product was decided to differ it is said beside the line: users sign in through Django, so two attributes have
its names and the document's columns; uniqueness among live monitors is over a digest that a deletion empties; there are
more types of channels; a change is logged once per channel.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, models
from django.utils.choices import CallableChoiceIterator

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import (
    ChangeRecord,
    MonitorTask,
    MonitorTaskChannel,
    NotificationLog,
    SitemapSnapshot,
    Status,
    url_digest,
)
from watchbook.systems.sitemaps.store import check
from watchbook.systems.sitemaps.tests.builders import START, make_monitor

TABLES: dict[str, type[models.Model]] = {
    "users": User,
    "monitor_tasks": MonitorTask,
    "sitemap_snapshots": SitemapSnapshot,
    "change_records": ChangeRecord,
    "notification_channels": NotificationChannel,
    "monitor_task_channels": MonitorTaskChannel,
    "notification_logs": NotificationLog,
}

# column: type, what it leads to or how wide it is, is NULL allowed, default
COLUMNS = [
    "users.id UUID pk",
    "users.email VARCHAR(255) unique",
    "users.password_hash VARCHAR(255)",
    "users.is_active BOOLEAN =True",
    "users.is_verified BOOLEAN =False",
    "users.has_completed_onboarding BOOLEAN =False",
    "users.created_at TIMESTAMP",
    "users.updated_at TIMESTAMP",
    "users.last_login_at TIMESTAMP null",
    "monitor_tasks.id UUID pk",
    "monitor_tasks.user_id UUID->users",
    "monitor_tasks.name VARCHAR(255)",
    "monitor_tasks.sitemap_url VARCHAR(2048)",
    "monitor_tasks.check_interval_minutes INTEGER =60",
    "monitor_tasks.status ENUM(active,paused,error)",
    "monitor_tasks.last_check_at TIMESTAMP null",
    "monitor_tasks.last_error TEXT null",
    "monitor_tasks.error_count INTEGER =0",
    "monitor_tasks.created_at TIMESTAMP",
    "monitor_tasks.updated_at TIMESTAMP",
    "sitemap_snapshots.id UUID pk",
    "sitemap_snapshots.monitor_task_id UUID->monitor_tasks",
    "sitemap_snapshots.url_count INTEGER",
    "sitemap_snapshots.url_hash VARCHAR(64)",
    "sitemap_snapshots.urls JSON",
    "sitemap_snapshots.fetch_duration_ms INTEGER",
    "sitemap_snapshots.parse_duration_ms INTEGER",
    "sitemap_snapshots.created_at TIMESTAMP",
    "change_records.id UUID pk",
    "change_records.monitor_task_id UUID->monitor_tasks",
    "change_records.old_snapshot_id UUID->sitemap_snapshots null",
    "change_records.new_snapshot_id UUID->sitemap_snapshots",
    "change_records.change_type ENUM(initial,no_change,changed)",
    "change_records.added_count INTEGER =0",
    "change_records.removed_count INTEGER =0",
    "change_records.modified_count INTEGER =0",
    "change_records.changes JSON",
    "change_records.created_at TIMESTAMP",
    "notification_channels.id UUID pk",
    "notification_channels.user_id UUID->users",
    "notification_channels.name VARCHAR(255)",
    "notification_channels.channel_type VARCHAR(20)",
    "notification_channels.config JSON",
    "notification_channels.is_active BOOLEAN =True",
    "notification_channels.last_test_at TIMESTAMP null",
    "notification_channels.last_test_success BOOLEAN null",
    "notification_channels.created_at TIMESTAMP",
    "notification_channels.updated_at TIMESTAMP",
    "monitor_task_channels.monitor_task_id UUID->monitor_tasks pk",
    "monitor_task_channels.channel_id UUID->notification_channels pk",
    "monitor_task_channels.created_at TIMESTAMP",
    "notification_logs.id UUID pk",
    "notification_logs.channel_id UUID->notification_channels",
    "notification_logs.change_record_id UUID->change_records",
    "notification_logs.status ENUM(pending,sent,failed)",
    "notification_logs.error_message TEXT null",
    "notification_logs.sent_at TIMESTAMP",
    "notification_logs.response_code INTEGER null",
    "notification_logs.retry_count INTEGER =0",
]

# name: table, columns, the rows it covers
INDEXES: dict[str, tuple[str, list[str], models.Q | None]] = {
    "idx_user_email": ("users", ["email"], None),
    "idx_monitor_user": ("monitor_tasks", ["user_id"], None),
    "idx_monitor_status": ("monitor_tasks", ["status"], None),
    "idx_monitor_next_check": ("monitor_tasks", ["status", "last_check_at"], models.Q(status="active")),
    "idx_snapshot_monitor": ("sitemap_snapshots", ["monitor_task_id"], None),
    "idx_snapshot_created": ("sitemap_snapshots", ["created_at"], None),
    "idx_change_monitor": ("change_records", ["monitor_task_id"], None),
    "idx_change_created": ("change_records", ["created_at"], None),
    "idx_change_type": ("change_records", ["change_type"], models.Q(change_type="changed")),
    "idx_channel_user": ("notification_channels", ["user_id"], None),
    "idx_notification_channel": ("notification_logs", ["channel_id"], None),
    "idx_notification_change": ("notification_logs", ["change_record_id"], None),
    "idx_notification_status": ("notification_logs", ["status"], None),
}

TYPES: dict[type[models.Field[Any, Any]], str] = {
    models.UUIDField: "UUID",
    models.BooleanField: "BOOLEAN",
    models.IntegerField: "INTEGER",
    models.DateTimeField: "TIMESTAMP",
    models.TextField: "TEXT",
    models.JSONField: "JSON",
    models.EmailField: "VARCHAR(255)",
}


def type_of(field: Any) -> str:
    if isinstance(field, models.ForeignKey):
        return f"{type_of(field.target_field)}->{field.related_model._meta.db_table}"
    if type(field) is models.CharField:
        return (
            f"ENUM({','.join(value for value, _ in field.choices)})"
            if field.choices and not isinstance(field.choices, CallableChoiceIterator)
            else f"VARCHAR({field.max_length})"
        )
    assert not isinstance(field, models.EmailField) or field.max_length == 255
    return TYPES[type(field)]


def described(table: str, field: Any) -> str:
    keys = [one.column for one in TABLES[table]._meta.pk_fields]
    words = [f"{table}.{field.column}", type_of(field)]
    words += ["pk"] if field.column in keys else ["unique"] if field.unique else []
    words += ["null"] if field.null else []
    if type(field) in (models.BooleanField, models.IntegerField) and field.has_default() and not field.null:
        words.append(f"={field.get_default()}")
    return " ".join(words)


def field_of(column: str) -> tuple[str, Any]:
    table, _, name = column.partition(".")
    return table, next((one for one in TABLES[table]._meta.concrete_fields if one.column == name), None)


@pytest.mark.parametrize("line", COLUMNS)
def test_column_is_as_the_data_model_has_it(line):
    table, field = field_of(line.split()[0])
    assert TABLES[table]._meta.db_table == table
    assert field is not None, "no such column"
    assert described(table, field) == line


def test_channel_types_of_the_data_model_are_among_the_kinds():
    assert {"email", "webhook"} <= {
        name for name, _label in NotificationChannel._meta.get_field("channel_type").choices
    }


@pytest.mark.parametrize("name", INDEXES)
def test_index_covers_what_the_data_model_says(name):
    table, columns, condition = INDEXES[name]
    model = TABLES[table]
    index = next(one for one in model._meta.indexes if one.name == name)
    assert [model._meta.get_field(field).column for field in index.fields] == columns
    assert index.condition == condition


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES)
def test_database_has_the_columns_and_indexes_too(table):
    with connection.cursor() as cursor:
        there = {one.name: one for one in connection.introspection.get_table_description(cursor, table)}
        made = connection.introspection.get_constraints(cursor, table)
    wanted = [line.split() for line in COLUMNS if line.startswith(f"{table}.")]
    for column, *words in wanted:
        assert there[column.partition(".")[2]].null_ok == ("null" in words), column
    partly = connection.features.supports_partial_indexes  # without them Django makes no such index at all
    names = {name for name, (of, _, rows) in INDEXES.items() if of == table and (partly or rows is None)}
    assert names <= set(made)


def test_keys_and_what_is_unique_beside_them():
    assert [one.column for one in MonitorTaskChannel._meta.pk_fields] == ["monitor_task_id", "channel_id"]
    unique = {
        (one.name, tuple(one.fields))
        for model in TABLES.values()
        for one in model._meta.constraints
        if isinstance(one, models.UniqueConstraint)
    }
    assert unique == {
        ("monitor_once_per_user", ("user", "live_url_digest")),
        ("notification_once", ("channel", "change_record")),
    }


def test_what_is_deleted_with_what():
    """An account takes everything with it; a snapshot that is forgotten leaves its later records alone."""
    leaves_null = {("change_records", "old_snapshot_id"), ("monitor_tasks", "current_snapshot_id")}
    for table, model in TABLES.items():
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey):
                kept = (table, field.column) in leaves_null
                assert field.remote_field.on_delete is (models.SET_NULL if kept else models.CASCADE), field


@pytest.mark.django_db
def test_duplicate_monitor_is_refused_until_deleted(alice, bob):
    url = "https://www.example.com/sitemap.xml"
    monitor = make_monitor(alice, sitemap_url=url)
    with pytest.raises(InvalidInput):
        actions.preview(alice, url)
    assert make_monitor(bob, sitemap_url=url).live_url_digest == url_digest(url)
    actions.delete(monitor)
    make_monitor(alice, sitemap_url=url)
    assert MonitorTask.objects.filter(user=alice).count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize(("minutes", "is_allowed"), [(14, False), (15, True), (1440, True), (1441, False)])
def test_interval_is_15_to_1440_minutes(alice, minutes, is_allowed):
    monitor = make_monitor(alice)
    if is_allowed:
        assert actions.change_monitor(monitor, {"check_interval_minutes": minutes}).check_interval_minutes == minutes
        return
    with pytest.raises(InvalidInput):
        actions.change_monitor(monitor, {"check_interval_minutes": minutes})
    check = next(one for one in MonitorTask._meta.constraints if one.name == "monitor_interval_range")
    assert not check.condition.check({"check_interval_minutes": minutes})


def fail(monitor):
    check.fail(monitor, "failing", "Not now.", START, asked_pause=None)


def fail_three_times(monitor):
    for _ in range(3):
        fail(monitor)


def succeed(monitor):
    check.succeed(monitor, "ok", START)


# A monitor in error also comes back by itself when a check succeeds, and may be paused: decided later.
STEPS = [
    ("active", actions.pause, "paused"),
    ("active", fail, "active"),
    ("active", fail_three_times, "error"),
    ("active", succeed, "active"),
    ("active", actions.check_now, "active"),
    ("paused", actions.resume, "active"),
    ("paused", actions.retry, "active"),
    ("error", actions.retry, "active"),
    ("error", actions.resume, "active"),
    ("error", fail, "error"),
    ("error", succeed, "active"),
    ("error", actions.pause, "paused"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("before", "step", "after"), STEPS)
def test_states_of_a_monitor(alice, before, step, after):
    with clock.set_to(START):
        monitor = make_monitor(alice, status=before, error_count=3 if before == Status.ERROR else 0)
        step(monitor)
    assert monitor.status == after


@pytest.mark.django_db
def test_new_monitor_is_active_and_new_address_ends_error(site, watch):
    site.add("/a")
    w = watch()
    assert w.monitor.status == Status.ACTIVE
    fail_three_times(w.monitor)
    w.monitor.save()
    site.split(2)
    actions.change_monitor(w.monitor, {"sitemap_url": site.address("/sitemap.xml?again")})
    assert (w.monitor.status, w.monitor.error_count) == (Status.ACTIVE, 0)


@pytest.mark.django_db
def test_paused_monitor_is_not_checked_by_hand(alice):
    monitor = make_monitor(alice, status=Status.PAUSED)
    with pytest.raises(InvalidInput):
        actions.check_now(monitor)
    assert monitor.status == Status.PAUSED
