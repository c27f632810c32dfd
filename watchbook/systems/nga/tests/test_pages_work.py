"""Runs, audits, boards, feeds, the card, clips, and what operators start."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.people import alice, bob, operator
from watchbook.core.jobs.models import JobRun
from watchbook.core.stream.clip import find_clip
from watchbook.systems.nga.card import card
from watchbook.systems.nga.models import CrawlRun, Forum, ThreadFloorAuditRun
from watchbook.systems.nga.tests.desk import (
    FIRST_TID,
    MOST_QUERIES,
    START,
    board,
    browser,
    desk,
    fill,
    get,
    make_run,
    make_thread,
    read,
)

pytestmark = pytest.mark.django_db

__all__ = ["alice", "bob", "desk", "operator"]

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def reader(alice):
    with clock.set_to(START + timedelta(hours=1)):
        yield browser(alice)


def post(client, page, *args, **values):
    return client.post(reverse(f"nga:{page}", args=args), values)


class TestRuns:
    def test_list_adds_up_what_each_run_did(self, reader, desk):
        read(CrawlRun.objects.get(), make_thread(1), new_post_count=7, error_summary="busy: 服务器忙")
        (line,) = get(reader, "runs").context["runs"]
        assert (line.sums["new"], line.sums["failed"], line.sums["topics"]) == (12, 1, 2)
        assert line.badge.text == "Partial"

    def test_page_shows_every_counter_and_each_topic(self, reader, desk):
        run = CrawlRun.objects.get()
        page = get(reader, "run", run.pk).content.decode()
        for figure in ("41", "12", "港口灯塔巡检路线", "new reply"):
            assert figure in page

    def test_failed_topics_alone_with_the_reason_in_words(self, reader, desk):
        run = CrawlRun.objects.get()
        read(run, make_thread(1, title="broken"), error_summary="busy: 服务器忙", http_error_code=503)
        answer = get(reader, "run", run.pk, show="failed")
        (line,) = answer.context["entries"]
        assert (line.title, line.failure) == ("broken", "The site is busy. 服务器忙")
        assert b"HTTP 503" in answer.content

    def test_run_without_findings_shows_what_it_read(self, reader):
        run = make_run()
        assert b"41 topics unchanged" in get(reader, "run", run.pk).content

    def test_topics_of_a_long_run_are_read_in_stretches(self, reader):
        run = make_run()
        for number in range(60):
            read(run, make_thread(number))
        first = get(reader, "run", run.pk)
        second = get(reader, "run", run.pk, after=first.context["page"].after)
        assert [len(answer.context["entries"]) for answer in (first, second)] == [50, 10]

    def test_no_run_yet(self, reader):
        assert b"No runs yet" in get(reader, "runs").content

    def test_lists_cost_the_same_for_few_and_for_many(self, reader):
        costs = set()
        for number in range(12):
            read(make_run(START - timedelta(hours=number)), make_thread(number))
            if number in (0, 11):
                with CaptureQueriesContext(connection) as queries:
                    get(reader, "runs")
                costs.add(len(queries))
        assert len(costs) == 1
        assert max(costs) <= MOST_QUERIES


class TestAudits:
    def test_topics_and_posts_of_an_audit(self, reader, desk):
        audit = ThreadFloorAuditRun.objects.get()
        (topic,) = get(reader, "audit", audit.pk).context["entries"]
        assert (topic.row.missing_floor_count, topic.badge.text) == (2, "Missing")
        floors = get(reader, "audit", audit.pk, show="floors").context["entries"]
        assert [line.row.floor_number for line in floors] == [43, 44]

    def test_audit_lists_posts_by_topic_and_by_outcome(self, reader, desk):
        audit = ThreadFloorAuditRun.objects.get()
        audit.posts.filter(floor_number=44).update(
            repair_status="failed", repair_error_category="http", repair_http_error_code=503,
            repair_error_summary="busy: 服务器忙",
        )  # fmt: skip
        answer = get(reader, "audit", audit.pk, tid=FIRST_TID, status="failed")
        (line,) = answer.context["entries"]
        assert (line.row.floor_number, line.category) == (44, "request")
        assert line.failure.startswith("The site is busy.")
        assert get(reader, "audit", audit.pk, tid=5).context["entries"] == []

    def test_audit_without_gaps_says_so(self, reader):
        run = ThreadFloorAuditRun.objects.create(
            run_started_at=START, run_finished_at=START, run_trigger_text="cron", repair_enabled=False,
            total_thread_count=1284,
        )  # fmt: skip
        assert b"1,284 topics checked: no posts missing" in get(reader, "audit", run.pk).content

    def test_tab_counts_topics_with_missing_posts(self, reader, desk):
        assert get(reader, "topics").context["gap_count"] == 1
        fill(desk, [43, 44])
        assert get(reader, "topics").context["gap_count"] == 0

    def test_only_operators_are_offered_a_repair(self, reader, operator, desk):
        assert b"Repair now" not in get(reader, "audits").content
        assert b"Repair now" in get(browser(operator), "audits").content


class TestDoing:
    """What operators start; a member may not, and the page does not offer it."""

    @pytest.mark.parametrize("name", ["crawl", "audit_now", "repair_now", "add_forum"])
    def test_members_start_nothing(self, alice, name):
        assert post(browser(alice), name).status_code == 403
        assert not JobRun.objects.exists()

    def test_crawl_goes_into_the_queue_once(self, operator):
        board()
        client = browser(operator)
        for _press in range(2):
            assert post(client, "crawl", fid="7").status_code == 302
        (run,) = JobRun.objects.filter(name="nga.crawl")
        assert (run.args, run.requested_by) == ({"fid": 7}, operator)
        assert b"Crawl boards" in get(client, "topics").content

    def test_audit_and_repair_are_different_runs(self, operator):
        client = browser(operator)
        post(client, "audit_now")
        post(client, "repair_now")
        assert [run.args for run in JobRun.objects.order_by("pk")] == [{"repair": False}, {"repair": True}]

    def test_topic_is_read_now(self, operator, alice, desk):
        assert post(browser(alice), "read_topic", FIRST_TID).status_code == 403
        assert post(browser(operator), "read_topic", FIRST_TID).status_code == 302
        assert JobRun.objects.get().args == {"tid": FIRST_TID}
        assert post(browser(operator), "read_topic", 5).status_code == 404

    def test_live_part_reloads_the_page_when_the_work_has_ended(self, operator):
        board()
        client = browser(operator)
        post(client, "crawl", fid="7")
        swapped = client.get(reverse("nga:live"), headers={"HX-Request": "true"})
        assert b"hx-trigger" in swapped.content
        JobRun.objects.update(state="done")
        assert client.get(reverse("nga:live"), headers={"HX-Request": "true"})["HX-Refresh"] == "true"
        assert client.get(reverse("nga:live")).status_code == 302


class TestBoards:
    def test_board_is_added_once(self, operator):
        client = browser(operator)
        assert post(client, "add_forum", fid="-7", name="网事杂谈").status_code == 302
        assert Forum.objects.get(source_forum_id=-7).forum_name == "网事杂谈"
        again = post(client, "add_forum", fid="-7")
        assert again.status_code == 422
        assert b"This board is already archived." in again.content

    @pytest.mark.parametrize("fid", ["", "seven", "0", "9" * 20])
    def test_what_is_no_number_of_a_board_is_refused(self, operator, fid):
        assert post(browser(operator), "add_forum", fid=fid).status_code == 422

    def test_pace_and_page_limit_have_bounds(self, operator):
        forum, client = board(), browser(operator)
        good = {"name": "Hall", "crawl_page_limit": 8, "request_rate_limit_per_sec": "0.5"}
        assert post(client, "edit_forum", forum.pk, **good).status_code == 302
        forum.refresh_from_db()
        assert (forum.crawl_page_limit, forum.request_rate_limit_per_sec) == (8, Decimal("0.50"))
        for wrong in ({"request_rate_limit_per_sec": "3"}, {"crawl_page_limit": 0}):
            assert post(client, "edit_forum", forum.pk, **{**good, **wrong}).status_code == 422

    def test_members_see_the_boards_and_cannot_change_them(self, alice):
        forum = board()
        page = get(browser(alice), "forums").content.decode()
        assert "fid 7" in page
        assert "Add board" not in page
        assert get(browser(alice), "edit_forum", forum.pk).status_code == 403


class TestFeeds:
    def address(self, client, name, *args):
        page = post(client, name, *args).content.decode()
        assert 'data-copy="address"' in page
        return page.partition(' id="address">')[2].partition("</code>")[0].partition("://")[2].partition("/")[2]

    def entries(self, path):
        answer = Client().get(f"/{path}")
        assert answer.status_code == 200
        return [entry.findtext(f"{ATOM}title") for entry in ElementTree.fromstring(answer.content).iter(f"{ATOM}entry")]

    def test_board_feed_has_its_topics_newest_first(self, reader, desk):
        make_thread(3, title="older")
        assert self.entries(self.address(reader, "forum_feed", "7")) == ["[攻略]港口灯塔巡检路线", "older"]

    def test_topic_feed_has_its_newest_posts(self, reader, desk):
        titles = self.entries(self.address(reader, "topic_feed", FIRST_TID))
        assert len(titles) == 44
        assert titles[0].startswith("#45 ")

    def test_token_opens_its_own_feed_only_until_it_is_revoked(self, reader, desk):
        path = self.address(reader, "topic_feed", FIRST_TID)
        other = path.replace(f"topic/{FIRST_TID}", "board/7")
        assert Client().get(f"/{other}").status_code == 404
        ((feed, _revoke_url),) = get(reader, "topic_feed", FIRST_TID).context["feeds"]
        post(reader, "revoke_feed", feed.pk)
        assert Client().get(f"/{path}").status_code == 404

    def test_feed_of_another_user_cannot_be_revoked(self, reader, bob, desk):
        self.address(reader, "topic_feed", FIRST_TID)
        ((feed, _revoke_url),) = get(reader, "topic_feed", FIRST_TID).context["feeds"]
        assert post(browser(bob), "revoke_feed", feed.pk).status_code == 404

    def test_board_or_topic_that_is_not_there_has_no_feed(self, reader):
        assert get(reader, "forum_feed", "99").status_code == 404
        assert get(reader, "forum_feed", "seven").status_code == 404
        assert get(reader, "topic_feed", 5).status_code == 404


class TestCard:
    @pytest.fixture
    def asked(self, rf, alice):
        request = rf.get("/")
        request.user = alice
        with clock.set_to(START + timedelta(hours=1)):
            yield request

    def test_new_server_shows_the_next_steps(self, asked):
        made = card(asked)
        assert (made.number, made.action_url) == (None, reverse("nga:topics"))

    def test_card_shows_new_posts_since_yesterday_with_gaps_and_runs(self, asked, desk):
        with CaptureQueriesContext(connection) as queries:
            made = card(asked)
        assert len(queries) <= 6
        assert (made.number, made.trend[-1]) == (5, 5)
        assert str(made.badge.text) == "2 gaps"
        assert [fact.name for fact in made.facts] == ["Last run", "Next run", "Gaps"]

    def test_day_without_a_run_was_not_measured(self, asked):
        read(make_run(START - timedelta(days=3)), make_thread(0))
        read(make_run(START), make_thread(1))
        assert list(card(asked).trend) == [5, None, None, 5]


class TestClip:
    def test_topic_and_post_are_clipped_with_text_and_source(self, desk, alice):
        topic = find_clip("nga_thread", str(desk.pk), alice)
        assert topic.title == "[攻略]港口灯塔巡检路线"
        assert "第 0 楼的文字。" in topic.html
        assert topic.source_link == f"https://bbs.nga.cn/read.php?tid={FIRST_TID}"
        floor = find_clip("nga_post", str(desk.posts.get(floor_number=42).pk), alice)
        assert (floor.title, floor.version) == ("[攻略]港口灯塔巡检路线 #42", "2")
        assert floor.source_at == desk.posts.get(floor_number=42).post_created_at

    @pytest.mark.parametrize(("kind", "object_id"), [("nga_thread", "x"), ("nga_post", "9" * 30), ("nga_post", "5")])
    def test_missing_item_is_not_clipped(self, alice, kind, object_id):
        assert find_clip(kind, object_id, alice) is None


class TestDoors:
    def test_anonymous_users_are_redirected_to_sign_in(self, desk):
        for name, args in (("topics", []), ("search", []), ("topic", [FIRST_TID]), ("runs", []), ("audits", [])):
            answer = get(Client(), name, *args)
            assert (answer.status_code, answer["Location"].startswith("/accounts/login/")) == (302, True)

    def test_archive_is_the_same_for_everybody(self, alice, bob, desk):
        fill(make_thread(1), range(3))
        for person in (alice, bob):
            assert len(get(browser(person), "topics").context["rows"]) == 2
