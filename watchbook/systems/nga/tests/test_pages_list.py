"""The list of topics and the search in it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import alice, operator
from watchbook.core.jobs.models import JobRun
from watchbook.kit import badges
from watchbook.systems.nga.models import Forum, ThreadReadingState
from watchbook.systems.nga.tests.desk import (
    MOST_QUERIES,
    START,
    board,
    browser,
    delete,
    desk,
    edit,
    fill,
    get,
    index,
    make_audit,
    make_run,
    make_thread,
)
from watchbook.systems.nga.tests.plans import plan_of

pytestmark = pytest.mark.django_db

__all__ = ["alice", "desk", "operator"]


@pytest.fixture
def reader(alice):
    with clock.set_to(START + timedelta(hours=1)):
        yield browser(alice)


def titles(answer):
    return [row.title for row in answer.context["rows"]]


def older(answer):
    return re.search(r'rel="next" href="([^"]+)"', squeezed(answer.text))


def walk(client, **query):
    """The titles of every page, from the first to the last."""
    found, answer = [], get(client, "topics", **query)
    while True:
        found.append(titles(answer))
        link = older(answer)
        if link is None:
            return found
        answer = client.get("/nga/" + link[1].replace("&amp;", "&"))


class TestOrders:
    def test_newest_topic_is_first_unless_the_last_reply_is_asked_for(self, reader):
        old = make_thread(5, title="old and lively", last_reply_at=START)
        new = make_thread(1, title="new and quiet", last_reply_at=START - timedelta(hours=1))
        assert titles(get(reader, "topics")) == [new.title, old.title]
        assert titles(get(reader, "topics", order="last_reply")) == [old.title, new.title]

    @pytest.mark.parametrize("order", ["created", "last_reply"])
    def test_pages_of_thirty_lose_nothing_and_double_nothing(self, reader, order):
        # Twenty of them share one moment: the key decides between them.
        same = START - timedelta(hours=10)
        for number in range(65):
            at = same if number < 20 else START - timedelta(minutes=number)
            make_thread(number, at=at, last_reply_at=at, title=f"topic {number}")
        pages = walk(reader, order=order)
        assert [len(page) for page in pages] == [30, 30, 5]
        assert sorted(title for page in pages for title in page) == sorted(f"topic {number}" for number in range(65))

    def test_topic_whose_last_reply_is_not_known_is_the_last_one(self, reader):
        make_thread(0, title="nobody knows", last_reply_at=None)
        make_thread(1, title="somebody answered")
        assert titles(get(reader, "topics", order="last_reply")) == ["somebody answered", "nobody knows"]
        assert titles(get(reader, "topics")) == ["nobody knows", "somebody answered"]

    def test_every_topic_whose_last_reply_is_not_known_is_on_some_page(self, reader):
        for number in range(35):
            make_thread(number, title=f"answered {number}")
        # More than a page of them, seventeen of them at one moment.
        for number in range(35, 71):
            make_thread(
                number, title=f"unknown {number}", at=START - timedelta(hours=max(number, 51)), last_reply_at=None
            )
        pages = walk(reader, order="last_reply")
        wanted = [
            *(f"answered {n}" for n in range(35)),
            *(f"unknown {n}" for n in (*range(51, 34, -1), *range(52, 71))),
        ]
        assert [title for page in pages for title in page] == wanted
        assert [len(page) for page in pages] == [30, 30, 11]

    def test_newer_link_from_topics_without_reply_leads_to_the_first_page(self, reader):
        for number in range(35):
            make_thread(number, title=f"answered {number}")
        for number in range(35, 71):
            make_thread(number, title=f"unknown {number}", last_reply_at=None)
        pages = walk(reader, order="last_reply")
        answer = get(reader, "topics", order="last_reply")
        while link := older(answer):
            answer = reader.get("/nga/" + link[1].replace("&amp;", "&"))
        back = [titles(answer)]
        while link := re.search(r'rel="prev" href="([^"]+)"', squeezed(answer.text)):
            answer = reader.get("/nga/" + link[1].replace("&amp;", "&"))
            back.append(titles(answer))
        assert back[::-1] == pages


class TestRows:
    def test_row_says_how_much_is_stored_and_what_is_missing(self, reader, desk):
        (row,) = get(reader, "topics").context["rows"]
        assert (row.floors, row.stored) == (46, "44 stored")
        assert [badge.text for badge in row.badges] == ["2 gaps"]

    def test_prefix_is_a_tag_before_the_title_and_leads_to_its_topics(self, reader, desk):
        answer = get(reader, "topics")
        assert titles(answer) == ["港口灯塔巡检路线"]
        assert 'href="/nga/?prefix=%E6%94%BB%E7%95%A5"' in answer.content.decode()

    def test_topic_read_to_its_end_and_one_that_is_not(self, reader):
        fill(make_thread(0, title="whole"), range(3))
        half = fill(make_thread(1, title="half"), range(100))
        half.reply_count_display = 5212
        half.crawl_backfill_next_page_number, half.crawl_page_total_last_seen = 6, 261
        half.save()
        make_thread(2, title="long", is_skipped_by_page_total_limit=True, reply_count_display=31_000)
        rows = {row.title: row for row in get(reader, "topics").context["rows"]}
        assert rows["whole"].stored == "all stored"
        assert (rows["half"].floors, rows["half"].stored) == (5213, "page 5 of 261")
        assert [badge.text for badge in rows["half"].badges] == ["Backfilling"]
        assert [badge.text for badge in rows["long"].badges] == ["Skipped, over 1,000 pages"]

    def test_unread_rest_of_a_topic_read_from_its_end_is_no_gap(self, reader):
        thread = fill(make_thread(0), range(40, 60))
        ThreadReadingState.objects.create(thread=thread, is_newest_first=True)
        thread.crawl_backfill_next_page_number = 2
        thread.save()
        (row,) = get(reader, "topics").context["rows"]
        assert [badge.text for badge in row.badges] == ["Backfilling"]

    def test_at_most_three_badges_and_the_worst_last(self, reader):
        thread = fill(make_thread(0, is_pinned=True, is_digest=True), [0, 2])
        opening = thread.posts.get(floor_number=0)
        edit(opening, "before")
        delete(opening)
        (row,) = get(reader, "topics").context["rows"]
        assert [str(badge.text) for badge in row.badges] == [
            "Edited",
            "1 gap",
            str(badges.find("floor", "deleted").text),
        ]

    def test_hostile_titles_are_text(self, reader):
        make_thread(0, title="<script>alert(1)</script>")
        assert b"<script>alert" not in get(reader, "topics").content


class TestFilters:
    @pytest.fixture(autouse=True)
    def topics(self):
        make_thread(0, title="pinned", is_pinned=True, prefix="公告")
        make_thread(1, title="digest", is_digest=True)
        make_thread(2, title="cut", is_truncated_by_page_limit=True)
        make_thread(3, title="long", is_skipped_by_page_total_limit=True)
        make_thread(4, title="marlin's", author_name="Marlin", author_source_user_id=77)
        delete(fill(make_thread(5, title="deleted"), [0]).posts.get())
        make_audit(fill(make_thread(6, title="holed"), [0, 2]), [1])
        make_thread(7, title="tagged", tags=["灯塔"])
        make_thread(8, title="last week", at=START - timedelta(days=7))
        gone = make_thread(9, title="gone")
        ThreadReadingState.objects.create(thread=gone, gone_answer_count=2, gone_at=START)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"pinned": "1"}, ["pinned"]),
            ({"digest": "1"}, ["digest"]),
            ({"truncated": "1"}, ["cut"]),
            ({"skipped": "1"}, ["long"]),
            ({"author": "Marlin"}, ["marlin's"]),
            ({"author_id": "77"}, ["marlin's"]),
            ({"deleted": "1"}, ["deleted", "gone"]),
            ({"gaps": "1"}, ["holed"]),
            ({"tag": "灯塔"}, ["tagged"]),
            ({"prefix": "公告"}, ["pinned"]),
            ({"until": "2026-02-25"}, ["last week"]),
            ({"since": "2026-02-23", "until": "2026-02-23"}, ["last week"]),
            ({"pinned": "1", "author": "Marlin"}, []),
        ],
    )
    def test_filter_keeps_what_it_names(self, reader, query, expected):
        assert titles(get(reader, "topics", **query)) == expected

    def test_days_are_cut_at_midnight_in_shanghai(self, reader):
        make_thread(20, title="late", at=START.replace(hour=23, minute=59))
        make_thread(21, title="early", at=START.replace(hour=0, minute=0) + timedelta(days=1))
        assert titles(get(reader, "topics", since="2026-03-03")) == ["early"]

    @pytest.mark.parametrize(
        "query",
        [
            {"since": "soon"},
            {"fid": ""},
            {"author_id": "9" * 40},
            {"order": "sideways"},
            {"older": "x" * 500},
            {"order": "last_reply", "older": "x"},
        ],
    )
    def test_what_cannot_be_read_counts_as_not_asked(self, reader, query):
        assert len(titles(get(reader, "topics", **query))) == 10

    def test_selected_filter_can_be_cleared(self, reader):
        (chip,) = get(reader, "topics", pinned="1").context["listing"].chips
        assert (chip.title, chip.query) == ("Pinned", "?")

    def test_empty_result_has_a_message(self, reader):
        assert b"No matches" in get(reader, "topics", author="nobody").content

    def test_each_board_has_its_own_list(self, reader):
        make_thread(0, title="elsewhere", forum=board(-7))
        assert titles(get(reader, "topics", fid="-7")) == ["elsewhere"]
        assert "elsewhere" not in titles(get(reader, "topics"))
        assert get(reader, "topics", fid="8").status_code == 404


class TestCost:
    def cost(self, client, *args, **query):
        with CaptureQueriesContext(connection) as queries:
            answer = get(client, *args, **query)
        assert answer.status_code == 200
        return len(queries)

    def test_any_page_of_any_length_costs_the_same_queries(self, reader):
        make_run()
        fill(make_thread(0), range(3))
        index(make_thread(1, title="灯塔"), "x")
        few = {name: self.cost(reader, name, **query) for name, query in self.pages().items()}
        for number in range(2, 95):
            index(fill(make_thread(number, title=f"灯塔 {number}", prefix="水"), range(4)), "y")
        many = {name: self.cost(reader, name, **query) for name, query in self.pages().items()}
        assert few["topics"] == many["topics"] <= MOST_QUERIES
        # The word index itself asks several times, and once less when titles fill the page.
        assert many["search"] <= few["search"] <= MOST_QUERIES * 2
        deep = "/nga/" + older(get(reader, "topics"))[1].replace("&amp;", "&")
        with CaptureQueriesContext(connection) as queries:
            assert reader.get(deep).status_code == 200
        assert len(queries) == many["topics"]

    @pytest.mark.parametrize("order", ["created", "last_reply"])
    def test_list_is_read_in_its_order_and_never_sorted(self, reader, order):
        for number in range(60):
            make_thread(number)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE" if connection.vendor == "sqlite" else "SELECT 1")  # a planner that knows sizes
        with CaptureQueriesContext(connection) as queries:
            get(reader, "topics", order=order)
        lists = [one["sql"] for one in queries if "is_mirror" in one["sql"]]
        assert lists
        assert not [step for one in lists for step in plan_of(one) if "SCAN" in step or "ORDER BY" in step]

    def pages(self):
        return {"topics": {}, "search": {"q": "灯塔"}}


class TestSearch:
    def found(self, client, **query):
        answer = get(client, "search", **query)
        return [each.match.thread.title for each in answer.context["found"]], answer.content.decode()

    def test_two_characters_are_found_and_title_hits_precede_newer_ones(self, reader):
        index(make_thread(0, title="newer"), "今天的灯塔很亮")
        index(make_thread(9, title="旧灯塔的钥匙"), "words")
        index(make_thread(2, title="unrelated"), "灯火与高塔")
        names, page = self.found(reader, q="灯塔")
        assert names == ["旧灯塔的钥匙", "newer"]
        assert "旧<mark>灯塔</mark>的钥匙" in page
        assert "今天的<mark>灯塔</mark>很亮" in page

    def test_every_word_must_be_there(self, reader):
        index(make_thread(0, title="灯塔 巡检"), "harbour at night")
        index(make_thread(1, title="灯塔"), "harbour")
        assert self.found(reader, q="灯塔 harbour 巡检")[0] == ["灯塔 巡检"]

    def test_filters_narrow_what_is_found(self, reader):
        index(make_thread(0, title="灯塔 a", is_digest=True), "x")
        index(make_thread(1, title="灯塔 b"), "x")
        assert self.found(reader, q="灯塔", digest="1")[0] == ["灯塔 a"]

    def test_filter_that_drops_a_whole_page_does_not_hide_the_next(self, reader):
        for number in range(40):
            index(make_thread(number, title=f"灯塔 {number}"), "x")
        index(make_thread(90, title="灯塔 rare", author_name="Marlin"), "x")
        assert self.found(reader, q="灯塔", author="Marlin")[0] == ["灯塔 rare"]

    def test_more_than_a_page_continues_where_it_stopped(self, reader):
        for number in range(35):
            index(make_thread(number, title=f"灯塔 {number}"), "x")
        first, page = self.found(reader, q="灯塔")
        following, _ = self.found(reader, q="灯塔", cursor=re.search(r"cursor=([\d.]+)", page)[1])
        assert len(first) == 30
        assert len({*first, *following}) == 35

    def test_words_typed_over_the_list_lead_to_the_search(self, reader):
        answer = get(reader, "topics", q="灯塔", digest="1")
        assert (answer.status_code, answer["Location"]) == (302, "/nga/search/?q=%E7%81%AF%E5%A1%94&digest=1")

    def test_nothing_found_and_a_broken_cursor_are_no_errors(self, reader):
        assert b"No matches" in get(reader, "search", q="dromedary").content
        assert get(reader, "search", q="灯塔", cursor="nonsense").status_code == 200


class TestEmpty:
    def test_new_board_says_when_it_is_crawled(self, reader):
        board()
        page = get(reader, "topics").content.decode()
        assert "No topics yet" in page
        assert "Crawl now" not in page

    def test_operator_can_crawl_a_new_board(self, operator):
        board()
        assert b"Crawl now" in get(browser(operator), "topics").content

    def test_new_installation_suggests_a_board_to_operators(self, reader, operator):
        assert "Add board 7" not in get(reader, "topics").content.decode()
        client = browser(operator)
        assert "Add board 7" in get(client, "topics").content.decode()
        assert client.post(reverse("nga:add_suggested")).status_code == 302
        assert Forum.objects.get().source_forum_id == 7
        assert JobRun.objects.get(name="nga.crawl").args == {"fid": 7}

    def test_page_speaks_chinese(self, alice, desk):
        page = get(browser(alice, "zh-hans"), "topics").content.decode()
        assert "发帖时间" in page
        assert "2 处缺口" in page
