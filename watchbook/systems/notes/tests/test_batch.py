from __future__ import annotations

from collections import Counter

import pytest

from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.models import Cookie, CookieLease
from watchbook.systems.notes.parse.records import NoteAddress

pytestmark = pytest.mark.django_db


def items(entries):
    return {"items": [{"note_id": entry.note_id, "xsec_token": entry.token} for entry in entries]}


def test_twenty_notes_of_every_kind_each_with_its_own_reason(n8n, platform, pool, monkeypatch):
    """Time-outs, dead notes, refused and fine ones together; the cookie is charged once at most."""
    monkeypatch.setenv("NOTES_BATCH_TIMEOUT_SECONDS", "20")
    pool()
    entries = platform.add_many(20)
    moods = ["hang", "gone"] * 3 + ["blocked", "gone", "blocked", "stale", "blocked", "stale", "blocked"]
    moods += ["fine", "ill"] + ["fine"] * 5
    for entry, mood in zip(entries, moods, strict=True):
        platform.mood(entry.note_id, mood)
    answer = n8n.post("batch", items(entries))
    # The limit is what is promised, so this one duration is looked at.
    assert answer["meta"]["latency_ms"] < 20_000
    assert n8n.status == 207
    assert answer["summary"] == {"total": 20, "succeeded": 6, "failed": 14}
    codes = Counter((item["error"]["code"], item["error"]["reason"]) for item in answer["items"] if "error" in item)
    assert codes == {
        ("TIMEOUT_ERROR", "timed_out"): 3, ("NOT_FOUND", "note_gone"): 4, ("PLATFORM_ERROR", "blocked"): 4,
        ("PLATFORM_ERROR", "stale_token"): 2, ("PLATFORM_ERROR", "server_error"): 1,
    }  # fmt: skip
    assert [item["id"] for item in answer["items"]] == [entry.note_id for entry in entries]
    cookie = Cookie.objects.get()
    assert (cookie.total_errors, cookie.consecutive_errors, cookie.status) == (1, 1, "active")
    assert CookieLease.objects.get().charge == "counted"
    assert cookie.daily_used == 20


def test_when_all_hang_the_answer_still_comes_in_time(n8n, platform, pool):
    pool()
    entries = platform.add_many(4)
    for entry in entries:
        platform.mood(entry.note_id, "hang")
    answer = n8n.post("batch", {**items(entries), "timeout_seconds": 5})
    assert answer["meta"]["latency_ms"] < 5_000
    assert {item["error"]["code"] for item in answer["items"]} == {"TIMEOUT_ERROR"}
    assert (n8n.status, answer["error"]["code"]) == (504, "TIMEOUT_ERROR")
    assert Cookie.objects.get().total_errors == 0


def test_dead_notes_cost_the_cookie_nothing(platform, pool):
    pool()
    entries = platform.add_many(12)
    for entry in entries:
        platform.mood(entry.note_id, "gone")
    for _ in range(3):
        crawl.read_notes([NoteAddress(entry.note_id, entry.token) for entry in entries])
    cookie = Cookie.objects.get()
    assert (cookie.status, cookie.total_errors) == ("active", 0)


def test_batch_over_one_quota_continues_with_next_cookie(n8n, platform, pool):
    pool("one", daily_limit=3)
    pool("two", daily_limit=4)
    answer = n8n.post("batch", items(platform.add_many(10)))
    assert answer["summary"] == {"total": 10, "succeeded": 7, "failed": 3}
    assert answer["meta"]["cookie_used"] == "one,two"
    assert {item["error"]["code"] for item in answer["items"][7:]} == {"COOKIE_EXHAUSTED"}


def test_rest_of_batch_is_read_with_another_cookie(n8n, platform, pool):
    pool("one", priority=9)
    pool("two")
    platform.account_mood("made-up-session-of-one-7731", "login")
    entries = platform.add_many(4)
    answer = n8n.post("batch", items(entries))
    assert (n8n.status, answer["error"]["code"]) == (502, "COOKIE_INVALID")
    assert [item["error"]["reason"] for item in answer["items"]] == ["login_dead"] + ["not_asked"] * 3
    assert all(item["error"]["retryable"] for item in answer["items"])
    assert len(platform.ledger.reads) == 1
    again = n8n.post("batch", items(entries))
    assert (again["summary"]["succeeded"], again["meta"]["cookie_used"]) == (4, "two")


def test_ip_block_stops_every_cookie(n8n, platform, pool):
    pool("one")
    pool("two")
    entries = platform.add_many(3)
    platform.mood(entries[0].note_id, "ip_block")
    n8n.post("batch", items(entries))
    answer = n8n.post("detail", {"note_id": entries[1].note_id, "xsec_token": entries[1].token})
    assert (n8n.status, answer["error"]["reason"]) == (502, "ip_block")
    assert len(platform.ledger.reads) == 1
    assert set(Cookie.objects.values_list("total_errors", flat=True)) == {0}


@pytest.mark.parametrize("body", [{"items": []}, {"items": [{}]}, {}, {"items": [{"note_id": "a"}] * 21}, {"items": 3}])
def test_batch_has_from_one_to_twenty_notes(n8n, body):
    answer = n8n.post("batch", body)
    assert (n8n.status, answer["error"]["code"], answer["success"]) == (400, "INVALID_INPUT", False)
