"""Candidates, notes and keywords as people see them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from watchbook.base import clock
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.notes import actions
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, Execution, Keyword, Note
from watchbook.systems.notes.tests.browser import (
    browser,
    chief,
    collect_by_hand,
    fail_one,
    get,
    post,
    reader,
    said,
)
from watchbook.systems.notes.tests.data import START, add_candidates, note_id, offer, states

pytestmark = pytest.mark.django_db

__all__ = ["chief", "reader"]


class TestAddresses:
    def test_those_that_stream_search_and_alerts_name_answer(self, chief):
        [one] = collect_by_hand()
        for path in ("/notes/", f"/notes/note/{one}/", "/notes/cookies/", "/notes/executions/"):
            assert chief.get(path).status_code == 200, path

    def test_members_read_and_do_nothing(self, reader):
        [one] = collect_by_hand()
        execution = Execution.objects.get().execution_id
        for path in ("", "notes/", f"note/{one}/", "keywords/", "executions/", f"executions/{execution}/", "alerts/"):
            answer = reader.get(f"/notes/{path}")
            assert answer.status_code == 200, path
            assert b'method="post" action="/notes/' not in answer.content, path
            assert b"/notes/cookies/" not in answer.content, path
        for path in ("cookies/", f"note/{one}/delete/"):
            assert reader.get(f"/notes/{path}").status_code == 403
        for path in ("candidates/add/", "candidates/retry/", "collect/", "keywords/add/", f"note/{one}/delete/"):
            assert reader.post(f"/notes/{path}").status_code == 403, path
        assert Note.objects.count() == 1

    @pytest.mark.parametrize("path", ["note/%00/", "note/no such/", f"executions/{'x' * 200}/", "executions/%00/",
                                      "keywords/99999999999999999999/on/", "cookies/99999999999999999999/",
                                      "keywords/1/nonsense/", "cookies/1/nonsense/"])  # fmt: skip
    def test_what_is_not_there_is_not_found(self, chief, path):
        assert chief.get(f"/notes/{path}").status_code in {404, 405}
        assert chief.post(f"/notes/{path}").status_code in {404, 405}

    def test_empty_pages_say_what_to_do_next(self, reader, chief):
        for name, words in (
            ("candidates", "No candidates yet"), ("notes", "No notes yet"), ("keywords", "No keywords yet"),
            ("executions", "No runs yet"), ("alerts", "No past alerts"),
        ):  # fmt: skip
            for person in (reader, chief):
                assert words in get(person, name).content.decode(), name
        assert "No cookies yet" in get(chief, "cookies").content.decode()

    def test_home_card_links_only_to_permitted_pages(self, reader, chief):
        assert b'href="/notes/cookies/"' not in reader.get("/").content
        assert b'href="/notes/cookies/"' in chief.get("/").content
        assert b'href="/notes/"' in reader.get("/").content


class TestCandidates:
    def test_states_are_counted_and_choose(self, reader):
        gone = fail_one()
        add_candidates(4)
        answer = get(reader, "candidates")
        (states,) = [each for each in answer.context["listing"].fields if each.filter.name == "status"]
        assert [(each.title, each.count) for each in states.offered] == [
            ("Pending", "3"), ("Processing", "0"), ("Collected", "0"), ("Failed", "1"),
        ]  # fmt: skip
        (line,) = get(reader, "candidates", status="failed").context["lines"]
        assert (line.row.note_id, line.error) == (gone, "The note does not exist or is not public.")
        assert len(get(reader, "candidates", status="pending").context["lines"]) == 3

    def test_reasons_are_in_the_readers_language(self, alice):
        fail_one()
        assert "笔记不存在" in get(browser(alice, "zh-hans"), "candidates", status="failed").content.decode()

    def test_words_ids_keywords_and_days_narrow(self, reader):
        with clock.set_to(START):
            add_candidates(2, source_keyword="灯会", title="Lantern walk")
        with clock.set_to(START + timedelta(days=3)):
            actions.add_candidates({"items": [{"note_id": note_id(9), "title": "Kettle"}]})

        def found(**query):
            return len(get(reader, "candidates", **query).context["lines"])

        assert [found(q="lantern"), found(q="kettle"), found(q=note_id(1)), found(q="nobody")] == [2, 1, 1, 0]
        assert [found(keyword="灯会"), found(keyword="other")] == [2, 0]
        assert [found(since="2026-03-04"), found(until="2026-03-04")] == [1, 2]
        assert found(since="2026-03-02", until="2026-03-05") == 3

    @pytest.mark.parametrize("query", [
        {"q": "a\x00b"}, {"keyword": "\x00"}, {"since": "yesterday"}, {"since": "0001-01-01"}, {"until": "9999-12-31"},
        {"until": "2026-02-31"}, {"status": "nonsense"}, {"older": "x" * 5000}, {"newer": "WzEsMl0"}, {"q": "%" * 300},
        {"since": "9" * 5000}, {"author": "\x00"}, {"kind": "\x00"}, {"older": "\x00"},
        {"status": ["pending", "failed"]},
    ])  # fmt: skip
    @pytest.mark.parametrize("name", ["candidates", "notes", "keywords", "executions", "alerts"])
    def test_what_cannot_be_read_breaks_no_list(self, reader, name, query):
        collect_by_hand()
        assert get(reader, name, **query).status_code == 200

    @pytest.mark.parametrize("query", [{"since": "yesterday"}, {"until": "9999-12-31"}, {"status": "nonsense"}])
    def test_ignored_filter_is_named(self, reader, query):
        add_candidates(1)
        answer = get(reader, "candidates", **query)
        assert b"Some filters were not applied" in answer.content
        assert len(answer.context["lines"]) == 1

    @pytest.mark.parametrize("query", [{}, {"status": "pending"}])
    def test_every_candidate_is_on_one_page_and_one_only(self, reader, query):
        add_candidates(70)
        seen, place = [], {}
        for _ in range(3):
            answer = get(reader, "candidates", **query, **place)
            seen += [line.row.note_id for line in answer.context["lines"]]
            place = {"older": answer.context["page"].older}
        assert len(seen) == 70
        assert len(set(seen)) == 70

    def test_adding_by_hand_takes_addresses_and_ids(self, chief):
        url = f"https://www.example.com/explore/{note_id(1)}?xsec_token=AB12&xsec_source=pc_search"
        answer = post(chief, "add_candidates", lines=f"{url}\n\n{note_id(2)}\n{note_id(2)}")
        assert said(answer) == ["2 candidates added."]
        kept = Candidate.objects.get(note_id=note_id(1))
        assert kept.note_url == f"https://www.example.com/explore/{note_id(1)}"
        assert "AB12" not in kept.xsec_token
        assert said(post(chief, "add_candidates", lines=note_id(2))) == [
            "0 candidates added. 1 was already known."
        ]  # fmt: skip

    @pytest.mark.parametrize(("lines", "words"), [
        ("not a note", "This line has no link to a note."), ("", "This field is required"),
        ("a\x00b", "Null characters are not allowed"), ("javascript://x/explore/1", "Line 1:"),
        ("https://example.com/no-such-note?a=1", "This link does not lead to a note."),
    ])  # fmt: skip
    def test_wrong_line_is_named_and_nothing_is_lost(self, chief, lines, words):
        answer = chief.post(reverse("notes:add_candidates"), {"lines": lines})
        assert answer.status_code == 422
        assert words in answer.content.decode()
        assert Candidate.objects.count() == 0

    def test_failed_ones_are_tried_again_one_or_all(self, chief):
        one = fail_one()
        answer = post(chief, "retry_failed", note_id=one, back="/notes/?status=failed")
        assert said(answer) == ["1 candidate is pending again."]
        row = Candidate.objects.get()
        assert (row.status, row.retry_count) == ("pending", 0)
        assert said(post(chief, "retry_failed", note_id=one)) == ["No failed candidates selected."]
        Candidate.objects.update(status="failed", retry_count=3)
        post(chief, "retry_failed", all="1")
        assert states() == {one: "pending"}

    @pytest.mark.parametrize("back", ["https://evil.example/notes/", "//evil.example/notes/", "/operations/", "\x00"])
    def test_redirect_after_retry_stays_on_this_server(self, chief, back):
        answer = chief.post(reverse("notes:retry_failed"), {"note_id": "x", "back": back})
        assert answer["Location"] == "/notes/"


class TestKeywords:
    def test_added_listed_switched_and_searched(self, chief, platform):
        post(chief, "add_keyword", keyword="Lantern")
        keyword = Keyword.objects.get()
        add_candidates(2, source_keyword="Lantern")
        (line,) = get(chief, "keywords").context["lines"]
        assert line.states == {"pending": 2}
        post(chief, "keyword_step", keyword.pk, "off")
        assert Keyword.objects.get().is_active is False
        post(chief, "keyword_step", keyword.pk, "search")
        assert Keyword.objects.get().is_active is True
        assert JobRun.objects.get().name == "notes.search"

    def test_search_that_failed_says_why_in_the_readers_words(self, operator, platform):
        actions.add_keyword("Lantern")
        run_now("notes.search")
        page = get(browser(operator, "zh-hans"), "keywords").content.decode()
        assert "Cookie 池是空的" in page

    @pytest.mark.parametrize("word", ["", "   ", "x" * 201, "a\x00b"])
    def test_wrong_keyword_is_refused_with_a_reason(self, chief, word):
        answer = chief.post(reverse("notes:add_keyword"), {"keyword": word})
        assert answer.status_code == 422
        assert b"field-error" in answer.content
        assert Keyword.objects.count() == 0


class TestNotes:
    def test_counts_say_how_exact_they_are(self, reader, platform, pool):
        pool()
        offer(platform.add("Lantern walk", "Lights along the river.\n\nSecond line.", tags=["灯会"], kind="video"))
        collect()
        note = Note.objects.get()
        page = get(reader, "note", note.note_id).content.decode()
        for words in ("1.2万 <small>(rounded)</small>", "12,000 as a number", "10+ <small>(at least)</small>",
                      "not shown by the platform", "45", "Lights along the river.", "灯会", "Video 2",
                      "R**"):  # fmt: skip
            assert words in page, words
        assert "<img" not in page
        assert "standin" in page

    def test_what_a_source_wrote_is_text_and_nothing_else(self, reader):
        hostile = "<script>alert(1)</script>\n<img src=x onerror=alert(1)>"
        media = [{"kind": "image", "url": "javascript:alert(1)"}, {"kind": "video", "url": "https://cdn.example/a"}]
        [one] = collect_by_hand(title=hostile, content=hostile, tags=[hostile], media=media, author_id="x\"'<b>")
        for page in (get(reader, "note", one), get(reader, "notes"), get(reader, "candidates")):
            text = page.content.decode()
            assert "<script>alert" not in text
            assert "<img" not in text
            assert "javascript:alert" not in text
        assert 'href="https://cdn.example/a" rel="noopener noreferrer"' in get(reader, "note", one).content.decode()

    def test_filters(self, reader):
        with clock.set_to(START):
            collect_by_hand(2, author_id="hash-a", note_type="video")

        def found(**query):
            return len(get(reader, "notes", **query).context["rows"])

        assert [found(), found(kind="video"), found(kind="normal")] == [2, 2, 0]
        assert [found(author="hash-a"), found(author="hash-b")] == [2, 0]
        assert [found(since="2026-03-02"), found(since="2026-03-03"), found(until="2026-03-01")] == [2, 0, 0]
        assert b"No matches" in get(reader, "notes", kind="normal").content

    def test_note_can_be_clipped(self, reader):
        [one] = collect_by_hand()
        assert f"kind=note&amp;id={one}" in get(reader, "note", one).content.decode()

    def test_deleting_a_note_asks_first_and_leaves_nothing_to_find(self, chief):
        [one] = collect_by_hand()
        assert b"This cannot be undone" in get(chief, "delete", one).content
        assert Note.objects.count() == 1
        assert said(post(chief, "delete", one, what="note")) == ["Note deleted."]
        assert get(chief, "note", one).status_code == 404
        assert StreamEntry.objects.count() == 0
        assert Candidate.objects.get().title == ""
        assert SearchDocument.objects.count() == 0

    def test_deleting_an_author_deletes_all_notes(self, chief):
        ids = collect_by_hand(3, author_id="hash-a")
        assert b"Delete all 3 notes by this author" in get(chief, "delete", ids[0]).content
        assert said(post(chief, "delete", ids[0], what="author")) == ["3 notes deleted."]
        assert Note.objects.count() == 0
