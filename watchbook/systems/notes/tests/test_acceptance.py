"""The document's acceptance list, day 1 to day 3: each line a test of its name."""

from __future__ import annotations

import io
import logging
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import translation

from watchbook.base import clock
from watchbook.base.crypto import DecryptionError
from watchbook.base.logs import TextLines
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.runner import run_now
from watchbook.systems.notes import actions, encryption
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.jobs.audit import audit
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, Cookie, CookieLease, Execution, Note
from watchbook.systems.notes.parse.records import NoteAddress
from watchbook.systems.notes.rules import HANDLING, Code
from watchbook.systems.notes.tests.data import (
    START,
    add_candidates,
    command,
    commit,
    held,
    holder,
    note_id,
    offer,
    states,
)

pytestmark = pytest.mark.django_db

TABLES = {
    "tbl_cookie": "cookie_name platform cookie_encrypted status priority daily_used daily_limit consecutive_errors "
    "cooling_until created_at updated_at encryption_key_id",
    "tbl_candidate": "note_id platform note_url status processing_lock locked_at retry_count source_keyword exec_meta",
    "tbl_crawl_execution": "workflow_name execution_id status started_at heartbeat_at completed_at items_processed "
    "items_failed",
    "tbl_source": "idempotency_key processing_lock locked_at retry_count last_error_code exec_meta",
}


class TestDay1:
    @pytest.mark.parametrize("table", TABLES)
    def test_four_tables_are_there_with_all_their_columns(self, table):
        with connection.cursor() as cursor:
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
        assert set(TABLES[table].split()) - there == set()

    def test_api_answers_in_one_shape(self, n8n, platform, pool):
        pool()
        note = platform.add("One")
        good = n8n.post("detail", {"note_id": note.note_id, "xsec_token": note.token})
        bad = n8n.post("detail", {"note_id": "no such id!"})
        for answer in (good, bad):
            assert set(answer) == {"success", "data", "error", "meta"}
            assert {"request_id", "latency_ms", "cookie_used"} <= set(answer["meta"])
        assert good["success"] is True
        assert good["error"] is None
        assert good["meta"]["cookie_used"] == "account_01"
        assert bad["success"] is False
        assert bad["data"] is None
        assert set(bad["error"]) >= {"code", "message", "retryable"}

    def test_error_codes_are_complete(self):
        wanted = {
            "COOKIE_EXHAUSTED": (False, 0), "COOKIE_INVALID": (True, 3), "PLATFORM_ERROR": (True, 2),
            "TIMEOUT_ERROR": (True, 2), "NETWORK_ERROR": (True, 3), "PARTIAL_FAIL": (True, 2),
            "INVALID_INPUT": (False, 0),
        }  # fmt: skip
        have = {str(code): (handling.retryable, handling.max_retry) for code, handling in HANDLING.items()}
        assert {code: have[code] for code in wanted} == wanted
        assert set(HANDLING) == set(Code)
        assert set(have) - set(wanted) == {"LOCK_LOST", "NOT_FOUND", "RATE_LIMITED"}

    def test_cookies_are_encrypted_and_decrypted(self):
        encrypted, key_id = encryption.encrypt("web_session=made-up-1234", name="a", platform="xhs")
        assert encrypted.startswith(f"v2:{key_id}:")
        assert "made-up" not in encrypted
        assert encryption.decrypt(encrypted, name="a", platform="xhs") == "web_session=made-up-1234"
        with pytest.raises(DecryptionError):
            encryption.decrypt(encrypted, name="b", platform="xhs")

    def test_security_audit_passes(self, pool, capsys):
        pool()
        command("security-audit")
        assert capsys.readouterr().out.strip().endswith("passed=true")


