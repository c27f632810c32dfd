"""Success needs evidence: what fails is called failed everywhere, with its reason, and costs nothing that is stored."""

from __future__ import annotations

from datetime import timedelta

import pytest

from standins.nga_board import NgaBoard
from standins.server import Answer
from watchbook.base import clock
from watchbook.base.testing.people import alice
from watchbook.core import registry
from watchbook.core.alerts.models import Alert, Outage
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun
from watchbook.systems.nga import actions
from watchbook.systems.nga.card import card
from watchbook.systems.nga.health import health
from watchbook.systems.nga.models import (
    CrawlRun,
    CrawlRunThread,
    Forum,
    Post,
    Thread,
    ThreadFloorAuditThread,
    ThreadFloorRepairAttempt,
)
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of
from watchbook.systems.nga.tests.desk import browser, get

pytestmark = pytest.mark.django_db

__all__ = ["alice"]

EMPTY_TOPIC = b'{"data":{"__T":{"tid":%d,"fid":7,"subject":"x"},"__R":"","__R__ROWS":0,"__ROWS":0,"__PAGE":%d}}'


@pytest.fixture
def reader(alice, board):
    with clock.set_to(board.world.moment + timedelta(minutes=1)):
        yield browser(alice)


def no_posts(exchange):
    """The page has no rows, and says that the topic has none."""
    params = exchange.request.params
    body = EMPTY_TOPIC % (int(params["tid"]), int(params.get("page", 1)))
    exchange.send(Answer(200, body, content_type="text/javascript; charset=GBK"))


def no_rows_on_the_page(exchange):
    """The page has no rows, and the topic has as many posts as the list says."""
    params = exchange.request.params
    body = (EMPTY_TOPIC % (int(params["tid"]), int(params.get("page", 1)))).replace(b'"__ROWS":0', b'"__ROWS":60')
    exchange.send(Answer(200, body, content_type="text/javascript; charset=GBK"))


class TestEmptyPage:
    @pytest.mark.parametrize("treatment", [no_posts, no_rows_on_the_page])
    def test_topic_stays_incomplete_after_empty_last_page(self, board, crawler, reader, treatment):
        tid = board.world.add_topic("[讨论]三页")
        board.world.fill(tid, 59)
        with board.faults.on("/read.php", when=lambda request: request.params.get("page") == "3").treat(treatment):
            figures = crawler.crawl()
        assert figures["failed_thread_count"] == 1
        assert sorted(floors_of(tid)) == list(range(40))
        assert thread_of(tid).crawl_backfill_next_page_number == 3
        row = CrawlRunThread.objects.get(thread=thread_of(tid))
        assert row.error_summary.startswith("no_rows")
        page = get(reader, "topic", tid, page=2).content.decode()
        assert "Page 3 of 3 could not be crawled: The page should have rows but has none." in page
        assert crawler.crawl(after=1)["new_post_count"] == 20
        assert differences(board) == {}

    def test_new_topic_without_posts_is_not_read(self, board, crawler):
        tid = board.world.add_topic("[讨论]空")
        with board.faults.on("/read.php").treat(no_posts):
            assert crawler.crawl()["failed_thread_count"] == 1
        assert thread_of(tid).crawl_backfill_next_page_number == 1
        assert crawler.crawl(after=1)["new_post_count"] == 1


def unreachable(board, monkeypatch):
    board.faults.on("*").reset_before_headers()


def no_name(board, monkeypatch):
    # Trusted, so that no second has to pass between two requests.
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "no-such-host.invalid:80")
    monkeypatch.setenv("NGA_BASE_URL", "http://no-such-host.invalid")


def forbidden(board, monkeypatch):
    board.outage(403)


def server_error(board, monkeypatch):
    board.outage(503)


def busy(board, monkeypatch):
    board.busy()


def garbage(board, monkeypatch):
    board.faults.on("*").answer(200, body=b"<html><body>Back soon</body></html>")


def empty(board, monkeypatch):
    board.faults.on("*").answer(200, body=b"")


