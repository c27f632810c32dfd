"""The n8n workflow *creators*: its code node run by node, and every path from the lock to its release."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

WORKFLOW = json.loads(
    (Path(__file__).resolve().parents[4] / "integrations" / "n8n" / "creators.json").read_text(encoding="utf-8")
)
NODES = {node["name"]: node for node in WORKFLOW["nodes"]}
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
STUBS = """
const given = JSON.parse(process.argv[1]);
const $input = { first: () => ({ json: given.input }) };
const $ = () => ({ first: () => ({ json: { max_rounds: 50 } }) });
const $runIndex = given.round;
const run = () => { %s };
process.stdout.write(JSON.stringify(run()));
"""


def judge(answer, number=0):
    code = STUBS % NODES["Judge"]["parameters"]["jsCode"]
    given = json.dumps({"input": answer, "round": number})
    done = subprocess.run([NODE, "-e", code, given], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)[0]["json"]


def checked(**data):
    return {"statusCode": 200, "body": {"data": {"checked": True, "left": 2, "stop": False, **data}}}


@needs_node
def test_judge_continues_while_creators_are_due_and_the_platform_answers():
    assert judge(checked()) == {"more": True, "status": "completed", "problem": ""}
    for answer in (checked(left=0), checked(stop=True), checked(checked=False)):
        assert judge(answer) == {"more": False, "status": "completed", "problem": ""}
    assert judge(checked(), 49)["more"] is False


@needs_node
@pytest.mark.parametrize("answer", [{}, {"statusCode": 500}, {"error": {"message": "ECONNREFUSED"}}])
def test_judge_never_throws_and_names_the_problem(answer):
    found = judge(answer)
    assert (found["more"], found["status"], bool(found["problem"])) == (False, "failed", True)
    assert judge({"statusCode": 409})["problem"] == "", "another run holds the lock"


def test_every_path_after_acquire_leads_to_release():
    seen, waiting, ends = set(), ["Check"], set()
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
    assert NODES["Check"]["onError"] == "continueRegularOutput"
    linked = {link["node"] for one in WORKFLOW["connections"].values() for out in one["main"] for link in out}
    assert linked | {"Every fifteen minutes", "By hand"} == set(NODES)
    assert len({node["id"] for node in WORKFLOW["nodes"]}) == len(NODES)
