"""Sound JSON is read in a short way: to the same records as in the long one, or not at all."""

from __future__ import annotations

import random
import re

from watchbook.systems.nga.parse import Unreadable
from watchbook.systems.nga.parse.answer import _from_json, decode
from watchbook.systems.nga.parse.errors import Notes
from watchbook.systems.nga.parse.json_text import is_json
from watchbook.systems.nga.parse.records import SITE
from watchbook.systems.nga.parse.tests.fuzzing import seeds
from watchbook.systems.nga.parse.values import SpellingLost

VALUE = re.compile(r'(?<=":)(?:-?\d+|"[^"\\]*"|null)')
ODD = ["1.50", "0.0", "-0", "-0.0", "1e5", "12345678901234567890123", "18446744073709551615", "007", "null", "[]",
       "{}", "true", '"\\ud83d"', '"\\ud83d\\ude02"', '"&#55357;&#56834;"', '"\\u0000x"', '"[b]x[/b]"', "NaN",
       '""']  # fmt: skip


def read(text: str, *, keeps_spelling: bool) -> object:
    try:
        return _from_json(text, Notes(), page=1, site=SITE, keeps_spelling=keeps_spelling)
    except Unreadable as error:
        return type(error), error.code, error.message


def test_both_ways_lead_to_the_same_records():
    chance = random.Random(8)
    texts = [text for seed in seeds() if is_json(text := decode(seed, "", Notes()))]
    same = lost = 0
    for _ in range(1500):
        text = chance.choice(texts)
        for _ in range(3):
            if hits := list(VALUE.finditer(text)):
                hit = chance.choice(hits)
                text = text[: hit.start()] + chance.choice(ODD) + text[hit.end() :]
        wanted = read(text, keeps_spelling=True)
        try:
            assert read(text, keeps_spelling=False) == wanted
            same += 1
        except SpellingLost:
            lost += 1
    # Both must have happened, or nothing was compared.
    assert same > 500
    assert lost > 20
