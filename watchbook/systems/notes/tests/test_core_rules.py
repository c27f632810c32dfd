"""The eight core rules, each verified as the document says."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from watchbook.base import clock
from watchbook.systems import notes
from watchbook.systems.notes import actions
from watchbook.systems.notes.models import Candidate, CookieLease, Note
from watchbook.systems.notes.rules import LockLost
from watchbook.systems.notes.tests.data import START, add_candidates, command, commit, held, holder, states

pytestmark = pytest.mark.django_db

ROOM = Path(notes.__file__).parent


def tables():
    return {model: list(model.objects.order_by("pk").values()) for model in (Candidate, Note)}


def test_rule_1_n8n_is_the_only_writer(n8n, platform, pool):
    """`grep feishu` finds nothing in the program, and the crawl API changes nothing but the pool's counters."""
    ours = [path for path in ROOM.rglob("*") if path.is_file() and "tests" not in path.parts and path.suffix != ".pyc"]
    assert [path for path in ours if "feishu" in path.read_text(encoding="utf-8", errors="ignore").lower()] == []
    pool()
    note = platform.add("Lantern")
    add_candidates(2)
    before = tables()
    body = {"note_id": note.note_id, "xsec_token": note.token}
    assert n8n.post("detail", body)["success"]
    assert n8n.post("batch", {"items": [body]})["success"]
    assert n8n.post("search", {"keyword": "Lantern"})["success"]
    assert tables() == before
    assert CookieLease.objects.count() == 3


def test_rule_2_every_write_is_idempotent(n8n):
    ids = add_candidates(1)
    body = {"items": [{"note_id": ids[0], "platform": "xhs", "note_url": "", "source_keyword": "x"}]}
    assert n8n.post("workflow/candidates", body)["data"] == {"added": 0, "known": 1}
    mine = holder()
    actions.claim(held(mine))
    commit(mine, ids[0])
    commit(mine, ids[0])
    assert Note.objects.count() == 1
    actions.recover()
    actions.recover()
    assert states() == {ids[0]: "collected"}


def test_rule_3_one_execution_at_a_time(n8n):
    """The race itself is in test_races; this is the answer the second one gets."""
    first = n8n.post("workflow/acquire", {"workflow_name": "collect"})["data"]
    second = n8n.post("workflow/acquire", {"workflow_name": "collect"})["data"]
    assert (first["locked"], second["locked"]) == (True, False)


def test_rule_4_one_execution_per_record():
    [one] = add_candidates(1)
    first, second = holder("one"), holder("two")
    assert actions.claim(held(first))["locked_count"] == 1
    assert actions.claim(held(second))["locked_count"] == 0
    with pytest.raises(LockLost):
        commit(second, one)
    assert Note.objects.count() == 0


def test_rule_5_locks_are_freed_after_30_minutes():
    [one] = add_candidates(1)
    with clock.set_to(START):
        mine = holder()
        actions.claim(held(mine))
        assert actions.acquire({"workflow_name": "collect"})["locked"] is False
    for minutes, is_free in ((15, False), (30, False), (45, True)):
        with clock.set_to(START + timedelta(minutes=minutes)):
            actions.recover()
            assert (states()[one] == "pending") is is_free
    with clock.set_to(START + timedelta(minutes=45)):
        assert actions.acquire({"workflow_name": "collect"})["locked"] is True


def test_rule_6_a_request_id_runs_through(n8n, platform, pool, caplog):
    pool()
    note = platform.add("One")
    with caplog.at_level(logging.INFO):
        answer = n8n.post("detail", {"note_id": note.note_id, "xsec_token": note.token}, **{"X-Request-ID": "t-1"})
        hostile = n8n.post("detail", {"note_id": note.note_id}, **{"X-Request-ID": "x forged line"})
    assert answer["meta"]["request_id"] == "t-1"
    assert platform.ledger.reads[0]["request_id"] == "t-1"
    assert "forged" not in hostile["meta"]["request_id"]
    assert "forged" not in platform.ledger.reads[1]["request_id"]


def test_rule_7_no_cookie_in_the_clear(pool, capsys):
    pool()
    command("security-audit")
    assert "passed=true" in capsys.readouterr().out


def test_rule_8_a_batch_fails_in_parts(n8n, platform, pool, monkeypatch):
    """Three notes, one of which does not answer: two good ones and one with its reason."""
    monkeypatch.setenv("NOTES_DETAIL_TIMEOUT_SECONDS", "0.5")
    pool()
    entries = platform.add_many(3)
    platform.mood(entries[0].note_id, "hang")
    answer = n8n.post("batch", {"items": [{"note_id": e.note_id, "xsec_token": e.token} for e in entries]})
    assert answer["summary"] == {"total": 3, "succeeded": 2, "failed": 1}
    assert answer["items"][0]["error"]["code"] == "TIMEOUT_ERROR"
    assert answer["items"][0]["error"]["retryable"] is True
    assert answer["error"]["details"]["failed_ids"] == [entries[0].note_id]
