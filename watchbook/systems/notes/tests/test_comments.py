"""Comments of collected notes: the archive equals the ledger, texts have versions, only absence twice is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings

from watchbook.base import clock
from watchbook.base.testing import servers
from watchbook.base.testing.pages import squeezed
from watchbook.core.jobs.runner import run_now
from watchbook.core.search.models import SearchDocument
from watchbook.systems.notes import actions, filters
from watchbook.systems.notes.api.creators import NoteCommentsQuery
from watchbook.systems.notes.encryption import author_hash
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import CommentVersion, Execution, NoteComment, NoteWatch
from watchbook.systems.notes.tests.browser import get, reader
from watchbook.systems.notes.tests.data import START, held, holder, offer

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["reader"]


@pytest.fixture(params=["standin", "remote"])
def world(platform, pool, monkeypatch, request):
    monkeypatch.setenv("NOTES_ADAPTER", request.param)
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    platform.comments_size = 4
    pool(daily_limit=5000)
    return platform


@pytest.fixture
def note(world):
    """A note with 6 comments, the first with two answers, collected at START."""
    made = world.add("Lantern walk", "Lights along the river.")
    first, *_rest = [world.ledger.comment(made, f"Comment {number}") for number in range(1, 7)]
    for number in (1, 2):
        world.ledger.comment(made, f"Answer {number}", first)
    with clock.set_to(START):
        offer(made)
        collect()
    return made


def read(days: float) -> dict[str, int]:
    with clock.set_to(START + timedelta(days=days)):
        return run_now("notes.comments").progress


def read_again(days: float) -> dict[str, int]:
    with clock.set_to(START + timedelta(days=days)):
        run_now("notes.read_again")
        collect()
    return read(days)


def kept() -> dict[str, str]:
    return dict(NoteComment.objects.values_list("comment_id", "content"))


def ledger(note) -> dict[str, str]:
    everything = [*note.thread, *(answer for one in note.thread for answer in one.answers)]
    return {one.comment_id: one.text for one in everything if not one.is_gone}


def test_archive_equals_the_ledger_and_comments_are_read_with_their_note(world, note):
    assert read(0) == {"notes": 1, "added": 8, "changed": 0, "failed": 0}
    assert kept() == ledger(note)
    assert NoteWatch.objects.values_list("comments_whole", "comments_due_at").get() == (True, None)
    assert read(0.5) == {}, "not before the note is read again"
    first = NoteComment.objects.get(content="Comment 1")
    assert set(NoteComment.objects.filter(content__startswith="Answer").values_list("parent_id", flat=True)) == {
        first.comment_id
    }
    assert (first.author_id, first.author_name) == (author_hash(note.thread[0].author_id), "V**")
    world.ledger.comment(note, "A later comment")
    assert read_again(1.1) == {"notes": 1, "added": 1, "changed": 0, "failed": 0}
    assert kept() == ledger(note)
    assert SearchDocument.objects.filter(kind="note_comment").count() == 9


def test_other_text_is_a_version_and_absent_twice_is_gone(world, note):
    read(0)
    note.thread[1].text = "Comment 2, corrected"
    note.thread[2].is_gone = True
    assert read_again(1.1)["changed"] == 1
    assert CommentVersion.objects.get().content == "Comment 2"
    assert NoteComment.objects.get(content="Comment 3").presence == "missing"
    assert "corrected" in SearchDocument.objects.get(kind="note_comment", body__contains="Comment 2").body
    read_again(7.1)
    gone = NoteComment.objects.get(content="Comment 3")
    assert gone.presence == "gone"
    note.thread[2].is_gone = False
    read_again(30.1)
    gone.refresh_from_db()
    assert (gone.presence, NoteComment.objects.exclude(presence="there").count()) == ("there", 0)


def test_limit_and_open_branches_make_nothing_gone(world, note, monkeypatch):
    read(0)
    world.answers_size = 1
    read_again(1.1)
    assert NoteComment.objects.exclude(presence="there").count() == 0, "not all answers were listed"
    monkeypatch.setenv("NOTES_COMMENTS", "3")
    read_again(7.1)
    assert NoteComment.objects.exclude(presence="there").count() == 0, "not all comments were read"
    assert NoteWatch.objects.get().comments_whole is False
    monkeypatch.setenv("NOTES_COMMENTS", "0")
    assert read_again(30.1) == {}


@pytest.mark.parametrize("mood", ["ill", "ip_block", "broken", "empty", "gone", "stale"])
def test_failure_deletes_nothing_and_an_outage_is_read_soon_again(world, note, mood):
    read(0)
    before = kept()
    NoteWatch.objects.update(comments_due_at=START)
    world.mood(note.note_id, mood)
    assert read(0.1)["failed"] == 1
    assert kept() == before
    assert NoteComment.objects.exclude(presence="there").count() == 0
    watch = NoteWatch.objects.get()
    assert watch.comments_error
    soon = START + timedelta(days=0.1, minutes=15)
    assert watch.comments_due_at == (None if mood in ("gone", "stale") else soon)


def test_service_without_comments_says_so_and_is_not_asked_for_them(platform, pool, monkeypatch, reader):
    monkeypatch.setenv("NOTES_ADAPTER", "remote")
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    pool()
    platform.knows_comments = False
    notes = platform.add_many(2)
    with clock.set_to(START):
        offer(*notes)
        collect()
    assert read(0) == {"notes": 1, "added": 0, "changed": 0, "failed": 1}
    assert not [one for one in platform.ledger.reads if one["what"] == "comments"]
    pages = "".join(reader.get(f"/notes/note/{one.note_id}/").content.decode() for one in notes)
    assert pages.count("The adapter cannot read comments.") == 1


def test_page_list_export_and_api(world, note, reader, n8n, django_assert_max_num_queries):
    read(0)
    note.thread[1].text = "Comment 2, corrected"
    read_again(1.1)
    with django_assert_max_num_queries(40):
        page = squeezed(reader.get(f"/notes/note/{note.note_id}/").content.decode())
    assert "8 comments" in page
    assert "Earlier texts" in page
    assert page.index("Comment 1") < page.index("Answer 1") < page.index("Comment 6")
    with django_assert_max_num_queries(30):
        assert len(get(reader, "comments", note=note.note_id).context["rows"]) == 8
    file = b"".join(get(reader, "comments", format="jsonl", q="corrected").streaming_content).decode()
    assert [json.loads(line)["version"] for line in file.splitlines()] == [2]
    [found] = n8n.get("comments", q="corrected", note=note.note_id)["items"]
    assert (found["note_id"], found["versions"][0]["content"]) == (note.note_id, "Comment 2")
    assert n8n.get("comments", presence="odd")["error"]["details"][0]["field"] == "presence"
    names = {name for each in filters.COMMENTS.filters for name in each.names}
    assert set(NoteCommentsQuery.model_fields) - {"cursor", "limit", "format", "order"} == names


def test_mirror_gets_each_change_of_a_comment_once(world, note, n8n):
    read(0)

    def news(since: str, days: float) -> tuple[list[tuple[str, str]], str]:
        with clock.set_to(START + timedelta(days=days)):
            found = n8n.get("comments", since=since)
        assert found.get("success"), found
        return [(one["content"], one["presence"]) for one in found["items"]], found["since"]

    everything, since = news("beginning", 1)
    assert len(everything) == 8
    read_again(1.1)
    assert news(since, 2) == ([], since), "nothing changed"
    note.thread[1].text = "Comment 2, corrected"
    note.thread[2].is_gone = True
    read_again(7.1)
    changed, since = news(since, 8)
    assert sorted(changed) == [("Comment 2, corrected", "there"), ("Comment 3", "missing")]
    read_again(30.1)
    changed, since = news(since, 31)
    assert changed == [("Comment 3", "gone")]
    read(31.5)
    assert news(since, 32)[0] == []


def test_deleted_note_takes_its_comments_along(world, note):
    read(0)
    assert actions.delete_note(note.note_id)
    assert not NoteComment.objects.exists()
    assert not SearchDocument.objects.filter(kind="note_comment").exists()


def test_workflow_reads_the_same_way_under_its_lock(n8n, world, note, monkeypatch):
    monkeypatch.setenv("NOTES_RUNNER", "off")
    assert read(0) == {"reason": "runner_off"}, "n8n does it"
    with clock.set_to(START):
        mine = held(holder("comments"))
        assert n8n.post("workflow/comments", mine)["data"] == {
            "checked": True, "note_id": note.note_id, "found": 8, "added": 8, "changed": 0, "gone": 0,
            "failure": None, "left": 0, "stop": False,
        }  # fmt: skip
        assert n8n.post("workflow/comments", mine)["data"]["checked"] is False
        n8n.post("workflow/release", mine)
        assert n8n.post("workflow/comments", mine)["error"]["code"] == "LOCK_LOST"
    assert kept() == ledger(note)


@pytest.mark.crash
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("place", ["notes.acquired:1", "notes.comments_stored:1"])
def test_killed_reading_loses_nothing(platform, pool, place):
    pool()
    note = platform.add("Lantern")
    platform.ledger.comment(note, "Comment 1")
    offer(note)
    collect()
    own = {"DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME), "CRASH_AT": place}
    words = [sys.executable, "-m", "watchbook", "jobs", "run", "notes.comments"]
    killed = subprocess.run(words, env={**os.environ, **own}, capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert kept() == {}
    with clock.set_to(clock.now() + timedelta(minutes=31)):
        run_now("notes.recover")
        run_now("notes.comments")
    assert kept() == ledger(note)
    assert not Execution.objects.exclude(slot=None).exists()
