"""Broken in any way, an answer is read, refused or called damaged; it never crashes or hangs the reader."""

from __future__ import annotations

import pytest

from watchbook.systems.nga.parse import Unreadable
from watchbook.systems.nga.parse.answer import read_answer
from watchbook.systems.nga.parse.tests.fuzzing import COUNT, answers_of, posts_of, seeds


@pytest.mark.parametrize("block", range(4))
def test_broken_answers_never_break_the_reader(block):
    ends = answers_of(COUNT // 4, seed=block)
    # If nothing could be read any more, or everything could, the breaking would prove nothing.
    assert ends["list"] > 0
    assert ends["topic"] > 0
    assert ends["Damaged"] + ends["LayoutChanged"] + ends["Refused"] > 0


@pytest.mark.parametrize("block", range(4))
def test_random_posts_lose_no_word_and_stay_safe(block):
    assert posts_of(COUNT // 4, seed=block).total() == COUNT // 4


def test_seeds_are_readable_before_they_are_broken():
    read = [type(read_answer(seed)).__name__ for seed in seeds()[:12]]
    assert read == ["TopicPage", "TopicPage", "ListPage", "ListPage", "TopicPage", "ListPage"] * 2


@pytest.mark.parametrize(
    "flood",
    [b"<" * 300_000, b"<!--" * 50_000, b"<a b='" * 50_000, b"<script>" * 20_000, b'{"a":"' * 20_000, b"\xac" * 300_000,
     b'{"data":{"__R":' + b"/*" * 100_000, b'"__TJ":{' * 20_000 + b"\x80", b"{" + b'"jdata":"' * 20_000 + b"\x80",
     b"<script>" + b"commonui.postArg.proc(" * 5_000, b"<script>" + b"'" * 100_000, b"<p id='a'>" * 20_000,
     b"window.a=" * 50_000, b"<script>" + b"/*" * 100_000, b"<script>" + b'\\"' * 100_000 + b"\\"],
    ids=lambda flood: repr(flood[:16]),
)  # fmt: skip
def test_floods_end(flood):
    with pytest.raises(Unreadable):
        read_answer(flood)