def empty_list(board, monkeypatch):
    body = b'{"data":{"__T":"","__ROWS":0,"__F":{"fid":7}},"encode":"gbk"}'
    board.faults.on("/thread.php").answer(200, body=body)


def cut_formats(board, *formats):
    board.cut_json(forms=formats)


def state_now(board):
    with clock.set_to(board.world.moment):
        return health().state


OUTAGES = [unreachable, no_name, forbidden, server_error, busy, garbage, empty, empty_list]


class TestOutage:
    @pytest.fixture
    def topics(self, board):
        return [board.world.add_topic(f"[讨论]第{number}帖") for number in range(12)]

    @pytest.mark.parametrize("fail", OUTAGES)
    def test_failed_run_is_called_failed_everywhere(self, board, crawler, reader, topics, monkeypatch, rf, fail):
        before = board.log.count()
        fail(board, monkeypatch)
        figures = crawler.crawl()
        assert board.log.count() - before <= 3
        assert figures["error"]["code"]
        found = health()
        assert found.state in ("failing", "blocked")
        assert (found.last_success_at, Thread.objects.count()) == (None, 0)
        run = CrawlRun.objects.get()
        pages = {
            "topics": get(reader, "topics").content.decode(),
            "run": get(reader, "run", run.pk).content.decode(),
            "runs": get(reader, "runs").content.decode(),
        }
        reason = found.reason.partition(": ")[2]
        for name, page in pages.items():
            assert reason in page, name
            for wrong in ("Healthy", "No topics changed", "found no topics", ">Done<"):
                assert wrong not in page, (name, wrong)
        assert str(card(rf.get("/")).badge.text) == str(found.badge().text)
        assert Alert.objects.open().filter(source="nga").count() == 1

    @pytest.mark.parametrize("fail", OUTAGES)
    def test_outage_is_alerted_once_and_resolved_once(self, board, crawler, topics, monkeypatch, fail):
        crawler.crawl()
        assert state_now(board) == "healthy"
        with monkeypatch.context() as patched:
            fail(board, patched)
            for _ in range(3):
                crawler.crawl(after=1)
            assert state_now(board) in ("error", "blocked")
            board.faults.clear()
        assert Alert.objects.filter(source="nga").count() == 1
        crawler.crawl(after=1)
        assert Alert.objects.filter(source="nga").count() == 1
        assert not Alert.objects.open().exists()
        assert state_now(board) == "healthy"

    def test_busy_topics_stop_the_run_after_three_requests(self, board, crawler, topics):
        with board.faults.on("/read.php").treat(board._saying("服务器忙,请稍后重试")):
            figures = crawler.crawl()
        assert board.log.count("/read.php") == 3
        assert figures["error"]["code"] == "busy"
        assert Thread.objects.exclude(crawl_backfill_next_page_number=None).count() == 12
        assert crawler.crawl(after=1)["new_post_count"] == 12
        assert differences(board) == {}

    def test_outage_of_the_topics_is_alerted_although_the_list_is_read(self, board, crawler, reader, topics, rf):
        crawler.crawl()
        board.world.advance(hours=1)
        for tid in topics:
            board.world.reply(tid, "新")
        with board.faults.on("/read.php").fail(503):
            crawler.crawl(after=1)
        found = health()
        assert (found.state, found.last_success_at) == ("failing", board.world.moment)
        assert "HTTP 503" in found.reason
        assert str(card(rf.get("/")).badge.text) == str(found.badge().text)
        assert found.reason.partition(": ")[2] in get(reader, "topics").content.decode()
        assert Alert.objects.open().filter(source="nga").count() == 1
        crawler.crawl(after=1)
        assert state_now(board) == "healthy"
        assert not Alert.objects.open().exists()

    def test_broken_topic_does_not_stop_the_others(self, board, crawler, topics):
        with board.busy(tid=topics[-1]):
            crawler.crawl()
            crawler.crawl(after=1)
        assert Post.objects.count() == 11

    def test_other_boards_are_not_requested_in_an_outage(self, board, crawler, topics):
        Forum.objects.create(source_forum_id=-7, list_url="x")
        with board.outage(), clock.set_to(board.world.moment):
            runner.run_now("nga.crawl")
        assert board.log.count() == 3

    def test_scheduled_run_waits_before_the_next_attempt(self, board, crawler, topics):
        with board.outage(), clock.set_to(board.world.moment):
            run = queue.enqueue("nga.crawl", key="nga.crawl@2026-06-01T00:00:00Z", exclusive="job:nga.crawl")
            done = runner.execute(queue.claim(run, "test"))
            assert done.due_at - clock.now() >= timedelta(minutes=10)
            assert health().next_try_at == done.due_at


