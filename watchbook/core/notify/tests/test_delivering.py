"""Who may send what when: claims, fences, slow and fast channels, the job, and the systems' own logs."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.db import connections
from django.db.models.functions import Now

from watchbook.base import clock, work
from watchbook.core import registry
from watchbook.core.jobs import runner
from watchbook.core.jobs.runner import Later
from watchbook.core.notify import actions, http, jobs, outbox
from watchbook.core.notify.message import failed, sent
from watchbook.core.notify.models import Attempt, Delivery
from watchbook.core.notify.outbox import deliver, result
from watchbook.core.notify.outbox.deliver import claim, free_expired

pytestmark = pytest.mark.django_db(transaction=True)


def make_hook(user, hooks, path):
    given = {"url": hooks.address(path)}
    return actions.create(user, name=path, channel_type="webhook", given=given).channel


def test_one_of_many_claims_wins(webhook, notification):
    (delivery,) = outbox.notify([webhook], notification())
    start, won = threading.Barrier(6), []

    def take() -> None:
        start.wait(10)
        won.append(claim(delivery, f"sender-{uuid4()}") is not None)
        connections.close_all()

    workers = [threading.Thread(target=take) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert sorted(won) == [False] * 5 + [True]
    delivery.refresh_from_db()
    assert (delivery.attempt, delivery.fence, delivery.sequence) == (1, 1, 1)


def test_channel_is_served_by_one_sender_at_a_time(webhook, notification):
    (first,) = outbox.notify([webhook], notification("change:1"))
    (second,) = outbox.notify([webhook], notification("change:2"))
    assert claim(first, "a") is not None
    assert claim(second, "b") is None
    assert not jobs.anything_due(clock.now())
    assert outbox.deliver_due().sent == 0


def test_sender_whose_lease_ended_writes_nothing(webhook, hooks, notification):
    (delivery,) = outbox.notify([webhook], notification())
    sleeper = claim(delivery, "sleeper")
    Delivery.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert outbox.deliver_due().sent == 1
    before = Delivery.objects.values().get()
    assert result.mark(sleeper, failed("status", status=500), started_at=clock.now(), duration_ms=1) is False
    assert Delivery.objects.values().get() == before
    assert Attempt.objects.count() == 1
    webhook.refresh_from_db()
    assert webhook.failure_count == 0


def test_late_sender_writes_if_no_other_process_claimed_the_delivery(webhook, notification):
    (delivery,) = outbox.notify([webhook], notification())
    sleeper = claim(delivery, "sleeper")
    Delivery.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert free_expired() == 1
    assert result.mark(sleeper, sent(200), started_at=clock.now(), duration_ms=1) is True
    assert outbox.deliver_due().sent == 0


def test_delivery_that_stops_its_sender_repeatedly_is_given_up(webhook, hooks, notification):
    (delivery,) = outbox.notify([webhook], notification())
    for _ in range(20):
        if claim(delivery, "doomed") is None:
            break
        Delivery.objects.update(lease_until=Now() - timedelta(seconds=1))
        free_expired()
        if Delivery.objects.get().attempt == 11:
            outbox.deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.error_code) == ("failed", "crashed")
    assert hooks.deliveries() == []


def test_sequence_numbers_have_no_gap_and_do_not_change(webhook, hooks, notification, noon):
    hooks.plan("/hook", "500", "ok")
    for n in range(3):
        outbox.notify([webhook], notification(f"change:{n}"))
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(hours=1))
    numbers = {came.json()["event_id"]: came.json()["sequence"] for came in hooks.deliveries()}
    assert numbers == {"change:0": 1, "change:1": 2, "change:2": 3}


def test_slow_channels_do_not_hold_up_fast_ones(alice, hooks, notification, monkeypatch):
    slow = [make_hook(alice, hooks, f"/slow{n}") for n in range(3)]
    fast = make_hook(alice, hooks, "/fast")
    hooks.plan("/slow*", "slow:2")
    for n in range(3):
        outbox.notify(slow, notification(f"a:{n}"))
    done = threading.Event()

    def work() -> None:
        outbox.deliver_due(width=4)
        connections.close_all()
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        hooks.log.wait_for(lambda log: len(log.all()) >= 3, 10)
        outbox.notify([fast], notification("b:1"))  # told while the slow ones are being served
        hooks.log.wait_for(lambda log: log.count("/fast") == 1, 10)
        assert not done.is_set()
        assert hooks.log.in_flight <= 4
    finally:
        worker.join(30)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"sent"}


def test_endpoint_without_response_fails_at_the_deadline(webhook, hooks, notification, monkeypatch, noon):
    monkeypatch.setattr(http, "DEADLINE_SECONDS", 0.5)
    hooks.plan("/hook", "hang")
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.error_code) == ("pending", "timed_out")


def test_busy_host_is_not_a_failed_attempt(webhook, hooks, notification, monkeypatch, noon):
    from watchbook.base.web.errors import Busy

    def busy(*_args, **_kwargs):
        raise Busy("example.com", retry_after_seconds=3)

    outbox.notify([webhook], notification())
    with monkeypatch.context() as patch:
        patch.setattr(http.client, "send", busy)
        outbox.deliver_due(noon)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempt, delivery.next_at) == ("pending", 0, noon + timedelta(seconds=3))
    outbox.deliver_due(noon + timedelta(seconds=3))
    assert Delivery.objects.get().state == "sent"


def test_unexpected_error_is_a_failed_attempt_of_one_delivery(webhook, mailbox, mails, notification, monkeypatch, noon):
    def burst(*_args, **_kwargs):
        raise RuntimeError("with t0p-secret-value inside")

    monkeypatch.setattr(http.client, "send", burst)
    outbox.notify([webhook, mailbox], notification())
    tally = outbox.deliver_due(noon)
    assert (tally.sent, tally.retried) == (1, 1)
    assert Delivery.objects.get(channel=webhook).error_code == "unexpected"
    assert "t0p" not in Delivery.objects.get(channel=webhook).last_error


def test_job_delivers_and_says_how_much(webhook, hooks, notification):
    assert not jobs.anything_due(clock.now())
    outbox.notify([webhook], notification())
    assert jobs.anything_due(clock.now())
    run = runner.run_now("notify.deliver")
    assert (run.state, run.outcome) == ("done", "done")
    assert run.progress == {"sent": 1, "failed": 0, "retried": 0, "skipped": 0}
    assert run.http_request_count == 1
    assert runner.run_now("notify.deliver").outcome == "nothing_to_do"


def test_hook_of_the_system_gets_every_new_state(webhook, hooks, notification, monkeypatch, noon):
    heard = []
    monkeypatch.setattr(registry, "source", lambda slug: SimpleNamespace(delivery_changed="made.up:hook"))
    monkeypatch.setattr(registry, "load", lambda dotted: lambda d: heard.append((d.state, d.attempt, d.last_status)))
    hooks.plan("/hook", "500", "ok")
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(seconds=7))
    with clock.set_to(noon + timedelta(minutes=1)):
        actions.replay(Delivery.objects.get())
    assert heard == [("pending", 1, 500), ("sent", 2, 200), ("pending", 0, None)]


def test_error_in_a_systems_hook_does_not_send_twice(webhook, hooks, notification, monkeypatch):
    monkeypatch.setattr(registry, "source", lambda slug: SimpleNamespace(delivery_changed="made.up:hook"))
    monkeypatch.setattr(registry, "load", lambda dotted: lambda d: 1 / 0)
    outbox.notify([webhook], notification())
    outbox.deliver_due()
    outbox.deliver_due()
    assert len(hooks.deliveries()) == 1
    assert Delivery.objects.get().state == "sent"


def test_old_deliveries_are_deleted_and_pending_ones_are_kept(webhook, hooks, notification, noon):
    webhook.digest = "hourly"
    webhook.save()
    for n in range(3):
        outbox.notify([webhook], notification(f"old:{n}"))
    outbox.deliver_due(noon + timedelta(hours=1))
    actions.update(webhook, is_active=True)
    with clock.set_to(noon + timedelta(days=29)):
        outbox.notify([webhook], notification("new:1"))
    Delivery.objects.create(channel=webhook, event_id="stuck", source="x", kind="y", subject="z", created_at=noon)
    ctx = SimpleNamespace(now=noon + timedelta(days=31), writing=nullcontext, report=lambda **_: None)
    assert jobs.clean_old(ctx).progress == {"removed": 4}
    assert set(Delivery.objects.values_list("event_id", flat=True)) == {"new:1", "stuck"}


@pytest.mark.parametrize("width", [1, 4])
def test_channel_that_breaks_does_not_stop_the_others(webhook, mailbox, mails, notification, monkeypatch, width):
    whole = deliver.claim

    def breaking(delivery, owner):
        if delivery.channel_id == webhook.pk:
            raise RuntimeError("a row that nobody can read")
        return whole(delivery, owner)

    monkeypatch.setattr(deliver, "claim", breaking)
    outbox.notify([webhook, mailbox], notification())
    assert outbox.deliver_due(width=width).sent == 1
    assert Delivery.objects.get(channel=webhook).state == "pending"


def test_stopping_run_finishes_its_current_delivery(webhook, hooks, notification):
    def ending():
        raise Later(0, "the process is ending")

    outbox.notify([webhook], notification())
    with work.listening(ending), pytest.raises(Later):
        outbox.deliver_due()
    assert Delivery.objects.get().state == "sent"
    assert len(hooks.deliveries()) == 1
