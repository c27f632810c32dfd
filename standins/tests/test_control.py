from __future__ import annotations

import json
from typing import Any

import pytest

from standins.server import Answer, Site
from standins.tests.clients import Reply, ask


class Shop(Site):
    def __init__(self) -> None:
        super().__init__()
        self.goods: list[str] = []

    def respond(self, request: Any) -> Answer:
        return Answer.json(self.goods)

    def stock(self, name: str) -> int:
        self.goods.append(name)
        return len(self.goods)

    def actions(self):
        return {"stock": self.stock}

    def ledger_json(self):
        return {"goods": self.goods}


@pytest.fixture
def shop():
    with Shop() as shop:
        yield shop


def post(site: Site, path: str, value: object) -> Reply:
    return ask(site, path, "POST", json.dumps(value).encode())


def test_fault_can_be_set_listed_and_lifted_from_outside(shop):
    script = {"on": {"path": "/goods", "nth": 2}, "do": "answer", "with": {"status": 503, "body": "later"}}
    number = post(shop, "/_standin/faults", script).json()["number"]
    assert [ask(shop, "/goods").status for _ in range(3)] == [200, 503, 200]
    shown = ask(shop, "/_standin/faults").json()["faults"]
    assert shown == [{"number": number, "path": "/goods", "seen": 3, "hits": 1}]
    ask(shop, f"/_standin/faults?number={number}", "DELETE")
    assert ask(shop, "/_standin/faults").json() == {"faults": []}


def test_verbs_with_plain_arguments_take_a_list(shop):
    post(shop, "/_standin/faults", {"on": {"path": "/goods"}, "do": "claim_length", "with": ["1", "2"]})
    post(shop, "/_standin/faults", {"on": {"connection": True, "from_nth": 100}, "do": "hang"})
    assert len(ask(shop, "/_standin/faults").json()["faults"]) == 2


@pytest.mark.parametrize(
    "script",
    [
        {"do": "explode"},
        {"do": "_set"},
        {"do": "treat"},
        {"do": "answer"},
        {"do": "hang", "on": {"colour": "red"}},
        {"do": "answer", "with": {"colour": "red"}},
    ],
)
def test_wrong_script_is_refused_and_leaves_no_rule_behind(shop, script):
    reply = post(shop, "/_standin/faults", script)
    assert (reply.status, reply.json()["ok"]) == (400, False)
    assert ask(shop, "/_standin/faults").json() == {"faults": []}


def test_requests_are_shown_without_those_to_the_desk(shop):
    ask(shop, "/goods?x=1", "POST", b"hello")
    ask(shop, "/other")
    shown = ask(shop, "/_standin/requests?path=/goods").json()
    assert shown["by_path"] == {"/goods": 1, "/other": 1}
    assert [(r["method"], r["query"], r["body"], r["status"]) for r in shown["requests"]] == [
        ("POST", "x=1", "hello", 200)
    ]
    number = shown["requests"][0]["number"]
    assert [r["path"] for r in ask(shop, f"/_standin/requests?after={number}").json()["requests"]] == ["/other"]
    ask(shop, "/_standin/requests", "DELETE")
    assert ask(shop, "/_standin/requests").json()["total"] == 0


def test_world_can_be_changed_and_read_from_outside(shop):
    assert post(shop, "/_standin/do/stock", {"name": "tea"}).json() == {"ok": True, "result": 1}
    assert ask(shop, "/_standin/ledger").json() == {"goods": ["tea"]}
    assert post(shop, "/_standin/do/steal", {}).status == 400
    assert post(shop, "/_standin/do/stock", {"colour": "red"}).status == 400
    assert ask(shop, "/_standin/nothing").status == 404


def test_faults_never_reach_the_desk(shop):
    shop.faults.on("*").fail(500)
    assert ask(shop, "/goods").status == 500
    assert ask(shop, "/_standin/ledger").status == 200
