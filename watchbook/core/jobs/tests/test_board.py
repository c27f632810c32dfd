"""The jobs pages, the API and the commands, on made-up jobs."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from click.testing import CliRunner
from django.test import Client

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs import actions, cli, overview, queue, runner, scheduler
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.jobs.runner import GiveUp, LeaseLost, Outcome

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator():
    return make_person("operator", is_staff=True)


@pytest.fixture
def pages(operator):
    client = Client()
    client.force_login(operator)
    return client


def ended(name: str, count: int, *, state: str = State.DONE, seconds: float = 2, **columns) -> None:
    now = clock.now()
    for number in range(count):
        JobRun.objects.create(
            name=name, queue="crawler_queue", key=f"{name}{JobRun.objects.count()}", state=state, due_at=now,
            created_at=now, started_at=now - timedelta(seconds=seconds), finished_at=now, progress={"n": number},
            **columns,
        )  # fmt: skip


def test_last_runs_are_the_newest_of_each_job_in_one_query(django_assert_num_queries):
    ended("test.work", 20)
    ended("test.hourly", 3)
    with django_assert_num_queries(1):
        found = overview.recent_runs(["test.work", "test.hourly", "test.wanted"], 14)
    assert [run.progress["n"] for run in found["test.work"]] == list(range(19, 5, -1))
    assert len(found["test.hourly"]) == 3
    assert found["test.wanted"] == []


def test_board_costs_the_same_for_many_runs(pages, django_assert_max_num_queries):
    ended("test.work", 60)
    ended("test.hourly", 40, state=State.FAILED, error="boom", error_code="unexpected")
    with django_assert_max_num_queries(30):
        page = pages.get("/operations/jobs/")
    assert page.status_code == 200


def test_board_shows_what_runs_what_failed_and_what_comes(pages):
    scheduler.make_due_runs(clock.now())
    ended(
        "test.hourly",
        1,
        state=State.FAILED,
        error="the page has <b>no</b> title password=hunter22",
        error_code="unexpected",
    )
    run = queue.claim(queue.enqueue("test.work"), "worker@h:1:1")
    JobRun.objects.filter(pk=run.pk).update(progress={"done": 30, "total": 120, "gaps": 4})
    page = squeezed(pages.get("/operations/jobs/").text)
    assert '<progress class="bar" value="30" max="120">' in page
    assert "<span>gaps<b>4</b></span>" in page
    assert "the page has &lt;b&gt;no&lt;/b&gt; title password=***" in page
    assert f"/operations/runs/{run.pk}/" in page
    assert page.count("Run now") >= 3


ASKED = (
    "",
    "?q=HOURLY",
    "?result=failed",
    "?result=never",
    "?plan=on_demand",
    "?days=today",
    "?order=name",
    "?source=core",
)


@pytest.mark.parametrize("asked", ASKED)
def test_export_and_api_have_exactly_the_jobs_of_the_board(pages, asked):
    ended("test.work", 1)
    ended("test.hourly", 1, state=State.FAILED, error="password=hunter22", error_code="unexpected")
    shown = [line.name for line in pages.get(f"/operations/jobs/{asked}").context["lines"]]
    join = "&" if asked else "?"
    lines = pages.get(f"/operations/jobs/{asked}{join}format=jsonl").getvalue().decode().splitlines()
    assert [json.loads(line)["name"] for line in lines] == shown
    assert "hunter22" not in "".join(lines)
    table = pages.get(f"/operations/jobs/{asked}{join}format=csv").getvalue().decode().splitlines()
    assert len(table) == len(shown) + 1
    assert pages.get(f"/operations/jobs/{asked}{join}format=xlsx").getvalue().startswith(b"PK")
    assert [job["name"] for job in pages.get(f"/api/v1/jobs{asked}").json()["items"]] == shown


def test_board_is_searched_filtered_and_sorted(pages):
    ended("test.work", 1, seconds=9)
    ended("test.hourly", 1, state=State.FAILED, error="boom", error_code="unexpected")
    everything = pages.get("/operations/jobs/").context["lines"]

    def shown(**asked):
        return [line.name for line in pages.get("/operations/jobs/", asked).context["lines"]]

    assert shown(q="hourly") == ["test.hourly"]
    assert shown(result="failed") == ["test.hourly"]
    assert shown(days="today", order="longest") == ["test.work", "test.hourly"]
    assert shown(days="last_week") == []
    assert set(shown(result="never")) == {line.name for line in everything} - {"test.work", "test.hourly"}
    assert len(shown(order="newest")) == len(everything), "jobs that never ran are last, not left out"
    page = squeezed(pages.get("/operations/jobs/", {"q": "no such job"}).text)
    assert "No matches" in page
    assert "Failed (1)" in squeezed(pages.get("/operations/jobs/").text)
    assert pages.get("/api/v1/jobs?result=unheard").status_code == 422


def test_requests_are_named_once_and_without_a_plural(pages):
    ended("test.work", 1, http_request_count=1)
    run = JobRun.objects.get()
    JobRun.objects.update(progress={"sent": 2, "requests": 1})
    for address in ("/operations/jobs/", "/operations/jobs/test.work/"):
        assert "sent 2, requests 1<" in squeezed(pages.get(address).text)
    assert pages.get(f"/operations/runs/{run.pk}/").content.decode().count("<dt>Requests</dt>") == 1
    in_chinese = pages.get(f"/operations/runs/{run.pk}/", headers={"Accept-Language": "zh-CN"}).text
    assert "<dt>请求</dt><dd>1</dd>" in squeezed(in_chinese)


def test_live_part_is_only_for_swaps(pages):
    queue.claim(queue.enqueue("test.work"), "worker@h:1:1")
    part = pages.get("/operations/jobs/live/", headers={"hx-request": "true"}).content.decode()
    assert "<html" not in part
    assert 'hx-trigger="every 2s"' in part
    assert pages.get("/operations/jobs/live/").status_code == 302


def test_time_left_is_said_only_after_a_tenth(pages):
    run = queue.claim(queue.enqueue("test.work"), "worker@h:1:1")
    JobRun.objects.filter(pk=run.pk).update(started_at=clock.now() - timedelta(seconds=60))
    for done, said in ((9, False), (50, True)):
        JobRun.objects.filter(pk=run.pk).update(progress={"done": done, "total": 100})
        page = squeezed(pages.get(f"/operations/runs/{run.pk}/").text)
        assert (" left</span>" in page) is said


def test_run_far_slower_than_usual_is_marked(pages):
    ended("test.work", 8, seconds=10)
    ended("test.work", 1, seconds=600)
    assert "Slow" in pages.get("/operations/jobs/").content.decode()


def test_run_now_puts_one_run_into_the_queue_however_often_it_is_pressed(pages, operator):
    for _ in range(3):
        assert pages.post("/operations/jobs/test.work/run/").status_code == 302
    run = JobRun.objects.get()
    assert (run.state, run.requested_by, run.exclusive) == (State.QUEUED, operator, "job:test.work")
    assert AuditEvent.objects.filter(event="job.started").count() == 3
    assert pages.post("/operations/jobs/no.such/run/").status_code == 404


def test_queued_run_is_cancelled_and_an_ended_one_is_retried(pages):
    run = queue.enqueue("test.work", {"n": 1})
    pages.post(f"/operations/runs/{run.pk}/stop/")
    assert JobRun.objects.get(pk=run.pk).state == State.CANCELLED
    pages.post(f"/operations/runs/{run.pk}/again/")
    again = JobRun.objects.exclude(pk=run.pk).get()
    assert (again.state, again.args) == (State.QUEUED, {"n": 1})


def test_running_run_that_is_stopped_can_write_nothing_more(made_up_jobs, pages):
    seen = []

    def work(ctx):
        pages.post(f"/operations/runs/{ctx.run.pk}/stop/")
        with pytest.raises(LeaseLost):
            ctx.renew()
        seen.append(ctx.run.pk)
        raise LeaseLost

    made_up_jobs["do"] = work
    run = runner.run_now("test.work", exclusive="job:test.work")
    assert seen == [run.pk]
    assert (run.state, run.exclusive_slot, run.lease_until) == (State.CANCELLED, None, None)


def test_pausing_stops_the_schedule_and_resuming_continues_it(pages):
    pages.post("/operations/jobs/pause/", {"paused": "1"})
    assert set(JobSchedule.objects.values_list("name", "is_enabled")) == {
        ("test.hourly", False),
        ("test.wanted", False),
    }
    scheduler.make_due_runs(clock.now() + timedelta(hours=3))
    assert not JobRun.objects.exists()
    assert "Resume all jobs" in pages.get("/operations/jobs/").content.decode()
    pages.post("/operations/jobs/test.hourly/pause/", {"paused": "0"})
    scheduler.make_due_runs(clock.now() + timedelta(hours=3))
    assert JobRun.objects.get().name == "test.hourly"


def test_job_and_run_pages(pages):
    ended("test.work", 40)
    page = pages.get("/operations/jobs/test.work/").content.decode()
    assert len(re.findall(r"\"/operations/runs/\d+/", page)) == 30
    assert "older=" in page
    run = JobRun.objects.latest("pk")
    assert pages.get(f"/operations/runs/{run.pk}/").status_code == 200
    assert pages.get("/operations/jobs/no.such/").status_code == 404
    assert pages.get("/operations/runs/999999/").status_code == 404


def test_run_of_a_job_that_is_gone_can_still_be_read(pages):
    ended("old.job", 1)
    run = JobRun.objects.get()
    assert pages.get(f"/operations/runs/{run.pk}/").status_code == 200
    assert pages.post(f"/operations/runs/{run.pk}/again/").status_code == 404


@pytest.mark.parametrize("path", ["", "live/", "test.work/"])
def test_pages_are_for_operators(client, path):
    assert client.get(f"/operations/jobs/{path}").status_code == 302
    client.force_login(make_person("alice"))
    assert client.get(f"/operations/jobs/{path}").status_code == 403
    assert client.post("/operations/jobs/test.work/run/").status_code == 403
    assert not JobRun.objects.exists()


def test_api_lists_jobs_in_pages_and_starts_runs(client, operator):
    staff = {"authorization": f"Bearer {tokens.make(operator, ['read', 'write', 'staff'])[1]}"}
    plain = {"authorization": f"Bearer {tokens.make(operator, ['read', 'write'])[1]}"}
    listed = client.get("/api/v1/jobs", headers=staff).json()
    assert [item["name"] for item in listed["items"]] == ["test.work", "test.hourly", "test.wanted"]
    assert listed["next"] is None
    first = client.get("/api/v1/jobs?limit=2", headers=staff).json()
    rest = client.get(f"/api/v1/jobs?limit=2&cursor={first['next']}", headers=staff).json()
    assert (len(first["items"]), first["items"] + rest["items"], rest["next"]) == (2, listed["items"], None)
    assert client.get("/api/v1/jobs?limit=many", headers=staff).status_code == 422
    assert client.get("/api/v1/jobs", headers=plain).status_code == 403
    assert client.get("/api/v1/jobs").status_code == 401

    made = client.post("/api/v1/jobs/test.work/run", headers=staff)
    assert made.status_code == 202
    run = client.get(f"/api/v1/jobs/runs/{made.json()['id']}", headers=staff).json()
    assert (run["name"], run["state"], run["error"]) == ("test.work", "queued", None)
    again = client.post("/api/v1/jobs/tasks.test.work/run", headers=staff).json()
    assert again["id"] == made.json()["id"], "the same job by the name that Celery knows"
    assert client.post("/api/v1/jobs/no.such/run", headers=staff).status_code == 404
    assert client.get("/api/v1/jobs/runs/999999", headers=staff).status_code == 404


def test_run_is_visible_to_operators_and_to_the_user_who_started_it(operator, alice, bob):
    run = queue.enqueue("test.work", requested_by_id=alice.pk)
    path = f"/api/v1/jobs/runs/{run.pk}"
    assert client_of(alice).get(path).json()["url"].endswith(path)
    assert client_of(bob).get(path).status_code == 404
    assert client_of(operator).get(path).status_code == 200
    for scopes, status in ((["read"], 404), (["read", "staff"], 200)):
        _token, plain = tokens.make(operator, scopes)
        assert Client(HTTP_AUTHORIZATION=f"Bearer {plain}").get(path).status_code == status


def command(*arguments: str) -> tuple[int, dict]:
    result = CliRunner().invoke(cli.jobs, [*arguments, "--json"])
    return result.exit_code, json.loads(result.stdout)


def test_jobs_list_names_every_job_with_its_last_and_next_run():
    ended("test.hourly", 1)
    code, data = command("list")
    assert code == 0
    lines = {line["name"]: line for line in data["jobs"]}
    assert {"name", "queue", "schedule", "last_run", "next_run"} <= set(lines["test.hourly"])
    assert lines["test.hourly"]["schedule"] == "every 1 h"
    assert lines["test.hourly"]["last_run"] is not None
    assert lines["test.hourly"]["next_run"] > lines["test.hourly"]["last_run"]
    assert (lines["test.work"]["last_run"], lines["test.work"]["next_run"]) == (None, None)


def test_jobs_run_prints_outcome_and_progress_at_the_given_moment(made_up_jobs):
    made_up_jobs["do"] = lambda ctx: Outcome("partly", {"at": ctx.now.isoformat()})
    code, data = command("run", "test.work", "--now", "2026-03-02T12:00:00")
    assert code == 0
    assert data == {"name": "test.work", "outcome": "partly", "progress": {"at": "2026-03-02T04:00:00+00:00"}}


def test_jobs_run_knows_a_job_by_its_celery_name():
    _code, data = command("list")
    assert data["jobs"][0]["celery_names"] == ["tasks.test.work"]
    code, data = command("run", "tasks.test.work")
    assert (code, data["name"], data["outcome"]) == (0, "tasks.test.work", "done")
    assert JobRun.objects.get().name == "test.work"


def test_jobs_run_says_what_went_wrong(made_up_jobs):
    def fail(ctx):
        raise GiveUp("There is no board.", "no_board")

    made_up_jobs["do"] = fail
    code, data = command("run", "test.work")
    assert (code, data["outcome"], data["error"]) == (
        1,
        "failed",
        {"code": "no_board", "message": "There is no board."},
    )
    code, data = command("run", "no.such")
    assert (code, data["error"]["code"]) == (1, "unknown_job")


def test_jobs_run_does_not_run_beside_itself():
    queue.claim(queue.enqueue("test.work", exclusive=queue.exclusive_name("test.work")), "worker@h:1:1")
    code, data = command("run", "test.work")
    assert (code, data["error"]["code"]) == (1, "already_running")


def test_worker_refuses_unknown_queues_and_no_broker(monkeypatch):
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    assert CliRunner().invoke(cli.worker, ["--queues", "no_queue"]).exit_code == 2
    refused = CliRunner().invoke(cli.worker, [])
    assert refused.exit_code == 1
    assert "CELERY_BROKER_URL" in refused.output
    monkeypatch.setenv("CELERY_QUEUE_NAMES", "crawler_queue,no_queue")
    assert CliRunner().invoke(cli.worker, []).exit_code == 2


def test_runs_of_a_stopping_process_are_requeued_and_fenced():
    from watchbook.core.jobs import queue

    run = queue.claim(queue.enqueue("test.work", exclusive="a"), queue.process_name("worker"))
    other = queue.claim(queue.enqueue("test.work"), "worker@elsewhere:1:1")
    assert actions.hand_back_rest() == 1
    back = JobRun.objects.get(pk=run.pk)
    assert (back.state, back.fence, back.attempt, back.exclusive_slot, back.owner) == (State.QUEUED, 2, 0, None, "")
    assert JobRun.objects.get(pk=other.pk).state == State.RUNNING


def test_jobs_endpoint_gives_pages_and_refuses_a_strange_cursor(pages):
    whole = pages.get("/api/v1/jobs").json()
    first = pages.get("/api/v1/jobs?limit=1").json()
    assert first["items"] == whole["items"][:1]
    second = pages.get(f"/api/v1/jobs?limit=200&cursor={first['next']}").json()
    assert [job["name"] for job in second["items"]] == [job["name"] for job in whole["items"][1:]]
    assert (whole["next"], second["next"]) == (None, None)
    assert pages.get("/api/v1/jobs?cursor=strange").status_code == 422
