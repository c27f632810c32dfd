"""The reader against a board that speaks the site's dialect: every form gives the same floors, and the true ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from standins.nga_board import Attachment, Dialect, NgaBoard
from standins.request_log import RequestLog
from standins.server import Request
from standins.wire import Headers
from watchbook.systems.nga.parse import ListPage, TopicPage
from watchbook.systems.nga.parse.answer import read_answer
from watchbook.systems.nga.parse.topic import fingerprint
from watchbook.systems.nga.parse.values import unescape

FORMS = ["&__output=11", "&__output=8", "&lite=js", ""]
DIALECTS = [
    Dialect(),
    Dialect.plain(),
    Dialect(prefixed=True, commented=True, tail=True, textual_parents=True),
]


def ask(board: NgaBoard, target: str) -> ListPage | TopicPage:
    """Read an answer without a wire between."""
    from datetime import UTC, datetime

    log = RequestLog()
    request = Request(
        number=log.next_number(), connection=1, remote_port=1, monotonic=0.0, received_at=datetime.now(UTC),
        method="GET", target=target, version="HTTP/1.1", headers=Headers(), body=b"",
    )  # fmt: skip
    answer = board.respond(request)
    page = int(request.params.get("page", "1"))
    return read_answer(answer.whole_body(), content_type=answer.content_type or "", page=page)


@pytest.fixture(scope="module")
def lively():
    """A board on which everything happened that the site knows."""
    board = NgaBoard()
    board.life.days(4, topics_a_day=15)
    world, chance = board.world, random.Random(3)
    for tid in chance.sample(sorted(world.topics), 20):
        board.life.reply(tid)
        pids = [post.pid for post in world.topics[tid].posts.values()]
        world.edit(tid, chance.choice(pids), board.life.words(), by=chance.choice(["", "版主"]))
        world.punish(tid, chance.choice(pids))
        act = chance.choice([world.remove, world.delete, world.fold, world.lock_post])
        act(tid, chance.choice(pids[1:] or pids))
    some = sorted(world.topics)
    world.mark(some[3], pinned=True, digest=True)
    world.mark(some[4], reversed=True)
    world.mark(some[5], recommended=True)
    world.fill(some[4], 50)
    world.vote(some[6], world.reply(some[6], "神回复"), 40)
    world.mirror(some[7])
    world.deny()
    world.board_row()
    stid = world.collection("合集甲")
    world.add_topic("合集里的", parent=(7, stid, "合集甲"))
    world.add_topic("外版的", fid=-7, shown_here=True)
    files = [Attachment("mon_202606/01/x.png"), Attachment("mon_202606/01/y.mp4", "video")]
    world.add_topic("投票", poll="1~甲~2~乙~max_select~1~end~1782532800~_1~3,~_2~4,", attachments=files)
    yield board
    board.close()


def same(page: TopicPage) -> TopicPage:
    """Without what the forms are allowed to differ in."""
    return replace(
        page, notes=(), declared_rows=None, is_digest=None, notes_elsewhere=(), type_bits=0, thread_created_at=None,
        author_name="", stubs=(),
        floors=tuple(floor._replace(parent_post_id=None) for floor in page.floors),
    )  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS, ids=["ugly", "plain", "wrapped"])
def test_every_format_gives_the_same_posts(lively, dialect):
    lively.dialect = dialect
    for tid, topic in lively.world.topics.items():
        for page in range(1, topic.pages + 1):
            read = [ask(lively, f"/read.php?tid={tid}&page={page}{form}") for form in FORMS]
            numbers = {floor.floor_number for floor in read[0].floors}
            assert all(one.is_complete(page) for one in read), tid
            kept = [
                same(replace(one, floors=tuple(floor for floor in one.floors if floor.floor_number in numbers)))
                for one in read
            ]
            assert kept[0] == kept[1] == kept[2] == kept[3], tid
            # A page shows the text of every note; JSON knows those whose posts stand on the same page.
            assert {floor.floor_number for floor in read[3].floors} == read[0].seen_numbers


@pytest.mark.parametrize("form", FORMS)
def test_floors_are_the_true_ones(lively, form):
    lively.dialect = Dialect()
    for tid, topic in lively.world.topics.items():
        for page in range(1, topic.pages + 1):
            read = ask(lively, f"/read.php?tid={tid}&page={page}{form}")
            assert read.title == " ".join(unescape(topic.title).split())
            assert set(read.missing_numbers()) == {
                lou for lou in topic.floors_of_page(page) if topic.floor(lou).is_absent
            }
            for floor in read.floors:
                post = topic.floor(floor.floor_number)
                assert (floor.source_post_id, floor.content_source) == (post.pid, post.source)
                assert floor.author_name == post.shown_author
                assert floor.author_source_user_id == (post.uid or None)
                assert floor.post_created_at.timestamp() == post.posted_at
                edited = floor.source_edited_at
                assert (int(edited.timestamp()) if edited else None) == post.content.edited_at
                assert floor.is_deleted_by_source == post.is_deleted
                assert floor.is_folded_by_source == post.is_folded
                if not post.attachments and not (topic.poll and post.lou == 0):
                    subject = post.subject if post.lou else ""
                    assert floor.content_fingerprint_sha256 == fingerprint(post.source, subject=subject)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", DIALECTS, ids=["ugly", "plain", "wrapped"])
def test_lists_are_the_true_ones(lively, form, dialect):
    lively.dialect = dialect
    world, seen = lively.world, {}
    for page in (1, 2):
        read = ask(lively, f"/thread.php?fid=7&order_by=postdatedesc&page={page}{form}")
        assert read.page_count == 2
        for row in read.topics:
            seen.setdefault(row.row_tid, row)
    assert sum(row.is_mirror for row in seen.values()) == 1
    for row in seen.values():
        topic = world.topics[row.tid]
        assert row.last_reply_at.timestamp() == topic.last_post_at
        assert row.reply_count_display == topic.replies
        assert row.author_name == topic.opening.shown_author
        assert row.author_source_user_id == (topic.opening.uid or None)
        assert row.is_newest_first == topic.is_newest_first
        assert row.topic_tag == (topic.parent[2] if topic.parent else "")
        if not row.is_mirror:
            assert row.title == " ".join(unescape(topic.title).split())
            assert row.thread_created_at.timestamp() == topic.posted_at
            assert row.fid == topic.fid
            if form:
                assert row.is_pinned == topic.is_pinned
    assert {tid for tid, topic in world.topics.items() if topic.fid == 7} <= {row.tid for row in seen.values()}
