from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connections

from watchbook.base import clock
from watchbook.core.jobs import queue, runner, scheduler
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.jobs.runner import GiveUp, JobContext, Later, LeaseLost, Outcome
from watchbook.core.registry import Job
from watchbook.core.watching import cron, every

QUEUES = ["crawler_queue", "maintenance_queue"]


def expire(run: JobRun) -> None:
    JobRun.objects.filter(pk=run.pk).update(lease_until=clock.now() - timedelta(minutes=1))


@pytest.mark.django_db
def test_run_is_claimed_once():
    run = queue.enqueue("test.work")
    assert queue.claim(run, "a") is not None
    assert queue.claim(run, "b") is None


@pytest.mark.django_db
def test_same_key_is_one_run():
    assert queue.enqueue("test.work", key="k") is not None
    assert queue.enqueue("test.work", key="k") is None
    assert JobRun.objects.count() == 1


@pytest.mark.django_db
def test_run_is_not_taken_before_it_is_due():
    queue.enqueue("test.work", due_at=clock.now() + timedelta(minutes=1))
    assert queue.claim_next(QUEUES, "a") is None


@pytest.mark.django_db
def test_one_exclusive_name_runs_at_a_time():
    first = queue.enqueue("test.work", exclusive="host:example.com")
    second = queue.enqueue("test.work", exclusive="host:example.com")
    other = queue.enqueue("test.work", exclusive="host:example.org")
    assert queue.claim(first, "a") is not None
    assert queue.claim(second, "b") is None
    assert queue.claim_next(QUEUES, "b").pk == other.pk
    runner.execute(JobRun.objects.get(pk=first.pk))
    assert queue.claim_next(QUEUES, "b").pk == second.pk


@pytest.mark.django_db
def test_finished_run_cannot_change(made_up_jobs):
    made_up_jobs["do"] = lambda ctx, n: Outcome("partly", {"n": n})
    run = runner.run_now("test.work", {"n": 3})
    assert (run.state, run.outcome, run.progress, run.attempt) == (State.DONE, "partly", {"n": 3}, 1)


@pytest.mark.django_db
def test_failed_run_is_retried_with_backoff_and_then_shown(made_up_jobs, noon):
    def fail(ctx):
        raise RuntimeError("the roof leaks")

    made_up_jobs["do"] = fail
    run = runner.run_now("test.work")
    waits = []
    while run.state == State.QUEUED:
        waits.append((run.due_at - noon).total_seconds())
        with clock.set_to(run.due_at):
            run = runner.execute(queue.claim(run, "a"))
            noon = clock.now()
    assert run.state == State.FAILED
    assert "the roof leaks" in run.error
    assert run.attempt == 3
    assert waits[1] > waits[0] * 2


@pytest.mark.django_db
def test_waiting_is_not_an_attempt(made_up_jobs, noon):
    def wait(ctx):
        raise Later(90)

    made_up_jobs["do"] = wait
    run = runner.run_now("test.work")
    assert (run.state, run.attempt) == (State.QUEUED, 0)
    assert run.due_at == noon + timedelta(seconds=90)


@pytest.mark.django_db
def test_give_up_fails_the_run_immediately(made_up_jobs):
    def give_up(ctx):
        raise GiveUp("no such board", "unknown")

    made_up_jobs["do"] = give_up
    run = runner.run_now("test.work")
    assert (run.state, run.error_code, run.attempt) == (State.FAILED, "unknown", 1)


@pytest.mark.django_db
def test_second_manual_run_is_refused_while_the_first_runs():
    first = queue.enqueue("test.work", exclusive="x")
    queue.claim(first, "a")
    with pytest.raises(GiveUp, match="already running"):
        runner.run_now("test.work", exclusive="x")


@pytest.mark.django_db
def test_run_of_a_stopped_worker_is_requeued_and_crashed_after_three_times():
    run = queue.enqueue("test.work")
    for _ in range(2):
        expire(queue.claim(run, "a"))
        assert queue.requeue_expired() == 1
        run.refresh_from_db()
        assert (run.state, run.outcome) == (State.QUEUED, "recovered")
    expire(queue.claim(run, "a"))
    queue.requeue_expired()
    run.refresh_from_db()
    assert (run.state, run.error_code) == (State.FAILED, "crashed")


@pytest.mark.django_db
def test_worker_with_an_expired_lease_writes_nothing():
    run = queue.enqueue("test.work")
    sleeper = JobContext(queue.claim(run, "sleeper"), lease_seconds=60)
    expire(run)
    queue.requeue_expired()
    heir = JobContext(queue.claim_by_id(run.pk, "heir"), lease_seconds=60)
    with pytest.raises(LeaseLost):
        with sleeper.writing():
            JobSchedule.objects.create(name="effect", next_at=clock.now())
    with heir.writing():
        JobSchedule.objects.create(name="effect", next_at=clock.now())
    assert JobSchedule.objects.count() == 1
    with pytest.raises(LeaseLost):
        sleeper.report(done=1)


