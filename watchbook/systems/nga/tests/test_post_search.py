"""Every post is searched: new, edited and old ones, with filters, titles first."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from standins.nga_board import NgaBoard
from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.core.jobs import runner
from watchbook.core.search.find import find
from watchbook.core.search.models import SearchDocument
from watchbook.systems.nga import filters
from watchbook.systems.nga.api import ForumSearchQuery
from watchbook.systems.nga.jobs import maintenance as job
from watchbook.systems.nga.models import Post, PostIndexing
from watchbook.systems.nga.store.publish import IndexedPost, index_posts
from watchbook.systems.nga.tests.archive import Crawler, floors_of
from watchbook.systems.nga.tests.desk import board as make_board
from watchbook.systems.nga.tests.desk import browser, fill, get, index, make_thread
from watchbook.systems.nga.tests.test_api import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def put(thread) -> None:
    rows = Post.objects.filter(thread=thread)
    index_posts(
        thread,
        [IndexedPost(p.pk, p.floor_number, p.author_name, p.post_created_at, p.content_html) for p in rows],
    )


def numbers(words: str, **more) -> list[int]:
    page = find(words, scopes=["members"], kinds=["nga_post"], **more)
    pks = [int(hit.object_id) for hit in page.items]
    by_pk = dict(Post.objects.filter(pk__in=pks).values_list("pk", "floor_number"))
    return sorted(by_pk[pk] for pk in pks)


def test_crawl_puts_new_and_edited_posts_into_the_search(board: NgaBoard, crawler: Crawler) -> None:
    tid = board.world.add_topic("港口", "首帖的话")
    pids = [board.world.reply(tid, f"第{number}条 押金") for number in range(3)]
    crawler.crawl()
    assert numbers("押金") == [1, 2, 3]
    assert not numbers("首帖")
    board.world.advance(hours=1)
    board.world.edit(tid, pids[1], "改成灯塔")
    board.world.reply(tid, "新的灯塔")
    crawler.crawl(after=1)
    assert (numbers("押金"), numbers("灯塔")) == ([1, 3], [2, 4])
    stored = {str(post.pk) for number, post in floors_of(tid).items() if number}
    assert set(SearchDocument.objects.filter(kind="nga_post").values_list("object_id", flat=True)) == stored


def test_post_hit_has_the_topic_title_and_follows_title_hits() -> None:
    thread = fill(make_thread(title="灯塔的路线"), range(4))
    index(thread, "首帖")
    Post.objects.filter(thread=thread, floor_number=2).update(content_html="这里也有灯塔")
    put(thread)
    hits = find("灯塔", scopes=["members"]).items
    assert [(hit.kind, hit.title, hit.is_title_hit) for hit in hits] == [
        ("nga_thread", "灯塔的路线", True),
        ("nga_post", "灯塔的路线 #2", False),
    ]
    assert not find("路线 灯塔", scopes=["members"], kinds=["nga_post"]).items


@pytest.fixture
def two_topics():
    one = fill(make_thread(1, title="押金怎么退"), range(6), html="先交押金")
    other = fill(make_thread(2, title="别的", forum=make_board(8)), range(3), html="押金不退")
    for thread in (one, other):
        index(thread, "押金")
        put(thread)
    return one, other


def test_filters_choose_author_board_topic_date_and_opening_posts(two_topics, alice: User) -> None:
    one, other = two_topics
    caller = Caller(alice)

    def found(**query) -> list[tuple[int, int]]:
        items = caller.items("/search", q="押金", **query)
        return [(item["tid"] - one.source_thread_id, item["floor_number"]) for item in items]

    assert found()[0] == (0, 0)
    assert sorted(found()) == [(0, n) for n in range(6)] + [(1, n) for n in range(3)]
    assert sorted(found(fid=8)) == [(1, 0), (1, 1), (1, 2)]
    assert sorted(found(tid=other.source_thread_id, limit=1)) == [(1, 0), (1, 1), (1, 2)]
    assert sorted(found(author="路人2")) == [(0, 2), (1, 2)]
    assert sorted(found(author_id=1001)) == [(0, 0), (1, 0)]
    assert sorted(found(opening=True)) == [(0, 0), (1, 0)]
    day = one.thread_created_at.date()
    assert len(found(days="range", since=day, until=day)) == 9
    assert not found(days="range", since="2020-01-01", until="2020-01-02")
    assert caller.get("/search", q="").status_code == 422


def test_page_leads_to_the_post_and_exports_matches(two_topics, alice: User) -> None:
    one, _other = two_topics
    page = get(browser(alice), "search", q="押金", tid=one.source_thread_id)
    text = page.content.decode()
    assert f'href="/nga/topics/{one.source_thread_id}/#f3"' in text
    assert "titles and all posts" in text
    lines = b"".join(get(browser(alice), "search", q="押金", format="jsonl").streaming_content).splitlines()
    assert len(lines) == 9


def test_page_and_api_have_the_same_filters() -> None:
    names = {name for each in filters.FOUND.filters for name in each.names}
    assert names <= set(ForumSearchQuery.model_fields)


def test_page_of_hits_costs_the_same_number_of_queries_for_any_number(two_topics, alice: User) -> None:
    client = browser(alice)
    counts = []
    for words in ("押金 先交", "押金"):
        with CaptureQueriesContext(connection) as asked:
            get(client, "search", q=words)
        counts.append(len(asked))
    assert abs(counts[0] - counts[1]) <= 3
    assert max(counts) <= 36


def test_old_posts_are_indexed_in_batches_and_once(monkeypatch) -> None:
    thread = fill(make_thread(), range(12))
    SearchDocument.objects.all().delete()
    monkeypatch.setattr(job, "POSTS_A_STEP", 5)
    monkeypatch.setattr(job, "STEPS_A_RUN", 2)
    assert job.indexing_is_wanted(clock.now())
    assert runner.run_now("nga.index").progress["floors"] == 10
    assert job.indexing_is_wanted(clock.now())
    assert runner.run_now("nga.index").progress["floors"] == 2
    assert not job.indexing_is_wanted(clock.now())
    assert PostIndexing.objects.get().finished_at is not None
    assert len(numbers("文字")) == 11
    assert SearchDocument.objects.filter(kind="nga_post").count() == thread.posts.count() - 1
