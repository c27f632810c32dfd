"""What the site says beside the text of a post: votes, edit times, clients; and quotations as one short line."""

from __future__ import annotations

import pytest

from standins.nga_board import NgaBoard
from watchbook.core.accounts.models import User
from watchbook.systems.nga.models import PostFact, PostRevision
from watchbook.systems.nga.parse.bbcode import render
from watchbook.systems.nga.tests.archive import Crawler, floors_of, moment, thread_of
from watchbook.systems.nga.tests.desk import browser, fill, get, make_thread, post_of
from watchbook.systems.nga.tests.test_api import Caller
from watchbook.systems.nga.tests.test_cost import cost_of_storing
from watchbook.systems.nga.views.posts import Replied, compact_quotes, replied_posts

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_votes_and_edit_times_equal_the_ledger_and_make_no_version(board: NgaBoard, crawler: Crawler) -> None:
    tid = board.world.add_topic("港口", "首帖")
    pids = [board.world.reply(tid, f"第{number}条") for number in range(3)]
    board.world.vote(tid, pids[0], 5)
    board.world.advance(minutes=10)
    board.world.edit(tid, pids[1], "在第一次读取之前改过")
    edited_at = board.world.now
    crawler.crawl()
    floors = floors_of(tid)
    assert [floors[n].facts.up_vote_count for n in range(4)] == [0, 5, 0, 0]
    assert floors[2].facts.source_edited_at == moment(edited_at)
    assert not PostRevision.objects.exists()
    board.world.advance(hours=1)
    board.world.vote(tid, pids[0], 2)
    board.world.reply(tid, "新的")
    crawler.crawl()
    assert floors_of(tid)[1].facts.up_vote_count == 7
    assert not PostRevision.objects.exists()


def test_unchanged_page_writes_no_facts(board: NgaBoard, crawler: Crawler) -> None:
    tid = board.world.add_topic("港口", "首帖")
    board.world.vote(tid, board.world.reply(tid, "一"), 3)
    crawler.crawl()
    assert not [statement for statement in cost_of_storing(tid) if "post_facts" in statement and "INSERT" in statement]
    assert PostFact.objects.count() == 2


def test_page_and_api_show_votes_edits_and_clients(board: NgaBoard, crawler: Crawler, alice: User) -> None:
    tid = board.world.add_topic("港口", "首帖")
    board.world.vote(tid, board.world.reply(tid, "一"), 12)
    crawler.crawl()
    text = get(browser(alice), "topic", tid).content.decode()
    assert "12 up-votes" in text
    assert "Android" in text
    post = Caller(alice).items(f"/threads/{tid}/posts")[1]
    assert (post["up_vote_count"], post["client_text"]) == (12, "8 Android")
    assert thread_of(tid).posts.count() == 2


TID = 40_000_001
QUOTE = "[quote][pid={pid},{tid},1]Reply[/pid] [b]Post by [uid=9]某某[/uid] (2026-03-02 12:00):[/b]\n\n上文[/quote]\n答"
LIGHT = "[b]Reply to [pid={pid},{tid},1]Reply[/pid] Post by [uid=9]某某[/uid] (2026-03-02 12:00)[/b]\n\n答"
TOPIC = (
    "[quote][tid={tid}]Topic[/tid] [b]Post by [uid]匿名[/uid][color=gray](0楼)[/color] (2026-03-02 12:00):[/b]"
    "\n\n上文[/quote]"
)


@pytest.mark.parametrize(("source", "line"), [(QUOTE, "#4 某某"), (LIGHT, "#4 某某"), (TOPIC, "#0 匿名(0楼)")])
def test_head_of_a_quotation_is_one_short_line(source: str, line: str) -> None:
    html = render(source.format(pid=900_000_004, tid=TID))
    replied = Replied(TID, {900_000_004: 4})
    shown = compact_quotes(html, replied)
    assert f'title="2026-03-02 12:00">Reply to {line}</a></p>' in shown
    assert "Post by" not in shown
    assert ("上文" in shown) == ("上文" in html)
    assert replied_posts([html], TID) == (set() if source is TOPIC else {900_000_004})


def test_quotation_of_another_topic_names_the_author_alone() -> None:
    shown = compact_quotes(render(QUOTE.format(pid=900_000_004, tid=41)), Replied(TID, {900_000_004: 4}))
    assert "Reply to 某某</a>" in shown


def test_topic_page_leads_from_a_quotation_to_the_post(alice: User) -> None:
    thread = fill(make_thread(), range(3))
    answered = thread.posts.get(floor_number=1)
    html = render(QUOTE.format(pid=answered.source_post_id, tid=thread.source_thread_id))
    post_of(thread, 3, html).save()
    thread.crawl_cursor_max_floor_number = 3
    thread.save()
    text = get(browser(alice, "zh-hans"), "topic", thread.source_thread_id).content.decode()
    assert "回复 #1 某某</a>" in text
    assert f"/nga/topics/{thread.source_thread_id}/posts/{answered.source_post_id}/" in text
