"""Refused input, database defaults, permissions, cookie tests and deletion: nothing is saved or kept by accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse

from standins.note_platform import shapes
from standins.note_platform.ledger import Ledger
from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.pages import squeezed
from watchbook.core.accounts import tokens
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.core.notify.models import Delivery
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.notes import actions
from watchbook.systems.notes.access import may_work
from watchbook.systems.notes.card import card as card_of
from watchbook.systems.notes.health import health
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, Cookie, CookieLease, Creator, Execution, Keyword, Note
from watchbook.systems.notes.tests.browser import chief, get, post, said
from watchbook.systems.notes.tests.conftest import Program
from watchbook.systems.notes.tests.data import add_candidates, command, held, holder, note_id, offer, result_of

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

__all__ = ["chief"]

N8N_RESPONSE = {
    "body": {"success": True, "data": {"title": "A lantern"}}, "headers": {}, "statusCode": 200, "statusMessage": "OK",
}  # fmt: skip


@pytest.fixture
def claimed():
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    return {**held(mine), "note_id": one}


def card():
    return shapes.note_card(Ledger().add("A lantern", "Lights", note_id=note_id(1), tags=["灯"]))


@pytest.mark.parametrize("result", [
    {}, N8N_RESPONSE, {"success": True, "data": {}}, {"note_id": note_id(1)}, {"title": "x", "made_up": 1},
    {"counts": {}, "tags": [], "media": []}, {"note_card": {}}, {"note_card": {"note_id": "another"}},
    {"title": "", "content": "", "author_name": "R**"},
])  # fmt: skip
def test_commit_of_something_else_is_refused(n8n, claimed, result):
    answer = n8n.post("workflow/commit", {**claimed, "result": result})
    assert (n8n.status, answer["error"]["code"]) == (400, "INVALID_INPUT")
    assert not Note.objects.exists()
    assert Candidate.objects.get().status == "processing"


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: {"id": note_id(1), "note_card": one}])
def test_commit_of_a_platform_card_is_parsed(n8n, claimed, wrap):
    assert n8n.post("workflow/commit", {**claimed, "result": wrap(card())})["data"]["action"] == "created"
    note = Note.objects.get()
    assert (note.title, note.tags, note.counts["collected"]["value"]) == ("A lantern", ["灯"], 12000)
    assert (note.author_name, len(note.author_id)) == ("R**", 32), "the author is hashed as in detail"


def test_commit_lists_what_it_did_not_store(n8n, claimed):
    media = [{"kind": "image", "url": "javascript:alert(1)"}, {"kind": "live_photo", "url": "https://v.example/a"}]
    result = {**result_of(note_id(1)), "media": media, "published_at": "never", "skipped": ["video stream EF9"]}
    answer = n8n.post("workflow/commit", {**claimed, "result": result})
    assert answer["data"]["omitted"] == ["media.0", "published_at"]
    note = Note.objects.get()
    assert note.exec_meta["omitted"] == ["media.0", "published_at"]
    assert note.exec_meta["skipped"] == ["video stream EF9"]
    assert [one["kind"] for one in note.media] == ["image", "live_photo"]


def test_note_page_shows_what_was_not_understood(n8n, claimed, chief):
    n8n.post("workflow/commit", {**claimed, "result": {**result_of(note_id(1)), "skipped": ["video stream EF9"]}})
    assert "video stream EF9" in get(chief, "note", note_id(1)).content.decode()


@pytest.mark.parametrize("path", ["search", "detail", "batch", "workflow/candidates", "workflow/acquire",
                                  "workflow/heartbeat", "workflow/claim", "workflow/commit", "workflow/fail",
                                  "workflow/release", "workflow/recover", "workflow/report"])  # fmt: skip
def test_unknown_field_of_a_body_is_named(n8n, path):
    answer = n8n.post(path, {"made_up_field": 1})
    assert (n8n.status, answer["error"]["code"]) == (400, "INVALID_INPUT")
    assert "made_up_field" in json.dumps(answer["error"]["details"])


@pytest.mark.parametrize(("path", "query"), [
    ("candidates", {"status": "colected"}), ("candidates", {"limit": "many"}), ("sources", {"cursor": "nonsense"}),
])  # fmt: skip
def test_list_with_a_wrong_filter_is_400_in_the_envelope(n8n, path, query):
    answer = n8n.get(path, **query)
    assert (n8n.status, answer["success"], answer["error"]["code"]) == (400, False, "INVALID_INPUT")
    assert set(answer) >= {"success", "data", "error", "meta"}


class TestPermission:
    def test_member_gets_no_scope_notes(self, alice, operator):
        assert "notes" not in tokens.scopes_for(alice)
        assert "notes" in tokens.scopes_for(operator)
        with pytest.raises(InvalidInput, match="notes"):
            tokens.make(alice, ("notes",))
        actions.allow_user(alice, actor=operator)
        assert "notes" in tokens.scopes_for(alice)
        assert tokens.make(alice, ("notes",))

    @pytest.mark.parametrize("path", ["search", "detail", "batch", "workflow/acquire", "workflow/recover"])
    def test_token_ends_with_the_permission(self, alice, path):
        actions.allow_user(alice)
        program = Program(alice, "notes", "read")
        program.post(path)
        assert program.status != 403
        actions.disallow_user(alice)
        assert not may_work(alice)
        program.post(path)
        assert program.status == 403
        program.get("cookies")
        assert program.status == 403
        program.get("sources")
        assert program.status == 200, "members read notes"

    def test_page_and_api_agree(self, alice, client):
        client.force_login(alice)
        for allowed, status in ((False, 403), (True, 200)):
            if allowed:
                actions.allow_user(alice)
            assert client.get("/notes/cookies/").status_code == status
            assert client.get("/api/v1/notes/cookies").status_code == status
            assert client.post("/notes/keywords/add/", {"keyword": "Lantern"}).status_code == (302 if allowed else 403)
        page = client.get("/notes/cookies/").content
        assert b'name="cookie"' not in page, "cookies themselves belong to operators"
        assert client.post("/notes/cookies/add/", {"cookie_name": "x"}).status_code == 403

    def test_operator_allows_and_removes_on_the_page_of_users(self, alice, operator, client):
        client.force_login(operator)
        assert "Allow: Notes API (notes)" in squeezed(client.get(reverse("people")).text)
        client.post(reverse("person_change", args=[alice.pk]), {"permission": "notes", "change": "allow"})
        assert may_work(alice)
        assert "Remove: Notes API (notes)" in squeezed(client.get(reverse("people")).text)
        client.post(reverse("person_change", args=[alice.pk]), {"permission": "notes", "change": "remove"})
        assert not may_work(alice)

    def test_command_allows_and_disallows(self, alice, capsys):
        command("allow", alice.email)
        assert may_work(alice)
        command("disallow", alice.email)
        assert not may_work(alice)
        assert "may not do notes work" in capsys.readouterr().out


class TestCookieTest:
    def test_page_adapter_tests_with_a_known_note(self, platform, pool, chief, monkeypatch):
        pool()
        monkeypatch.setenv("NOTES_ADAPTER", "page")
        monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
        row = Cookie.objects.get()
        [words] = said(post(chief, "cookie_step", row.pk, "probe"))
        assert words == "The page adapter tests a cookie by reading a note. Add a candidate first."
        assert (CookieLease.objects.count(), Cookie.objects.get().status) == (0, "active")
        offer(platform.add("One"))
        assert said(post(chief, "cookie_step", row.pk, "probe")) == ["The platform accepted the cookie."]
        platform.account_mood("made-up-session-of-account_01-7731", "login")
        answer = post(chief, "cookie_step", row.pk, "probe")
        assert said(answer) == ["The platform no longer accepts this login. Replace the cookie."]
        assert Cookie.objects.get().status == "invalid"


class TestHealth:
    def test_source_without_adapter_never_ran(self):
        assert (health().state, health().last_success_at) == ("never", None)

    def test_setting_problem_is_an_error(self, platform, monkeypatch):
        monkeypatch.setenv("NOTES_ADAPTER", "page")
        assert (health().state, "confirm them under Settings" in health().reason) == ("error", True)

    def test_empty_pool_is_an_error(self, platform):
        add_candidates(1)
        assert (health().state, health().reason) == ("error", "The cookie pool is empty. Add a cookie first.")

    @pytest.mark.parametrize(("mood", "state", "words"), [
        ("ill", "failing", "server error"), ("broken", "failing", "could not be parsed"),
        ("ip_block", "blocked", "IP address"), ("login", "error", "No usable cookies"), ("fine", "healthy", ""),
    ])  # fmt: skip
    def test_health_follows_what_was_read(self, platform, pool, chief, mood, state, words):
        pool()
        entries = platform.add_many(5)
        for entry in entries:
            platform.mood(entry.note_id, mood)
        offer(*entries)
        assert health().state == "never"
        with_clock = collect()
        found = health()
        assert (found.state, words in found.reason) == (state, True), (found, with_clock)
        shown = [get(chief, "candidates"), get(chief, "executions"), chief.get("/")]
        for answer in shown:
            assert ("Healthy" in answer.content.decode()) is (state == "healthy" and answer is shown[-1])
        if state != "healthy":
            assert found.reason in shown[0].content.decode().replace("&#x27;", "'")

    def test_keyword_or_creator_that_fails_alone_is_named_by_the_source(self, platform, pool, chief, rf):
        pool()
        offer(*platform.add_many(1))
        collect()
        actions.add_keyword("Lantern")
        assert health().state == "healthy"
        Keyword.objects.update(last_error="PLATFORM_ERROR: The platform returned a server error (5xx).")
        assert (health().state, health().reason) == ("failing", "Lantern: The platform returned a server error (5xx).")
        assert card_of(rf.get("/")).badge == health().badge()
        Keyword.objects.update(last_error="")
        Creator.objects.create(author_hash="a" * 64, platform_id="x", name="Olga", possible_gap=True)
        assert (health().state, health().reason.partition(":")[0]) == ("incomplete", "Olga")
        Creator.objects.update(is_active=False)
        assert health().state == "healthy"

    def test_first_search_that_fails_is_on_the_home_card(self, platform, pool, rf):
        pool()
        actions.add_keyword("Lantern")
        platform.faults.on("*").fail(503)
        run_now("notes.search")
        found = card_of(rf.get("/"))
        assert (found.badge, found.hint) == (health().badge(), "")
        assert health().state == "failing"

    def test_home_card_shows_the_health(self, platform, pool, chief):
        pool()
        entries = platform.add_many(2)
        offer(*entries)
        collect()
        assert b"Healthy" in chief.get("/").content


class TestDatabase:
    @pytest.mark.parametrize(("model", "columns"), [
        (Cookie, {"cookie_name": "raw", "cookie_encrypted": "v2:x:y"}), (Candidate, {"note_id": "raw"}),
        (Execution, {"workflow_name": "w", "execution_id": "raw"}),
        (Note, {"idempotency_key": "raw_v1", "note_id": "r"}),
    ])  # fmt: skip
    def test_defaults_are_in_the_database(self, model, columns):
        table, names = model._meta.db_table, ", ".join(columns)
        marks = ", ".join(["%s"] * len(columns))
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(columns.values()))
        row = model.objects.get()
        row.full_clean(exclude=["exec_meta", "counts", "tags", "media", *columns, "processing_lock", "slot", "fence",
                                "locked_at", "completed_at", "cooling_until", "lock_fence", "claim_token",
                                "published_at", "edited_at", "daily_date", "cooling_since", "disabled_at",
                                "last_used_at", "creator"])  # fmt: skip
        if hasattr(row, "status"):
            assert row.status in {"active", "pending", "running"}

    @pytest.mark.parametrize("model", [Cookie, Candidate, Execution])
    def test_unknown_state_is_refused_by_the_database(self, model, pool):
        pool()
        add_candidates(1)
        holder()
        with pytest.raises(IntegrityError), transaction.atomic():
            model.objects.update(status="made_up")


def test_deleted_note_leaves_nothing(chief):
    ids = add_candidates(2)
    mine = holder()
    actions.claim(held(mine))
    for one in ids:
        words = {"title": f"Xylophone {one[-2:]}", "content": "Quokka parade"}
        actions.commit({**held(mine), "note_id": one, "result": words})
    assert actions.delete_note(ids[0])
    assert list(Note.objects.values_list("note_id", flat=True)) == [ids[1]]
    assert SearchDocument.objects.filter(object_id=ids[0]).count() == 0
    assert StreamEntry.objects.filter(object_id=ids[0]).count() == 0
    assert f"Xylophone {ids[0][-2:]}" not in str(list(Delivery.objects.values()))
    if connection.vendor != "mysql":
        assert JobRun.objects.filter(name="search.compact").exists(), "clears the words from the blocks of the index"
    assert Candidate.objects.get(note_id=ids[0]).title == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="reads SQLite's file")
def test_words_of_a_deleted_note_leave_the_database_file():
    [one] = add_candidates(1, title="Quokkaparade")
    mine = holder()
    actions.claim(held(mine))
    actions.commit({**held(mine), "note_id": one, "result": {"title": "Quokkaparade", "content": "Xylophonist"}})
    actions.release({**held(mine), "status": "completed"})
    assert b"ylophonist" in _database_file()
    actions.delete_note(one)
    run_now("search.compact")
    for word in (b"uokkaparade", b"ylophonist"):
        assert word not in _database_file(), word


def _database_file() -> bytes:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(connection.settings_dict["NAME"]).read_bytes()
