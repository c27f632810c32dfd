"""Rows written and read in plain SQL are what Django would have written and read."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from watchbook.base.store.fields import wall_text, wall_time
from watchbook.base.store.rows import MOST_VALUES, Columns
from watchbook.core.stream.entries import ROWS
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.nga.models import Forum, Post, PostRevision, Thread
from watchbook.systems.nga.store.versions import KEPT, NEW_FLOOR, REVISION, THREAD, NewFloor, lock_thread

pytestmark = pytest.mark.django_db
MOMENT = datetime(2026, 6, 1, 0, 30, 0, 123456, tzinfo=UTC)


@pytest.fixture
def thread():
    forum = Forum.objects.create(source_forum_id=99, list_url="")
    return Thread.objects.create(
        forum=forum, source_thread_id=1, title="帖", author_name="甲", thread_created_at=MOMENT, last_reply_at=MOMENT,
        is_pinned=True,
    )  # fmt: skip


def floor(thread, number, **more):
    given = NewFloor(
        thread_id=thread.pk, source_post_id=number, floor_number=number, author_name="乙 %s '",
        author_source_user_id=None, post_created_at=MOMENT, content_html=f"第{number}条 100% 😂",
        content_fingerprint_sha256="f" * 64, is_deleted_by_source=False, is_folded_by_source=False,
        content_last_changed_at=None, created_at=MOMENT, updated_at=MOMENT,
    )  # fmt: skip
    return given._replace(**more)


def stored(number):
    values = Post.objects.values().get(floor_number=number)
    return {name: value for name, value in values.items() if name not in ("id", "floor_number", "source_post_id")}


def test_inserted_rows_equal_those_that_django_saved(thread):
    marks = {"is_deleted_by_source": True, "author_source_user_id": 2**40, "content_last_changed_at": MOMENT}
    Post(**floor(thread, 1, **marks)._asdict()).save()
    NEW_FLOOR.insert([floor(thread, 2, **marks), floor(thread, 3)])
    assert stored(2) == stored(1) | {"content_html": "第2条 100% 😂"}
    assert stored(3)["content_last_changed_at"] is None
    assert stored(3)["is_deleted_by_source"] is False


def test_times_of_one_column_may_differ_from_row_to_row(thread):
    later = MOMENT.replace(hour=5)
    moments = {1: MOMENT, 2: later, 3: None, 4: later, 5: MOMENT}
    NEW_FLOOR.insert([floor(thread, number, content_last_changed_at=at) for number, at in moments.items()])
    assert dict(Post.objects.values_list("floor_number", "content_last_changed_at")) == moments


def test_any_number_of_rows_is_written_in_batches(thread):
    count = 2 * (MOST_VALUES // len(NewFloor._fields)) + 1
    with CaptureQueriesContext(connection) as captured:
        NEW_FLOOR.insert([floor(thread, number) for number in range(count)])
    assert Post.objects.count() == count
    assert len(captured) == (1 if connection.vendor == "sqlite" else 3)


def test_row_that_is_there_is_passed_over_only_when_asked():
    def entry(title):
        return ("nga", "edited", "members", "", "1", "", MOMENT, MOMENT, title, "", "", {"数": [1, "%s"]})

    ROWS.insert([entry("first"), entry("second")], pass_over=True)
    ROWS.insert([entry("third")], pass_over=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        ROWS.insert([entry("fourth")])
    assert StreamEntry.objects.values_list("title", "data").get() == ("first", {"数": [1, "%s"]})


def test_update_writes_the_named_fields_of_each_row_and_no_others(thread):
    NEW_FLOOR.insert([floor(thread, number) for number in (1, 2)])
    keys = dict(Post.objects.values_list("floor_number", "pk"))
    columns = Columns(Post, ["content_html", "content_last_changed_at"])
    columns.update([(f"改{number}", MOMENT, key) for number, key in keys.items()])
    for number in (1, 2):
        assert stored(number)["content_html"] == f"改{number}"
        assert stored(number)["content_last_changed_at"] == MOMENT
        assert stored(number)["author_name"] == "乙 %s '"


def test_topic_reads_as_django_reads_it(thread):
    held, usual = lock_thread(thread.pk), Thread.objects.get(pk=thread.pk)
    found = {name: (type(getattr(held, name)), getattr(held, name)) for name in THREAD.names}
    assert found == {name: (type(getattr(usual, name)), getattr(usual, name)) for name in THREAD.names}
    with pytest.raises(Thread.DoesNotExist):
        lock_thread(thread.pk + 1)


def test_query_listener_makes_no_difference(thread):
    """SQLite is spoken to directly while nobody does."""
    NEW_FLOOR.insert([floor(thread, 1, content_html="%s %% 100%")])
    with CaptureQueriesContext(connection) as captured:
        NEW_FLOOR.insert([floor(thread, 2, content_html="%s %% 100%")])
        heard = Columns(Post, ["floor_number", "content_html"]).select("content_html LIKE '%%100%%'", [])
    assert len(captured) == 2
    assert stored(1) == stored(2)
    assert heard == Columns(Post, ["floor_number", "content_html"]).select("content_html LIKE '%%100%%'", [])
    assert [number for number, _ in heard] == [1, 2]


def test_broken_transaction_takes_nothing_more(thread):
    NEW_FLOOR.insert([floor(thread, 1)])
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            NEW_FLOOR.insert([floor(thread, 1)])
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            NEW_FLOOR.insert([floor(thread, 2)])


def test_copies_take_their_fields_from_the_other_row(thread):
    NEW_FLOOR.insert([floor(thread, number) for number in (1, 2)])
    keys = dict(Post.objects.values_list("floor_number", "pk"))
    rows = [(keys[number], MOMENT, moment, "x", None, keys[number]) for number, moment in ((1, None), (2, MOMENT))]
    REVISION.insert_copies(Post, KEPT, rows)
    kept = PostRevision.objects.order_by("post__floor_number").values_list(
        "post_id", "content_html", "content_fingerprint_sha256", "revision_created_at", "source_edited_at"
    )
    assert list(kept) == [
        (keys[1], "第1条 100% 😂", "f" * 64, MOMENT, None),
        (keys[2], "第2条 100% 😂", "f" * 64, MOMENT, MOMENT),
    ]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "Asia/Singapore", "America/New_York", "Asia/Kathmandu"])
@pytest.mark.parametrize("year", [1970, 1988, 1991, 1992, 2026])
def test_wall_time_is_spelt_the_same_from_any_zone(zone, year):
    for month in range(1, 13):
        moment = datetime(year, month, 1, 3, 4, 5, 6, tzinfo=ZoneInfo(zone))
        wall = moment.astimezone(ZoneInfo("Asia/Shanghai"))
        assert wall_text(moment) == f"{wall:%Y-%m-%d %H:%M:%S.%f}"
        assert wall_time(moment) == wall.replace(tzinfo=None)


def test_nothing_to_write_asks_nothing(django_assert_num_queries):
    with django_assert_num_queries(0):
        NEW_FLOOR.insert([])
        NEW_FLOOR.update([])
        REVISION.insert_copies(Post, KEPT, [])
