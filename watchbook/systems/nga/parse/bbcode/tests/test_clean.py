"""What is let through without the cleaner is what the cleaner would give back."""

from __future__ import annotations

import random

import pytest

from watchbook.base.text import clean_text
from watchbook.systems.nga.parse import AttachmentRecord
from watchbook.systems.nga.parse.bbcode import Extras, render
from watchbook.systems.nga.parse.bbcode.builder import _CLEANER, clean, is_plain

IMAGE = '<img src="https://img.nga.cn/attachments/a_b/c-1.png" alt="" loading="lazy" referrerpolicy="no-referrer">'
SMILEY = (
    '<img class="bb-smiley" src="https://img4.nga.cn/ngabbs/post/smile/ac0.png" alt="[s:ac:blink]" loading="lazy"'
    ' referrerpolicy="no-referrer">'
)
REL = ' rel="noopener noreferrer nofollow"'
LINK = f'<a href="https://bbs.nga.cn/read.php?tid=1&amp;pid=2" data-pid="2" data-tid="1"{REL}>%s</a>'
FILES = f'<ul class="bb-files"><li>{IMAGE}</li><li>{LINK % "x.zip"}</li></ul>'
WORDS = [
    "字",
    "two words",
    "&amp;",
    "&lt;b&gt;",
    "<br>",
    "\t",
    "\n",
    "😂",
    "\"'",
    "\u3000",
    "\u200b",
    "é",
    "",
    "x" * 50,
]
MARKED = [f"<{tag}>%s</{tag}>" for tag in ("b", "i", "u", "del", "sup", "sub", "blockquote")]
MARKED += [LINK, f"<b>{LINK}</b>", f"<blockquote>{LINK}<b>x</b>{IMAGE}</blockquote>"]
MARKED += ["<details><summary>%s</summary>更多</details>", "%s" + IMAGE, "%s" + SMILEY]
# Each of them must be seen by the cleaner: alone, or somewhere in a text that is plain otherwise.
UNFIT = [
    "<script>", "<b>", "</b>", "<b><i>x</i></b>", "<B>x</B>", "<b >x</b>", "<b>x</i>", "<p>", "<!--", "<", ">", "&",
    "&nbsp;", "&#60;", "&quot;", "&amp", "\u00a0", "\x00", "\r", "\x0c", "\x7f", "\x85", "\ufdd0", "\uffff",
    "<br/>", "<br >", "<BR>", "<details><summary>x</summary>", '<b onclick="x">y</b>', "<blockquote><br></b>",
    IMAGE.replace("https", "javascript"), IMAGE.replace(".png", ".png?a&b"), IMAGE.replace('alt=""', 'onload="x"'),
    IMAGE.replace('alt=""', 'alt="\uffff"'), IMAGE.replace('alt=""', 'alt="\x7f"'),
    IMAGE.replace('alt=""', 'alt="&quot;"'), IMAGE.replace("lazy", "eager"), SMILEY.replace("bb-smiley", "nav"),
    '<a href="https://example.com/">x</a>', LINK.replace("https", "javascript"), LINK.replace(".cn", ".1"),
    LINK.replace("bbs", "xn--a"), LINK.replace("nofollow", "me"), LINK.replace("data-pid", "onclick"),
    LINK % "<b>x</b>", LINK % (LINK % "x"), LINK.replace(".cn", ".cn:99999"), f"{FILES}x", "<h4>x</h4>",
    "<table><tr><td>x</td></tr></table>", "<ul><li>x</li></ul>",
]  # fmt: skip


def plain_html(dice: random.Random) -> str:
    def words() -> str:
        return "".join(dice.choices(WORDS, k=dice.randint(0, 6)))

    return "".join(words() + (dice.choice(MARKED) % words()) for _ in range(dice.randint(0, 5))) + words()


def whole_post(dice: random.Random) -> str:
    """With a heading before it and files behind, as some have."""
    return dice.choice(["", "<h4>题</h4>"]) + plain_html(dice) + dice.choice(["", FILES])


def test_plain_html_is_recognised_and_the_cleaner_would_not_change_it():
    dice = random.Random(5)
    for _ in range(3000):
        html = whole_post(dice)
        assert is_plain(html), html
        assert _CLEANER.clean(html) == html


@pytest.mark.parametrize("piece", UNFIT)
def test_anything_else_goes_through_the_cleaner(piece):
    dice = random.Random(6)
    for _ in range(50):
        html = f"字{plain_html(dice)}{piece}{plain_html(dice)}"
        assert not is_plain(html), html
        assert clean(html) == _CLEANER.clean(clean_text(html))


def test_any_mixture_that_passes_is_unchanged_by_the_cleaner():
    dice = random.Random(7)
    pieces = [
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<details>",
        "<summary>",
        "</summary>",
        "</details>",
        "<br>",
        "<blockquote>",
        "</blockquote>",
        "<h4>",
        "</h4>",
        LINK % "x",
        FILES,
        *UNFIT,
        *WORDS,
    ]
    seen = 0
    for _ in range(20_000):
        html = "".join(dice.choices(pieces, k=dice.randint(1, 6)))
        if is_plain(html):
            seen += 1
            assert _CLEANER.clean(html) == html
    assert seen > 500


@pytest.mark.parametrize("piece", ["\x00", "\x01", "\x7f", "\x85", "\ufffe", "\uffff", "\ud800"], ids=ascii)
def test_nothing_passes_that_a_database_refuses(piece):
    file = AttachmentRecord("a", "https://e.com/a.png", "img", f"名{piece}字")
    for source in (f"字{piece}", f"[b]{piece}x[/b]", f"[url=http://e.com/{piece}]x[/url]", f"[code]{piece}[/code]"):
        for extras in (Extras(), Extras(subject=f"题{piece}", attachments=(file,))):
            assert piece not in render(source, extras=extras)


def test_long_text_is_read_in_one_pass():
    """A pattern that went back and forth would take minutes here."""
    for text in ("字&" * 100_000, "<b>字" * 60_000, "<b>字</b>" * 60_000 + "<", "<details><summary>" * 60_000):
        assert not is_plain(text)


def test_quotes_of_a_post_stand_as_they_were_written():
    assert render('他说 &quot;好&quot; it&#39;s [b]"x"[/b]') == '他说 "好" it\'s <b>"x"</b>'
