from __future__ import annotations

import pytest

from watchbook.base import clock
from watchbook.core.jobs.runner import run_now
from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.notes import actions
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, CandidateStatus, Cookie, Execution, Note
from watchbook.systems.notes.tests.data import START, offer, states

pytestmark = pytest.mark.django_db


def test_keyword_becomes_candidates_and_they_become_notes(platform, pool):
    pool()
    platform.add("Lantern walk", "Lights along the river.", tags=["lantern"], kind="video")
    platform.add_many(12)
    platform.add("Kettle")
    actions.add_keyword("Lantern")
    assert run_now("notes.search").progress["added"] == 13
    run = run_now("notes.collect")
    assert (run.progress["claimed"], run.progress["collected"], run.progress["failed"]) == (13, 13, 0)
    note = Note.objects.get(title="Lantern walk")
    assert note.tags == ["lantern"]
    assert note.counts["collected"] == {"value": 12000, "exact": False, "raw": "1.2万"}
    assert note.counts["share"] == {"value": None, "exact": False, "raw": ""}
    assert [one["kind"] for one in note.media] == ["image", "video"]
    assert note.source_keyword == "Lantern"
    assert set(Candidate.objects.values_list("status", flat=True)) == {CandidateStatus.COLLECTED}
    assert find("river", scopes=["members"]).items[0].url_path == f"/notes/note/{note.note_id}/"
    assert StreamEntry.objects.filter(source="notes", kind="collected").count() == 13
    execution = Execution.objects.get()
    assert (execution.status, execution.items_processed, execution.slot) == ("completed", 13, None)


def test_authors_are_a_hash_and_a_masked_name(platform, pool, monkeypatch):
    pool()
    first, second = platform.add("One"), platform.add("Two")
    second.author_id = first.author_id
    offer(first, second)
    collect()
    kept = list(Note.objects.values_list("author_id", "author_name"))
    assert len(set(kept)) == 1
    assert first.author_id not in kept[0][0]
    assert kept[0][1] == "R**"
    monkeypatch.setenv("NOTES_AUTHORS", "plain")
    third = platform.add("Three")
    offer(third)
    collect()
    assert Note.objects.get(note_id=third.note_id).author_id == third.author_id


def test_temporary_failure_is_retried_and_gone_note_is_not(platform, pool):
    pool()
    fine, gone, ill = platform.add("One"), platform.add("Two"), platform.add("Three")
    platform.mood(gone.note_id, "gone")
    platform.mood(ill.note_id, "ill")
    offer(fine, gone, ill)
    with clock.set_to(START):
        totals = collect()
    assert (totals.collected, totals.failed, totals.returned) == (1, 1, 1)
    assert states() == {fine.note_id: "collected", gone.note_id: "failed", ill.note_id: "pending"}
    asked = [read["name"] for read in platform.ledger.reads]
    assert (asked.count(fine.note_id), asked.count(gone.note_id), asked.count(ill.note_id)) == (1, 1, 3)
    assert Candidate.objects.get(note_id=ill.note_id).retry_count == 1
    assert Candidate.objects.get(note_id=gone.note_id).last_error_code == "NOT_FOUND"
    for _ in range(2):
        with clock.set_to(START):
            collect()
    assert states()[ill.note_id] == "failed"


def test_second_try_that_succeeds_is_collected(platform, pool):
    pool()
    note = platform.add("One")
    offer(note)
    platform.faults.on("/api/sns/web/v1/feed", nth=1).fail(503)
    with clock.set_to(START):
        assert collect().collected == 1


def test_captcha_stops_the_run_and_counts_no_attempt(platform, pool):
    pool("first")
    pool("second")
    entries = platform.add_many(15)
    platform.mood(entries[2].note_id, "captcha")
    offer(*entries)
    totals = collect()
    assert totals.collected == 2
    assert len(platform.ledger.reads) == 3, "no other cookie takes its place"
    assert not Candidate.objects.filter(retry_count__gt=0).exists()
    assert sorted(Cookie.objects.values_list("status", flat=True)) == ["active", "cooling"]
    assert Execution.objects.get().status == "failed"


def test_empty_pool_returns_all_candidates(platform, db):
    offer(*platform.add_many(3))
    totals = collect()
    assert (totals.claimed, totals.collected, totals.returned) == (3, 0, 3)
    assert set(Candidate.objects.values_list("status", "retry_count")) == {("pending", 0)}
    assert platform.ledger.reads == []


def test_runner_can_be_disabled(platform, pool, monkeypatch):
    pool()
    offer(platform.add("One"))
    monkeypatch.setenv("NOTES_RUNNER", "off")
    assert run_now("notes.collect").outcome == "nothing_to_do"
    assert Execution.objects.count() == 0


def test_expired_token_is_searched_once(platform, pool):
    pool()
    note = platform.add("Lantern walk")
    offer(note)
    Candidate.objects.update(source_keyword="Lantern")
    note.renew_token()
    with clock.set_to(START):
        assert collect().collected == 1
    assert [read["what"] for read in platform.ledger.reads] == ["detail", "search", "detail"]


def test_missing_token_is_searched_once(platform, pool):
    pool()
    note = platform.add("Lantern walk")
    offer(note)
    platform.mood(note.note_id, "stale")
    with clock.set_to(START):
        assert collect().returned == 1
    assert [read["what"] for read in platform.ledger.reads] == ["detail", "search", "detail"]


def test_open_breaker_counts_no_attempt(platform, pool):
    pool()
    entries = platform.add_many(4)
    offer(*entries)
    platform.mood(entries[0].note_id, "ip_block")
    collect()
    platform.mood(entries[0].note_id, "fine")
    totals = collect()
    assert (totals.claimed, totals.returned) == (4, 4)
    assert set(Candidate.objects.values_list("retry_count", flat=True)) == {0}
    assert len(platform.ledger.reads) == 1
