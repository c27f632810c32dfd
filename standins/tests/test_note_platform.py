from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from standins.note_platform import NotePlatform

SEARCH, FEED = "/api/sns/web/v1/search/notes", "/api/sns/web/v1/feed"


@pytest.fixture
def platform():
    with NotePlatform() as site:
        site.add_account("session-1")
        yield site


def ask(platform, path, body=None, session="session-1"):
    request = urllib.request.Request(
        platform.address(path),
        data=json.dumps(body).encode() if body is not None else None,
        headers={"Cookie": f"web_session={session}", "X-Request-ID": "t-1"},
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_search_mixes_notes_with_other_things_and_hands_out_new_tokens(platform):
    notes = platform.add_many(3)
    before = [note.token for note in notes]
    _status, body = ask(platform, SEARCH, {"keyword": "Lantern", "page": 1, "page_size": 2})
    data = json.loads(body)["data"]
    assert [item["model_type"] for item in data["items"]] == ["rec_query", "note", "note"]
    assert data["has_more"] is True
    assert data["items"][1]["xsec_token"] == notes[0].token != before[0]


def test_detail_wants_the_newest_token(platform):
    note = platform.add("One")
    _status, good = ask(platform, FEED, {"source_note_id": note.note_id, "xsec_token": note.token})
    assert json.loads(good)["data"]["items"][0]["note_card"]["title"] == "One"
    _status, stale = ask(platform, FEED, {"source_note_id": note.note_id, "xsec_token": "old"})
    assert json.loads(stale)["code"] == 300031
    assert [read["mood"] for read in platform.ledger.reads] == ["fine", "stale"]
    assert platform.ledger.reads[0]["request_id"] == "t-1"


def test_strangers_are_sent_to_the_login(platform):
    note = platform.add("One")
    _status, body = ask(platform, FEED, {"source_note_id": note.note_id}, session="nobody")
    assert json.loads(body)["code"] == -100


@pytest.mark.parametrize(("mood", "status"), [("captcha", 461), ("blocked", 403), ("ill", 500), ("signature", 406)])
def test_moods_have_their_status(platform, mood, status):
    note = platform.add("One")
    platform.mood(note.note_id, mood)
    assert ask(platform, FEED, {"source_note_id": note.note_id, "xsec_token": note.token})[0] == status


def test_page_carries_its_state_as_javascript(platform):
    note = platform.add("One / two")
    status, body = ask(platform, f"/explore/{note.note_id}?xsec_token={note.token}")
    text = body.decode()
    assert status == 200
    assert "undefined" in text
    assert "One \\u002F two" in text


def test_its_home_card_and_recogniser_work(platform):
    with urllib.request.urlopen(platform.address("/_standin/ledger"), timeout=5) as answer:
        assert json.load(answer)["notes"] == []
    request = urllib.request.Request(platform.address("/_standin/do/add_many"), data=b'{"count": 2}', method="POST")
    with urllib.request.urlopen(request, timeout=5) as answer:
        assert len(json.load(answer)["result"]) == 2
    assert len(platform.ledger.notes) == 2