@pytest.mark.django_db
def test_job_that_makes_progress_keeps_its_lease(made_up_jobs):
    seen = []

    def long_work(ctx):
        for n in range(5):
            ctx._reported = 0
            ctx.report(done=n)
            seen.append(JobRun.objects.get(pk=ctx.run.pk).lease_until)

    made_up_jobs["do"] = long_work
    runner.run_now("test.work")
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


@pytest.mark.django_db
def test_two_schedulers_make_one_run_per_slot(noon):
    scheduler.make_due_runs(noon)
    for hour in range(1, 50):
        moment = noon + timedelta(hours=hour)
        with clock.set_to(moment):
            scheduler.make_due_runs(moment)
            scheduler.make_due_runs(moment)
            run = queue.claim_next(QUEUES, "a")
            runner.execute(run)
    assert JobRun.objects.filter(name="test.hourly").count() == 49
    assert JobRun.objects.filter(name="test.wanted").count() == 0


@pytest.mark.django_db
def test_three_missed_days_create_one_run(noon):
    scheduler.make_due_runs(noon)
    later = noon + timedelta(days=3)
    with clock.set_to(later):
        scheduler.make_due_runs(later)
        scheduler.make_due_runs(later + timedelta(seconds=1))
    assert JobRun.objects.filter(name="test.hourly").count() == 1


@pytest.mark.sql
@pytest.mark.django_db
def test_jobs_continue_after_the_clock_jumped_ahead(noon, made_up_jobs, caplog):
    scheduler.make_due_runs(noon)
    waiting = queue.enqueue("test.work", exclusive="waiting")
    held = queue.enqueue("test.work", exclusive="held")
    future = noon + timedelta(days=12 * 365)
    with clock.set_to(future):
        scheduler.make_due_runs(future)
        runner.execute(queue.claim(JobRun.objects.get(name="test.hourly"), "a"))
    JobRun.objects.filter(pk=waiting.pk).update(due_at=future)
    queue.claim(held, "a worker that was killed")
    JobRun.objects.filter(pk=held.pk).update(lease_until=future)
    made = JobRun.objects.filter(name="test.hourly").count()
    for hour in range(1, 4):
        moment = noon + timedelta(hours=hour)
        with clock.set_to(moment):
            scheduler.make_due_runs(moment)
            for run in JobRun.objects.filter(name="test.hourly", state=State.QUEUED):
                runner.execute(queue.claim(run, "a"))
    assert JobRun.objects.filter(name="test.hourly").count() == made + 2, "one slot to see it, then every hour"
    assert JobRun.objects.get(pk=waiting.pk).due_at == noon + timedelta(hours=1)
    assert JobRun.objects.get(pk=held.pk).lease_until < future - timedelta(days=365)
    assert caplog.text.count("schedules_corrected") == 1


@pytest.mark.django_db
@pytest.mark.parametrize("schedule", [every(hours=1), every(days=30), cron("20 4 * * *"), cron("0 9 1 * *")])
def test_slot_of_a_schedule_is_not_corrected(noon, schedule):
    job = Job("test.any", "x:y", schedule=schedule)
    for hours in range(0, 24 * 70, 5):
        now = noon + timedelta(hours=hours)
        row = JobSchedule(name=job.name, next_at=schedule.next_after(now))
        assert not scheduler._is_far_ahead(job, row, now)


@pytest.mark.django_db
def test_run_of_an_unknown_job_is_left_for_a_newer_worker():
    run = queue.enqueue("test.work")
    JobRun.objects.filter(pk=run.pk).update(name="test.of_tomorrow")
    assert queue.claim_next(QUEUES, "a") is None
    assert queue.claim_by_id(run.pk, "a") is None
    assert JobRun.objects.get().state == State.QUEUED


@pytest.mark.django_db(transaction=True)
def test_many_threads_claim_each_run_once():
    queue.enqueue_many([queue.new_run("test.work") for _ in range(60)])
    taken: list[int] = []

    def worker(name: str) -> None:
        try:
            while run := queue.claim_next(QUEUES, name):
                taken.append(run.pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=worker, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    # A worker may leave early when others won every row of its window; what is left is still there for the next look.
    worker("last")
    assert sorted(taken) == sorted(JobRun.objects.values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_when_the_transaction_is_rolled_back(monkeypatch):
    from django.db import transaction

    sent: list[list[int]] = []
    monkeypatch.setattr("watchbook.core.jobs.queue.send", lambda ids: sent.append(ids))
    with pytest.raises(ZeroDivisionError):
        with transaction.atomic():
            queue.enqueue("test.work")
            raise ZeroDivisionError
    assert sent == []
    assert JobRun.objects.count() == 0
    queue.enqueue("test.work")
    assert len(sent) == 1


@pytest.mark.django_db
def test_job_that_cannot_say_whether_it_is_wanted_stops_no_other(noon, made_up_jobs):
    def broken() -> bool:
        raise TypeError("a fault of the program")

    made_up_jobs["wanted"] = broken
    scheduler.make_due_runs(noon)
    scheduler.make_due_runs(noon + timedelta(hours=1))
    assert set(JobRun.objects.values_list("name", flat=True)) == {"test.hourly", "test.wanted"}
