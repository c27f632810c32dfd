"""An hour of typing is a few versions: autosaves are joined, and nothing else is."""

from __future__ import annotations

import pytest

from watchbook.base.testing.people import client_of
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.errors import VersionConflict
from watchbook.systems.library.models import PageVersion
from watchbook.systems.library.tests.test_pages import url

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(desk, later):
    later(days=0)
    return desk.file("Page", desk.folder("Home"), "<p>0</p>")


def typed(user, page, words, *, by_itself=True):
    """What the editor sends on top of what is there."""
    page.refresh_from_db()
    saved = actions.save_page(user, page.pk, version=page.version, content=f"<p>{words}</p>", autosave=by_itself)
    return saved.version


def history(page) -> list[tuple[int, str, str]]:
    rows = PageVersion.objects.shown().filter(page=page).order_by("number")
    return [(row.number, row.reason, row.content) for row in rows]


def test_autosaves_that_follow_each_other_are_one_version(desk, page, later):
    for turn in range(1, 6):
        later(minutes=9)
        assert typed(desk.wanda, page, turn) == turn + 1, "the number goes on: it is what a writer names"
    assert history(page) == [(1, "created", "<p>0</p>"), (6, "autosaved", "<p>5</p>")]
    listed = client_of(desk.rene).get(f"/api/v1/library/pages/{page.pk}/versions").json()["items"]
    assert [each["number"] for each in listed] == [6, 1]


def test_pause_ends_a_series_of_autosaves(desk, page, later):
    typed(desk.wanda, page, "a")
    later(minutes=10, seconds=1)
    typed(desk.wanda, page, "b")
    assert [words for _number, _reason, words in history(page)] == ["<p>0</p>", "<p>a</p>", "<p>b</p>"]


def test_series_is_no_longer_than_an_hour(desk, page, later):
    for turn in range(25):
        typed(desk.wanda, page, turn)
        later(minutes=5)
    assert len(history(page)) == 3, "125 minutes, and the text it began with"


def test_save_that_was_asked_for_stays(desk, page, later):
    typed(desk.wanda, page, "a")
    typed(desk.wanda, page, "b", by_itself=False)
    typed(desk.wanda, page, "c")
    typed(desk.wanda, page, "d")
    reasons = [(reason, words) for _number, reason, words in history(page)]
    assert reasons[1:] == [("autosaved", "<p>a</p>"), ("saved", "<p>b</p>"), ("autosaved", "<p>d</p>")]


def test_asking_for_what_is_saved_already_keeps_it(desk, page):
    typed(desk.wanda, page, "a")
    version = typed(desk.wanda, page, "a", by_itself=False)
    assert version == 2, "nothing differs, so there is no new number"
    typed(desk.wanda, page, "b")
    assert [(reason, words) for _number, reason, words in history(page)][1:] == [
        ("saved", "<p>a</p>"),
        ("autosaved", "<p>b</p>"),
    ]


def test_another_person_ends_the_series(desk, page):
    typed(desk.wanda, page, "a")
    typed(desk.sven, page, "b")
    typed(desk.wanda, page, "c")
    assert [words for _number, _reason, words in history(page)][1:] == ["<p>a</p>", "<p>b</p>", "<p>c</p>"]


def test_restored_version_ends_the_series(desk, page):
    typed(desk.wanda, page, "a")
    actions.restore_version(desk.wanda, page.pk, 1)
    typed(desk.wanda, page, "b")
    assert [reason for _number, reason, _words in history(page)] == ["created", "autosaved", "restored", "autosaved"]


def test_who_writes_on_top_of_a_joined_step_still_gets_the_common_text(desk, page):
    began_on = typed(desk.wanda, page, "a")
    typed(desk.wanda, page, "ab")
    with pytest.raises(VersionConflict) as refused:
        actions.save_page(desk.sven, page.pk, version=began_on, content="<p>ac</p>")
    assert refused.value.details["base"]["content"] == "<p>a</p>"


def test_joined_steps_are_deleted_after_a_day(desk, page, later):
    for turn in range(1, 4):
        typed(desk.wanda, page, turn)
    later(hours=23)
    assert run_now("library.forget_steps").progress == {}
    later(hours=2)
    assert run_now("library.forget_steps").progress == {"removed": 2}
    assert [number for number, _reason, _words in history(page)] == [1, 4]
    assert PageVersion.objects.filter(page=page).count() == 2


def test_editor_marks_autosaves_and_history_compares_shown_versions(desk, page):
    client = client_of(desk.wanda)
    script = {"Accept": "application/json"}
    for turn in (1, 2, 3):
        body = {"title": "Page", "content": f"<p>text {turn}</p>", "version": turn, "auto": "1"}
        assert client.post(url("save", page.pk), body, headers=script).json()["version"] == turn + 1
    shown = client.get(url("history", page.pk)).text
    assert "2 versions" in shown
    assert "autosaved" in shown
    assert "From version 1" in shown
    assert "From version 3" not in shown
    changed = client.get(f"/api/v1/library/pages/{page.pk}/versions/4/changes").json()
    assert changed["added"] == 6, "since the version before it in the history, not since number 3"
    client.post(url("save", page.pk), {"title": "Page", "content": "<p>text 3</p>", "version": 4}, headers=script)
    assert history(page)[-1][1] == "saved", "Ctrl+S on a saved text keeps it"
