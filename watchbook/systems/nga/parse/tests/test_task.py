"""Reading through JSON, as a limited child process does it, gives the same records and the same errors."""

from __future__ import annotations

import json

import pytest

from watchbook.base import sandbox
from watchbook.systems.nga.parse import Damaged, LayoutChanged, Refused, page_of_task
from watchbook.systems.nga.parse.answer import read_answer
from watchbook.systems.nga.parse.records import read_answer_task
from watchbook.systems.nga.parse.tests.answers import refusal_page
from watchbook.systems.nga.parse.tests.fuzzing import seeds

TASK = "watchbook.systems.nga.parse.records:read_answer_task"


def through_json(tmp_path, sent: bytes):
    path = tmp_path / "answer"
    path.write_bytes(sent)
    return page_of_task(json.loads(json.dumps(read_answer_task({"input_path": str(path)}))))


@pytest.mark.parametrize("number", range(6))
def test_records_come_back_as_they_were(tmp_path, number):
    assert through_json(tmp_path, seeds()[number]) == read_answer(seeds()[number])


def test_errors_come_back_as_they_were(tmp_path):
    with pytest.raises(Damaged, match="is incomplete"):
        through_json(tmp_path, seeds()[0][:-5])
    with pytest.raises(LayoutChanged):
        through_json(tmp_path, b"hello")
    with pytest.raises(Refused) as caught:
        through_json(tmp_path, refusal_page("帖子被设为隐藏", 2048))
    assert (caught.value.reason, caught.value.site_code, caught.value.is_gone) == ("hidden", 2048, True)


def test_child_process_reads_it(tmp_path):
    path = tmp_path / "answer"
    path.write_bytes(seeds()[0])
    answer = sandbox.call(TASK, {"page": 1}, input_path=path, cpu_seconds=10)
    assert page_of_task(answer) == read_answer(seeds()[0])
