from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.kit.diff import LONGEST, Budget, Segment, compare, edits, segments

TEXTS = st.text(alphabet="ab ,.\n中文字1", max_size=40)


def kinds(found):
    return [(segment.kind, segment.text) for segment in found]


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_back_from_the_segments(old, new):
    found = segments(old, new)
    assert "".join(segment.text for segment in found if segment.kind != "ins") == old
    assert "".join(segment.text for segment in found if segment.kind != "del") == new


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=14), st.lists(st.sampled_from("abc"), max_size=14))
def test_script_is_a_shortest_one(old, new):
    changes = sum(last - first for kind, first, last in edits(old, new, Budget(10**6)) if kind != "same")
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, left in enumerate(old):
        for j, right in enumerate(new):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    assert changes == len(old) + len(new) - 2 * table[-1][-1]


def test_latin_is_compared_by_word():
    assert kinds(segments("the old lantern", "the new lantern")) == [
        ("same", "the "),
        ("del", "old"),
        ("ins", "new"),
        ("same", " lantern"),
    ]


def test_chinese_is_compared_by_character():
    assert kinds(segments("满级之前不要换船，会亏。", "满级之前不要换船。")) == [
        ("same", "满级之前不要换船"),
        ("del", "，会亏"),
        ("same", "。"),
    ]


def test_figure_with_separators_is_one_word():
    assert kinds(segments("从 1,200 起", "从 1,850 起"))[1:3] == [("del", "1,200"), ("ins", "1,850")]


def test_single_equal_character_between_two_changes_joins_them():
    assert kinds(segments("old text", "new words")) == [("del", "old text"), ("ins", "new words")]
    assert ("same", "的是") in kinds(segments("甲的是乙", "丙的是丁"))


def test_unchanged_paragraphs_are_counted():
    found = compare("first\nsame\n\nsame too\nlast", "First\nsame\n\nsame too\nlast one")
    assert [paragraph.unchanged for paragraph in found.paragraphs] == [0, 2, 0]
    assert (found.added, found.removed) == (len("First") + len(" one"), len("first"))


def test_line_endings_are_no_difference():
    assert compare("one\r\ntwo", "one\ntwo").is_empty


def test_equal_texts_are_empty():
    assert compare("same", "same").is_empty
    assert compare("", "").is_empty


def test_place_beyond_the_budget_is_shown_whole():
    old, new = " ".join("abc" for _ in range(500)), " ".join(str(n) for n in range(500))
    found = compare(old, new, budget=2_000)
    assert found.is_coarse
    assert found.paragraphs[0].segments == (Segment("del", old), Segment("ins", new))


def test_text_beyond_all_measure_is_only_said_to_be_too_large():
    found = compare("x" * LONGEST, "y")
    assert found.is_too_large
    assert not found.paragraphs