def run_scheduled(board, moment, *names):
    """Run what the scheduler would run at this moment; return the formats of the requests that it sent."""
    before = board.log.count()
    with clock.set_to(moment):
        for name in names:
            job = registry.jobs()[name]
            if job.wanted is None or registry.load(job.wanted)(clock.now()):
                run = queue.enqueue(name, key=f"{name}@{clock.now().isoformat()}", due_at=clock.now())
                runner.execute(queue.claim(run, "test"))
    return [request.params.get("__output", "html") for request in board.log.all()[before:]]


class TestSharedPause:
    """Three requests in all, then one after each pause, whichever job is due."""

    @pytest.fixture
    def topics(self, board, crawler):
        """Followed topics whose pages are due to be read again, too."""
        made = [board.world.add_topic(f"[讨论]第{number}帖") for number in range(3)]
        crawler.crawl()
        with clock.set_to(board.world.moment):
            for tid in made[:2]:
                actions.follow(thread_of(tid))
        board.world.advance(days=4)
        return made

    @pytest.mark.parametrize(
        ("fail", "first"),
        [
            (server_error, 3),
            (forbidden, 3),
            (garbage, 3),
        ],
    )
    def test_jobs_share_the_pause_of_an_outage(self, board, topics, monkeypatch, fail, first):
        names = ("nga.follow", "nga.reread", "nga.crawl")
        now = board.world.moment
        fail(board, monkeypatch)
        minutes = {0: first, 0.5: 0, 2: 1, 4: 0, 10: 1}
        for after, count in minutes.items():
            assert len(run_scheduled(board, now + timedelta(minutes=after), *names)) == count, after
        board.faults.clear()
        assert len(run_scheduled(board, now + timedelta(hours=2), *names)) > 3
        assert not Outage.objects.exists()
        with clock.set_to(now + timedelta(hours=2)):
            assert not Alert.objects.open().exists()

    @pytest.mark.parametrize("fail", [garbage, empty, empty_list])
    def test_unreadable_list_pauses_the_next_crawl(self, board, topics, monkeypatch, fail):
        now = board.world.moment
        fail(board, monkeypatch)
        minutes = {0: ["11", "8", "html"], 0.5: [], 2: ["11"], 4: [], 10: ["8"], 40: ["html"]}
        for after, formats in minutes.items():
            assert run_scheduled(board, now + timedelta(minutes=after), "nga.crawl") == formats, after
        assert Alert.objects.filter(source="nga").count() == 1
        board.faults.clear()
        assert run_scheduled(board, now + timedelta(hours=3), "nga.crawl")
        assert not Outage.objects.exists()
        assert Alert.objects.filter(source="nga").count() == 1
        assert not Alert.objects.open().exists()

    def test_list_decides_between_a_broken_topic_and_a_broken_site(self, board, topics, monkeypatch):
        """The third request is for the list, whichever job begins; the next job sends none."""
        with clock.set_to(board.world.moment):
            actions.unfollow(thread_of(topics[1]))
        garbage(board, monkeypatch)
        now = board.world.moment
        assert run_scheduled(board, now, "nga.follow") == ["11", "8", "html"]
        assert [request.path for request in board.log.all()[-3:]] == ["/read.php", "/read.php", "/thread.php"]
        assert not run_scheduled(board, now, "nga.crawl", "nga.reread")

    @pytest.mark.parametrize("break_formats", [NgaBoard.block_form, cut_formats])
    @pytest.mark.parametrize("formats", [("11",), ("11", "8")])
    def test_outage_ends_although_one_format_stays_broken(self, board, topics, break_formats, formats):
        now = board.world.moment
        with board.outage():
            assert len(run_scheduled(board, now, "nga.crawl")) == 3
        break_formats(board, *formats)
        asked = []
        for minutes in (2, 10, 40):
            asked.append(run_scheduled(board, now + timedelta(minutes=minutes), "nga.crawl"))
            if not Outage.objects.exists():
                break
        assert asked[:-1] == [["11"], ["8"]][: len(formats)]
        assert asked[-1][0] == {1: "8", 2: "html"}[len(formats)]
        assert Outage.objects.count() == 0

    def test_topic_that_no_format_gives_does_not_prolong_an_outage(self, board, topics):
        """After each pause another topic decides."""
        now = board.world.moment
        with board.outage():
            assert len(run_scheduled(board, now, "nga.follow")) == 3
        broken = board.log.all()[-1].params["tid"]
        board.cut_json(tid=int(broken), forms=("11", "8", "html"), keep=0.3)
        formats = run_scheduled(board, now + timedelta(minutes=2), "nga.follow")
        sent = board.log.all()[-len(formats) :]
        assert [request.params.get("tid") == broken for request in sent] == [False, True, True, False, True]
        assert sent[3].path == "/thread.php"

    def test_board_whose_list_is_broken_does_not_stop_the_others(self, board, topics):
        """Boards that failed take turns at the end, so that another board ends the outage."""
        Forum.objects.create(source_forum_id=-7, list_url="x")
        tid = board.world.add_topic("别处", fid=-7)
        board.faults.on("/thread.php", when=lambda request: request.params["fid"] == "7").answer(200, body=b"")
        now = board.world.moment
        assert len(run_scheduled(board, now, "nga.crawl")) == 3
        assert len(run_scheduled(board, now + timedelta(minutes=2), "nga.crawl")) == 2 + 3
        assert thread_of(tid).posts.count() == 1


