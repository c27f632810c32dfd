"""The n8n workflows *creators* and *comments*: their code node, and every path from the lock to its release."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[4] / "integrations" / "n8n"
WORKFLOWS = {name: json.loads((FOLDER / f"{name}.json").read_text("utf-8")) for name in ("creators", "comments")}
STEPS = {"creators": "Check", "comments": "Read"}
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


def nodes_of(name):
    return {node["name"]: node for node in WORKFLOWS[name]["nodes"]}


@pytest.fixture(params=WORKFLOWS)
def judge(request):
    code = STUBS % nodes_of(request.param)["Judge"]["parameters"]["jsCode"]

    def run(answer, number=0):
        given = json.dumps({"input": answer, "round": number})
        done = subprocess.run([NODE, "-e", code, given], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)[0]["json"]

    return run


def checked(**data):
    return {"statusCode": 200, "body": {"data": {"checked": True, "left": 2, "stop": False, **data}}}


@needs_node
def test_judge_continues_while_something_is_due_and_the_platform_answers(judge):
    assert judge(checked()) == {"more": True, "status": "completed", "problem": ""}
    for answer in (checked(left=0), checked(stop=True), checked(checked=False)):
        assert judge(answer) == {"more": False, "status": "completed", "problem": ""}
    assert judge(checked(), 49)["more"] is False


@needs_node
@pytest.mark.parametrize("answer", [{}, {"statusCode": 500}, {"error": {"message": "ECONNREFUSED"}}])
def test_judge_never_throws_and_names_the_problem(judge, answer):
    found = judge(answer)
    assert (found["more"], found["status"], bool(found["problem"])) == (False, "failed", True)
    assert judge({"statusCode": 409})["problem"] == "", "another run holds the lock"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_path_after_acquire_leads_to_release(name):
    workflow, nodes, step = WORKFLOWS[name], nodes_of(name), STEPS[name]
    assert f"/workflow/{name}" in nodes[step]["parameters"]["url"]
    seen, waiting, ends = set(), [step], set()
    while waiting:
        here = waiting.pop()
        if here in seen or here == "Release":
            continue
        seen.add(here)
        outputs = workflow["connections"].get(here, {}).get("main", [])
        if not outputs:
            ends.add(here)
        waiting += [link["node"] for output in outputs for link in output]
    assert ends == set()
    assert nodes[step]["onError"] == "continueRegularOutput"
    linked = {link["node"] for one in workflow["connections"].values() for out in one["main"] for link in out}
    assert linked | {"Every fifteen minutes", "By hand"} == set(nodes)
    assert len({node["id"] for node in workflow["nodes"]}) == len(nodes)
