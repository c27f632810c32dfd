"""The scenarios: collect with a partial failure and a retry, creators, comments, mirror, recover, alert."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from standins.feishu_table import APP, APP_ID, APP_SECRET, TABLE, FeishuTable
from standins.note_platform import NotePlatform
from standins.note_platform.ledger import author_id
from tests.n8n.engine import Engine
from tests.n8n.server import Server

WORKFLOWS = Path(__file__).resolve().parents[2] / "integrations" / "n8n"
NOTES = 12
# A mirror gets what is older than this.
SETTLED_SECONDS = 65.0
SHIPPED_ADDRESS = "http://127.0.0.1:8000"


def load(name: str, server: Server) -> dict[str, Any]:
    """A workflow as it is shipped, with the one line changed that a user changes."""
    text = (WORKFLOWS / f"{name}.json").read_text(encoding="utf-8")
    assert SHIPPED_ADDRESS in text, name
    workflow: dict[str, Any] = json.loads(text.replace(SHIPPED_ADDRESS, server.url))
    return workflow


def offer(server: Server, platform: NotePlatform) -> None:
    found = server.ask("POST", "/notes/search", {"keyword": "Lantern", "page_size": 50})["data"]["items"]
    items = [
        {"note_id": card["note_id"], "xsec_token": card["xsec_token"], "source_keyword": "Lantern"} for card in found
    ]
    added = server.ask("POST", "/notes/workflow/candidates", {"items": items})["data"]["added"]
    assert added == len(items) == NOTES, added


def collect(engine: Engine, server: Server, platform: NotePlatform) -> list[str]:
    """Twelve notes in two rounds: one is gone, one answers only at the third time, the rest is fine."""
    ids = [note.note_id for note in platform.add_many(NOTES)]
    offer(server, platform)
    platform.mood(ids[3], "gone")
    feed = "/api/sns/web/v1/feed"
    platform.faults.on(feed, first=2, when=lambda request: ids[5].encode() in request.body).fail(503)
    ran = engine.execute("watchbookCollect")
    assert ran.status == "success", (ran.status, ran.error)
    asked = [read["name"] for read in platform.ledger.reads if read["what"] == "detail"]
    requests = sum(ids[5].encode() in request.body for request in platform.log.all(feed))
    assert requests == 3, f"asked {requests} times"
    assert asked.count(ids[3]) == 1, "what is gone is not asked for again"
    assert sorted(row["note_id"] for row in server.ask("GET", "/notes/sources?limit=100")["items"]) == sorted(
        set(ids) - {ids[3]}
    )
    states = dict(server.rows("SELECT note_id, status FROM tbl_candidate"))
    assert states.pop(ids[3]) == "failed"
    assert set(states.values()) == {"collected"}
    [execution] = server.ask("GET", "/notes/executions")["items"]
    assert (execution["status"], execution["items_processed"], execution["items_failed"]) == ("completed", 11, 1)
    _check_trace(server, platform, execution)
    again = engine.execute("watchbookCollect")
    assert (again.status, again.times("Read batch")) == ("success", 0)
    assert server.rows("SELECT COUNT(*) FROM tbl_source") == [(11,)]
    return [
        f"collect: 12 claimed in {ran.times('Claim')} claims, {ran.times('Read batch')} batches, 11 written, 1 gone",
        f"retry: one note asked {requests} times, after waits of 5 and 15 s ({ran.times('Wait')} waits)",
        "second collect: nothing waits, nothing is read, still 11 rows",
    ]


def _check_trace(server: Server, platform: NotePlatform, execution: dict[str, Any]) -> None:
    """One request id from n8n to the platform, the rows and the log."""
    trace = execution["request_id"]
    assert trace.startswith("n8n-"), trace
    assert {read["request_id"] for read in platform.ledger.reads if read["what"] == "detail"} == {trace}
    assert {row["exec_meta"]["request_id"] for row in server.ask("GET", "/notes/sources?limit=100")["items"]} == {trace}
    assert f"[{trace}]" in server.log.read_text()


def creators(engine: Engine, server: Server, platform: NotePlatform) -> list[str]:
    """A followed creator with seven notes on two pages, and one who cannot be read: that stops nothing."""
    platform.listing_size = 5
    mine = {platform.add(f"Walk {number}", author=8).note_id for number in range(1, 8)}
    for number, mood in ((8, "fine"), (9, "private")):
        platform.creator_mood(author_id(number), mood)
        profile = f"https://www.xiaohongshu.com/user/profile/{author_id(number)}"
        followed = server.ask("POST", "/notes/creators", {"creator": profile})
        assert followed["data"]["added"], followed
    ran = engine.execute("watchbookCreator")
    assert ran.status == "success", (ran.status, ran.error)
    pages = sum(read["what"] == "creator" and read["name"] == author_id(8) for read in platform.ledger.reads)
    assert pages == 2, pages
    waiting = {row["note_id"] for row in server.ask("GET", "/notes/candidates?status=pending&limit=100")["items"]}
    assert waiting == mine
    errors = [bool(row["last_error"]) for row in server.ask("GET", "/notes/creators")["items"]]
    assert sorted(errors) == [False, True], errors
    again = engine.execute("watchbookCreator")
    assert (again.status, again.times("Check")) == ("success", 1), (again.status, again.error)
    assert again.items("Check")[0]["body"]["data"]["checked"] is False
    collected = engine.execute("watchbookCollect")
    assert collected.status == "success", (collected.status, collected.error)
    assert mine <= {note_id for (note_id,) in server.rows("SELECT note_id FROM tbl_source")}
    return [
        f"creators: {ran.times('Check')} checks, {pages} pages, 7 notes became candidates, the other one failed",
        "second check: no creator is due; the next collect collects the 7 notes",
    ]


def comments(engine: Engine, server: Server, platform: NotePlatform) -> list[str]:
    """Comments on two pages, with answers: the archive equals the ledger; a second run finds nothing due."""
    platform.comments_size = 4
    stored = [note_id for (note_id,) in server.rows("SELECT note_id FROM tbl_source ORDER BY note_id")]
    note = platform.ledger.notes[stored[0]]
    first, *_rest = [platform.ledger.comment(note, f"Comment {number}") for number in range(1, 7)]
    for number in (1, 2):
        platform.ledger.comment(note, f"Answer {number}", first)
    ran = engine.execute("watchbookComment")
    assert ran.status == "success", (ran.status, ran.error)
    kept = {row["comment_id"]: row["content"] for row in server.ask("GET", "/notes/comments?limit=100")["items"]}
    held = {one.comment_id: one.text for one in (*note.thread, *first.answers)}
    assert kept == held, (kept, held)
    read = {row["body"]["data"]["note_id"] for row in ran.items("Read") if row["body"]["data"]["checked"]}
    assert read == set(stored)
    again = engine.execute("watchbookComment")
    assert (again.status, again.times("Read")) == ("success", 1), (again.status, again.error)
    return [f"comments: {len(read)} notes read, {len(kept)} comments as in the ledger; a second run reads none"]


def mirror(engine: Engine, server: Server, table: FeishuTable) -> list[str]:
    """Every collected note becomes one row of the table; a second run finds nothing new."""
    workflow = load("mirror-feishu", server)
    text = json.dumps(workflow).replace("https://open.feishu.cn", table.url).replace("limit: 50", "limit: 5")
    engine.put_workflow(json.loads(text.replace("APP_TOKEN", APP).replace("TABLE_ID", TABLE)))
    engine.put_feishu_app(APP_ID, APP_SECRET)
    time.sleep(SETTLED_SECONDS)
    notes = sorted(note_id for (note_id,) in server.rows("SELECT note_id FROM tbl_source"))
    ran = engine.execute("watchbookFeishu0")
    assert ran.status == "success", (ran.status, ran.error)
    assert sorted(row["note_id"] for row in table.rows.values()) == notes
    written = len(table.rows)
    again = engine.execute("watchbookFeishu0")
    assert (again.status, len(table.rows)) == ("success", written), (again.status, again.error)
    assert again.times("Write rows") == 0, "nothing is new"
    return [f"mirror: {written} rows in {ran.times('Write rows')} writes, each note once; a second run writes none"]


def recover(engine: Engine, server: Server) -> list[str]:
    """An execution that stopped an hour ago, with a record in its hand."""
    note_id = "68ffffff0000000000000001"
    server.ask("POST", "/notes/workflow/candidates", {"items": [{"note_id": note_id}]})
    held = server.ask("POST", "/notes/workflow/acquire", {"workflow_name": "stopped"})["data"]
    lock = {"execution_id": held["execution_id"], "fence": held["fence"]}
    assert server.ask("POST", "/notes/workflow/claim", lock)["data"]["locked_count"] == 1
    server.rows(
        "UPDATE tbl_crawl_execution SET heartbeat_at = datetime('now', '-60 minutes') WHERE execution_id = ?",
        held["execution_id"],
    )
    server.rows("UPDATE tbl_candidate SET locked_at = datetime('now', '-60 minutes') WHERE note_id = ?", note_id)
    ran = engine.execute("watchbookRecover")
    assert ran.status == "success", ran.error
    assert ran.items("Recover")[0]["body"]["data"] == {
        "executions_timed_out": 1, "candidates_returned": 1, "candidates_failed": 0,
    }  # fmt: skip
    late = server.ask("POST", "/notes/workflow/commit", {**lock, "note_id": note_id, "result": {"title": "late"}})
    assert late["error"]["code"] == "LOCK_LOST", late
    assert server.rows("SELECT status, retry_count FROM tbl_candidate WHERE note_id = ?", note_id) == [("pending", 1)]
    return ["recover: 1 execution timed out, 1 record waits again, its late commit is LOCK_LOST"]


def alert(engine: Engine, server: Server) -> list[str]:
    """A scheduled workflow that cannot do its work calls the error workflow, and that one tells Watchbook."""
    broken = load("recover", server)
    broken["nodes"][0]["parameters"]["rule"]["interval"] = [{"field": "seconds", "secondsInterval": 5}]
    engine.put_workflow(json.loads(json.dumps(broken).replace("/workflow/recover", "/workflow/no-such-step")))
    engine.publish("watchbookRecover")
    engine.publish("watchbookAlert00")
    with engine.serving():
        opened = until(lambda: server.rows("SELECT level, title, closed_at FROM alerts WHERE source = 'notes'"))
    assert [(level, closed) for level, _title, closed in opened] == [("P1", None)], opened
    engine.put_workflow(load("recover", server))
    repaired = engine.execute("watchbookRecover")
    assert repaired.status == "success", repaired.error
    [(closed,)] = server.rows("SELECT closed_at FROM alerts WHERE source = 'notes'")
    assert closed is not None
    return ["alert: the broken workflow opened one P1 alert, the repaired one closed it"]


def until(look: Callable[[], list[Any]], seconds: float = 120.0) -> list[Any]:
    """Wait for something that n8n does in its own time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = look()
        if found:
            return found
        time.sleep(0.5)
    return []
