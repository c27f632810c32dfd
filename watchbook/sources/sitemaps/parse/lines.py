"""The canonical line: URL, lastmod, changefreq, priority with tabs between; backslash, tab and line ends are escaped.

No line holds a byte below the tab, so that sorting lines and sorting URLs is the same.
"""

from __future__ import annotations

import re
from itertools import islice
from operator import eq

from watchbook.sources.sitemaps.parse.lastmod import read_lastmod
from watchbook.sources.sitemaps.parse.records import UrlRecord

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = {written: plain for plain, written in _ESCAPES.items()}
_TO_ESCAPE = re.compile(r"[\\\t\n\r]")
_ESCAPED = re.compile(r"\\[\\tnr]")


def write_line(url: str, lastmod: str = "", changefreq: str = "", priority: str = "") -> bytes:
    line = f"{url}\t{lastmod}\t{changefreq}\t{priority}"
    if "\\" in line or "\n" in line or "\r" in line or line.count("\t") != 3:
        fields = (url, lastmod, changefreq, priority)
        line = "\t".join(_TO_ESCAPE.sub(lambda m: _ESCAPES[m[0]], field) for field in fields)
    return line.encode()


def key_for(url: str) -> bytes:
    """The URL as it stands in a line: what lists are sorted by."""
    return _TO_ESCAPE.sub(lambda m: _ESCAPES[m[0]], url).encode()


def read_line(line: bytes) -> UrlRecord:
    fields = line.decode().split("\t")
    if b"\\" in line:
        fields = [_ESCAPED.sub(lambda m: _PLAIN[m[0]], field) for field in fields]
    return UrlRecord(*fields)


def key_of(line: bytes) -> bytes:
    return line.partition(b"\t")[0]


def best_of(lines: list[bytes]) -> bytes:
    """Which of several lines for one page counts: the newest lastmod, wherever it stood in whichever file."""
    return max(lines, key=_rank)


def _rank(line: bytes) -> tuple[bool, int, bytes]:
    moment = read_lastmod(read_line(line).lastmod)
    return moment is not None, moment.nanoseconds if moment else 0, line


def unique(lines: list[bytes]) -> list[bytes]:
    """Sorted lines with each page once."""
    keys = [line.partition(b"\t")[0] for line in lines]
    like_next = [*map(eq, keys, islice(keys, 1, None)), False]
    if True not in like_next:
        return lines
    kept: list[bytes] = []
    at = 0
    for first in [place for place, twin in enumerate(like_next) if twin and not (place and like_next[place - 1])]:
        last = like_next.index(False, first)
        kept += lines[at:first]
        kept.append(best_of(lines[first : last + 1]))
        at = last + 1
    return kept + lines[at:]
