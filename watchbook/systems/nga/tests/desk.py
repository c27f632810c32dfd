"""Topics, floors, versions, runs and audits as rows: what the tests of the pages begin with. All of it is made up."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from hashlib import sha256

import pytest
from django.test import Client
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.systems.nga.models import (
    CrawlRun,
    CrawlRunResult,
    CrawlRunThread,
    Forum,
    MediaAsset,
    Post,
    PostAbsence,
    PostMediaMap,
    PostRevision,
    Thread,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadFloorRepairAttempt,
    ThreadPageReading,
    ThreadTag,
    ThreadTagMap,
)
from watchbook.systems.nga.store.media import digest, media_file
from watchbook.systems.nga.store.publish import index_threads

# One pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63640000000600023081d02f0000000049454e44ae426082"
)
START = datetime(2026, 3, 2, 12, 0, tzinfo=SHANGHAI)
MOST_QUERIES = 19
FIRST_TID = 40_000_001


def board(fid=7):
    return Forum.objects.get_or_create(
        source_forum_id=fid, defaults={"forum_name": f"Board {fid}", "list_url": "https://forum.example/"}
    )[0]


def make_thread(number=0, *, at=None, title=None, prefix=None, forum=None, tags=(), **values):
    at = at or START - timedelta(hours=number + 1)
    given = {
        "author_name": "青岚听雨",
        "author_source_user_id": 1001,
        "last_reply_at": at + timedelta(minutes=30),
        "last_crawled_at": START,
        "created_at": at,
        **values,
    }
    name = title or f"港口灯塔巡检路线 {number}"
    thread = Thread.objects.create(
        forum=forum or board(),
        source_thread_id=FIRST_TID + number,
        title=f"[{prefix}]{name}" if prefix else name,
        title_prefix_text=prefix,
        thread_created_at=at,
        **given,
    )
    for text in (*tags, *([prefix] if prefix else [])):
        tag, _ = ThreadTag.objects.get_or_create(tag_text=text, tag_source="title_prefix")
        ThreadTagMap.objects.create(thread=thread, tag=tag, first_attached_at=at)
    return thread


def post_of(thread, number, html=None, **values):
    text = html if html is not None else f"第 {number} 楼的文字。"
    given = {
        "author_name": "青岚听雨" if number == 0 else f"路人{number % 7}",
        "author_source_user_id": 1001 if number == 0 else 2000 + number % 7,
        "post_created_at": thread.thread_created_at + timedelta(seconds=number),
        **values,
    }
    return Post(
        thread=thread,
        source_post_id=number and 900_000_000 + thread.pk * 100_000 + number,
        floor_number=number,
        content_html=text,
        content_fingerprint_sha256=sha256(text.encode()).hexdigest(),
        **given,
    )


def fill(thread, numbers, **values):
    """Store these floors, and move the topic's cursor and counts with them."""
    numbers = list(numbers)
    Post.objects.bulk_create([post_of(thread, number, **values) for number in numbers], batch_size=500)
    thread.crawl_cursor_max_floor_number = max(numbers)
    thread.reply_count_display = max(numbers)
    thread.save(update_fields=["crawl_cursor_max_floor_number", "reply_count_display"])
    return thread


def edit(post, old_html, *, at=START, edited_at=None, reason="content_fingerprint_changed", run_thread=None):
    """What the floor said before."""
    if reason.startswith("content"):
        post.content_last_changed_at = at
        post.save(update_fields=["content_last_changed_at"])
    return PostRevision.objects.create(
        post=post,
        revision_created_at=at,
        source_edited_at=edited_at,
        content_html=old_html,
        content_fingerprint_sha256=sha256(old_html.encode()).hexdigest(),
        change_detected_reason=reason,
        crawl_run_thread_id=run_thread.pk if run_thread else None,
    )


def delete(post, *, at=START):
    post.is_deleted_by_source = True
    post.save(update_fields=["is_deleted_by_source"])
    edit(post, post.content_html, at=at, reason="marked_deleted_by_source")
    earlier = at - timedelta(hours=12)
    PostAbsence.objects.create(post=post, reading_count=2, crawl_run_id=1, first_absent_at=earlier, last_absent_at=at)


