"""Keywords that people manage: how each is searched, how often, paused, deleted; pages, API and commands alike."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.systems.notes import filters
from watchbook.systems.notes.actions import keywords as actions
from watchbook.systems.notes.api.managed import KeywordsQuery
from watchbook.systems.notes.models import Candidate, Keyword
from watchbook.systems.notes.tests.browser import chief, get, post, reader, said
from watchbook.systems.notes.tests.data import START, add_candidates, command

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["chief", "reader"]


def at(days: float) -> str:
    """An ID whose note was published so many days before START."""
    return f"{int((START - timedelta(days=days)).timestamp()):08x}{0:08x}{int(days * 100) + 1:08x}"


@pytest.fixture(params=["standin", "remote"])
def five(platform, pool, monkeypatch, request):
    """Pictures and videos of today, last week and last year."""
    monkeypatch.setenv("NOTES_ADAPTER", request.param)
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    platform.now = START.timestamp
    pool(daily_limit=1000)
    for days, kind in ((0.5, "normal"), (0.6, "video"), (3, "normal"), (3.5, "video"), (400, "normal")):
        platform.add(f"Lantern {days}", note_id=at(days), kind=kind)
    return platform


def found(**given) -> set[str]:
    Keyword.objects.all().delete()
    Candidate.objects.all().delete()
    with clock.set_to(START):
        actions.add_keyword("Lantern", **given)
        assert run_now("notes.search").outcome == "done"
    return set(Candidate.objects.values_list("note_id", flat=True))


@pytest.mark.parametrize("knows", [True, False])
def test_search_finds_the_type_and_time_that_was_set_even_if_the_service_ignores_them(five, knows):
    five.knows_narrowing = knows
    everything = {note.note_id for note in five.ledger.notes.values()}
    assert found() == everything
    assert found(note_type="video") == {at(0.6), at(3.5)}
    assert found(time_range="day") == {at(0.5), at(0.6)}
    assert found(time_range="week", note_type="normal") == {at(0.5), at(3)}
    assert found(time_range="half_year", sort="time_descending") == everything - {at(400)}


def test_plain_search_sends_the_body_of_the_first_contract(five, monkeypatch):
    monkeypatch.setenv("NOTES_ADAPTER", "remote")
    found()
    found(sort="time_descending", note_type="video", time_range="week")
    assert [one["asked"] for one in five.ledger.reads] == [[], ["note_type", "sort", "time_range"]]


def test_each_keyword_has_its_own_frequency_and_an_outage_is_retried_soon(five):
    with clock.set_to(START):
        often, _new = actions.add_keyword("Lantern", every_minutes=30)
        usual, _new = actions.add_keyword("River")
        run_now("notes.search")
        often.refresh_from_db()
        usual.refresh_from_db()
        assert often.next_search_at == START + timedelta(minutes=30)
        assert usual.next_search_at == START + timedelta(minutes=360)
    five.account_mood("made-up-session-of-account_01-7731", "ip_block")
    later = START + timedelta(minutes=31)
    with clock.set_to(later):
        run_now("notes.search")
    often.refresh_from_db()
    assert often.next_search_at == later + timedelta(minutes=15)
    assert often.last_error.startswith("PLATFORM_ERROR")


def test_paused_keyword_is_not_searched_and_deleted_one_keeps_what_it_found(five):
    found()
    row = Keyword.objects.get()
    actions.set_keyword_active(row, False)
    with clock.set_to(START + timedelta(days=2)):
        assert run_now("notes.search").outcome == "nothing_to_do"
    actions.delete_keyword(row)
    assert Candidate.objects.filter(source_keyword="Lantern").count() == 5
    assert list(AuditEvent.objects.order_by("pk").values_list("event", flat=True))[-2:] == [
        "notes.keyword_changed", "notes.keyword_deleted",
    ]  # fmt: skip


def test_page_changes_pauses_and_deletes(chief, reader, platform):
    post(chief, "add_keyword", keyword="Lantern", sort="time_descending", note_type="video", every_hours="0.5")
    row = Keyword.objects.get()
    assert (row.sort, row.note_type, row.time_range, row.every_minutes) == ("time_descending", "video", "any", 30)
    page = squeezed(get(chief, "keywords").content.decode())
    assert "Newest first · Video" in page
    assert "every 30 min" in page
    shown = get(chief, "keyword", row.pk)
    assert 'value="0.5"' in shown.content.decode()
    answer = post(chief, "keyword", row.pk, sort="general", note_type="all", time_range="week", every_hours="")
    assert said(answer) == ["Keyword saved: Lantern"]
    row.refresh_from_db()
    assert (row.sort, row.note_type, row.time_range, row.every_minutes) == ("general", "all", "week", None)
    assert chief.post(f"/notes/keywords/{row.pk}/", {"sort": "nonsense"}).status_code == 422
    assert said(post(chief, "keyword_step", row.pk, "off")) == ["Keyword paused: Lantern"]
    assert [line.row.pk for line in get(reader, "keywords", state="paused").context["lines"]] == [row.pk]
    assert get(reader, "keywords", state="active").context["lines"] == []
    assert reader.get(f"/notes/keywords/{row.pk}/").status_code == 403
    assert reader.post(f"/notes/keywords/{row.pk}/delete/").status_code == 403
    assert said(post(chief, "delete_keyword", row.pk)) == ["Keyword deleted: Lantern"]
    assert not Keyword.objects.exists()


def test_list_has_a_constant_number_of_queries_and_an_export(chief, reader, django_assert_max_num_queries):
    for number in range(30):
        actions.add_keyword(f"word {number}")
    add_candidates(3, source_keyword="word 3")
    with django_assert_max_num_queries(20):
        assert len(get(reader, "keywords").context["lines"]) == 30
    file = b"".join(get(reader, "keywords", format="jsonl", q="word 1").streaming_content).decode()
    assert len(file.splitlines()) == 12
    assert json.loads(file.splitlines()[0])["sort"] == "general"


def test_api_adds_changes_lists_and_deletes(n8n, platform):
    made = n8n.post("keywords", {"keyword": "灯会", "note_type": "video", "every_minutes": 60})["data"]
    assert (made["added"], made["keyword"]["note_type"], made["keyword"]["every_minutes"]) == (True, "video", 60)
    assert n8n.post("keywords", {"keyword": "灯会"})["data"]["added"] is False
    number = made["keyword"]["id"]
    path = f"/api/v1/notes/keywords/{number}"
    changed = n8n.client.patch(path, {"is_active": False, "every_minutes": None}, content_type="application/json")
    assert (changed.json()["data"]["is_active"], changed.json()["data"]["every_minutes"]) == (False, None)
    assert [row["id"] for row in n8n.get("keywords", state="paused")["items"]] == [number]
    assert n8n.get("keywords", state="nonsense")["error"]["details"][0]["field"] == "state"
    assert n8n.get("keywords", sort="general", note_type="video", q="灯")["items"][0]["id"] == number
    for wrong in ({"sort": "up"}, {"speed": 1}, {"every_minutes": 1}):
        refused = n8n.client.patch(path, wrong, content_type="application/json")
        assert (refused.status_code, refused.json()["error"]["details"][0]["field"]) == (400, next(iter(wrong)))
    assert n8n.post(f"keywords/{number}/search")["data"]["run_id"] == JobRun.objects.get().pk
    assert n8n.client.delete(path).json()["data"] == {"deleted": True}
    assert n8n.client.delete(path).status_code == 404
    assert set(KeywordsQuery.model_fields) - {"cursor", "limit", "format", "since", "until", "order"} == {
        each.name for each in filters.KEYWORDS.filters
    }


def test_commands_set_pause_list_export_and_delete(capsys, tmp_path):
    def says(*words):
        command(*words, "--json")
        return json.loads(capsys.readouterr().out)

    says("keywords", "add", "Lantern", "River", "--type", "video", "--every", "45")
    assert says("keywords", "set", "lantern", "--sort", "time_descending")["changed"] == ["sort"]
    assert says("keywords", "set", "Lantern", "--every-default")["changed"] == ["every_minutes"]
    assert says("keywords", "pause", "River")["changed"] == ["is_active"]
    assert [row["keyword"] for row in says("keywords", "list", "--state", "paused")["keywords"]] == ["River"]
    file = tmp_path / "keywords.csv"
    assert says("keywords", "list", "--output", str(file))["rows"] == 2
    assert len(file.read_text(encoding="utf-8-sig").splitlines()) == 3
    assert says("keywords", "resume", "River")["changed"] == ["is_active"]
    assert says("keywords", "delete", "River")["deleted"] is True
    for words in (("delete", "River"), ("list", "--state", "nonsense"), ("list", "--output", str(tmp_path / "x.doc"))):
        with pytest.raises(SystemExit):
            command("keywords", *words, "--json")
        assert "error" in json.loads(capsys.readouterr().out)
