from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.utils import translation

from watchbook.base import clock
from watchbook.systems.notes import actions
from watchbook.systems.notes.card import card
from watchbook.systems.notes.clip import clip
from watchbook.systems.notes.tests.data import START, add_candidates, commit, held, holder

pytestmark = pytest.mark.django_db


def collect_one():
    ids = add_candidates(3)
    mine = holder()
    actions.claim({**held(mine), "batch_size": 1})
    commit(mine, ids[0])
    return ids[0]


def test_card_says_what_to_do_first_and_then_how_it_goes(django_assert_max_num_queries):
    with clock.set_to(START):
        empty = card(SimpleNamespace())
        assert empty.number is None
        assert empty.hint
        actions.add_cookie("one", "web_session=made-up-secret-12345")
        collect_one()
        with django_assert_max_num_queries(11):
            full = card(SimpleNamespace())
    assert full.number == 1
    assert full.trend == [1], "the days before were not measured"
    assert [str(fact.value) for fact in full.facts][1:] == ["2", "1 of 1 usable"]


def test_note_can_be_clipped_by_members_only(alice):
    one = collect_one()
    found = clip("note", one, alice)
    assert (found.title, found.text, found.version) == ("A lantern", "Lights along the river.", f"{one}_v1")
    assert clip("note", "no such note", alice) is None
    assert clip("topic", one, alice) is None
    assert clip("note", one, SimpleNamespace(is_authenticated=False)) is None


def test_text_of_a_note_is_escaped_in_its_clip(alice):
    [one] = add_candidates(1)
    mine = holder()
    actions.claim(held(mine))
    actions.commit({**held(mine), "note_id": one, "result": {"content": "<img src=x onerror=alert(1)>"}})
    assert "<img" not in clip("note", one, alice).html


def test_refusals_are_in_the_readers_language(n8n):
    answer = n8n.post("workflow/heartbeat", {"execution_id": "x", "fence": 1}, **{"Accept-Language": "zh-hans"})
    assert answer["error"]["message"] == "锁已被另一次运行持有，没有写入任何内容。"
    with translation.override("en"):
        assert n8n.post("workflow/heartbeat", {"execution_id": "x", "fence": 1})["error"]["code"] == "LOCK_LOST"


def test_notes_of_one_author_can_be_deleted():
    from watchbook.core.search.models import SearchDocument
    from watchbook.systems.notes.models import Note

    ids = add_candidates(2)
    mine = holder()
    actions.claim(held(mine))
    for one in ids:
        actions.commit({**held(mine), "note_id": one, "result": {"title": "x", "author_id": "hash-of-somebody"}})
    assert SearchDocument.objects.count() == 2
    assert actions.delete_author_notes("hash-of-somebody") == 2
    assert Note.objects.count() == 0
    assert SearchDocument.objects.count() == 0