class TestRepairInOutage:
    @pytest.fixture
    def gap(self, board, crawler):
        tid = board.world.add_topic("[讨论]缺楼")
        pids = [board.world.reply(tid, f"{number}") for number in range(5)]
        board.world.remove(tid, pids[2])
        crawler.crawl()
        board.world.restore(tid, pids[2])
        return tid

    @pytest.mark.parametrize("fail", [unreachable, forbidden, server_error, busy])
    def test_no_post_loses_an_attempt(self, board, crawler, gap, monkeypatch, fail):
        with monkeypatch.context() as patched:
            fail(board, patched)
            before = board.log.count()
            for _ in range(4):
                figures = crawler.audit(repair=True, after=1)
            # A connection that was kept open and is reset is opened once more by the HTTP client.
            assert board.log.count() - before <= 3 * 4 + 1
        assert not ThreadFloorRepairAttempt.objects.exists()
        assert figures["error"]["code"]
        row = ThreadFloorAuditThread.objects.latest("pk")
        assert (row.repair_status, bool(row.repair_error_summary)) == ("skipped", True)
        board.faults.clear()
        assert crawler.audit(repair=True, after=1)["repaired_thread_count"] == 1

    def test_repair_writes_a_row_for_each_topic(self, board, crawler, gap):
        crawler.audit(repair=True, after=1)
        row = CrawlRunThread.objects.latest("pk")
        assert (row.thread, row.new_post_count, row.fetched_page_count) == (thread_of(gap), 1, 1)

    def test_repair_of_the_daily_audit_is_recorded_as_such(self, board, crawler, gap):
        with clock.set_to(board.world.moment):
            run = queue.enqueue("nga.audit", key="nga.audit@2026-06-01T05:40:00Z", exclusive="job:nga.audit")
            runner.execute(queue.claim(run, "test"))
        assert CrawlRun.objects.latest("pk").run_trigger_text == "audit"
        crawler.audit(repair=True, after=1)

    def test_repair_without_result_is_not_partial(self, board, crawler, gap):
        board.world.remove(gap, board.world.topics[gap].floor(3).pid)
        figures = crawler.audit(repair=True, after=1)
        assert (figures["partial_thread_count"], figures["missing_thread_count"]) == (0, 1)
        assert ThreadFloorAuditThread.objects.latest("pk").repair_status == "missing"