class TestDay2:
    def test_execution_lock_is_taken_and_released(self):
        first = actions.acquire({"workflow_name": "collect"})
        assert first["locked"] is True
        second = actions.acquire({"workflow_name": "collect"})
        assert second["locked"] is False
        assert second["reason"]
        assert actions.acquire({"workflow_name": "other"})["locked"] is True
        actions.release({"execution_id": first["execution_id"], "fence": first["fence"], "status": "completed"})
        third = actions.acquire({"workflow_name": "collect"})
        assert third["locked"] is True
        assert third["fence"] > first["fence"]

    def test_record_locks_are_taken_and_released(self):
        ids = add_candidates(3)
        mine = holder()
        taken = actions.claim({**held(mine), "batch_size": 2})
        assert taken["locked_count"] == 2
        assert [record["note_id"] for record in taken["records"]] == ids[:2]
        row = Candidate.objects.get(note_id=ids[0])
        assert (row.status, row.processing_lock, bool(row.locked_at)) == ("processing", mine.execution_id, True)
        commit(mine, ids[0])
        failed = actions.fail(
            {**held(mine), "note_id": ids[1], "error": {"code": "PLATFORM_ERROR", "message": "no", "retryable": True}}
        )
        assert failed == {"status": "pending", "retry_count": 1}
        assert states() == {ids[0]: "collected", ids[1]: "pending", ids[2]: "pending"}
        assert Candidate.objects.exclude(processing_lock=None).count() == 0

    def test_writing_twice_writes_once(self):
        [one] = add_candidates(1)
        mine = holder()
        actions.claim(held(mine))
        first, second = commit(mine, one), commit(mine, one)
        assert (first["action"], second["action"]) == ("created", "skipped")
        assert first["id"] == second["id"]
        assert list(Note.objects.values_list("idempotency_key", flat=True)) == [f"{one}_v1"]

    def test_request_id_can_be_followed_all_the_way(self, n8n, platform, pool, caplog):
        pool()
        note = platform.add("One")
        offer(note)
        trace = "trace-4711.abc"
        with caplog.at_level(logging.INFO):
            got = n8n.post("workflow/acquire", {"workflow_name": "collect"}, **{"X-Request-ID": trace})
            mine = {"execution_id": got["data"]["execution_id"], "fence": got["data"]["fence"]}
            [record] = n8n.post("workflow/claim", mine, **{"X-Request-ID": trace})["data"]["records"]
            address = {name: record[name] for name in ("note_id", "xsec_token") if name in record}
            read = n8n.post("detail", address, **{"X-Request-ID": trace})
            n8n.post(
                "workflow/commit",
                {**mine, "note_id": note.note_id, "result": read["data"]},
                **{"X-Request-ID": trace},
            )
        assert read["meta"]["request_id"] == trace
        assert platform.ledger.reads[-1]["request_id"] == trace
        assert Note.objects.get().exec_meta["request_id"] == trace
        assert Candidate.objects.get().exec_meta["request_id"] == trace
        assert Execution.objects.get().request_id == trace
        assert CookieLease.objects.get().request_id == trace

    def test_recovery_frees_what_timed_out(self):
        ids = add_candidates(2)
        with clock.set_to(START):
            mine = holder()
            actions.claim({**held(mine), "batch_size": 1})
        with clock.set_to(START + timedelta(minutes=30)):
            assert actions.recover() == {"executions_timed_out": 0, "candidates_returned": 0, "candidates_failed": 0}
        with clock.set_to(START + timedelta(minutes=31)):
            run = run_now("notes.recover")
        assert run.progress == {"executions_timed_out": 1, "candidates_returned": 1, "candidates_failed": 0}
        assert Execution.objects.get().status == "timeout"
        assert states() == {ids[0]: "pending", ids[1]: "pending"}
        assert Candidate.objects.get(note_id=ids[0]).retry_count == 1

    def test_no_cookie_is_in_the_log(self, platform, pool, n8n):
        name = pool()
        written = io.StringIO()
        handler = logging.StreamHandler(written)
        handler.setFormatter(TextLines())
        root = logging.getLogger()
        before = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            note = platform.add("One")
            n8n.post("detail", {"note_id": note.note_id, "xsec_token": note.token})
            platform.account_mood(f"made-up-session-of-{name}-7731", "login")
            n8n.post("detail", {"note_id": note.note_id, "xsec_token": note.token})
            logging.getLogger("watchbook.test").warning("sent %s", f"web_session=made-up-session-of-{name}-7731; a1=x")
        finally:
            root.removeHandler(handler)
            root.setLevel(before)
        text = written.getvalue()
        assert "notes call" in text
        assert "made-up-session-of" not in text


