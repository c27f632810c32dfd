"""Followed creators: every note of the ledger becomes a candidate once, gaps are said, outages are nobody's fault."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings

from standins.note_platform.ledger import author_id
from watchbook.base import clock
from watchbook.base.testing import servers
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.health import INCOMPLETE
from watchbook.core.jobs.runner import run_now
from watchbook.core.search.models import SearchDocument
from watchbook.systems.notes import filters, health
from watchbook.systems.notes.actions import keywords as actions
from watchbook.systems.notes.api.creators import CreatorsQuery
from watchbook.systems.notes.encryption import author_hash
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, Creator, Execution, Note
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.store import creators as store
from watchbook.systems.notes.tests.browser import chief, get, post, reader, said
from watchbook.systems.notes.tests.data import START, command, held, holder

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["chief", "reader"]

ME, OTHER = author_id(3), author_id(4)
PROFILE = f"https://www.xiaohongshu.com/user/profile/{ME}"


@pytest.fixture(params=["standin", "remote"])
def world(platform, pool, monkeypatch, request):
    monkeypatch.setenv("NOTES_ADAPTER", request.param)
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    monkeypatch.setenv("NOTES_CREATOR_PAGES", "2")
    platform.listing_size = 5
    pool(daily_limit=5000)
    return platform


def write(platform, count, **more):
    return [platform.add(f"Walk {len(platform.ledger.notes) + 1}", author=3, **more) for _ in range(count)]


def follow(**given) -> Creator:
    with clock.set_to(START):
        return actions.add_creator(PROFILE, **given)[0]


def check(hours: float) -> dict[str, int]:
    with clock.set_to(START + timedelta(hours=hours)):
        return run_now("notes.creators").progress


def known() -> set[str]:
    return set(Candidate.objects.values_list("note_id", flat=True))


def ledger(platform) -> set[str]:
    return {note.note_id for note in platform.ledger.notes.values() if note.author_id == ME}


def pages(platform) -> int:
    return sum(read["what"] == "creator" for read in platform.ledger.reads)


def test_archive_equals_the_ledger_and_each_check_ends_at_the_last_known_note(world):
    write(world, 7)
    world.add("Of somebody else", author=4)
    row = follow()
    assert check(0) == {"creators": 1, "added": 7, "failed": 0, "gaps": 0}
    assert known() == ledger(world)
    assert check(1) == {}, "not due"
    write(world, 2)
    before = pages(world)
    assert check(7)["added"] == 2
    assert pages(world) == before + 1
    write(world, 6)
    assert check(14) == {"creators": 1, "added": 6, "failed": 0, "gaps": 0}
    assert known() == ledger(world)
    row.refresh_from_db()
    assert (row.found_count, row.possible_gap, row.name, row.last_error) == (15, False, "R**", "")
    with clock.set_to(START + timedelta(hours=15)):
        collect()
    assert {note.author_id for note in Note.objects.all()} == {row.author_hash}
    assert set(Note.objects.values_list("note_id", flat=True)) == ledger(world)
    assert not Execution.objects.exclude(slot=None).exists()


@pytest.mark.parametrize("marks_pinned", [True, False])
def test_pinned_note_does_not_hide_new_ones(world, marks_pinned):
    world.marks_pinned = marks_pinned
    [first, *_rest] = write(world, 4)
    follow()
    check(0)
    first.is_pinned = True
    write(world, 7)
    assert check(7)["gaps"] == 0
    assert known() == ledger(world)


def test_known_note_that_was_deleted_there_is_no_gap_while_others_are_met(world):
    old = write(world, 5)
    follow()
    check(0)
    for note in old[3:]:
        world.mood(note.note_id, "gone")
    write(world, 3)
    assert check(7) == {"creators": 1, "added": 3, "failed": 0, "gaps": 0}


def test_more_new_notes_than_a_check_reads_are_a_possible_gap_which_the_whole_listing_closes(world):
    write(world, 12)
    row = follow()
    check(0)
    row.refresh_from_db()
    assert row.possible_gap is False, "the first check is where following begins"
    write(world, 15)
    assert check(7)["gaps"] == 1
    row.refresh_from_db()
    assert (row.possible_gap, row.gap_count, row.found_count) == (True, 1, 20)
    Candidate.objects.update(status="collected")
    item = next(one for one in health.items() if one.title == row.title)
    assert item.health.state == INCOMPLETE
    write(world, 1)
    assert check(14)["gaps"] == 0
    row.refresh_from_db()
    assert row.possible_gap is True, "what may be missing is still missing"
    with clock.set_to(START + timedelta(hours=15)):
        actions.check_soon(row, full=True)
    check(15.1)
    row.refresh_from_db()
    assert (row.possible_gap, row.wants_full, row.gap_count) == (False, False, 1)
    assert known() == ledger(world)


@pytest.mark.parametrize("mood", ["ill", "ip_block", "throttled", "login", "broken", "empty"])
def test_outage_deletes_nothing_keeps_the_place_and_is_retried_soon(world, mood):
    write(world, 3)
    row = follow()
    check(0)
    row.refresh_from_db()
    marks = row.marks
    world.creator_mood(ME, mood)
    write(world, 2)
    done = check(7)
    assert (done["failed"], done["added"], done["gaps"]) == (1, 0, 0)
    row.refresh_from_db()
    assert (row.marks, row.possible_gap, row.is_active) == (marks, False, True)
    assert row.last_success_at == START
    assert row.next_check_at == START + timedelta(hours=7, minutes=15)
    assert row.last_error
    world.creator_mood(ME, "fine")
    for hours in (8, 9, 10, 40):
        if known() != ledger(world):
            check(hours)
    # A dead login needs another cookie; a pause that the platform asked for lasts in real time.
    assert known() == ledger(world) or mood in ("login", "throttled")


def test_failure_on_a_later_page_stores_what_was_read_and_reads_it_all_again(world):
    write(world, 3)
    row = follow()
    check(0)
    write(world, 7)
    world.faults.on("*", when=lambda request: b'"cursor": "6' in request.body, first=1).fail(500)
    assert check(7)["failed"] == 1
    assert len(known()) == 8
    assert check(8) == {"creators": 1, "added": 2, "failed": 0, "gaps": 0}
    row.refresh_from_db()
    assert row.possible_gap is False
    assert known() == ledger(world)


def test_adapter_that_cannot_list_says_so(platform, pool, monkeypatch):
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    pool()
    platform.knows_creators = False
    follow()
    actions.add_creator(OTHER)
    for adapter in ("remote", "page"):
        monkeypatch.setenv("NOTES_ADAPTER", adapter)
        Creator.objects.update(next_check_at=START)
        with clock.set_to(START + timedelta(hours=1)):
            assert run_now("notes.creators").progress["failed"] == 1, "the next one is not asked"
        row = Creator.objects.exclude(last_error="").first()
        assert "cannot list the notes of a creator" in row.last_error
        assert row.next_check_at == START + timedelta(hours=7)
        Creator.objects.update(last_error="")
    assert pages(platform) == 0


def test_creator_is_added_by_address_id_or_short_link_once_and_its_id_is_encrypted(platform, monkeypatch):
    monkeypatch.setattr("watchbook.systems.notes.parse.pasted.SHORT_DOMAINS", ("127.0.0.1",))
    from standins.server import Answer

    platform.route("/m/x", lambda _request: Answer.redirect(f"{PROFILE}?xsec_token=AB1=&xsec_source=app", 302))
    row, is_new = actions.add_creator(f"看看 {PROFILE}?xsec_token=ZZ9= 复制", label="Lantern desk")
    assert is_new
    for text in (ME, platform.address("/m/x"), f"www.xiaohongshu.com/user/profile/{ME}/"):
        assert actions.add_creator(text) == (row, False)
    row.refresh_from_db()
    assert (store.platform_id(row), store.token(row)) == (ME, "AB1=")
    assert ME not in json.dumps(list(Creator.objects.values()), default=str)
    assert (row.author_hash, row.label) == (author_hash(ME), "Lantern desk")
    for wrong in ("", "x", "https://example.com/", f"{PROFILE}/{ME}", f"https://www.xiaohongshu.com/explore/{ME}"):
        with pytest.raises(NotesError):
            actions.add_creator(wrong)
    assert SearchDocument.objects.get(kind="note_creator").title == "Lantern desk"
    actions.delete_creator(row)
    assert not SearchDocument.objects.filter(kind="note_creator").exists()
    assert AuditEvent.objects.filter(event="notes.creator_deleted", subject="Lantern desk").exists()


def test_workflow_checks_the_same_way_under_its_lock(n8n, world, monkeypatch):
    monkeypatch.setenv("NOTES_RUNNER", "off")
    write(world, 7)
    row = follow()
    assert check(1) == {"reason": "runner_off"}, "n8n does it"
    with clock.set_to(START + timedelta(hours=1)):
        mine = held(holder("creators"))
        done = n8n.post("workflow/creators", mine)["data"]
        assert done == {
            "checked": True, "creator_id": row.pk, "found": 7, "added": 7, "possible_gap": False, "failure": None,
            "left": 0, "stop": False,
        }  # fmt: skip
        assert n8n.post("workflow/creators", mine)["data"] == {"checked": False, "left": 0, "stop": False}
        n8n.post("workflow/release", mine)
        Creator.objects.update(next_check_at=START)
        assert n8n.post("workflow/creators", mine)["error"]["code"] == "LOCK_LOST"
    assert known() == ledger(world)


def test_pages_add_show_pause_check_and_delete(chief, reader, platform, django_assert_max_num_queries):
    answer = post(chief, "add_creator", creator=PROFILE, label="Lantern desk", every_hours="2")
    assert said(answer) == ["Creator added: Lantern desk"]
    row = Creator.objects.get()
    Creator.objects.update(possible_gap=True, gap_at=START)
    page = get(reader, "creator", row.pk).content.decode()
    assert "Possible gap" in page
    assert f"/creators/{row.pk}/full/" not in page, "a reader starts no check"
    assert ME not in page + get(chief, "creator", row.pk).content.decode()
    assert get(reader, "creators", gap="1").context["lines"][0].row == row
    assert get(reader, "creators", state="paused").context["lines"] == []
    assert said(post(chief, "creator_step", row.pk, "off")) == ["Creator paused: Lantern desk"]
    assert said(post(chief, "creator_step", row.pk, "full")) == ["Check queued."]
    assert Creator.objects.values_list("wants_full", "is_active").get() == (True, True)
    assert said(post(chief, "creator_settings", row.pk, label="", every_hours="")) == [
        f"Creator saved: Creator …{row.author_hash[-4:]}"
    ]
    assert chief.get(f"/notes/creators/{row.pk}/profile/")["Location"].endswith(f"/user/profile/{ME}")
    assert reader.get(f"/notes/creators/{row.pk}/profile/").status_code == 403
    assert chief.post("/notes/creators/add/", {"creator": "nothing"}).status_code == 422
    for number in range(20):
        actions.add_creator(author_id(100 + number))
    with django_assert_max_num_queries(26):
        assert len(get(reader, "creators").context["lines"]) == 21
    Candidate.objects.create(note_id="n1", creator=row)
    assert [line.row.note_id for line in get(reader, "candidates", creator=row.pk).context["lines"]] == ["n1"]
    mark = row.author_hash[-4:]
    assert said(post(chief, "delete_creator", row.pk)) == [f"Creator deleted: Creator …{mark}"]
    assert Candidate.objects.get().creator is None


def test_api_and_commands(n8n, platform, capsys, tmp_path):
    made = n8n.post("creators", {"creator": PROFILE, "label": "Desk", "every_minutes": 60})["data"]
    assert (made["added"], made["creator"]["title"], made["creator"]["every_minutes"]) == (True, "Desk", 60)
    number = made["creator"]["id"]
    assert ME not in json.dumps(made)
    assert n8n.post("creators", {"creator": "nothing"})["error"]["details"][0]["field"] == "creator"
    path = f"/api/v1/notes/creators/{number}"
    changed = n8n.client.patch(path, {"is_active": False}, content_type="application/json").json()["data"]
    assert changed["is_active"] is False
    assert [one["id"] for one in n8n.get("creators", state="paused")["items"]] == [number]
    assert n8n.get("candidates", creator=str(number))["items"] == []
    assert n8n.get("candidates", creator="999")["error"]["details"][0]["field"] == "creator"
    assert n8n.post(f"creators/{number}/check", {"full": True})["data"]["run_id"]
    assert n8n.client.delete(path).json()["data"] == {"deleted": True}
    assert n8n.client.delete(path).status_code == 404
    assert set(CreatorsQuery.model_fields) - {"cursor", "limit", "format", "since", "until", "order"} == {
        each.name for each in filters.CREATORS.filters
    }

    def says(*words):
        capsys.readouterr()
        command("creators", *words, "--json")
        return json.loads(capsys.readouterr().out)

    number = str(says("add", ME, "--label", "Desk", "--every", "30")["id"])
    assert says("set", number, "--every-default")["changed"] == ["every_minutes"]
    assert says("pause", number)["changed"] == ["is_active"]
    assert says("resume", number)["changed"] == ["is_active"]
    assert [row["title"] for row in says("list", "--state", "active")["creators"]] == ["Desk"]
    assert says("list", "--gap")["creators"] == []
    assert says("list", "--output", str(tmp_path / "creators.csv"))["rows"] == 1
    assert says("check")["creators"] == 1
    assert says("delete", number)["deleted"] is True


@pytest.mark.crash
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("place", ["notes.acquired:1", "notes.creator_checked:1"])
def test_killed_check_loses_nothing(platform, pool, place):
    pool()
    write(platform, 4)
    actions.add_creator(ME)
    own = {"DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME), "CRASH_AT": place}
    words = [sys.executable, "-m", "watchbook", "notes", "creators", "check"]
    killed = subprocess.run(words, env={**os.environ, **own}, capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert known() == set()
    assert Creator.objects.get().marks == []
    with clock.set_to(clock.now() + timedelta(minutes=31)):
        assert run_now("notes.creators").progress["added"] == 4
    assert known() == ledger(platform)
    assert not Execution.objects.exclude(slot=None).exists()
