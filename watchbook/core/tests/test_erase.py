from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from watchbook.base import clock
from watchbook.base.testing.people import alice
from watchbook.core.erase import Erased, erase
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.jobs.scheduler import make_due_runs
from watchbook.core.notify import actions
from watchbook.core.notify.channels import NotReplayable
from watchbook.core.notify.models import Delivery, Mention
from watchbook.core.notify.outbox import Named, Notification, notify
from watchbook.core.notify.outbox.enqueue import gather
from watchbook.core.search import index
from watchbook.core.search import saved as search_jobs
from watchbook.core.search.index import Document
from watchbook.core.search.models import SavedSearch
from watchbook.core.stream.entries import Entry, record
from watchbook.core.stream.models import StreamEntry

__all__ = ["alice"]

WORD = "zanzibarquux"


def raw_bytes() -> bytes:
    """The database file as it lies on the disk, with everything that its write-ahead log holds."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(connection.settings_dict["NAME"]).read_bytes()


def put(object_id, title, body=""):
    index.put([Document("post", object_id, "members", title, body, f"/p/{object_id}", clock.now(), "example")])
    record([Entry("example", "new", title, body, f"/p/{object_id}", "members", "post", object_id, clock.now())])


@pytest.fixture
def channel(alice):
    return actions.create(alice, name="mail", channel_type="email", given={"email": "alice@example.com"}).channel


def notification(event_id, subject, *objects, **fields):
    usual = {"source": "example", "kind": "new", "text": subject, "payload": {"title": subject}}
    return Notification(event_id=event_id, subject=subject, objects=objects, **{**usual, **fields})


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="reads SQLite's file")
def test_erased_word_is_gone_from_the_database_file(channel):
    put("1", f"About {WORD}", f"More about {WORD} and other things")
    for number in range(2, 60):
        put(str(number), f"Title {number}", f"words of number {number}")
    notify([channel], notification("new:1", f"About {WORD}", Named("post", "1")))
    assert raw_bytes().count(WORD.encode()) > 5

    assert erase("post", ["1"]) == Erased(documents=1, entries=1, deliveries=1)
    assert JobRun.objects.get(name="search.compact").state == State.QUEUED
    run = runner.run_now("search.compact")
    assert run.state == State.DONE
    assert WORD.encode() not in raw_bytes()


def innodb_words() -> set[str]:
    """Every word in the internal full-text tables of InnoDB, after its cache was written."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL innodb_ft_aux_table = '{connection.settings_dict['NAME']}/search_words'")
        found = set()
        for table in ("INNODB_FT_INDEX_TABLE", "INNODB_FT_INDEX_CACHE"):
            cursor.execute(f"SELECT DISTINCT word FROM information_schema.{table}")
            found |= {str(row[0]) for row in cursor.fetchall()}
    return found


@pytest.mark.sql
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'mysql'", reason="reads InnoDB's internal tables")
def test_erased_word_is_gone_from_the_internal_tables_of_innodb():
    put("1", f"About {WORD}", f"More about {WORD}")
    put("2", "About lanterns")
    assert {f"q_{WORD}", "q_lanterns"} <= innodb_words()
    erase("post", ["1"])
    assert f"q_{WORD}" in innodb_words(), "a deletion alone leaves it there"
    assert runner.run_now("search.compact").state == State.DONE
    assert f"q_{WORD}" not in innodb_words()
    assert "q_lanterns" in innodb_words()


@pytest.mark.django_db
def test_erase_leaves_other_objects_as_they_are(channel):
    put("1", f"About {WORD}")
    put("2", f"Also about {WORD}")
    notify([channel], notification("new:2", f"Also about {WORD}", Named("post", "2")))
    erase("post", ["1"])
    assert [entry.object_id for entry in StreamEntry.objects.all()] == ["2"]
    assert Delivery.objects.get().subject == f"Also about {WORD}"
    assert erase("post", ["1"]) == Erased()
    assert JobRun.objects.filter(name="search.compact").count() == 1


@pytest.mark.django_db
def test_erased_delivery_is_skipped_and_not_resent(channel):
    [delivery] = notify([channel], notification("new:1", f"About {WORD}", Named("post", "1")))
    erase("post", ["1"])
    delivery.refresh_from_db()
    assert (delivery.state, delivery.error_code) == ("skipped", "erased")
    assert WORD not in f"{delivery.subject}{delivery.text}{delivery.html}{delivery.payload}{delivery.link}"
    with pytest.raises(NotReplayable):
        actions.replay(delivery)
    assert not Mention.objects.exists()


@pytest.mark.django_db
def test_saved_search_delivery_loses_only_the_erased_match(alice, channel):
    saved = SavedSearch.objects.create(user=alice, name="words", query="about", created_at=clock.now())
    saved.channels.add(channel)
    put("1", f"About {WORD}")
    put("2", "About something else")
    runner.run_now("search.saved")
    delivery = Delivery.objects.get()
    assert WORD in delivery.text
    erase("post", ["1"])
    delivery.refresh_from_db()
    assert "About something else" in delivery.text
    assert [item["id"] for item in delivery.payload["items"]] == ["2"]
    assert WORD not in f"{delivery.text}{delivery.html}{delivery.payload}"
    assert delivery.state == "pending"
    assert search_jobs.LISTED > 1


@pytest.mark.django_db
def test_digest_is_written_again_without_the_erased_member(channel):
    channel.digest = "hourly"
    channel.save(update_fields=["digest"])
    notify([channel], notification("new:1", f"About {WORD}", Named("post", "1")))
    notify([channel], notification("new:2", "About something else", Named("post", "2")))
    later = clock.now() + timedelta(hours=2)
    with clock.set_to(later):
        window = Delivery.objects.first().window_at
        bundle = gather(channel, window)
        assert WORD in bundle.text
        erase("post", ["1"])
    bundle.refresh_from_db()
    assert WORD not in f"{bundle.text}{bundle.html}{bundle.payload}"
    assert "About something else" in bundle.text
    assert bundle.state == "pending"


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="reads SQLite's file")
def test_failed_compaction_is_repeated_by_the_schedule():
    put("1", f"About {WORD}", f"More about {WORD}")
    for number in range(2, 60):
        put(str(number), f"Title {number}", f"words of number {number}")
    erase("post", ["1"])
    JobRun.objects.filter(name="search.compact").update(state=State.FAILED, error_code="crashed")
    tomorrow = clock.now() + timedelta(days=1, hours=1)
    JobSchedule.objects.create(name="search.compact", next_at=tomorrow - timedelta(minutes=1))
    with clock.set_to(tomorrow):
        make_due_runs(tomorrow)
        again = JobRun.objects.get(name="search.compact", state=State.QUEUED)
        assert runner.execute(queue.claim(again, "test")).state == State.DONE
    assert WORD.encode() not in raw_bytes()
    assert not index.is_compact_owed(tomorrow)
