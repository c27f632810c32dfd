"""Compares lists of URLs: joins files, finds the difference, pairs renamed URLs.

Pure: no Django, no network, no clock.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO
from urllib.parse import unquote, urlsplit

from watchbook.systems.sitemaps.parse.lastmod import instant_texts, is_backwards, same_lastmod
from watchbook.systems.sitemaps.parse.lists import (
    PartList,
    aligned,
    best_of,
    blocks_of,
    join_sorted,
    key_of,
    opened,
    read_line,
    unique,
)
from watchbook.systems.sitemaps.parse.records import UrlRecord


@dataclass(frozen=True, slots=True)
class Union:
    """`url_hash` covers every URL and its lastmod as an instant; not changefreq, priority, order or sharding."""

    url_hash: str
    count: int
    repeated: int
    """Pages that stand in more than one part, counted once for each extra place."""


def union_of(parts: Sequence[PartList]) -> Union:
    digest, count, listed = hashlib.sha256(), 0, 0
    for joined in _rounds(parts):
        lines = unique(joined)
        listed += len(joined)
        count += len(lines)
        columns = b"\t".join(lines).split(b"\t")
        rows = zip(columns[0::4], instant_texts(columns[1::4]), strict=True)
        digest.update(b"\n".join(map(b"\t".join, rows)) + b"\n")
    return Union(digest.hexdigest(), count, listed - count)


def union_records(parts: Sequence[PartList]) -> Iterator[UrlRecord]:
    """Yield all URLs in alphabetical order."""
    for lines in _rounds(parts):
        yield from map(read_line, unique(lines))


def _rounds(parts: Sequence[PartList]) -> Iterator[list[bytes]]:
    with opened(parts) as lists:
        for round_ in aligned(lists):
            yield join_sorted(round_.values())


ADDED, REMOVED, MODIFIED = "added", "removed", "modified"
MINOR = "minor"
"""Only changefreq or priority is different: recorded, not told."""
HELD = "held"
"""Not listed any more, but not everything could be read: no removal until a whole check says so."""
ROLLED_OFF = "rolled_off"
"""Left a news sitemap, as pages there do after two days."""
KINDS = (ADDED, REMOVED, MODIFIED, MINOR, HELD, ROLLED_OFF)
_SPOOL_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """One URL before and after a check; `old` or `new` is None when it was added or removed."""

    url: str
    old: UrlRecord | None
    new: UrlRecord | None

    @property
    def is_backwards(self) -> bool:
        return self.old is not None and self.new is not None and is_backwards(self.old.lastmod, self.new.lastmod)

    def as_json(self) -> dict[str, str | None]:
        """Return the change as the JSON of a change record."""
        if self.old is None:
            return {"url": self.url, "lastmod": self.new.lastmod or None if self.new else None}
        if self.new is None:
            return {"url": self.url}
        return {"url": self.url, "old_lastmod": self.old.lastmod or None, "new_lastmod": self.new.lastmod or None}


class Difference:
    """Counts and changes between two lists, in the order of their URLs. Close it after use."""

    def __init__(self) -> None:
        self._files = ExitStack()
        self._spools: dict[str, IO[bytes]] = {}
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Difference:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._files.close()

    @property
    def is_empty(self) -> bool:
        """Whether no URL was added, removed or modified."""
        return not any(self.counts[kind] for kind in (ADDED, REMOVED, MODIFIED))

    def record(self, kind: str, old: bytes, new: bytes) -> None:
        if kind not in self._spools:
            spool = SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115 - closed with the difference
            self._spools[kind] = self._files.enter_context(spool)
        self._spools[kind].write(b"%b\0%b\n" % (old, new))
        self.counts[kind] += 1

    def changes(self, kind: str) -> Iterator[Change]:
        spool = self._spools.get(kind)
        for block in blocks_of(_Again(spool), 65_536) if spool else ():
            for line in block:
                old, _, new = line.partition(b"\0")
                before, after = read_line(old) if old else None, read_line(new) if new else None
                yield Change((after or before or UrlRecord("")).url, before, after)

    def items(self, kind: str) -> Iterator[dict[str, str | None]]:
        return (change.as_json() for change in self.changes(kind))

    def json_pieces(self) -> Iterator[str]:
        """Yield the change record as JSON text."""
        for number, kind in enumerate((ADDED, REMOVED, MODIFIED)):
            yield f'{", " if number else "{"}"{kind}": ['
            for position, item in enumerate(self.items(kind)):
                yield (", " if position else "") + json.dumps(item, ensure_ascii=False)
            yield "]"
        yield "}"


class _Again:
    """Reads a shared file from its start, independent of its other readers."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._position = 0

    def read(self, size: int, /) -> bytes:
        self._file.seek(self._position)
        data = self._file.read(size)
        self._position += len(data)
        return data


