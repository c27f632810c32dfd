"""Plain text sitemaps: one absolute URL per line and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from watchbook.sources.sitemaps.parse.collect import Collector
from watchbook.sources.sitemaps.parse.urls import TRIMMED

_LINE_END = re.compile(r"\r\n|\n|\r")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_LONGEST_LINE = 65_536


def read_text(texts: Iterable[str], collect: Collector) -> None:
    rest = ""
    for text in texts:
        *lines, rest = _LINE_END.split(rest + text)
        _take(lines, collect)
        if len(rest) > _LONGEST_LINE:
            _take([rest], collect)
            rest = ""
    _take([rest], collect)


def _take(lines: Iterable[str], collect: Collector) -> None:
    for line in lines:
        text = line.strip(TRIMMED)
        if not text:
            continue
        text, found = _CONTROL.subn("", text)
        collect.notes.add("control_characters", found)
        if _ABSOLUTE.match(text):
            collect.add_page(text)
        else:
            collect.notes.add("not_url_lines")
    collect.flush()
