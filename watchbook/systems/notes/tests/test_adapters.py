from __future__ import annotations

import pytest

from watchbook.systems.notes.encryption import decrypt
from watchbook.systems.notes.fetch import SearchQuery
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.models import Breaker, Cookie
from watchbook.systems.notes.parse.records import NoteAddress
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.tests.data import KEY

pytestmark = pytest.mark.django_db

ADAPTERS = ("standin", "page", "remote")


@pytest.fixture(params=ADAPTERS)
def adapter(request, platform, monkeypatch):
    monkeypatch.setenv("NOTES_ADAPTER", request.param)
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    return request.param


def read(entry, token=None):
    return crawl.read_note(NoteAddress(entry.note_id, entry.token if token is None else token))[0]


def error_for(entry):
    with pytest.raises(NotesError) as caught:
        read(entry)
    return caught.value


def test_every_adapter_reads_the_same_note(adapter, platform, pool):
    pool()
    entry = platform.add("Lantern", "Lights.", tags=["lamp"])
    note = read(entry)
    assert (note.title, note.tags, note.counts["liked"].value) == ("Lantern", ("lamp",), 45)
    assert platform.ledger.reads[-1]["session"] == "made-up-session-of-account_01-7731"


@pytest.mark.parametrize(
    ("mood", "code", "reason", "status"),
    [
        ("gone", "NOT_FOUND", "note_gone", "active"),
        ("private", "NOT_FOUND", "note_gone", "active"),
        ("stale", "PLATFORM_ERROR", "stale_token", "active"),
        ("walled", "PLATFORM_ERROR", "walled", "active"),
        ("blocked", "PLATFORM_ERROR", "blocked", "active"),
        ("captcha", "PLATFORM_ERROR", "captcha", "cooling"),
        ("login", "COOKIE_INVALID", "login_dead", "invalid"),
        ("restricted", "COOKIE_INVALID", "account_restricted", "cooling"),
        ("ip_block", "PLATFORM_ERROR", "ip_block", "active"),
        ("signature", "PLATFORM_ERROR", "signature", "active"),
        ("throttled", "RATE_LIMITED", "throttled", "cooling"),
        ("broken", "PLATFORM_ERROR", "not_readable", "active"),
        ("ill", "PLATFORM_ERROR", "server_error", "active"),
    ],
)
def test_refusal_has_its_code_and_cookie_error(adapter, platform, pool, mood, code, reason, status):
    pool()
    entry = platform.add("One")
    platform.mood(entry.note_id, mood)
    error = error_for(entry)
    assert (error.code, error.reason) == (code, reason)
    row = Cookie.objects.get()
    assert row.status == status
    assert (row.total_errors > 0) == bool(error.cookie_error)
    assert Breaker.objects.filter(trips__gt=0).exists() == (reason in {"ip_block", "signature"})


def test_timeouts_are_not_counted_against_the_cookie(adapter, platform, pool, monkeypatch):
    monkeypatch.setenv("NOTES_DETAIL_TIMEOUT_SECONDS", "0.5")
    pool()
    entry = platform.add("One")
    platform.mood(entry.note_id, "hang")
    assert error_for(entry).code == "TIMEOUT_ERROR"
    platform.mood(entry.note_id, "fine")
    platform.faults.on_connection().reset()
    # A kept connection may still be open from before; the next one meets the rule.
    with pytest.raises(NotesError) as caught:
        read(entry)
        read(entry)
    assert caught.value.code == "NETWORK_ERROR"
    assert Cookie.objects.get().total_errors == 0


def test_missing_token_is_said(adapter, platform, pool):
    pool()
    entry = platform.add("One")
    with pytest.raises(NotesError) as caught:
        read(entry, token="")
    assert (caught.value.reason, caught.value.retryable) == ("stale_token", False)


def test_search_and_the_adapter_that_cannot(adapter, platform, pool):
    pool()
    platform.add_many(25)
    if adapter == "page":
        with pytest.raises(NotesError, match="INVALID_INPUT"):
            crawl.search(SearchQuery("Lantern"))
        return
    first, name = crawl.search(SearchQuery("Lantern", 1, 20))
    second, _ = crawl.search(SearchQuery("Lantern", 2, 20))
    assert (len(first.cards), first.has_more, len(second.cards), second.has_more) == (20, True, 5, False)
    assert name == "account_01"


@pytest.mark.parametrize("adapter", ["page", "remote"])
def test_live_adapters_are_off_until_the_terms_are_confirmed(adapter, platform, pool, monkeypatch):
    pool()
    monkeypatch.setenv("NOTES_ADAPTER", adapter)
    entry = platform.add("One")
    assert error_for(entry).reason == "no_adapter"
    assert platform.ledger.reads == []


def test_without_an_adapter_the_answer_is_clear(n8n, platform, pool, monkeypatch):
    pool()
    monkeypatch.setenv("NOTES_ADAPTER", "")
    answer = n8n.post("detail", {"note_id": "abc"})
    assert (n8n.status, answer["error"]["code"], answer["error"]["retryable"]) == (502, "PLATFORM_ERROR", False)
    assert answer["error"]["message"] == "No adapter is enabled. An operator chooses one under Settings."


@pytest.mark.parametrize("adapter", ["standin", "page"])
def test_cookies_set_by_the_platform_are_stored_encrypted(adapter, platform, pool, monkeypatch):
    monkeypatch.setenv("NOTES_ADAPTER", adapter)
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    pool()
    platform.sets_cookies = {"acw_tc": "made-up-and-fresh-001"}
    read(platform.add("One"))
    row = Cookie.objects.get()
    plain = decrypt(row.cookie_encrypted, name=row.cookie_name, platform=row.platform)
    assert "acw_tc=made-up-and-fresh-001" in plain
    assert "web_session=made-up-session-of-account_01-7731" in plain
    assert "made-up" not in row.cookie_encrypted
    assert KEY not in row.cookie_encrypted


def test_remote_service_gets_its_token_and_the_request_id(platform, pool, monkeypatch):
    monkeypatch.setenv("NOTES_ADAPTER", "remote")
    monkeypatch.setenv("NOTES_TERMS_CONFIRMED", "on")
    monkeypatch.setenv("NOTES_REMOTE_TOKEN", "made-up-service-token")
    pool()
    read(platform.add("One"))
    request = platform.log.last("/remote/detail")
    assert request.headers.get("Authorization") == "Bearer made-up-service-token"
    assert set(request.json()) == {"note_id", "xsec_token", "xsec_source"}


def test_test_adapter_refuses_a_live_host(platform, pool, monkeypatch):
    pool()
    monkeypatch.setenv("NOTES_STANDIN_URL", "https://www.example.com")
    assert error_for(platform.add("One")).reason == "no_adapter"
