"""The code nodes of the n8n workflow *collect*, run by node with stubs for n8n's own functions."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from watchbook.systems.notes.rules import HANDLING

WORKFLOW = json.loads(
    (Path(__file__).resolve().parents[4] / "integrations" / "n8n" / "collect.json").read_text(encoding="utf-8")
)
NODES = {node["name"]: node for node in WORKFLOW["nodes"]}
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

STUBS = """
const given = JSON.parse(process.argv[1]);
const items = (list) => ({ first: () => list[0], last: () => list[list.length - 1], all: () => list });
const wrap = (value) => items((Array.isArray(value) ? value : [value]).map((json) => ({ json })));
const $input = wrap(given.input);
const $ = (name) => wrap(given.nodes[name]);
const $runIndex = 0;
const run = () => { %s };
process.stdout.write(JSON.stringify(run()));
"""


def run(name, given, **nodes):
    code = STUBS % NODES[name]["parameters"]["jsCode"]
    done = subprocess.run(
        [NODE, "-e", code, json.dumps({"input": given, "nodes": nodes})], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [one["json"] for one in json.loads(done.stdout)]


def sort(answer, attempt=1):
    state = {"wanted": [{"note_id": "a"}, {"note_id": "b"}], "attempt": attempt, "settled": []}
    [found] = run("Sort", answer, State=state)
    return found


def judge(written, halt=False, claimed=10):
    claim = {"statusCode": 200, "body": {"data": {"locked_count": claimed}}}
    config = {"batch_size": 10, "max_rounds": 50}
    [found] = run("Judge", written, Config=config, Claim=claim, Sort={"halt": halt})
    return found


@needs_node
@pytest.mark.parametrize("written", [
    [{"statusCode": 500}], [{}], [{"error": {"message": "ECONNREFUSED"}}], [{"statusCode": 200}, {"statusCode": 503}],
])  # fmt: skip
def test_judge_never_throws_and_names_the_problem(written):
    found = judge(written)
    assert (found["more"], found["status"], bool(found["problem"])) == (False, "failed", True)


@needs_node
def test_judge_continues_only_after_a_whole_batch():
    assert judge([{"statusCode": 200}])["more"] is True
    assert judge([{"statusCode": 200}], claimed=9)["more"] is False
    assert judge([{"statusCode": 409}])["more"] is False
    stopped = judge([{"statusCode": 200}], halt=True)
    assert (stopped["more"], stopped["status"], stopped["problem"]) == (False, "failed", "")


@needs_node
@pytest.mark.parametrize("answer", [{}, {"statusCode": 502, "body": "<html>"}, {"error": {"message": "ECONNREFUSED"}}])
def test_sort_counts_no_attempt_when_watchbook_does_not_answer(answer):
    assert len(sort(answer)["retry"]) == 2
    settled = sort(answer, attempt=4)["settled"]
    assert [item["error"]["asked"] for item in settled] == [False, False]


@needs_node
@pytest.mark.parametrize("error", [
    {"code": "NETWORK_ERROR", "retryable": True, "outage": True},
    {"code": "PLATFORM_ERROR", "retryable": True, "reason": "outage", "asked": False},
    {"code": "PLATFORM_ERROR", "retryable": True, "reason": "ip_block"},
])  # fmt: skip
def test_sort_stops_the_run_in_an_outage(error):
    items = [{"id": "a", "success": True, "data": {}}, {"id": "b", "success": False, "error": error}]
    found = sort({"statusCode": 207, "body": {"items": items}})
    assert (found["halt"], found["retry"], len(found["settled"])) == (True, [], 2)


def test_every_path_after_acquire_leads_to_release():
    """Follow the connections: the run ends at Release, or before the lock is held."""
    seen, waiting, ends = set(), ["Claim"], set()
    while waiting:
        name = waiting.pop()
        if name in seen or name == "Release":
            continue
        seen.add(name)
        outputs = WORKFLOW["connections"].get(name, {}).get("main", [])
        if not outputs:
            ends.add(name)
        waiting += [link["node"] for output in outputs for link in output]
    assert ends == set()
    for name in ("Claim", "Read batch", "Write", "Heartbeat"):
        assert NODES[name]["onError"] == "continueRegularOutput", name


def test_retry_table_is_the_same_as_the_runners():
    code = NODES["Sort"]["parameters"]["jsCode"]
    for name, handling in HANDLING.items():
        if handling.retryable and name != "PARTIAL_FAIL":
            assert f"{name}: {handling.max_retry}" in code, name