class TestUpdatedAt:
    def test_failed_and_single_topic_runs_do_not_count(self, board, crawler, reader):
        tid = board.world.add_topic("[讨论]一")
        crawler.crawl()
        read_at = health().last_success_at
        crawler.read(tid, after=1)
        crawler.audit(repair=True, after=1)
        with board.outage():
            crawler.crawl(after=1)
        assert health().last_success_at == read_at

    def test_old_success_is_late(self, board, crawler):
        board.world.add_topic("[讨论]一")
        crawler.crawl()
        crawler.audit(after=30)
        with clock.set_to(board.world.moment):
            assert health().state == "late"
        assert Alert.objects.open().filter(source="nga").count() == 1
        crawler.crawl(after=1)
        assert not Alert.objects.open().exists()

    def test_skipped_topic_has_its_reason_and_did_not_fail(self, board, crawler, reader):
        tid = board.world.add_topic("[讨论]长")
        board.world.fill(tid, 20_010)
        figures = crawler.crawl()
        assert figures["failed_thread_count"] == 0
        page = get(reader, "run", figures["run_id"]).content.decode()
        assert "The topic has over 1,000 pages: its posts are not crawled." in page
        assert "Skipped" in page

    def test_topic_on_two_list_pages_is_read_once(self, board, crawler):
        for number in range(36):
            board.world.advance(minutes=1)
            board.world.add_topic(f"[讨论]{number}")

        def add(exchange):
            answer = exchange.ordinary()
            board.world.add_topic("[讨论]新来的")
            exchange.send(answer)

        # A topic comes while the list is read: the last row of page 1 is also the first row of page 2.
        with board.faults.on("/thread.php", first=1).treat(add):
            figures = crawler.crawl()
        assert figures["http_request_count"] == 2 + 36
        rows = CrawlRunThread.objects.filter(crawl_run_id=figures["run_id"])
        assert rows.count() == rows.values("thread_id").distinct().count()


class TestCounts:
    def test_home_list_and_filter_agree_about_gaps(self, board, crawler, reader, rf):
        tid = board.world.add_topic("[讨论]缺楼")
        pids = [board.world.reply(tid, f"{number}") for number in range(9)]
        crawler.audit()
        for pid in pids[2:5]:
            board.world.remove(tid, pid)
        crawler.crawl(after=0.1)
        assert "3 posts missing" in [fact.value for fact in card(rf.get("/")).facts]
        answer = get(reader, "topics", gaps=1)
        assert [str(badge.text) for row in answer.context["rows"] for badge in row.badges] == ["3 gaps"]
        assert answer.context["gap_count"] == 1

    def test_topic_whose_later_page_failed_says_what_was_read(self, board, crawler, reader):
        tid = board.world.add_topic("[讨论]三页")
        board.world.fill(tid, 59)
        with board.faults.on("/read.php", when=lambda request: request.params.get("page") == "2").fail(503):
            crawler.crawl()
        page = get(reader, "topic", tid).content.decode()
        assert "Not crawled yet<" not in page
        assert "Partly crawled" in page
        assert "20 of 60 posts" in " ".join(page.split())

    def test_search_covers_all_boards(self, board, crawler, reader):
        Forum.objects.create(source_forum_id=-7, list_url="x")
        board.world.add_topic("灯塔一")
        board.world.add_topic("灯塔二", fid=-7)
        with clock.set_to(board.world.moment):
            runner.run_now("nga.crawl")
        answer = get(reader, "search", q="灯塔")
        assert len(answer.context["found"]) == 2
        assert "all boards" in answer.content.decode()
        assert len(get(reader, "search", q="灯塔", fid=7).context["found"]) == 1
        assert JobRun.objects.count() == 1
