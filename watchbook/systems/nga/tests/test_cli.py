"""`watchbook nga parse`: shapes that scripts rely on, exit codes, no database."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from watchbook.systems.nga.cli import group
from watchbook.systems.nga.parse.tests.answers import body, list_document, post, refusal, row, stub, topic_document


@pytest.fixture
def run(tmp_path):
    def run(sent: bytes, *options: str):
        path = tmp_path / "answer"
        path.write_bytes(sent)
        return CliRunner().invoke(group, ["parse", str(path), *options])

    return run


def test_list_is_printed_as_records(run):
    done = run(body(list_document(row(31, recommend=10), row(32, denied="1"))), "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert (found["kind"], found["denied_count"]) == ("list", 1)
    assert found["topics"] == [
        {
            "tid": 31,
            "fid": 7,
            "title": "[讨论]第31个主题",
            "author_name": "测试员",
            "author_source_user_id": 4001,
            "thread_created_at": "2026-06-27T12:00:00+08:00",
            "last_reply_at": "2026-06-27T12:10:00+08:00",
            "reply_count_display": 3,
            "is_pinned": True,
            "is_digest": False,
        }
    ]


def test_topic_is_printed_as_records(run):
    done = run(body(topic_document(post(0, "[b]开头[/b]", alterinfo="[E1782532900 0 0]\t"), stub(1, 6500))), "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert {key: found[key] for key in ("kind", "tid", "title", "total_floors", "floors_without_text")} == {
        "kind": "topic",
        "tid": 500,
        "title": "[讨论]标题",
        "total_floors": 2,
        "floors_without_text": [1],
    }
    assert found["floors"] == [
        {
            "floor_number": 0,
            "source_post_id": 0,
            "author_name": "测试员",
            "author_source_user_id": 4001,
            "post_created_at": "2026-06-27T12:00:00+08:00",
            "source_edited_at": "2026-06-27T12:01:40+08:00",
            "content_html": "<b>开头</b>",
            "is_deleted_by_source": False,
            "is_folded_by_source": False,
        }
    ]


def test_refusal_was_read_so_it_is_no_failure(run):
    done = run(body(refusal("找不到主题")), "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {
        "kind": "error",
        "error": {"code": 2048, "message": "找不到主题", "reason": "gone"},
    }


def test_what_cannot_be_read_is_a_failure(run):
    done = run(body(topic_document(post(0)))[:200], "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["error"]["reason"] == "cut"


def test_people_get_lines(run):
    assert "第31个主题" in run(body(list_document(row(31)))).stdout
    assert "500: [讨论]标题, 1 posts" in run(body(topic_document(post(0)))).stdout
    assert "gone: 找不到主题" in run(body(refusal("找不到主题"))).stdout


def test_missing_file_is_wrong_usage():
    assert CliRunner().invoke(group, ["parse", "no-such-file"]).exit_code == 2
