"""Rendering of Markdown: safe, and in time that grows with the length of the text."""

from __future__ import annotations

import time

import pytest

from watchbook.systems.reddit.parse import MAX_LENGTH, to_html

HOSTILE = {
    "brackets": "[" * MAX_LENGTH,
    "links": "[a](" * (MAX_LENGTH // 4),
    "emphasis": "*a_" * (MAX_LENGTH // 3),
    "quotes": "> " * (MAX_LENGTH // 2),
    "ticks": "`a" * (MAX_LENGTH // 2),
    "table": "|a" * (MAX_LENGTH // 4) + "\n" + "|-" * (MAX_LENGTH // 4),
    "lists": "".join(f"{' ' * (n % 40)}- a\n" for n in range(2000)),
    "html": "<a href=x " * (MAX_LENGTH // 10),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_rendered_in_bounded_time(name):
    started = time.process_time()
    html = to_html(HOSTILE[name][:MAX_LENGTH])
    assert time.process_time() - started < 5
    assert "<script" not in html


def test_longer_text_is_escaped():
    assert to_html("<b>" * MAX_LENGTH).startswith("<p>&lt;b&gt;")
