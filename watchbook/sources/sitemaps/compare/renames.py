"""Pairing a removed page with an added one that is probably the same page under a new address.

Only the last word of the path is compared, by its letters in threes. Different numbers mean different pages: the
report of 2024 is not the renamed report of 2023.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote, urlsplit

MOST_URLS = 2_000
LEAST_SIMILARITY = 0.6
_LEAST_LETTERS = 4
_COMMON = 50  # letters that stand in more pages than this tell nothing apart
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Rename:
    old_url: str
    new_url: str
    similarity: float


@dataclass(frozen=True, slots=True)
class _Slug:
    url: str
    letters: str
    numbers: tuple[str, ...]
    threes: frozenset[str]


def pair_renames(removed: Iterable[str], added: Iterable[str]) -> list[Rename]:
    """Pairs, best first; no page is in two of them. Looks at the first 2,000 of each side."""
    old = _slugs(removed)
    new = _slugs(added)
    found = sorted(_candidates(old, new), key=lambda pair: (-pair.similarity, pair.old_url, pair.new_url))
    taken: set[str] = set()
    pairs: list[Rename] = []
    for pair in found:
        if pair.old_url not in taken and pair.new_url not in taken:
            taken |= {pair.old_url, pair.new_url}
            pairs.append(pair)
    return pairs


def _slugs(urls: Iterable[str]) -> list[_Slug]:
    return [slug for url in islice(urls, MOST_URLS) if (slug := _slug(url)) is not None]


def _slug(url: str) -> _Slug | None:
    try:
        path = unquote(urlsplit(url).path)
    except ValueError:
        return None
    last = _EXTENSION.sub("", path.rstrip("/").rpartition("/")[2]).casefold()[:200]
    letters = "-".join(_LETTERS.findall(last))
    if len(letters) < _LEAST_LETTERS and letters.isascii():
        return None
    padded = f"^{letters}$"
    threes = frozenset(padded[i : i + 3] for i in range(len(padded) - 2))
    return _Slug(url, letters, tuple(sorted(_DIGITS.findall(last))), threes) if threes else None


def _candidates(old: list[_Slug], new: list[_Slug]) -> Iterable[Rename]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, slug in enumerate(new):
        for three in slug.threes:
            places[three].append(number)
    for slug in old:
        shared: Counter[int] = Counter()
        for three in slug.threes:
            if len(places.get(three, ())) <= _COMMON:
                shared.update(places.get(three, ()))
        for number, _ in shared.most_common(10):
            other = new[number]
            similarity = _similarity(slug, other)
            if similarity >= LEAST_SIMILARITY:
                yield Rename(slug.url, other.url, round(similarity, 3))


def _similarity(old: _Slug, new: _Slug) -> float:
    if old.numbers and new.numbers and old.numbers != new.numbers:
        return 0.0
    if old.numbers != new.numbers and old.letters == new.letters:
        return 0.9
    return 2 * len(old.threes & new.threes) / (len(old.threes) + len(new.threes))
