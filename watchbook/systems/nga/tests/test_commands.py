"""`watchbook nga crawl|audit|thread|forums`: the shapes and exit codes that scripts rely on."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from watchbook.systems.nga.cli import group
from watchbook.systems.nga.models import Forum
from watchbook.systems.nga.tests.archive import thread_of

pytestmark = pytest.mark.django_db


def call(*words):
    done = CliRunner().invoke(group, list(words))
    return done.exit_code, json.loads(done.stdout) if "--json" in words and done.stdout else done.output


def test_crawl_at_a_given_moment(board, crawler):
    tid = board.world.add_topic("[讨论]帖")
    board.world.reply(tid, "回复")
    code, found = call("crawl", "--fid", "7", "--now", "2026-06-01T13:00:00+08:00", "--json")
    assert code == 0
    wanted = {
        "fid": 7,
        "date_window_start": "2026-05-30",
        "date_window_end": "2026-06-01",
        "thread_scanned_count": 1,
        "thread_change_detected_count": 1,
        "thread_updated_count": 1,
        "new_post_count": 2,
        "updated_post_count": 0,
        "failed_thread_count": 0,
        "http_request_count": 2,
    }
    assert {name: found.get(name) for name in wanted} == wanted
    assert found["run_id"] > 0
    assert thread_of(tid).created_at.isoformat() == "2026-06-01T13:00:00+08:00"


def test_crawl_that_fails_says_why(board, crawler):
    with board.outage():
        code, found = call("crawl", "--json")
    assert code == 1
    assert found["error"]["code"] in {"busy", "outage"}
    assert found["http_request_count"] > 0
    code, found = call("crawl", "--fid", "99", "--json")
    assert (code, found["error"]["code"]) == (1, "unknown_forum")


def test_audit_prints_the_counters_of_its_row(board, crawler):
    board.world.add_topic("[讨论]帖")
    crawler.crawl()
    code, found = call("audit", "--repair", "--json")
    assert code == 0
    names = ["missing", "repaired", "partial", "failed"]
    assert {found[f"{name}_thread_count"] for name in names} == {0}
    assert {found[f"failed_{name}_count"] for name in ("http", "parse", "db", "unknown")} == {0}
    assert (found["total_thread_count"], found["audit_run_id"] > 0) == (1, True)


def test_one_topic(board, crawler):
    tid = board.world.add_topic("[讨论]帖")
    crawler.crawl()
    board.world.reply(tid, "新")
    code, found = call("thread", str(tid), "--json")
    assert code == 0
    assert found == {
        "tid": tid,
        "fetched_page_count": 1,
        "new_post_count": 1,
        "updated_post_count": 0,
        "http_request_count": 1,
    }
    assert call("thread", str(tid), "--pages", "1-1", "--json")[0] == 0
    code, found = call("thread", "5", "--json")
    assert (code, found["error"]["code"]) == (1, "unknown_topic")


@pytest.mark.parametrize("pages", ["0", "3-2", "a-b", "1-99999"])
def test_pages_that_make_no_sense_are_wrong_usage(board, crawler, pages):
    assert call("thread", "5", "--pages", pages)[0] == 2


def test_board_is_added_once(db):
    code, found = call("forums", "add", "--json", "--", "-447601", "二次元")
    assert (code, found["fid"], found["name"]) == (0, -447601, "二次元")
    assert Forum.objects.get(source_forum_id=-447601).crawl_page_limit == 5
    assert call("forums", "add", "-447601", "二次元")[0] == 1
    assert call("forums", "add", "0", "无")[0] == 1
