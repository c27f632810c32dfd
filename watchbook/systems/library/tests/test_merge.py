"""Three-way merge: no word of a writer is lost, none is doubled, and only real conflicts need a choice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbook.systems.library import actions
from watchbook.systems.library.errors import VersionConflict
from watchbook.systems.library.models import Page, PageVersion
from watchbook.systems.library.parse.merge import COMPARED, merge, merge_title, merged_text
from watchbook.systems.library.tests.test_pages import client_of, url


def text(*words: str) -> str:
    return "".join(f"<p>{word}</p>" for word in words)


def result(base: str, theirs: str, yours: str, *, is_again: bool = False) -> str:
    parts = merge(base, theirs, yours, is_again=is_again)
    assert not any(part.is_conflict for part in parts)
    return merged_text(parts, {})


def test_neighbouring_paragraphs_are_merged_without_a_choice():
    base, theirs, yours = text("one", "two"), text("one of theirs", "two"), text("one", "two of mine")
    assert result(base, theirs, yours) == text("one of theirs", "two of mine")
    assert result(base, yours, theirs) == text("one of theirs", "two of mine")


def test_new_paragraphs_at_one_point_are_both_kept_once():
    assert result(text("a"), text("a", "t"), text("a", "y")) == text("a", "t", "y")
    assert result(text("a"), text("a", "same", "t"), text("a", "same")) == text("a", "same", "t")
    assert result("", text("a"), text("a")) == text("a")


def test_one_paragraph_changed_by_both_is_a_conflict_with_three_choices():
    parts = merge(text("a", "b", "c"), text("a", "b1", "c"), text("a", "b2", "c"))
    assert [part.is_conflict for part in parts] == [False, True, False]
    for choice, kept in (("theirs", ["b1"]), ("yours", ["b2"]), ("both", ["b1", "b2"])):
        assert merged_text(parts, {"1": choice}) == text("a", *kept, "c")


def test_without_the_base_every_difference_is_a_conflict():
    parts = merge(None, text("a", "b"), text("a", "c"))
    assert [part.is_conflict for part in parts] == [False, True]
    assert merged_text(parts, {}) == text("a", "b", "c")


def test_title_that_one_writer_changed_wins():
    assert merge_title("Old", "New", "Old") == ("New", False)
    assert merge_title("Old", "Old", "Mine") == ("Mine", False)
    assert merge_title("Old", "Same", "Same") == ("Same", False)
    assert merge_title("Old", "Theirs", "Mine") == ("Mine", True)


def test_one_paragraph_changed_in_two_places_is_merged_by_words():
    base = "<p>The last ferry leaves at ten.</p>"
    theirs, yours = "<p>The last ferry leaves pier 4 at ten.</p>", "<p>The very last ferry leaves at ten.</p>"
    assert result(base, theirs, yours) == "<p>The very last ferry leaves pier 4 at ten.</p>"
    assert result("<p>码头在北边</p>", "<p>码头在最北边</p>", "<p>四号码头在北边</p>") == "<p>四号码头在最北边</p>"
    marked = result("<p>one two</p>", "<p>one <strong>two</strong></p>", "<p>one deux</p>")
    assert marked == "<p>one <strong>deux</strong></p>"
    items = result("<ul><li>a</li></ul>", "<ul><li>a</li><li>t</li></ul>", "<ul><li>a</li><li>y</li></ul>")
    assert items == "<ul><li>a</li><li>t</li><li>y</li></ul>"


@pytest.mark.parametrize(
    ("base", "theirs", "yours", "merged"),
    [
        ("a b", "a W1 X b", "a W1 W2 b", "a W1 X W2 b"),
        ("a b", "a X W1 b", "a W2 W1 b", "a X W2 W1 b"),
        ("a b", "a W1 b", "a W1 W2 b", "a W1 W2 b"),
        ("a b", "a W1 X b", "a W1 b", "a W1 X b"),
        ("a", "a W1 X", "a W1 W2", "a W1 X W2"),
        ("a", "a X", "a Y", "a X Y"),
        ("a b", "a X b", "a Y b", "a X Y b"),
        ("潮汐", "潮汐表新", "潮汐表旧", "潮汐表新旧"),
        ("a", "a<br>t", "a<br>y", "a<br>t<br>y"),
        ("a", "a<br>W1 X", "a<br>W1 W2", "a<br>W1 X W2"),
        ("a", "a.x", "a.y", "a.x.y"),
        ("a", "a <em>t</em>", "a <em>y</em>", "a <em>t</em> <em>y</em>"),
        ("a", "a <em>t</em>", "a <em>t</em> y", "a <em>t</em> y"),
    ],
)
def test_words_that_are_sent_again_come_once(base, theirs, yours, merged):
    """A writer that did not get the answer sends saved words again, on the old version."""
    assert result(text(base), text(theirs), text(yours), is_again=True) == text(merged)


@pytest.mark.parametrize(
    ("base", "theirs", "yours", "merged"),
    [
        ("See", "See the cat", "See the dog", "See the cat the dog"),
        ("See it", "See the cat it", "See the dog it", "See the cat the dog it"),
        ("See it", "See a cat it", "See a it", "See a cat a it"),
        ("See ", "See cat", "See dog", "See cat dog"),
        ("See", "See the cat", "See the cat", "See the cat"),
        ("潮汐", "潮汐表新", "潮汐表旧", "潮汐表新表旧"),
        ("a", "a <em>t</em>", "a <em>t</em> y", "a <em>t</em> <em>t</em> y"),
    ],
)
def test_same_word_of_two_writers_is_kept_of_both(base, theirs, yours, merged):
    assert result(text(base), text(theirs), text(yours)) == text(merged)


GAPS = st.lists(st.lists(st.sampled_from(["the", "a", "cat", "dog"]), max_size=3), min_size=4, max_size=4)


@given(GAPS, GAPS)
def test_random_common_words_of_two_writers_are_neither_lost_nor_doubled(theirs, yours):
    """Between the words of the base both write words of a small vocabulary."""
    base = ["b0", "b1", "b2", "b3"]

    def with_words(gaps):
        return text(" ".join(word for at, gap in zip(base, gaps, strict=True) for word in (at, *gap)))

    merged = result(text(" ".join(base)), with_words(theirs), with_words(yours))
    words = merged.removeprefix("<p>").removesuffix("</p>").split()
    places = [words.index(word) for word in base] + [len(words)]
    for n, (first, second) in enumerate(zip(theirs, yours, strict=True)):
        found = words[places[n] + 1 : places[n + 1]]
        if first == second:
            assert found in (first, first + second)
        else:
            assert found in (first + second, second + first), (first, second)


def test_marks_that_do_not_fit_into_each_other_are_a_conflict():
    parts = merge("<p>a b c</p>", "<p><em>a b</em> c</p>", "<p>a <strong>b c</strong></p>")
    assert [part.is_conflict for part in parts] == [True]


def test_conflict_is_only_the_paragraph_with_the_same_words():
    base, theirs, yours = text("a b", "c d"), text("a t", "c t d"), text("a y", "c d y")
    parts = merge(base, theirs, yours)
    assert [part.is_conflict for part in parts] == [True, False]
    assert merged_text(parts, {"0": "yours"}) == text("a y", "c t d y")


# What a writer does to each word of the base: keep it, delete it, replace it, put a word before or after it.
WORD_EDITS = st.sampled_from(["keep"] * 6 + ["delete", "replace", "before", "after"])


@st.composite
def word_histories(draw, writers):
    paragraphs = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    base = [[f"b{n}x{place}" for place in range(size)] for n, size in enumerate(paragraphs)]
    sides = []
    for name in writers:
        acts = [[draw(WORD_EDITS) for _word in line] for line in base]
        sides.append((name, acts))
    return base, sides


def written(name, base, acts):
    lines = []
    for line, done in zip(base, acts, strict=True):
        words = []
        for word, act in zip(line, done, strict=True):
            words += [f"{name}{word}"] if act in ("before", "replace") else []
            words += [word] if act not in ("delete", "replace") else []
            words += [f"{name}{word}"] if act == "after" else []
        lines.append(" ".join(words))
    return lines


def check_words(base, sides, words):
    """Every new word is there once; a word of the base is there once unless a writer removed it."""
    for name, acts in sides:
        for line, done in zip(base, acts, strict=True):
            for word, act in zip(line, done, strict=True):
                expected = 1 if act in ("before", "after", "replace") else 0
                assert words.count(f"{name}{word}") == expected, f"{name}{word}: {act}"
    for n, line in enumerate(base):
        for place, word in enumerate(line):
            is_removed = any(acts[n][place] in ("delete", "replace") for _name, acts in sides)
            assert words.count(word) == (0 if is_removed else 1)


@given(word_histories(("t", "y")))
def test_random_words_of_two_writers_are_merged_or_conflict_at_the_same_words(history):
    base, sides = history
    texts = [text(*written(name, base, acts)) for name, acts in sides]
    parts = merge(text(*(" ".join(line) for line in base)), *texts)
    if not any(part.is_conflict for part in parts):
        words = merged_text(parts, {}).replace("<p>", " ").replace("</p>", " ").split()
        check_words(base, sides, words)
        return
    # A conflict needs a paragraph in which both writers removed or replaced something, or touched neighbouring words.
    changed = [[any(act != "keep" for act in line) for line in acts] for _name, acts in sides]
    assert any(both for both in map(all, zip(*changed, strict=True)))


# What a writer does to each paragraph of the base: keep it, delete it, add a word, insert a paragraph before it.
EDITS = st.sampled_from(["keep", "keep", "keep", "delete", "change", "insert"])


@st.composite
def histories(draw):
    size = draw(st.integers(0, 12))
    base = [f"base{n}" for n in range(size)]
    sides = []
    for name in ("theirs", "yours"):
        acts = [draw(EDITS) for _n in range(size)]
        written = []
        for n, act in enumerate(acts):
            if act == "insert":
                written.append(f"{name}new{n}")
            if act != "delete":
                written.append(f"base{n} {name}{n}" if act == "change" else f"base{n}")
        if draw(st.booleans()):
            written.append(f"{name}end")
        sides.append((acts, written))
    return base, sides


@given(histories())
def test_random_histories_lose_no_word_and_double_none(history):
    base, [(their_acts, theirs), (your_acts, yours)] = history
    parts = merge(text(*base), text(*theirs), text(*yours))
    words = merged_text(parts, {}).replace("<p>", " ").replace("</p>", " ").split()
    for word in " ".join([*theirs, *yours]).split():
        if not word.startswith("base"):
            assert words.count(word) == 1, f"{word} was written once"
    in_conflict = " ".join(block for part in parts if part.is_conflict for block in (*part.theirs, *part.yours))
    for n, acts in enumerate(zip(their_acts, your_acts, strict=True)):
        if f"base{n}<" in in_conflict or f"base{n} " in in_conflict:
            continue
        # A paragraph that one writer deleted and the other changed may stay: no word of anybody is lost.
        expected = {0, 1} if {"delete", "change"} == set(acts) else {0} if "delete" in acts else {1}
        assert words.count(f"base{n}") in expected
    assert merged_text(merge(text(*base), text(*theirs), text(*theirs)), {}) == text(*theirs)


def test_long_texts_are_merged_without_comparing_every_block():
    base = [f"paragraph {n}" for n in range(COMPARED * 20)]
    theirs, yours = [*base], [*base]
    theirs[10], yours[11], yours[-2] = "theirs", "yours", "mine"
    merged = result(text(*base), text(*theirs), text(*yours))
    assert merged == text(*base[:10], "theirs", "yours", *base[12:-2], "mine", base[-1])
    rules = "<hr>" * COMPARED * 20
    assert merged_text(merge(rules, f"{rules}<p>t</p>", f"<p>y</p>{rules}"), {}) == f"<p>y</p>{rules}<p>t</p>"


@pytest.fixture
def page(desk):
    return desk.file("Tides", desk.folder("Home"), text("one", "two"))


def test_identical_saves_do_not_conflict(desk, page):
    for user in (desk.wanda, desk.sven):
        saved = actions.save_page(user, page.pk, version=1, content=text("one", "three"))
        assert (saved.version, saved.content) == (2, text("one", "three"))
    assert PageVersion.objects.filter(page=page).count() == 2


def test_rename_and_text_change_do_not_conflict(desk, page):
    actions.save_page(desk.sven, page.pk, version=1, title="Tide table", content=text("one", "two"))
    saved = actions.save_page(desk.wanda, page.pk, version=1, title="Tides", content=text("one", "three"))
    assert (saved.title, saved.content, saved.version) == ("Tide table", text("one", "three"), 3)
    again = actions.save_page(desk.sven, page.pk, version=2, title="Table", content=text("one", "two"))
    assert (again.title, again.content) == ("Table", text("one", "three"))


def test_two_renames_conflict(desk, page):
    actions.save_page(desk.sven, page.pk, version=1, title="Theirs")
    with pytest.raises(VersionConflict):
        actions.save_page(desk.wanda, page.pk, version=1, title="Mine")


def test_editor_gets_title_and_text_that_it_does_not_show(desk, page):
    actions.save_page(desk.sven, page.pk, version=1, title="Tide table")
    asked = {"title": "Tides", "content": text("one", "three"), "version": 1}
    client = client_of(desk.wanda)
    saved = client.post(url("save", page.pk), asked, headers={"Accept": "application/json"}).json()
    assert (saved["version"], saved["title"], saved["content"]) == (3, "Tide table", text("one", "three"))
    next_one = {"title": "Tide table", "content": text("one", "four"), "version": 3}
    assert "title" not in client.post(url("save", page.pk), next_one, headers={"Accept": "application/json"}).json()


def test_merge_page_keeps_the_rename_of_the_other_writer(desk, page):
    actions.save_page(desk.sven, page.pk, version=1, title="Tide table", content=text("one of theirs", "two"))
    asked = {"title": "Tides", "content": text("one", "two of mine"), "version": 1}
    client = client_of(desk.wanda)
    shown = client.post(url("merge", page.pk), asked)
    assert (shown.context["title"], shown.context["conflicts"]) == ("Tide table", 0)
    client.post(url("merge", page.pk), {**asked, "title": shown.context["title"], "merged": 1, "shown": 2})
    saved = Page.objects.get(pk=page.pk)
    assert (saved.title, saved.content) == ("Tide table", text("one of theirs", "two of mine"))


def test_only_the_own_words_are_recognised_as_sent_again(desk, page):
    """Sven and Wanda write the same word; then Wanda, who got no answer, sends what was saved with a word more."""
    actions.save_page(desk.sven, page.pk, version=1, content=text("one the cat", "two"))
    actions.save_page(desk.wanda, page.pk, version=1, content=text("one the dog", "two"))
    assert Page.objects.get(pk=page.pk).content == text("one the cat the dog", "two")
    page.refresh_from_db()
    actions.save_page(desk.wanda, page.pk, version=3, content=text("one the cat the dog", "two", "three"))
    actions.save_page(desk.wanda, page.pk, version=3, content=text("one the cat the dog", "two", "three", "four"))
    assert Page.objects.get(pk=page.pk).content == text("one the cat the dog", "two", "three", "four")


def test_save_of_an_unchanged_text_returns_what_others_wrote(desk, page):
    """Else the editor takes the new number for its old text, and its next save removes the words of the others."""
    actions.save_page(desk.sven, page.pk, version=1, content=f"{page.content}<p>Words of Sven</p>")
    answer = client_of(desk.wanda).post(
        f"/library/pages/{page.pk}/save/",
        {"version": 1, "title": page.title, "content": page.content, "auto": "1"},
        headers={"Accept": "application/json"},
    )
    assert answer.json()["version"] == 2
    assert "Words of Sven" in answer.json()["content"]
