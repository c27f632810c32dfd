"""The short ways of normalising give what the long one gives."""

from __future__ import annotations

import html
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from watchbook.sources.reddit.parse.normal import _INVISIBLE, normal

TEXTS = st.text(st.sampled_from(" \t\n\x1cab&;<lamp\u200b\u3000é灯")) | st.text()


@given(TEXTS)
def test_every_text_has_one_normal_form(text):
    unpacked = html.unescape(text).translate(_INVISIBLE)
    assert normal(text) == " ".join(unicodedata.normalize("NFKC", unpacked).split())
