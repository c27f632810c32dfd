"""Later readings: due after 1, 7 and 30 days; versions, points, gone; the first row never changes."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.core.jobs.runner import run_now
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.notes import actions, inbox
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, Note, NotePoint, NoteVersion, NoteWatch
from watchbook.systems.notes.store import candidates
from watchbook.systems.notes.tests.browser import chief, reader
from watchbook.systems.notes.tests.data import START, command, held, holder, offer

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["chief", "reader"]


@pytest.fixture
def entry(platform, pool):
    """A note that was collected at START."""
    pool(daily_limit=1000)
    made = platform.add("Lantern walk", "Lights along the river.", tags=["lantern"])
    with clock.set_to(START):
        offer(made)
        collect()
    return made


def read(days: float) -> dict[str, int]:
    """What happens so many days after the note was collected."""
    with clock.set_to(START + timedelta(days=days)):
        run_now("notes.read_again")
        return vars(collect())


def requests(platform, entry) -> int:
    return sum(one["what"] == "detail" and one["name"] == entry.note_id for one in platform.ledger.reads)


def the_row() -> tuple[object, ...]:
    return Note.objects.values_list().get()


def test_note_is_read_after_1_7_and_30_days_and_never_without_need(platform, entry):
    first = the_row()
    for days in (0.5, 0.9, 1.1, 2, 6.9, 7.1, 7.2, 29, 30.1, 31, 400):
        read(days)
    assert requests(platform, entry) == 4
    assert (NoteVersion.objects.count(), NotePoint.objects.count()) == (0, 0)
    assert NoteWatch.objects.get().next_read_at is None
    assert the_row() == first


def test_other_text_is_a_version_and_other_counts_are_a_point(platform, entry):
    first = the_row()
    entry.collected = "1.3万"
    read(1.1)
    assert (NoteVersion.objects.count(), NotePoint.objects.count()) == (0, 1), "rounded counts are never a version"
    entry.text = "Lights along the harbour."
    totals = read(7.1)
    assert (totals["collected"], totals["skipped"], totals["failed"]) == (0, 1, 0)
    version = NoteVersion.objects.get()
    assert (version.number, version.title) == (2, "Lantern walk")
    assert version.content.startswith("Lights along the harbour.")
    assert NotePoint.objects.get().counts["collected"] == {"value": 13000, "exact": False, "raw": "1.3万"}
    assert "harbour" in SearchDocument.objects.get(kind="note").body
    assert list(StreamEntry.objects.order_by("pk").values_list("kind", flat=True)) == ["collected", "edited"]
    shown = inbox.detail(StreamEntry.objects.get(kind="edited"), None).compared
    assert (shown.old, shown.new, shown.difference.is_empty) == ("Version 1", "Version 2", False)
    entry.text = "Lights along the river."
    read(30.1)
    assert NoteVersion.objects.count() == 2, "a text that came back is a version, too"
    assert the_row() == first


def test_gone_is_seen_twice_and_can_return(platform, entry):
    platform.mood(entry.note_id, "gone")
    read(1.1)
    assert (NoteWatch.objects.get().presence, Candidate.objects.get().status) == ("missing", "collected")
    read(2.2)
    assert (NoteWatch.objects.get().presence, NoteWatch.objects.get().next_read_at) == ("gone", None)
    assert StreamEntry.objects.filter(kind="gone").count() == 1
    assert requests(platform, entry) == 3
    platform.mood(entry.note_id, "fine")
    with clock.set_to(START + timedelta(days=3)):
        assert actions.read_again([entry.note_id]) == 1
        assert actions.read_again([entry.note_id]) == 0
        collect()
    assert NoteWatch.objects.get().presence == "there"
    assert StreamEntry.objects.filter(kind="returned").count() == 1


@pytest.mark.parametrize("mood", ["empty", "walled", "broken", "ill", "login", "ip_block", "throttled"])
def test_no_other_failure_makes_a_note_gone(platform, entry, mood):
    platform.mood(entry.note_id, mood)
    for days in (1.1, 2.2, 3.3, 7.1, 8.3):
        read(days)
    assert NoteWatch.objects.get().presence == "there"
    assert Candidate.objects.get().status in ("collected", "pending")
    assert (NoteVersion.objects.count(), Note.objects.count()) == (0, 1)


def test_reading_through_the_workflow_api_is_skipped_and_says_what_it_brought(n8n, entry):
    with clock.set_to(START + timedelta(days=1.1)):
        run_now("notes.read_again")
        mine = held(holder())
        [record] = n8n.post("workflow/claim", mine)["data"]["records"]
        result = {"title": "Other title", "content": "Other text."}
        body = {**mine, "note_id": record["note_id"], "result": result}
        done = n8n.post("workflow/commit", body)["data"]
        assert (done["action"], done["id"], done["reading"]) == ("skipped", Note.objects.get().pk, ["version", "point"])
        again = n8n.post("workflow/commit", body)["data"]
        assert again == {"action": "skipped", "id": done["id"]}, "the answer was lost, and the commit repeated"
        assert NoteVersion.objects.count() == 1


def test_lock_that_expired_at_the_last_attempt_leaves_the_note_collected(entry):
    now = START + timedelta(days=1.1)
    with clock.set_to(now):
        run_now("notes.read_again")
        Candidate.objects.update(retry_count=2)
        actions.claim(held(holder()))
    assert candidates.recover(now + timedelta(hours=1)).candidates_failed == 0
    assert Candidate.objects.get().status == "collected"


def test_new_candidates_come_before_later_readings(platform, entry, monkeypatch):
    monkeypatch.setattr("watchbook.systems.notes.jobs.maintenance.MOST_READINGS", 3)
    with clock.set_to(START + timedelta(days=1.1)):
        offer(*platform.add_many(3))
        assert run_now("notes.read_again").outcome == "nothing_to_do"
        assert Candidate.objects.filter(status="pending").count() == 3


def test_note_that_is_deleted_while_it_waits_is_not_collected_again(platform, entry):
    with clock.set_to(START + timedelta(days=1.1)):
        run_now("notes.read_again")
        assert actions.delete_note(entry.note_id)
        collect()
    assert not Note.objects.exists()
    assert not NoteWatch.objects.exists()


def test_note_that_was_deleted_here_is_not_queued_again(entry):
    assert actions.delete_note(entry.note_id)
    assert actions.read_again([entry.note_id]) == 0
    assert Candidate.objects.get().status == "collected"


def test_off_plans_nothing(platform, pool, monkeypatch):
    monkeypatch.setenv("NOTES_READ_AGAIN_DAYS", "off")
    pool()
    with clock.set_to(START):
        offer(platform.add("Lantern"))
        collect()
    assert NoteWatch.objects.get().next_read_at is None


def test_page_shows_newest_text_difference_and_curve(entry, reader, chief):
    entry.text, entry.liked = "Lights along the harbour.", "99"
    read(1.1)
    page = squeezed(reader.get(f"/notes/note/{entry.note_id}/").content.decode())
    assert "Version 2" in page
    assert "<del" in page
    assert 'href="?to=1"' in page
    assert "Next reading" in page
    assert "Counts over time" in page
    assert "Read again" not in page
    assert reader.post(f"/notes/note/{entry.note_id}/read/").status_code == 403
    assert "Read again" in chief.get(f"/notes/note/{entry.note_id}/?to=1").content.decode()
    chief.post(f"/notes/note/{entry.note_id}/read/")
    assert Candidate.objects.get().status == "pending"


@pytest.mark.parametrize("view", ["", "list"])
def test_list_shows_counts_as_last_read_and_what_changed(platform, entry, reader, view):
    before = squeezed(reader.get("/notes/notes/", {"view": view}).content.decode())
    assert "Edited" not in before
    assert "Likes at each reading" not in before
    entry.text, entry.liked = "Lights along the harbour.", "99"
    read(1.1)
    page = squeezed(reader.get("/notes/notes/", {"view": view}).content.decode())
    assert "99" in page
    assert "Edited" in page
    assert ("Likes at each reading" in page) is (view == "")
    platform.mood(entry.note_id, "gone")
    read(7.1)
    read(8.2)
    assert "Deleted on the platform" in squeezed(reader.get("/notes/notes/", {"view": view}).content.decode())


def test_api_and_command(n8n, entry, capsys):
    entry.text, entry.liked = "Lights along the harbour.", "99"
    read(1.1)
    found = n8n.get(f"sources/{entry.note_id}")["data"]
    assert (found["presence"], [one["number"] for one in found["versions"]]) == ("there", [2])
    assert found["points"][0]["counts"]["liked"]["value"] == 99
    assert found["files"][0]["state"] == "waiting"
    assert n8n.get("sources/nothing")["error"]["code"] == "NOT_FOUND"
    asked = n8n.post("read-again", {"note_ids": [entry.note_id, "x"]})["data"]
    assert asked == {"queued": 1, "known": 1, "unknown_ids": ["x"]}
    Candidate.objects.update(status="collected")
    capsys.readouterr()
    command("read-again", entry.note_id, "--json")
    assert json.loads(capsys.readouterr().out)["queued"] == 1
