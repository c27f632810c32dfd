"""Executions and alerts as people see them, and what each list costs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.systems.notes import actions
from watchbook.systems.notes.models import Execution
from watchbook.systems.notes.tests.browser import (
    MOST_QUERIES,
    chief,
    collect_by_hand,
    fail_one,
    get,
    post,
    reader,
    said,
)
from watchbook.systems.notes.tests.data import add_candidates, commit, held, holder

pytestmark = pytest.mark.django_db

__all__ = ["chief", "reader"]


class TestExecutions:
    def test_one_shows_every_note_with_its_reason(self, chief):
        one = fail_one()
        row = Execution.objects.get()
        answer = get(chief, "execution", row.execution_id)
        (line,) = answer.context["lines"]
        assert line.error == "The note does not exist or is not public."
        assert str(answer.context["run"].badge.text) == "Partial"
        assert f'name="note_id" value="{one}"' in answer.content.decode()

    def test_candidates_of_later_run_are_counted(self, reader):
        fail_one()
        first = Execution.objects.get().execution_id
        actions.retry_failed()
        collect_by_hand()
        answer = get(reader, "execution", first)
        assert (answer.context["lines"], answer.context["moved_on"]) == ([], 1)
        assert b"1 more note is listed" in answer.content

    def test_states_of_an_execution(self, reader):
        mine = holder()
        assert b"Running" in get(reader, "executions").content
        with clock.set_to(clock.now() + timedelta(minutes=31)):
            actions.recover()
            answer = get(reader, "execution", mine.execution_id)
        assert b"No heartbeat for 30 minutes" in answer.content
        assert b"Restarted" in answer.content

    def test_progress_panel_refreshes_until_the_run_ends(self, reader):
        ids = add_candidates(5)
        mine = holder()
        actions.claim({**held(mine), "batch_size": 2})
        commit(mine, ids[0])
        actions.fail({**held(mine), "note_id": ids[1], "error": {"code": "TIMEOUT_ERROR", "message": "slow"}})
        work = get(reader, "candidates").context["work"]
        # The one that failed waits again, but not for this execution.
        assert (work.done, work.total, work.execution_id) == (2, 5, mine.execution_id)
        part = reader.get("/notes/live/", headers={"HX-Request": "true"})
        assert b'value="2" max="5"' in part.content
        assert b"<html" not in part.content
        actions.release({**held(mine), "status": "completed"})
        assert reader.get("/notes/live/", headers={"HX-Request": "true"})["HX-Refresh"] == "true"
        assert reader.get("/notes/live/").status_code == 302

    def test_collect_now_is_a_run_in_the_queue(self, chief, platform):
        answer = post(chief, "collect")
        assert said(answer) == ["Run queued."]
        assert b"queued" in answer.content
        run = JobRun.objects.get()
        assert (run.name, run.requested_by.email) == ("notes.collect", "operator@example.com")

    def test_collect_now_says_why_it_cannot(self, chief, monkeypatch):
        assert said(post(chief, "collect")) == ["No adapter is enabled. An operator chooses one under Settings."]
        assert b"No requests are sent to the platform" in get(chief, "candidates").content
        assert JobRun.objects.count() == 0

    def test_collect_now_leaves_it_to_another_program(self, chief, platform, monkeypatch):
        monkeypatch.setenv("NOTES_RUNNER", "off")
        assert said(post(chief, "collect")) == ["The built-in runner is disabled in the settings."]
        assert b"Collect now" not in get(chief, "executions").content


class TestAlerts:
    def test_conditions_show_open_and_resolved_alerts(self, chief, platform):
        others = [(level, "Not triggered") for level in ("P1", "P1", "P2")]

        def shown():
            return [
                (str(watch.condition.level), str(watch.badge.text)) for watch in get(chief, "alerts").context["watches"]
            ]

        assert shown() == [("P0", "Met, not long enough"), *others]
        run_now("notes.watch")
        assert shown() == [("P0", "Open"), *others]
        actions.add_cookie("one", "web_session=made-up-12345")
        run_now("notes.watch")
        answer = get(chief, "alerts")
        assert shown() == [("P0", "Resolved"), *others]
        assert [alert.key for alert in answer.context["page"]] == ["notes:cookies_exhausted"]
        assert Alert.objects.get().closed_at

    def test_condition_that_has_not_lasted_says_so(self, reader):
        add_candidates(501)
        run_now("notes.watch")
        assert b"Met, not long enough" in get(reader, "alerts").content

    def test_failed_workflow_is_listed(self, reader):
        actions.report({"workflow_name": "collect", "message": "node 3 failed"})
        assert b"The workflow collect failed" in get(reader, "alerts").content


@pytest.mark.parametrize("name", ["candidates", "notes", "keywords", "executions", "execution"])
def test_lists_cost_the_same_for_one_and_for_thirty(reader, name):
    def cost():
        args = [Execution.objects.latest("pk").execution_id] if name == "execution" else []
        with CaptureQueriesContext(connection) as queries:
            assert get(reader, name, *args).status_code == 200
        return len(queries)

    collect_by_hand(1)
    actions.add_keyword("word 0")
    get(reader, "candidates")
    few = cost()
    for number in range(1, 30):
        actions.add_keyword(f"word {number}")
    for number in range(2, 31):
        collect_by_hand(number)
    assert cost() == few
    assert few <= MOST_QUERIES
