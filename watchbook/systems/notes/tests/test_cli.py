from __future__ import annotations

import io
import json
import re

import pytest

from watchbook.systems.notes.models import Cookie, Execution, Keyword, Note
from watchbook.systems.notes.tests.data import SECOND_KEY, command, offer

pytestmark = pytest.mark.django_db


@pytest.fixture
def says(capsys, monkeypatch):
    def ask(*words, given=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        command(*words, "--json")
        return json.loads(capsys.readouterr().out)

    return ask


def test_collect_prints_its_result(says, platform, pool):
    pool()
    offer(*platform.add_many(3))
    done = says("collect", "--now", "2026-03-02T12:00:00")
    assert set(done) == {"execution_id", "locked", "claimed", "collected", "skipped", "failed", "returned"}
    assert (done["locked"], done["claimed"], done["collected"]) == (True, 3, 3)
    assert Execution.objects.get().started_at.isoformat() == "2026-03-02T04:00:00+00:00"
    assert Note.objects.first().collected_at.isoformat() == "2026-03-02T04:00:00+00:00"


def test_recover_prints_what_it_released(says):
    assert says("recover", "--now", "2026-03-02T12:00:00") == {
        "executions_timed_out": 0, "candidates_returned": 0, "candidates_failed": 0,
    }  # fmt: skip


def test_keywords_are_added_once_and_listed(says):
    assert says("keywords", "add", "灯笼", "Lantern") == {
        "keywords": [{"keyword": "灯笼", "added": True}, {"keyword": "Lantern", "added": True}]
    }
    assert says("keywords", "add", "LANTERN")["keywords"][0]["added"] is False
    listed = says("keywords", "list")["keywords"]
    assert [row["keyword"] for row in listed] == ["Lantern", "灯笼"], "newest first"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\S+\+00:00", row["next_search_at"]) for row in listed), "as ISO has it"
    assert Keyword.objects.count() == 2


def test_cookies_are_added_from_standard_input_and_never_shown(says, capsys, monkeypatch):
    added = says("cookies", "add", "account_01", "--priority", "5", given="web_session=made-up-secret-12345\n")
    assert added["added"] is True
    listed = says("cookies", "list")
    assert (listed["cookies"][0]["cookie_name"], listed["cookies"][0]["priority"]) == ("account_01", 5)
    assert "made-up" not in json.dumps([added, listed])
    assert says("cookies", "disable", "account_01") == {"cookie_name": "account_01", "is_enabled": False}
    assert says("cookies", "enable", "account_01")["is_enabled"] is True
    monkeypatch.setenv("COOKIE_MASTER_KEYS", f"k2:{SECOND_KEY}")
    assert says("cookies", "rotate-keys")["rotated"] == 1
    assert Cookie.objects.get().encryption_key_id == "k2"


def test_refusal_is_one_sentence_and_exit_code_1(capsys, monkeypatch):
    with pytest.raises(SystemExit) as ended:
        command("cookies", "disable", "nobody", "--json")
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "NOT_FOUND"
    with pytest.raises(SystemExit):
        command("collect", "--json")
    assert "No adapter is enabled." in capsys.readouterr().out


def test_rotation_with_a_missing_key_fails_with_a_message(capsys, monkeypatch, says):
    says("cookies", "add", "account_01", given="web_session=made-up-secret-12345")
    monkeypatch.setenv("COOKIE_MASTER_KEY", SECOND_KEY)
    with pytest.raises(SystemExit) as ended:
        command("cookies", "rotate-keys", "--json")
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["unknown"] == ["account_01"]
