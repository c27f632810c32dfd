"""An upgrade replaces values that nobody knows, and says which and how many."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from watchbook.core.accounts.models import AuditEvent
from watchbook.systems.nga.models import Forum, Thread, ThreadTag, ThreadTagMap

pytestmark = pytest.mark.django_db
migration = import_module("watchbook.systems.nga.migrations.0011_known_values")


@pytest.fixture
def without_checks() -> Iterator[None]:
    """The constraint that the migration adds is here already."""
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite can leave its checks out for a moment")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        yield
        cursor.execute("PRAGMA ignore_check_constraints = OFF")


def test_replaced_values_are_counted_in_both_logs(
    without_checks: None, caplog: pytest.LogCaptureFixture, noon: datetime
) -> None:
    forum = Forum.objects.create(source_forum_id=7, list_url="https://forum.example")
    thread = Thread.objects.create(forum=forum, source_thread_id=1, title="A lantern", thread_created_at=noon)
    for text, source in [("old", "topic_tag"), ("old", "by hand"), ("new", "by hand"), ("far", "elsewhere")]:
        tag = ThreadTag.objects.create(tag_text=text, tag_source=source)
        ThreadTagMap.objects.create(thread=thread, tag=tag, first_attached_at=noon)
    migration.replace_unknown_values(apps, connection.schema_editor())
    assert set(thread.tag_maps.values_list("tag__tag_text", "tag__tag_source")) == {
        ("old", "topic_tag"), ("new", "topic_tag"), ("far", "topic_tag"),
    }  # fmt: skip
    rows = AuditEvent.objects.filter(event="migration.replaced").order_by("pk")
    assert [(row.subject, row.details) for row in rows] == [
        ("thread_tags.tag_source", {"value": "by hand", "replaced_by": "topic_tag", "rows": 2}),
        ("thread_tags.tag_source", {"value": "elsewhere", "replaced_by": "topic_tag", "rows": 1}),
    ]
    assert "thread_tags.tag_source: 'by hand' is not a known value; 2 rows have 'topic_tag' now" in caplog.text


def test_upgrade_of_known_values_says_nothing() -> None:
    migration.replace_unknown_values(apps, connection.schema_editor())
    assert not AuditEvent.objects.exists()