def make_run(at=START, *, forum=None, **values):
    given = {
        "run_finished_at": at + timedelta(minutes=2),
        "run_trigger_text": "schedule_12h",
        "date_window_start": date(2026, 2, 28),
        "date_window_end": date(2026, 3, 2),
        "thread_scanned_count": 41,
        "thread_change_detected_count": 3,
        "thread_updated_count": 2,
        "http_request_count": 12,
        **values,
    }
    run = CrawlRun.objects.create(forum=forum or board(), run_started_at=at, **given)
    if run.run_finished_at:
        CrawlRunResult.objects.create(
            crawl_run=run, run_kind="list", is_list_complete=True, finished_at=run.run_finished_at
        )
    return run


def read(run, thread, **values):
    given = {"fetched_page_count": 1, "new_post_count": 5, "finished_at": run.run_finished_at, **values}
    return CrawlRunThread.objects.create(
        crawl_run=run, thread=thread, change_detected_by_last_reply_at=True, started_at=run.run_started_at, **given
    )


def read_page(thread, number=1, *, at=START):
    """A page that was last read whole then."""
    return ThreadPageReading.objects.create(
        thread=thread, page_number=number, read_at=at, quiet_since=at, next_reread_at=at + timedelta(hours=6)
    )  # fmt: skip


def keep_old_picture(post, url, body=PNG):
    """A picture that was stored before core.media; returns its name."""
    name = sha256(body).hexdigest()
    file = media_file(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)
    asset, _ = MediaAsset.objects.get_or_create(
        content_sha256=name, defaults={"media_format_text": "png", "byte_count": len(body), "created_at": START}
    )
    PostMediaMap.objects.create(
        post=post, source_url=url, source_url_sha256=digest(url), media_asset=asset, created_at=START
    )  # fmt: skip
    return name


def make_audit(thread, missing, *, at=START, status="missing", **values):
    """An audit in which one topic lacks these floors."""
    given = {"run_finished_at": at, "run_trigger_text": "cron", "repair_enabled": False, **values}
    run = ThreadFloorAuditRun.objects.create(
        run_started_at=at, total_thread_count=Thread.objects.count(), missing_thread_count=1, **given
    )
    row = ThreadFloorAuditThread.objects.create(
        audit_run=run, thread=thread, source_thread_id=thread.source_thread_id,
        max_floor_number=thread.crawl_cursor_max_floor_number, post_count=thread.posts.count(),
        missing_floor_count=len(missing), repair_status=status,
    )  # fmt: skip
    ThreadFloorAuditPost.objects.bulk_create(
        ThreadFloorAuditPost(
            audit_run=run, audit_thread=row, thread_id=thread.pk, source_thread_id=thread.source_thread_id,
            floor_number=number, attempt_count_before=1,
        )
        for number in missing
    )  # fmt: skip
    return run


def tried(thread, number, attempts, at=START):
    return ThreadFloorRepairAttempt.objects.create(
        thread_id=thread.pk, source_thread_id=thread.source_thread_id, floor_number=number, attempt_count=attempts,
        last_attempted_at=at,
    )  # fmt: skip


def index(thread, text=""):
    index_threads([thread], START, opening_html=text)


def browser(person=None, language="en"):
    client = Client(headers={"Accept-Language": language})
    if person is not None:
        client.force_login(person)
    return client


def get(client, name, *args, **query):
    return client.get(reverse(f"nga:{name}", args=args), query)


@pytest.fixture
def desk(db):
    """A topic of 45 floors with an edited floor, a deleted one and a gap; its run; an audit that found the gap."""
    thread = fill(make_thread(prefix="攻略", title="港口灯塔巡检路线"), [n for n in range(45) if n not in (43, 44)])
    fill(thread, [45])
    run = make_run()
    row = read(run, thread)
    edited = thread.posts.get(floor_number=42)
    edit(edited, "第 42 楼原来的文字。", run_thread=row, edited_at=START - timedelta(minutes=10))
    delete(thread.posts.get(floor_number=41))
    make_audit(thread, [43, 44])
    tried(thread, 43, 2)
    tried(thread, 44, 3)
    index(thread, "灯塔每天巡检一次，押金先交。")
    with clock.set_to(START + timedelta(hours=1)):
        yield thread
