"""The n8n workflow *mirror to Feishu*, node by node: its own code runs in node, its requests go to a real API and a
stand-in of Feishu's. `make test-n8n` runs it in n8n itself.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from standins.feishu_table import APP, APP_ID, APP_SECRET, TABLE, FeishuTable
from watchbook.base import clock
from watchbook.systems.notes import actions
from watchbook.systems.notes.models import Note
from watchbook.systems.notes.tests.data import START, add_candidates, commit, held, holder

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]
FILE = Path(__file__).resolve().parents[4] / "integrations" / "n8n" / "mirror-feishu.json"
STUBS = """
const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const items = (list) => ({ first: () => list[0], last: () => list[list.length - 1], all: () => list });
const wrap = (list) => items((list || []).map((json) => ({ json })));
const $input = wrap(given.input), $json = given.json || given.input[0], $execution = { id: '7' };
const $ = (name) => wrap(given.nodes[name]);
const $getWorkflowStaticData = () => given.kept;
const value = (text) => { const whole = text.match(/^\\{\\{([^]*)\\}\\}$/);
  return whole && !whole[1].includes('}}') ? eval(whole[1]) : text.replace(/\\{\\{(.*?)\\}\\}/g, (_, e) => eval(e)); };
const run = () => { %s };
process.stdout.write(JSON.stringify({ out: run(), kept: given.kept }));
"""


class Refused(Exception):
    """A code node threw."""


class Run:
    """One execution of the workflow, with its static data."""

    def __init__(self, table: FeishuTable, program: Any, *, limit: int = 50) -> None:
        text = FILE.read_text(encoding="utf-8")
        changes = {
            "https://open.feishu.cn": table.url,
            "APP_TOKEN": APP,
            "TABLE_ID": TABLE,
            "limit: 50": f"limit: {limit}",
        }
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        workflow = json.loads(text)
        self.nodes = {node["name"]: node for node in workflow["nodes"]}
        self.links = workflow["connections"]
        self.program, self.kept, self.secret = program, {}, APP_SECRET
        self.done: dict[str, list[Any]] = {}

    def execute(self) -> str:
        """Follow the connections; return the name of the last node."""
        name, given = "By hand", [{}]
        while True:
            node = self.nodes[name]
            given, way = self._step(node, given)
            self.done[name] = given
            ways = self.links.get(name, {}).get("main", [])
            if not ways:
                return name
            name = ways[way][0]["node"]

    def _step(self, node: dict[str, Any], given: list[Any]) -> tuple[list[Any], int]:
        kind, parameters = node["type"].removeprefix("n8n-nodes-base."), node["parameters"]
        if kind == "code":
            return [one["json"] for one in self._js(parameters["jsCode"], given)], 0
        if kind == "if":
            [condition] = parameters["conditions"]["conditions"]
            is_so = self._values({"is": condition["leftValue"]}, given[0])["is"]
            return given, 0 if is_so else 1
        if kind == "httpRequest":
            return [self._send(parameters, one) for one in given], 0
        return given, 0

    def _js(self, code: str, given: list[Any], **more: Any) -> Any:
        facts = {"input": given, "nodes": self.done, "kept": self.kept, **more}
        done = subprocess.run(["node", "-e", STUBS % code], input=json.dumps(facts), capture_output=True, text=True)
        if done.returncode:
            raise Refused(done.stderr)
        told = json.loads(done.stdout)
        self.kept = told["kept"]
        return told["out"]

    def _values(self, texts: dict[str, str], item: Any) -> dict[str, Any]:
        """Expressions begin with an equals sign; everything else is text."""
        written = {name: text[1:] for name, text in texts.items() if text.startswith("=")}
        code = "return Object.fromEntries(Object.entries(given.written).map(([k, v]) => [k, value(v)]));"
        return {**texts, **self._js(code, [item], json=item, written=written)}

    def _send(self, parameters: dict[str, Any], item: Any) -> dict[str, Any]:
        listed = {
            (part, one["name"]): one["value"]
            for part in ("queryParameters", "headerParameters")
            for one in parameters.get(part, {}).get("parameters", [])
        }
        texts = {"url": parameters["url"], "body": parameters.get("jsonBody", "")}
        found = self._values(texts | {"/".join(key): value for key, value in listed.items()}, item)
        query, headers = (
            {name: str(found[f"{part}/{name}"]) for part, name in listed if part == wanted}
            for wanted in ("queryParameters", "headerParameters")
        )
        url = found["url"]
        if url.startswith("http://127.0.0.1:8000/"):
            answer = self.program.client.get(url.removeprefix("http://127.0.0.1:8000"), query, headers=headers)
            return {"statusCode": answer.status_code, "body": answer.json()}
        body = json.loads(found["body"])
        if parameters.get("genericAuthType") == "httpCustomAuth":
            body |= {"app_id": APP_ID, "app_secret": self.secret}
        headers |= {"Content-Type": "application/json"}
        with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=10) as answer:
            return {"statusCode": answer.status, "body": json.loads(answer.read())}


@pytest.fixture
def table():
    with FeishuTable() as made:
        yield made


def collect(count: int) -> list[str]:
    with clock.set_to(START):  # a mirror gets what is settled, not what was written a moment ago
        ids = add_candidates(count)
        mine = holder()
        actions.claim({**held(mine), "batch_size": 50})
        for one in ids:
            commit(mine, one)
    return ids


def test_every_note_gets_one_row_in_pages_and_a_second_run_reads_nothing(table, n8n):
    ids = collect(3)
    run = Run(table, n8n, limit=2)
    assert run.execute() == "Mirrored"
    assert sorted(row["note_id"] for row in table.rows.values()) == sorted(ids)
    first = table.rows["rec00000001"]
    note = Note.objects.get(note_id=first["note_id"])
    assert (first["title"], first["tags"], first["liked"]) == ("A lantern", "lantern", None)
    assert first["collected_at"] == int(note.collected_at.timestamp() * 1000)
    asked = len(table.log.all())
    assert run.execute() == "Nothing new"
    assert len(table.log.all()) == asked


def test_mirror_that_begins_again_updates_rows_and_adds_none(table, n8n):
    collect(3)
    Run(table, n8n).execute()
    before = dict(table.rows)
    table.rows["rec00000001"] = {**before["rec00000001"], "title": "changed by hand"}
    assert Run(table, n8n).execute() == "Mirrored"
    assert table.rows == before


@pytest.mark.parametrize("fault", ["secret", "full"])
def test_refusal_of_feishu_ends_the_run_and_the_next_one_begins_at_the_same_place(table, n8n, fault):
    ids = collect(3)
    run = Run(table, n8n, limit=2)
    if fault == "secret":
        run.secret = "wrong"
    else:
        table.full_after = 2
    with pytest.raises(Refused, match="Feishu refused"):
        run.execute()
    run.secret, table.full_after = APP_SECRET, 100
    run.execute()
    assert sorted(row["note_id"] for row in table.rows.values()) == sorted(ids)


def test_refusal_of_watchbook_is_named(table, n8n):
    n8n.client.defaults["HTTP_AUTHORIZATION"] = "Bearer wb_wrong"
    with pytest.raises(Refused, match="Watchbook answered 401"):
        Run(table, n8n).execute()
    assert table.log.all() == []
