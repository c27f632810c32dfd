"""Random weeks of a board: whatever happens, the archive is what the ledger says, and costs no more than it must."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from standins.nga_board import NgaBoard, Topic
from watchbook.base import clock
from watchbook.base.testing.environment import examples
from watchbook.core.jobs import runner
from watchbook.core.jobs.models import JobRun
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.nga import fetch
from watchbook.systems.nga.models import CrawlRun, Post, PostAbsence, Thread, ThreadFloorAuditRun, ThreadTag
from watchbook.systems.nga.store import lists as list_store
from watchbook.systems.nga.store import posts as post_store
from watchbook.systems.nga.tests.archive import Crawler, differences, point_at

REFUSALS = ("找不到主题", "帖子被设为隐藏", "帖子正等待审核", "帐号权限不足", "帖子发布或回复时间超过限制")
KINDS = [
    "topic", "topic", "reply", "reply", "reply", "replies", "edit", "edit", "remove", "restore", "delete", "blank",
    "fold", "rename", "pin", "note", "note", "move", "mirror", "refuse", "allow", "long", "reverse", "misplace",
    "punish", "deny", "recommend", "empty", "empty",
]  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 999), st.integers(0, 999)), max_size=9)
FAULTS = st.sampled_from(
    ["none"] * 9 + ["outage", "burst", "long_burst", "cut", "cut_all", "block", "busy", "crash", "crash", "crash"]
)
HOURS = st.sampled_from([3, 12, 12, 12, 30])
HISTORIES = st.lists(st.tuples(STEPS, FAULTS, HOURS, st.integers(1, 25)), min_size=2, max_size=4)
CRASH_PLACES = (post_store, list_store, fetch, runner)


class Killed(BaseException):
    """The process died here: nothing handles it, and what was not committed is gone."""


def live(board: NgaBoard, steps: list[tuple[str, int, int]]) -> set[int]:
    """Gives the posts that are not shown any more."""
    for kind, first, second in steps:
        board.world.advance(minutes=7)
        topics = list(board.world.topics.values())
        if kind in ("topic", "deny") or not topics:
            board.world.deny() if kind == "deny" else board.world.add_topic(f"[讨论]第{first}帖", f"正文{second}")
            continue
        happen(board, kind, topics[first % len(topics)], second)
    posts = (post for topic in board.world.topics.values() for post in topic.posts.values())
    return {post.pid for post in posts if post.is_absent}


def happen(board: NgaBoard, kind: str, topic: Topic, number: int) -> None:
    world, tid = board.world, topic.tid
    replies = [post for post in topic.posts.values() if post.lou and post.parent is None]
    post = replies[number % len(replies)] if replies else None
    if kind in ("reply", "replies"):
        for turn in range(1 if kind == "reply" else 23):
            world.reply(tid, f"回复{number}-{turn}", anonymous=number % 7 == 0)
    elif kind == "rename":
        world.rename(tid, f"[求助][{number % 3}]新题{number}")
    elif kind == "pin":
        world.mark(tid, pinned=number % 2 == 0)
    elif kind == "recommend":
        world.mark(tid, recommended=number % 2 == 0, digest=number % 3 == 0)
    elif kind == "move":
        world.move(tid, -7 if number % 2 else 7)
    elif kind == "mirror" and number % 3 == 0:
        world.mirror(tid, f"[镜像]{number}")
    elif kind == "refuse":
        world.refuse(tid, REFUSALS[number % len(REFUSALS)])
    elif kind == "allow":
        world.refuse(tid, "")
    elif kind == "long" and topic.total < 30:
        world.fill(tid, 130)
    elif kind == "reverse" and topic.total < 60:
        world.mark(tid, reversed=True)
    elif kind == "misplace":
        world.misplace(tid, number % 60 - 30)
    elif kind == "edit":
        world.edit(tid, post.pid if post and number % 3 else 0, f"改{number}")
    elif kind == "empty":
        # Its author took the text away, nobody else did: an edit like any other.
        world.edit(tid, post.pid if post and number % 3 else 0, "")
    elif post is not None:
        touch(board, kind, tid, post.pid, number)


def touch(board: NgaBoard, kind: str, tid: int, pid: int, number: int) -> None:
    world = board.world
    if kind == "note":
        world.note(tid, pid if number % 2 else 0, f"贴条{number}")
    elif kind in ("delete", "blank"):
        world.delete(tid, pid, blank=kind == "blank")
    elif kind in ("remove", "restore", "fold", "punish"):
        getattr(world, kind)(tid, pid)


@contextmanager
def failure(board: NgaBoard, fault: str, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ExitStack() as stack:
        rules = {
            "outage": board.outage,
            "burst": lambda: board.burst(2),
            "long_burst": lambda: board.burst(number + 3, status=503),
            "cut": lambda: board.cut_json(forms=("11",)),
            "cut_all": lambda: board.cut_json(forms=("8", "11")),
            "block": lambda: board.block_form("11"),
            "busy": lambda: board.busy(number),
        }
        if fault in rules:
            stack.enter_context(rules[fault]())
        if fault == "crash":
            die_at(number, monkeypatch)
        yield
    for place in CRASH_PLACES:
        monkeypatch.setattr(place, "crash_point", lambda name: None)


def die_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the so-many-th of all places where a crash is to be survived, whichever that is."""
    visits = iter(range(1, 10_000))

    def crash_point(name: str) -> None:
        if next(visits) == number:
            raise Killed(name)

    for place in CRASH_PLACES:
        monkeypatch.setattr(place, "crash_point", crash_point)


