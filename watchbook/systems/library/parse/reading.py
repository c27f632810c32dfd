"""A cleaned text as readers see it: headings with anchors and an outline, check boxes of tasks, roles of callouts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from html import unescape

ANCHOR_LENGTH = 80
_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_NOT_IN_ANCHORS = re.compile(r"[^\w\s-]")
_TASK = re.compile(r"<li((?: data-[a-z]+=\"[a-zA-Z]*\")*)>")


@dataclass(frozen=True)
class Heading:
    """A line of the outline. `is_deep`: below the highest level of this text."""

    anchor: str
    text: str
    is_deep: bool


def anchor_of(text: str) -> str:
    """Return the id of a heading. The prefix keeps it apart from ids of the page around it."""
    kept = _NOT_IN_ANCHORS.sub("", text.lower()).strip()
    return "h-" + ("-".join(kept.split())[:ANCHOR_LENGTH] or "section")


def with_anchors(html: str) -> tuple[str, list[Heading]]:
    """Return the text with an id on each heading, and the outline. Equal headings are numbered from the second on."""
    taken: Counter[str] = Counter()
    found: list[tuple[int, str, str]] = []

    def numbered(hit: re.Match[str]) -> str:
        text = unescape(_TAG.sub("", hit[2]))
        anchor = anchor_of(text)
        taken[anchor] += 1
        if taken[anchor] > 1:
            anchor = f"{anchor}-{taken[anchor]}"
        found.append((int(hit[1]), anchor, text.strip()))
        return f'<h{hit[1]} id="{anchor}">{hit[2]}</h{hit[1]}>'

    marked = _HEADING.sub(numbered, html)
    top = min((level for level, _anchor, _text in found), default=0)
    return marked, [Heading(anchor, text, level > top) for level, anchor, text in found]


def with_boxes(html: str) -> str:
    """Return the text with a check box in each task. Readers cannot change it."""

    def boxed(hit: re.Match[str]) -> str:
        if "data-checked" not in hit[1]:
            return hit[0]
        state = " checked" if 'data-checked="true"' in hit[1] else ""
        return f'{hit[0]}<input type="checkbox" disabled{state}> '

    return _TASK.sub(boxed, html) if "data-checked" in html else html


def with_roles(html: str) -> str:
    return html.replace("<blockquote data-callout=", '<blockquote role="note" data-callout=')
