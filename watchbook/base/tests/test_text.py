"""Texts are folded as Unicode says, whatever is done first to be quick."""

from __future__ import annotations

import random
import unicodedata

from watchbook.base.text import fold

PIECES = [
    "，",
    "！",
    "？",
    "：",
    "；",
    "（",
    "）",
    "～",
    "…",
    "。",
    "字",
    "Ａ",
    "e\u0301",
    "\u0301",
    "\u0338",
    "ß",
    "ｶﾞ",
    "a",
    " ",
    "ﬁ",
    "한",
]


def test_folding_is_that_of_the_standard():
    chance = random.Random(1)
    for _ in range(5000):
        text = "".join(chance.choices(PIECES, k=chance.randint(0, 8)))
        assert fold(text) == unicodedata.normalize("NFKC", text).casefold(), ascii(text)
