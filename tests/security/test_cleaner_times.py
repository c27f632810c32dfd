"""Every cleaner and parser of foreign text needs time that grows with the length of the text, not with its square.

Each cleaner reads each hostile text and a sixteenth of it. Linear work takes 16 times as long, quadratic work 256 times;
refusing the text is fine. Every run uses short texts, the nightly run the size limits.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from watchbook.base.logs import redact
from watchbook.base.testing.environment import NIGHTLY
from watchbook.base.testing.growth import MOST_RATIO, growth
from watchbook.base.text import clean_text
from watchbook.core.search import query
from watchbook.kit.diff import compare
from watchbook.systems.library.parse import html, markdown
from watchbook.systems.nga.parse.bbcode import render
from watchbook.systems.notes.parse.documents import read_initial_state
from watchbook.systems.pages.parse.robots import parse_robots
from watchbook.systems.pages.parse.structured import structured_fields
from watchbook.systems.reddit import parse as reddit
from watchbook.systems.reddit.pool import read_entries
from watchbook.systems.sitemaps.parse import read_robots
from watchbook.systems.sitemaps.parse.imports import read_file

LONGEST = 2 * 1024 * 1024 if NIGHTLY else 32 * 1024

CLEANERS: dict[str, Callable[[str], object]] = {
    "forum post": render,
    "library page": html.clean,
    "library page to text": lambda text: html.to_text(html.clean(text)),
    "library Markdown import": lambda text: html.clean(markdown.to_html(text)),
    "library Markdown export": lambda text: markdown.to_markdown(html.clean(text)),
    "Reddit text": reddit.normal,
    "Reddit listing": lambda text: reddit.parse_listing(text.encode("utf-8", "replace")),
    "Reddit community import": lambda text: read_entries(text.encode("utf-8", "replace"), "pool.csv"),
    "Reddit Markdown": reddit.to_html,
    "monitor import": lambda text: read_file(text.encode("utf-8", "replace")),
    "robots.txt": parse_robots,
    "robots.txt with sitemaps": lambda text: read_robots(text.encode("utf-8", "replace"), "https://example.com/"),
    "structured data of a web page": lambda text: structured_fields([text]),
    "search query": query.read,
    "note page": read_initial_state,
    "note page with a state": lambda text: read_initial_state(f"<script>window.__INITIAL_STATE__={text}</script>"),
    "plain text": clean_text,
    # With few steps to spend, so that the short text spends them all, too: what is left must be linear.
    "difference of two texts": lambda text: compare(text, text[::-1], budget=20_000),
    "log line": redact.text,
}
# One unit each; the text is the unit repeated up to the wanted length.
UNITS: dict[str, str] = {
    "one word": "x", "blanks": " ", "line breaks": "\n", "ideographs": "字", "combining marks": "e\u0301",
    "angle brackets": "<", "open tags": "<b>", "closing tags": "</b>", "comments": "<!--", "CDATA": "<![CDATA[",
    "open links": "<a href='x'>", "tables": "<table><tr><td>", "ampersands": "&", "numeric entities": "&#55357;",
    "square brackets": "[", "open codes": "[b]", "nested quotes": "[quote]", "open lists": "[list][*]",
    "unfinished addresses": "[url=a", "dice": "[dice]d6[/dice]", "Markdown links": "[a](", "emphasis": "*a_",
    "backticks": "`a``", "Markdown quotes": "> ", "Markdown tables": "|a", "list marks": "- a\n  ", "braces": "{",
    "JSON keys": '{"a":', "undefined values": "undefined,", "maps": "new Map([", "quotes": '"a', "backslashes": "\\",
    "commas": "a,", "secrets": "token=a ", "addresses": "http://a.example/?b=", "headings": "===a===\n",
}  # fmt: skip


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def attributes(length: int) -> str:
    """One tag with as many attributes as fit: each cleaner compares an attribute with those before it, or should not."""
    names = (f"a{number}=1 " for number in range(length // 4))
    return f"<p {''.join(names)[:length]}>x</p>"


TEXTS: dict[str, Callable[[int], str]] = {
    **{name: (lambda length, unit=unit: repeated(unit, length)) for name, unit in UNITS.items()},  # type: ignore[misc]
    "one tag with many attributes": attributes,
    "an open tag with one long attribute": lambda length: f"<p title='{'x' * length}",
    "a quote in every second character": lambda length: "'\"" * (length // 2),
}


@pytest.mark.parametrize("name", CLEANERS)
def test_time_of_a_cleaner_grows_with_the_length(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = {kind: growth(CLEANERS[name], text, LONGEST) for kind, text in TEXTS.items()}
    slowest = max(found, key=lambda kind: found[kind][0])
    with capsys.disabled():
        print(f"\n{name}: {len(found)} texts of {LONGEST // 1024} kB, slowest: {slowest}, {found[slowest][0]:.3f} s")
    too_steep = {
        kind: f"{long:.2f} s, {ratio:.1f} times" for kind, (long, ratio) in found.items() if ratio > MOST_RATIO
    }
    assert too_steep == {}


def test_quadratic_cleaner_is_found() -> None:
    def quadratic(text: str) -> int:
        return sum(len(text[at:]) for at in range(0, len(text), 2))

    assert growth(quadratic, TEXTS["one word"], 128 * 1024)[1] > MOST_RATIO
    assert growth(str.lower, TEXTS["one word"], 128 * 1024)[1] <= MOST_RATIO