def run(crawler: Crawler, hours: float, *, is_disturbed: bool) -> None:
    board = crawler.board
    board.world.advance(hours=hours)
    plan, before = crawler.plan, board.log.count()
    try:
        figures = crawler.crawl()
    except Killed:
        after_a_crash(board)
        return
    asked = board.log.count() - before
    assert figures["http_request_count"] == asked == CrawlRun.objects.latest("pk").http_request_count
    if not is_disturbed:
        assert asked <= plan.requests
        assert "error" not in figures
    assert differences(board) == {}


def after_a_crash(board: NgaBoard) -> None:
    # Two minutes later by the database's clock.
    JobRun.objects.filter(state="running").update(lease_until=clock.now() - timedelta(days=9999))
    # Answers on their way at that moment were given out, but nothing was learnt from them.
    served = [one.number for one in board.given() if one.kind == "topic" and one.run == board.run]
    for lost in range(3):
        if not differences(board):
            return
        board.faults.met |= set(served[len(served) - lost - 1 :])
    assert differences(board) == {}


def settle(crawler: Crawler) -> None:
    """Undisturbed runs until nothing is owed, then one that must find nothing to do."""
    for _ in range(4):
        run(crawler, 1, is_disturbed=False)
        if not Thread.objects.unfinished().exists():
            break
    written = set(Post.objects.values_list("pk", "updated_at"))
    before = crawler.board.log.count()
    refused = {tid for tid, topic in crawler.board.world.topics.items() if topic.refusal}
    owing = {one.source_thread_id for one in Thread.objects.unfinished()}
    assert owing <= refused
    crawler.crawl(after=0.1)
    paths = [request.path for request in crawler.board.log.all()[before:]]
    assert paths.count("/read.php") == len(owing)
    assert set(Post.objects.values_list("pk", "updated_at")) == written


def check_places(board: NgaBoard) -> None:
    archive = board.expected_archive()
    gaps = 0
    for thread in Thread.objects.all():
        floors = archive.get(thread.source_thread_id, {})
        assert thread.crawl_cursor_max_floor_number == max(floors, default=None)
        assert thread.crawl_cursor_max_source_post_id == max((one.now.pid for one in floors.values()), default=None)
        gaps += len(floors) != max(floors, default=-1) + 1
    with clock.set_to(board.world.moment):
        figures = Crawler(board).audit()
    assert (figures["total_thread_count"], figures["missing_thread_count"]) == (Thread.objects.count(), gaps)


def check_nothing_is_missing(board: NgaBoard, ever_removed: set[int]) -> None:
    """The ledger knows what was given out; this is about what should have been asked for."""
    for topic in board.world.topics.values():
        is_young = board.world.now - topic.posted_at < 48 * 3600
        if topic.fid != 7 or not topic.is_listed or topic.refusal or not is_young:
            continue
        present = {post.lou for post in map(topic.floor, range(topic.total)) if post.pid not in ever_removed}
        stored = Post.objects.filter(thread__source_thread_id=topic.tid).values_list("floor_number", flat=True)
        assert present <= set(stored), topic.tid


def check_list_fields(board: NgaBoard) -> None:
    """Topics that the last run's list showed under their own number."""
    for thread in Thread.objects.all():
        topic = board.world.topics[thread.source_thread_id]
        mirrored = any(row.real_tid == topic.tid for row in board.world.other_rows)
        if topic.fid != 7 or not topic.is_listed or mirrored or board.world.now - topic.posted_at > 24 * 3600:
            continue
        assert thread.title == topic.title
        assert (thread.reply_count_display, thread.is_pinned) == (topic.replies, topic.is_pinned)
        assert thread.last_reply_at is not None
        assert int(thread.last_reply_at.timestamp()) == topic.last_post_at


def forget_everything() -> None:
    for model in (PostAbsence, Post, Thread, ThreadTag, CrawlRun, ThreadFloorAuditRun, JobRun, SearchDocument):
        model.objects.all().delete()
    StreamEntry.objects.all().delete()


@pytest.mark.django_db
@settings(
    max_examples=examples(100), deadline=None, derandomize=True,
    phases=[Phase.generate],  # a history is short enough to be read as it is; shrinking one takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(first=STEPS, history=HISTORIES)
def test_archive_of_any_history_equals_the_ledger(monkeypatch, first, history):
    forget_everything()
    with NgaBoard() as board:
        point_at(monkeypatch, board)
        crawler = Crawler(board)
        ever_removed = live(board, [("topic", 1, 1), ("reply", 0, 1), *first])
        for steps, fault, hours, number in history:
            ever_removed |= live(board, steps)
            with failure(board, fault, number, monkeypatch):
                run(crawler, hours, is_disturbed=fault != "none")
        settle(crawler)
        check_places(board)
        check_nothing_is_missing(board, ever_removed)
        check_list_fields(board)
