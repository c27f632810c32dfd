"""The archive for programs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.base.testing.people import alice, operator
from watchbook.core.accounts import tokens
from watchbook.core.jobs.models import JobRun
from watchbook.systems.nga.models import CrawlRun, Forum, ThreadFloorAuditRun
from watchbook.systems.nga.tests.desk import (
    FIRST_TID,
    START,
    board,
    browser,
    desk,
    edit,
    fill,
    index,
    make_run,
    make_thread,
    read,
)

pytestmark = pytest.mark.django_db

__all__ = ["alice", "desk", "operator"]

ROOT = "/api/v1/nga"


class Caller:
    """A program with a token."""

    def __init__(self, person, *scopes):
        _token, plain = tokens.make(person, list(scopes) or ["read"], 1, name="test")
        self.client = browser()
        self.headers = {"Authorization": f"Bearer {plain}"}

    def get(self, path, **query):
        return self.client.get(ROOT + path, query, headers=self.headers)

    def post(self, path, body=None):
        return self.client.post(ROOT + path, body or {}, content_type="application/json", headers=self.headers)

    def patch(self, path, body):
        return self.client.patch(ROOT + path, body, content_type="application/json", headers=self.headers)

    def items(self, path, **query):
        """Every item of every page."""
        found, cursor = [], ""
        while True:
            answer = self.get(path, cursor=cursor, **query)
            assert answer.status_code == 200, answer.content
            page = answer.json()
            found += page["items"]
            if page["next"] is None:
                return found
            cursor = page["next"]


@pytest.fixture
def caller(alice):
    with clock.set_to(START + timedelta(hours=1)):
        yield Caller(alice)


def tids(items):
    return [item["tid"] - FIRST_TID for item in items]


class TestThreads:
    @pytest.mark.parametrize("order", ["created", "last_reply"])
    def test_pages_lose_nothing_and_double_nothing(self, caller, order):
        same = START - timedelta(hours=9)
        for number in range(23):
            make_thread(number, at=same, last_reply_at=None if number == 7 else same)
        assert sorted(tids(caller.items("/threads", order=order, limit=5))) == list(range(23))

    def test_topics_whose_last_reply_is_not_known_fill_pages_of_their_own(self, caller):
        for number in range(9):
            make_thread(number, last_reply_at=START if number < 3 else None)
        first = caller.get("/threads", order="last_reply", limit=5).json()
        assert tids(first["items"]) == [2, 1, 0, 3, 4]
        second = caller.get("/threads", order="last_reply", limit=5, cursor=first["next"]).json()
        assert (tids(second["items"]), second["next"]) == ([5, 6, 7, 8], None)

    def test_cursor_of_one_order_is_refused_by_the_other(self, caller):
        for number in range(3):
            make_thread(number)
        for order, other in (("created", "last_reply"), ("last_reply", "created")):
            cursor = caller.get("/threads", order=order, limit=1).json()["next"]
            answer = caller.get("/threads", order=other, limit=1, cursor=cursor)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_cursor")

    def test_two_orders(self, caller):
        make_thread(0, at=START - timedelta(days=1), last_reply_at=START)
        make_thread(1, at=START - timedelta(hours=2), last_reply_at=START - timedelta(hours=1))
        assert tids(caller.items("/threads")) == [1, 0]
        assert tids(caller.items("/threads", order="last_reply")) == [0, 1]
        assert caller.get("/threads", order="sideways").status_code == 422

    def test_filters(self, caller):
        make_thread(0, is_digest=True, prefix="攻略")
        make_thread(1, author_name="Marlin", is_pinned=True)
        make_thread(2, forum=board(-7), at=START - timedelta(days=30))
        assert tids(caller.items("/threads", digest="true")) == [0]
        assert tids(caller.items("/threads", tag="攻略")) == [0]
        assert tids(caller.items("/threads", author="Marlin")) == [1]
        assert tids(caller.items("/threads", pinned="1")) == [1]
        assert tids(caller.items("/threads", fid=-7)) == [2]
        assert tids(caller.items("/threads", until="2026-02-10")) == [2]
        assert tids(caller.items("/threads")) == [0, 1, 2]

    def test_search_has_title_hits_first_and_continues(self, caller):
        index(make_thread(0, title="newer"), "今天的灯塔很亮")
        for number in range(1, 6):
            index(make_thread(number, title=f"灯塔 {number}"), "x")
        found = caller.items("/threads", q="灯塔", limit=2)
        assert tids(found) == [1, 2, 3, 4, 5, 0]
        assert [item["is_title_hit"] for item in found] == [True] * 5 + [False]
        assert caller.get("/threads", q="灯塔", cursor="x").json()["error"]["code"] == "bad_cursor"

    def test_one_topic_with_its_tags_and_gaps(self, caller, desk):
        found = caller.get(f"/threads/{FIRST_TID}").json()
        assert found["missing_floor_numbers"] == [43, 44]
        assert (found["stored_post_count"], found["fid"]) == (44, 7)
        assert found["tags"] == [{"tag_text": "攻略", "tag_source": "title_prefix"}]
        assert found["thread_created_at"].startswith("2026-03-02T")

    @pytest.mark.parametrize("path", ["/threads/5", "/threads/5/posts", "/posts/5/revisions", f"/threads/{'9' * 30}"])
    def test_what_is_not_there(self, caller, path):
        answer = caller.get(path)
        assert answer.status_code == 404
        assert "error" in answer.json()

    def test_cost_does_not_grow_with_the_rows(self, caller):
        caller.get("/forums")  # when a token was used is noted once a while
        costs = set()
        for number in range(40):
            make_thread(number)
            if number in (0, 39):
                with CaptureQueriesContext(connection) as queries:
                    caller.get("/threads", limit=40)
                costs.add(len(queries))
        assert len(costs) == 1


class TestPosts:
    def test_posts_are_listed_by_number(self, caller, desk):
        found = caller.items(f"/threads/{FIRST_TID}/posts", limit=15)
        assert [item["floor_number"] for item in found] == [n for n in range(46) if n not in (43, 44)]
        assert {item["floor_number"]: item["revision_count"] for item in found}[42] == 1
        deleted = next(item for item in found if item["floor_number"] == 41)
        assert deleted["is_deleted_by_source"]
        assert deleted["content_html"] == "第 41 楼的文字。"

    def test_posts_from_a_number_on_and_of_one_author(self, caller, desk):
        path = f"/threads/{FIRST_TID}/posts"
        assert [item["floor_number"] for item in caller.items(path, from_floor=41)] == [41, 42, 45]
        assert [item["floor_number"] for item in caller.items(path, author_id=1001)] == [0]

    def test_versions_newest_first(self, caller, desk):
        post = desk.posts.get(floor_number=42)
        edit(post, "zweite", at=START + timedelta(minutes=5))
        found = caller.items(f"/posts/{post.pk}/revisions")
        assert [item["content_html"] for item in found] == ["zweite", "第 42 楼原来的文字。"]
        assert found[0]["change_detected_reason"] == "content_fingerprint_changed"

    def test_long_topic_costs_the_same_on_every_page(self, caller):
        fill(make_thread(0), range(900))
        caller.get("/forums")
        costs = set()
        for floor in (0, 400, 880):
            with CaptureQueriesContext(connection) as queries:
                caller.get(f"/threads/{FIRST_TID}/posts", from_floor=floor, limit=20)
            costs.add(len(queries))
        assert len(costs) == 1


class TestWork:
    def test_runs_with_their_sums(self, caller, desk):
        (run,) = caller.items("/runs")
        assert (run["new_post_count"], run["failed_thread_count"], run["http_request_count"]) == (5, 0, 12)
        assert (run["date_window_start"], run["fid"]) == ("2026-02-28", 7)
        assert caller.get(f"/runs/{run['id']}").json() == run

    def test_what_a_run_did_to_each_topic(self, caller):
        run = make_run()
        for number in range(5):
            read(run, make_thread(number))
        rows = caller.items(f"/runs/{run.pk}/threads", limit=2)
        assert tids(rows) == [0, 1, 2, 3, 4]
        assert caller.get(f"/runs/{run.pk + 1}/threads").status_code == 404

    def test_audits_list_topics_and_posts(self, caller, desk):
        audit = ThreadFloorAuditRun.objects.get()
        assert [item["id"] for item in caller.items("/audits")] == [audit.pk]
        found = caller.get(f"/audits/{audit.pk}").json()
        assert [row["missing_floor_count"] for row in found["threads"]] == [2]
        assert [row["floor_number"] for row in found["floors"]] == [43, 44]
        assert len(caller.items(f"/audits/{audit.pk}/threads")) == 1
        assert len(caller.items(f"/audits/{audit.pk}/floors", limit=1)) == 2
        assert caller.items(f"/audits/{audit.pk}/floors", status="repaired") == []

    def test_members_start_nothing(self, alice):
        member = Caller(alice, "read", "write")
        for path in ("/crawl", "/audit", "/forums", f"/threads/{FIRST_TID}/read"):
            assert member.post(path, {"source_forum_id": 9}).status_code == 403
        assert not JobRun.objects.exists()

    def test_operators_start_a_crawl_once(self, operator, desk):
        machine = Caller(operator, "read", "write", "staff")
        for path, body in (("/crawl", {"fid": 7}), ("/audit", {"repair": True}), (f"/threads/{FIRST_TID}/read", {})):
            made, again = machine.post(path, body), machine.post(path, body)
            assert (made.status_code, again.status_code) == (202, 202)
            assert again.json() == made.json()
        assert sorted(JobRun.objects.values_list("name", flat=True)) == ["nga.audit", "nga.crawl", "nga.thread"]
        assert CrawlRun.objects.count() == 1

    def test_boards_are_added_and_paced(self, operator):
        machine = Caller(operator, "read", "write", "staff")
        made = machine.post("/forums", {"source_forum_id": -7, "forum_name": "网事杂谈"})
        assert made.status_code == 201
        assert machine.post("/forums", {"source_forum_id": -7}).status_code == 409
        path = f"/forums/{made.json()['id']}"
        assert machine.patch(path, {"crawl_page_limit": 9}).json()["crawl_page_limit"] == 9
        assert machine.patch(path, {"request_rate_limit_per_sec": 5}).status_code == 422
        assert Forum.objects.get(source_forum_id=-7).forum_name == "网事杂谈"
        assert [item["source_forum_id"] for item in machine.items("/forums")] == [-7]
