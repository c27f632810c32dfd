"""Pasted texts: share texts, short links, links of every form and IDs, many at once; each with its result."""

from __future__ import annotations

import io
import json
import re

import pytest

from standins.server import Answer
from watchbook.base.testing.pages import squeezed
from watchbook.systems.notes.actions import paste
from watchbook.systems.notes.actions.paste import add_pasted
from watchbook.systems.notes.models import Candidate
from watchbook.systems.notes.parse import pasted
from watchbook.systems.notes.parse.pasted import read_pasted
from watchbook.systems.notes.store.candidates import decrypt_token
from watchbook.systems.notes.tests.browser import chief, fail_one, said
from watchbook.systems.notes.tests.data import add_candidates, command, note_id

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["chief"]

ONE, TWO, THREE = note_id(1), note_id(2), note_id(3)
TEXT = f"""
72 Reader 7发布了一篇笔记，快来看吧！ 😆 abCD12 😆 https://www.xiaohongshu.com/explore/{ONE}?xsec_token=AB1=&xsec_source=pc_share，复制本条信息，打开App查看！

看看我的笔记 www.rednote.com/search_result/{TWO}?xsec_token=CD2 (https 少写了)
http://www.xiaohongshu.com/discovery/item/{THREE}. and https://www.xiaohongshu.com/explore/{ONE}
{note_id(4)}, {note_id(5)}
just some words
https://www.xiaohongshu.com/user/profile/5f00000000000000000000aa
https://example.com/explore
"""


@pytest.fixture
def short(platform, monkeypatch):
    """The stand-in's own host plays the host of short links."""
    monkeypatch.setattr(pasted, "SHORT_DOMAINS", ("127.0.0.1",))
    return platform


def test_every_link_is_a_candidate_or_refused_by_line_with_its_reason():
    found = add_pasted(TEXT)
    assert [(one.line, one.action, one.note_id, one.reason) for one in found.results] == [
        (2, "added", ONE, ""), (4, "added", TWO, ""), (5, "added", THREE, ""), (5, "added", ONE, ""),
        (6, "added", note_id(4), ""), (6, "added", note_id(5), ""), (7, "refused", "", "no_link"),
        (8, "refused", "", "profile"), (9, "refused", "", "not_a_note"),
    ]  # fmt: skip
    assert {row.note_id: decrypt_token(row) for row in Candidate.objects.all()} == {
        ONE: "AB1=", TWO: "CD2", THREE: "", note_id(4): "", note_id(5): "",
    }  # fmt: skip
    assert "AB1" not in json.dumps(found.as_json()), "a token is not shown again"
    assert {one.action for one in add_pasted(TEXT).results} == {"known", "refused"}
    assert Candidate.objects.count() == 5


@pytest.mark.parametrize("text", [f"{ONE}\n" * 600, "x " * 100_000, "https://a.b/" + "c" * 5000, "\u2028".join("ab")])
def test_reading_is_bounded(text):
    assert 1 <= len(read_pasted(text)) <= pasted.MOST_LINES + 1


def test_short_links_are_followed_to_the_note_and_its_token(short):
    note = short.add("Lantern")
    found = add_pasted(f"看看我的笔记 {short.short_link(note)} ，复制打开")
    assert [(one.action, one.note_id) for one in found.results] == [("added", note.note_id)]
    assert decrypt_token(Candidate.objects.get()) == note.token
    assert [one["what"] for one in short.ledger.reads] == [], "the note itself is not requested"


@pytest.mark.parametrize(("answer", "reason"), [
    (Answer.text("ill", 500), "short_link_failed"), (Answer.text("gone", 404), "short_link_failed"),
    (Answer.redirect("http://169.254.169.254/explore/1", 302), "not_a_note"), (Answer.text("hello"), "not_a_note"),
    (Answer.redirect("http://10.0.0.1/latest", 302), "short_link_failed"),
    (Answer.redirect("/user/profile/5f00000000000000000000aa", 302), "profile"),
])  # fmt: skip
def test_short_link_that_leads_nowhere_is_refused_and_nothing_inside_is_asked(short, answer, reason):
    short.route("/a/x", lambda _request: answer)
    [result] = add_pasted(short.address("/a/x")).results
    assert (result.action, result.reason) == ("refused", reason)


def test_number_of_short_links_is_limited(short, monkeypatch):
    monkeypatch.setattr(paste, "MOST_SHORT_LINKS", 2)
    links = [short.short_link(note) for note in short.add_many(3)]
    assert [one.reason for one in add_pasted("\n".join(links)).results] == ["", "", "too_many_short_links"]


def test_page_keeps_what_was_refused_and_says_what_was_added(chief):
    answer = chief.post("/notes/candidates/add/", {"lines": f"{ONE}\nnothing here"})
    page = squeezed(answer.content.decode())
    assert answer.status_code == 422
    assert "1 candidate added." in page
    assert re.search(r"Line 2: ?\s?This line has no link to a note. ?\s?<code>nothing here</code>", page)
    assert answer.context["form"]["lines"].value() == "nothing here"
    assert said(chief.post("/notes/candidates/add/", {"lines": f"{ONE} {TWO}"}, follow=True)) == [
        "1 candidate added. 1 was already known."
    ]


def test_api_pastes_and_retries(n8n):
    data = n8n.post("candidates", {"text": f"{ONE}\nno"})["data"]
    assert (data["added"], data["known"], data["refused"]) == (1, 0, 1)
    assert data["results"][1]["message"] == "This line has no link to a note."
    assert n8n.post("candidates", {"text": " "})["error"]["details"][0]["field"] == "text"
    assert n8n.post("candidates", {"lines": "x"})["error"]["code"] == "INVALID_INPUT"
    Candidate.objects.all().delete()
    failed = fail_one()
    assert n8n.post("candidates/retry", {"note_ids": [failed, TWO]})["data"] == {"retried": 1, "not_failed": [TWO]}
    assert n8n.post("candidates/retry", {})["error"]["code"] == "INVALID_INPUT"
    assert n8n.post("candidates/retry", {"all": True})["data"]["retried"] == 0


def test_commands_add_list_export_and_retry(capsys, monkeypatch, tmp_path):
    def says(*words):
        command("candidates", *words, "--json")
        return json.loads(capsys.readouterr().out)

    monkeypatch.setattr("sys.stdin", io.StringIO(f"{ONE}\n{TWO}\n"))
    assert says("add")["added"] == 2
    assert says("add", f"https://www.xiaohongshu.com/explore/{ONE}")["known"] == 1
    add_candidates(3, title="Lantern")
    assert [row["note_id"] for row in says("list", "--q", "lantern")["candidates"]] == [THREE]
    file = tmp_path / "candidates.jsonl"
    assert says("list", "--status", "pending", "--output", str(file))["rows"] == 3
    assert {json.loads(line)["note_id"] for line in file.read_text().splitlines()} == {ONE, TWO, THREE}
    Candidate.objects.update(status="failed")
    assert says("retry", ONE)["retried"] == 1
    assert says("retry", "--all")["retried"] == 2
    for words in (("add", "nothing"), ("retry",), ("list", "--status", "odd")):
        with pytest.raises(SystemExit):
            says(*words)
