"""Posts made to hurt: depth, size, mixes. Text is never lost, depth is bounded, HTML stays safe."""

from __future__ import annotations

import random
import re

import pytest

from watchbook.systems.nga.parse.bbcode import render
from watchbook.systems.nga.parse.bbcode.builder import DEEPEST, clean
from watchbook.systems.nga.parse.bbcode.tests.walk import Walk

NESTED = ["[quote]", "[b]", "[table][tr][td]", "[list][*]", "[collapse=x]", "[color=red]", "[url=http://e.com/]", "[h]",
          "[quote][b][i]", "[align=center]", "[uid=1]", "[table][tr][td][list][*][quote][b]"]  # fmt: skip


@pytest.mark.parametrize("tag", NESTED)
@pytest.mark.parametrize("times", [60, 300, 5_000])
def test_deep_nesting_keeps_the_text_inside_and_after(tag, times):
    closing = "".join(f"[/{name}]" for name in reversed(re.findall(r"\[([a-z]+)", tag)))
    walked = Walk(render(tag * times + "inside" + closing * times + "after"))
    assert "inside" in walked.text
    assert "after" in walked.text
    # The table and the details element bring elements of their own.
    assert walked.deepest <= 2 * DEEPEST


@pytest.mark.parametrize(
    "source",
    ["[" * 40_000, "[/b]" * 10_000, "[img]" * 10_000, "[url=a" * 10_000, "[code]" * 10_000, "[list][*]" * 10_000,
     "<br/>" * 8_000, "\n===a" * 10_000, "&#55357;" * 10_000, "&amp;" * 8_000, "[s:" * 10_000, "[@" * 10_000,
     "<!--" * 10_000, "</a>" * 10_000, "[b]x[i]y[/b]" * 8_000, "=" * 8_000, "[td]" * 10_000, "[quote=" * 10_000],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
def test_floods_end_and_stay_safe(source):
    assert "end" in Walk(render(source + "end")).text


def test_huge_post_keeps_every_word():
    source = "字" * 1_500_000 + "[b]end[/b]"
    assert render(source).endswith("字[b]end[/b]")


MARKUP = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<!--", "<![CDATA[", "</div>",
    "<style>*{position:fixed}</style>", "<a href='javascript:x'>", "<math><mtext><mglyph><style>", "<xmp>",
    "<noscript><title>", "<template>", "<form><input name=csrfmiddlewaretoken>", "\0", "\ud800", "\u202e",
]  # fmt: skip


@pytest.mark.parametrize("markup", MARKUP, ids=ascii)
def test_markup_in_a_post_is_text(markup):
    for source in (markup, f"[b]{markup}[/b]", f"[code]{markup}[/code]", f"[collapse={markup}]x[/collapse]"):
        html = render(source)
        Walk(html)
        assert clean(html) == html


TAGS = (
    "[b] [/b] [i] [/i] [quote] [/quote] [table] [/table] [tr] [/tr] [td] [/td] [list] [/list] [*] [collapse=t]"
    " [/collapse] [url=http://e.com/] [/url] [url=javascript:x] [url] [img] [/img] [code] [/code] [h] [/h] <br/>"
    " === --- [color=red] [/color] [size=150%] [/size] [uid=5] [/uid] [pid=9,5,1] [/pid] [tid=5] [/tid] [s:ac:喷]"
    " [@abc] [dice]d6[/dice] [align=left] [/align] [lessernuke] [/lessernuke] &lt; &amp;#60; <b> <script> \" ' [ ]"
    " [foo] [/foo] [noimg] [/noimg] [crypt] [/crypt] [flash] [/flash] [album=t] [/album] &#55357; http://e.com/"
)
PIECES = [*TAGS.split(" "), "[td colspan=2]", "\n", " "]


@pytest.mark.parametrize("block", range(10))
def test_random_posts_lose_no_word_and_stay_safe(block):
    chance = random.Random(block)
    for _ in range(30):
        words = []
        parts = []
        for number in range(chance.randint(1, 60)):
            if chance.random() < 0.35:
                words.append(f"w{number}w")
                parts.append(words[-1])
            else:
                parts.append(chance.choice(PIECES))
        source = "".join(parts)
        html = render(source)
        walked = Walk(html)
        shown = walked.text + html
        assert [word for word in words if word not in shown] == [], source
        assert clean(html) == html, source