class TestDay3:
    def test_alert_no_active_cookie(self, pool):
        name = pool()
        run_now("notes.watch")
        assert Alert.objects.open().count() == 0
        actions.switch_cookie(name, on=False)
        run_now("notes.watch")
        alert = Alert.objects.open().get()
        assert (alert.level, alert.source) == ("P0", "notes")
        with translation.override("zh-hans"):
            assert alert.title == "没有可用的 Cookie"
        actions.switch_cookie(name, on=True)
        run_now("notes.watch")
        assert Alert.objects.open().count() == 0

    def test_alert_success_rate_under_90_percent_for_10_minutes(self, pool, platform):
        pool()
        ill = platform.add("One")
        platform.mood(ill.note_id, "ill")

        def ask(minute: int) -> list[str]:
            with clock.set_to(START + timedelta(minutes=minute)):
                crawl.read_notes([NoteAddress(ill.note_id, ill.token)])
                run_now("notes.watch")
            return list(Alert.objects.open().filter(key="notes:success_rate").values_list("level", flat=True))

        assert [ask(minute) for minute in (0, 5, 9)] == [[], [], []]
        assert ask(10) == ["P1"]
        platform.mood(ill.note_id, "fine")
        for minute in range(11, 21):
            ask(minute)
        assert ask(21) == []

    def test_alert_more_than_500_pending_for_30_minutes(self):
        add_candidates(501)

        def look(minute: int) -> list[str]:
            with clock.set_to(START + timedelta(minutes=minute)):
                run_now("notes.watch")
            return list(Alert.objects.open().values_list("level", flat=True))

        assert [look(minute) for minute in (0, 15, 29)] == [[], [], []]
        assert look(30) == ["P2"]
        Candidate.objects.filter(note_id=note_id(1)).delete()
        assert look(31) == []

    def test_whole_collection_runs_to_its_end(self, platform, pool):
        pool()
        entries = platform.add_many(25)
        actions.add_keyword("Lantern")
        with clock.set_to(START):
            run_now("notes.search")
        Candidate.objects.all().delete()
        offer(*entries)
        totals = collect()
        assert (totals.locked, totals.claimed, totals.collected) == (True, 25, 25)
        assert Note.objects.count() == 25
        assert Cookie.objects.get().status == "active"

    def test_partial_failure_is_answered_in_parts(self, n8n, platform, pool):
        pool()
        entries = platform.add_many(3)
        platform.mood(entries[1].note_id, "gone")
        answer = n8n.post("batch", {"items": [{"note_id": e.note_id, "xsec_token": e.token} for e in entries]})
        assert n8n.status == 207
        assert answer["success"] is False
        assert answer["summary"] == {"total": 3, "succeeded": 2, "failed": 1}
        assert answer["error"]["code"] == "PARTIAL_FAIL"
        assert answer["error"]["retryable"] is True
        assert [item["success"] for item in answer["items"]] == [True, False, True]
        assert answer["items"][1]["error"]["code"] == "NOT_FOUND"

    def test_rollback_can_be_run(self, platform, pool, monkeypatch):
        """Roll back: switch the runner off, free every lock, forget what was collected; then go on as if new."""
        pool()
        note = platform.add("One")
        offer(note)
        assert collect().collected == 1
        monkeypatch.setenv("NOTES_RUNNER", "off")
        with clock.set_to(clock.now() + timedelta(hours=1)):
            actions.recover()
        assert Execution.objects.filter(status="running").count() == 0
        assert actions.delete_note(note.note_id)
        assert Note.objects.count() == 0
        Candidate.objects.all().delete()
        offer(note)
        monkeypatch.setenv("NOTES_RUNNER", "on")
        assert collect().collected == 1
        assert audit().passed
