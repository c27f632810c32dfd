"""The union of all parts of a sitemap: each page once, whichever file lists it and in whatever order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from watchbook.sources.sitemaps.parse.lastmod import instant_texts
from watchbook.sources.sitemaps.parse.lines import read_line, unique
from watchbook.sources.sitemaps.parse.lists import PartList, opened
from watchbook.sources.sitemaps.parse.merge import aligned, join_sorted
from watchbook.sources.sitemaps.parse.records import UrlRecord


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
    """All pages in the order of their URLs."""
    for lines in _rounds(parts):
        yield from map(read_line, unique(lines))


def _rounds(parts: Sequence[PartList]) -> Iterator[list[bytes]]:
    with opened(parts) as lists:
        for round_ in aligned(lists):
            yield join_sorted(round_.values())