def compare(
    old_parts: Sequence[PartList],
    new_parts: Sequence[PartList],
    *,
    removals: bool = True,
    keep: Callable[[str], bool] | None = None,
) -> Difference:
    """Find added, removed and modified URLs. Pass `removals=False` for an incomplete check.

    `keep` says which URLs are of interest; changes of others are skipped.
    """
    same = Counter(part.sha256 for part in old_parts) & Counter(part.sha256 for part in new_parts)
    old, common = _apart(old_parts, same)
    new, _ = _apart(new_parts, same)
    difference = Difference()
    try:
        if old or new:
            _walk(old, new, common, _Recorder(difference, removals, keep))
    except BaseException:
        difference.close()
        raise
    return difference


def _apart(parts: Sequence[PartList], same: Counter[str]) -> tuple[list[PartList], list[PartList]]:
    left = Counter(same)
    changed: list[PartList] = []
    common: list[PartList] = []
    for part in parts:
        if left[part.sha256]:
            left[part.sha256] -= 1
            common.append(part)
        else:
            changed.append(part)
    return changed, common


def _walk(old: list[PartList], new: list[PartList], common: list[PartList], recorder: _Recorder) -> None:
    news = {number for number, part in enumerate(old) if part.news}
    with opened([*old, *new, *common]) as lists:
        for round_ in aligned(lists):
            before = {number: lines for number, lines in round_.items() if number < len(old)}
            after = [lines for number, lines in round_.items() if len(old) <= number < len(old) + len(new)]
            both = [lines for number, lines in round_.items() if number >= len(old) + len(new)]
            pairs = _pairs(set().union(*before.values()), set().union(*after), both)
            recorder.news_only = _only_in_news(before, news) if pairs and news else frozenset()
            for key in sorted(pairs):
                recorder.take(key, *pairs[key])


def _pairs(old: set[bytes], new: set[bytes], both: list[list[bytes]]) -> dict[bytes, tuple[bytes, bytes]]:
    """Yield key, old line and new line of every URL that differs."""
    gone, come = _by_page(old - new), _by_page(new - old)
    pages = gone.keys() | come.keys()
    if not pages:
        return {}
    # Several files can list a URL; lines on both sides count on both.
    also = _by_page(line for line in chain(old & new, *both) if line.partition(b"\t")[0] in pages)
    return {page: (_best(gone, also, page), _best(come, also, page)) for page in pages}


def _by_page(lines: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    pages: dict[bytes, list[bytes]] = {}
    for line in lines:
        pages.setdefault(key_of(line), []).append(line)
    return pages


def _best(own: dict[bytes, list[bytes]], also: dict[bytes, list[bytes]], page: bytes) -> bytes:
    lines = own.get(page, []) + also.get(page, [])
    return (lines[0] if len(lines) == 1 else best_of(lines)) if lines else b""


def _only_in_news(lists: dict[int, list[bytes]], news: set[int]) -> frozenset[bytes]:
    in_news = {key_of(line) for number in lists.keys() & news for line in lists[number]}
    elsewhere = {key_of(line) for number in lists.keys() - news for line in lists[number]}
    return frozenset(in_news - elsewhere)


class _Recorder:
    """Decides the kind of change of each pair of lines and records it."""

    def __init__(self, difference: Difference, removals: bool, keep: Callable[[str], bool] | None) -> None:
        self._difference = difference
        self._removals = removals
        self._keep = keep
        self.news_only: frozenset[bytes] = frozenset()

    def take(self, key: bytes, old: bytes, new: bytes) -> None:
        if old == new or (self._keep is not None and not self._keep(read_line(old or new).url)):
            return
        kind = self._kind(key, old, new)
        if kind:
            self._difference.record(kind, old, new)

    def _kind(self, key: bytes, old: bytes, new: bytes) -> str | None:
        if not old:
            return ADDED
        if not new:
            if key in self.news_only:
                return ROLLED_OFF
            return REMOVED if self._removals else HELD
        _, old_lastmod, *old_rest = old.split(b"\t")
        _, new_lastmod, *new_rest = new.split(b"\t")
        if not same_lastmod(old_lastmod, new_lastmod):
            return MODIFIED
        return MINOR if old_rest != new_rest else None


MOST_URLS = 2_000
LEAST_SIMILARITY = 0.6
_LEAST_LETTERS = 4
_COMMON = 50  # words that more pages than this have do not identify a page
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
    """Return pairs, best first, each URL at most once. Compares the first 2,000 URLs of each side."""
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
