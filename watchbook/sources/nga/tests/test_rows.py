"""Rows written in plain SQL read as if Django had written them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.sources.nga.models import Forum, Post, Thread
from watchbook.sources.nga.store import rows

pytestmark = pytest.mark.django_db
MOMENT = datetime(2026, 6, 1, 0, 30, 0, 123456, tzinfo=UTC)


@pytest.fixture
def thread():
    forum = Forum.objects.create(source_forum_id=99, list_url="")
    return Thread.objects.create(
        forum=forum, source_thread_id=1, title="帖", author_name="甲", thread_created_at=MOMENT, last_reply_at=MOMENT
    )


def floor(thread, number, **more):
    return Post(
        thread_id=thread.pk, source_post_id=number, floor_number=number, author_name="乙 %s '", post_created_at=MOMENT,
        content_html=f"第{number}条 100% 😂", content_fingerprint_sha256="f" * 64, created_at=MOMENT, updated_at=MOMENT,
        **more,
    )  # fmt: skip


def stored(number):
    values = Post.objects.values().get(floor_number=number)
    return {name: value for name, value in values.items() if name not in ("id", "floor_number", "source_post_id")}


def test_inserted_rows_equal_those_that_django_saved(thread):
    marks = {"is_deleted_by_source": True, "author_source_user_id": 2**40, "content_last_changed_at": MOMENT}
    floor(thread, 1, **marks).save()
    rows.insert([floor(thread, 2, **marks), floor(thread, 3)])
    assert stored(2) == stored(1) | {"content_html": "第2条 100% 😂"}
    assert stored(3)["content_last_changed_at"] is None
    assert stored(3)["is_deleted_by_source"] is False


def test_any_number_of_rows_is_written_in_batches(thread):
    with CaptureQueriesContext(connection) as captured:
        rows.insert([floor(thread, number) for number in range(2 * rows.BATCH + 1)])
    assert Post.objects.count() == 2 * rows.BATCH + 1
    assert len(captured) == 3


def test_an_update_writes_the_named_fields_of_each_row_and_no_others(thread):
    rows.insert([floor(thread, number) for number in (1, 2)])
    found = list(Post.objects.order_by("floor_number"))
    for post in found:
        post.content_html, post.content_last_changed_at, post.author_name = f"改{post.floor_number}", MOMENT, "不写"
    rows.update(found, ["content_html", "content_last_changed_at"])
    for number in (1, 2):
        assert stored(number)["content_html"] == f"改{number}"
        assert stored(number)["content_last_changed_at"] == MOMENT
        assert stored(number)["author_name"] == "乙 %s '"


def test_nothing_to_write_asks_nothing(django_assert_num_queries):
    with django_assert_num_queries(0):
        rows.insert([])
        rows.update([], ["content_html"])
