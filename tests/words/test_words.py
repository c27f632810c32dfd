"""The product speaks with one vocabulary: no text that people read contains a word that was replaced."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.words import texts
from watchbook.core.ops.stored import storable

# One process reads each part, and reads it once.
pytestmark = pytest.mark.xdist_group("words")


@cache
def texts_of(part: str) -> list[texts.Text]:
    return list(texts.PARTS[part]())


@pytest.mark.parametrize("part", texts.PARTS)
def test_texts_contain_no_refused_word(part: str) -> None:
    found = texts_of(part)
    assert found, "nothing was read: the collector is broken"
    wrong = [f"{text.place}: [{word}] {text.words[:120]}" for text in found if (word := text.refused())]
    assert not wrong, f"{len(wrong)} texts contain a refused word:\n" + "\n".join(wrong)


def test_pages_name_no_environment_variable_that_the_settings_page_has() -> None:
    """A sentence that asks for a setting leads to the page, where no restart is needed."""
    names = re.compile(rf"\b({'|'.join(storable())})\b")
    wrong = [f"{text.place}: {text.words[:120]}" for text in texts_of("catalogues") if names.search(text.words)]
    assert wrong == []


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("Nobody is told of a baseline.", "Nobody"),
        ("The option `tell_removals` is on.", ""),
        ("Watchbook sent 3 notifications.", ""),
        ("该帐号已停用", "帐号"),
    ],
)
def test_refused_word_is_found_in_sentences_not_in_code(words: str, refused: str) -> None:
    assert texts.Text("here", words).refused() == refused


def test_every_exception_is_still_needed() -> None:
    used = {text.words for part in texts.PARTS for text in texts_of(part)}
    assert sorted(set(texts.ALLOWED) - used) == []
