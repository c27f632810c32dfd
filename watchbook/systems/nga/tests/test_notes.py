"""Notes: floors of their own, hanging under the posts they were written to, and counted once."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.people import alice
from watchbook.core.accounts import tokens
from watchbook.systems.nga import filters
from watchbook.systems.nga.models import NoteParent, Post
from watchbook.systems.nga.tests.archive import thread_of
from watchbook.systems.nga.tests.desk import MOST_QUERIES, browser, get
from watchbook.systems.nga.tests.plans import plan_of
from watchbook.systems.nga.views.posts import comments_of

pytestmark = pytest.mark.django_db

__all__ = ["alice"]


class Written:
    """A topic of two pages: a note beside its post, one on the next page, one under the opening post."""

    def __init__(self, board):
        world = board.world
        self.tid = world.add_topic("[讨论]帖")
        self.pids = [world.reply(self.tid, f"第{number}条") for number in range(1, 4)]
        self.near = world.note(self.tid, self.pids[1], "近处的贴条", author="晨星")
        self.opening = world.note(self.tid, 0, "首帖的贴条", author="夜雨")
        for number in range(6, 22):
            world.reply(self.tid, f"第{number}条")
        self.far = world.note(self.tid, self.pids[1], "远处的贴条", author="南风")

    @property
    def parents(self):
        rows = NoteParent.objects.filter(thread__source_thread_id=self.tid)
        return dict(rows.values_list("source_post_id", "parent_source_post_id"))

    @property
    def expected(self):
        return {self.near: self.pids[1], self.opening: 0, self.far: self.pids[1]}


@pytest.fixture
def written(board, crawler):
    made = Written(board)
    crawler.crawl()
    return made


def floors(answer):
    return {floor.number: floor for floor in answer.context["shown"].floors}


def test_post_of_each_comment_is_stored(written):
    assert written.parents == written.expected


def test_comments_are_shown_under_their_posts_with_author_and_time(written, alice):
    answer = get(browser(alice), "topic", written.tid)
    shown = floors(answer)
    assert [note.post.source_post_id for note in shown[2].notes] == [written.near, written.far]
    assert [note.post.source_post_id for note in shown[0].notes] == [written.opening]
    assert not any(shown[number].notes for number in shown if number not in (0, 2))
    page = answer.content.decode()
    under = page[page.index('id="f2"') : page.index('id="f3"')]
    for author, text in (("晨星", "近处的贴条"), ("南风", "远处的贴条")):
        assert author in under
        assert text in under
    assert under.count("<time") == 3  # the post's own, and one for each note


def test_comment_keeps_its_number_and_is_counted_once_on_a_page(written, alice):
    reader = browser(alice)
    first = get(reader, "topic", written.tid)
    near = Post.objects.get(source_post_id=written.near)
    assert floors(first)[near.floor_number].parent.source_post_id == written.pids[1]
    page = first.content.decode()
    assert page.count("近处的贴条") == 1
    assert "Comment on #2 by" in page[page.index(f'id="f{near.floor_number}"') :]
    # Its post is on another page, so that it is read here, too.
    second = get(reader, "topic", written.tid, page=2)
    far = Post.objects.get(source_post_id=written.far)
    own = second.content.decode()
    assert "远处的贴条" in own[own.index(f'id="f{far.floor_number}"') :]
    assert not floors(second)[far.floor_number].is_shown_above


def test_comment_alone_among_filtered_posts_shows_its_text(written, alice):
    near = Post.objects.get(source_post_id=written.near)
    page = get(browser(alice), "topic", written.tid, author_id=near.author_source_user_id).content.decode()
    assert "近处的贴条" in page


def test_api_names_the_post_of_a_comment(written, alice):
    _token, plain = tokens.make(alice, ["read"], 1, name="test")
    answer = browser().get(
        f"/api/v1/nga/threads/{written.tid}/posts", {"limit": 100}, headers={"Authorization": f"Bearer {plain}"}
    )
    told = {one["source_post_id"]: one["parent_source_post_id"] for one in answer.json()["items"]}
    assert {pid: parent for pid, parent in told.items() if parent is not None} == written.expected
    assert len(told) == Post.objects.count()


def test_comments_are_counted_once(written, crawler):
    thread = thread_of(written.tid)
    assert Post.objects.filter(thread=thread).count() == thread.crawl_cursor_max_floor_number + 1
    assert filters.missing_numbers(thread) == []
    figures = crawler.audit()
    assert figures["missing_thread_count"] == 0


def test_second_reading_writes_no_comments(written, crawler):
    before = list(NoteParent.objects.order_by("pk").values())
    with CaptureQueriesContext(connection) as captured:
        crawler.read(written.tid, (1, 2))
    assert not [one for one in captured if one["sql"].startswith("INSERT") and "note_parents" in one["sql"]]
    assert list(NoteParent.objects.order_by("pk").values()) == before


def test_unknown_post_of_a_comment_is_stored_later(written, crawler):
    NoteParent.objects.all().delete()
    crawler.read(written.tid, (1, 2))
    assert written.parents == written.expected


def test_repaired_comment_is_shown_under_its_post(written, crawler):
    Post.objects.filter(source_post_id__in=[written.near, written.far]).delete()
    NoteParent.objects.all().delete()
    crawler.audit(repair=True)
    assert written.parents.items() >= {written.near: written.pids[1], written.far: written.pids[1]}.items()


def test_comments_of_html_pages_are_posts_with_their_number(board, crawler):
    with board.cut_json(forms=("8", "11")):
        written = Written(board)
        crawler.crawl()
    texts = dict(Post.objects.values_list("source_post_id", "content_html"))
    assert (texts[written.near], texts[written.far]) == ("近处的贴条", "远处的贴条")
    crawler.read(written.tid, (1, 2))
    assert written.parents == written.expected


def test_page_with_comments_and_a_gap_needs_no_more_queries(written, alice):
    Post.objects.filter(floor_number=8).delete()
    reader = browser(alice)
    get(reader, "topic", written.tid)
    with CaptureQueriesContext(connection) as captured:
        page = get(reader, "topic", written.tid)
    assert len(floors(page)[2].notes) == 2
    assert len(captured) <= MOST_QUERIES


def test_comments_of_a_page_are_found_by_the_indexes(written, alice):
    thread = thread_of(written.tid)
    posts = list(Post.objects.on_page(thread.pk, 1).with_parents())
    with CaptureQueriesContext(connection) as captured:
        comments_of(thread, posts)
    plan = plan_of(captured[0]["sql"])
    assert any(step.startswith("SEARCH posts") and "source_post_id=?" in step for step in plan), plan
    assert not [step for step in plan if step.startswith("SCAN")], plan
