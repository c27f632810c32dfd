"""Include and exclude patterns, written as in robots.txt and matched in linear time.

A pattern holds from the start of the URL, or of its path when it begins with a slash; `*` stands for anything and `$`
at the end for the end. A question mark is a question mark: URLs are full of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")


@dataclass(frozen=True, slots=True)
class Pattern:
    on_path: bool
    pieces: tuple[str, ...]
    to_end: bool

    @classmethod
    def of(cls, text: str) -> Pattern:
        to_end = text.endswith("$")
        return cls(text.startswith("/"), tuple(text.removesuffix("$").split("*")), to_end)

    def matches(self, url: str) -> bool:
        text = _ORIGIN.sub("", url, count=1) or "/" if self.on_path else url
        first, *others = self.pieces
        if not text.startswith(first):
            return False
        at = len(first)
        if not others:
            return not self.to_end or at == len(text)
        last = others.pop() if self.to_end else ""
        for piece in others:
            found = text.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return not self.to_end or (text.endswith(last) and len(text) - len(last) >= at)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Which URLs are of interest: any of `include` (all when there is none) and none of `exclude`."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()

    @classmethod
    def of(cls, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> Patterns:
        return cls(_read(include), _read(exclude))

    def matches(self, url: str) -> bool:
        if self.include and not any(pattern.matches(url) for pattern in self.include):
            return False
        return not any(pattern.matches(url) for pattern in self.exclude)

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)


def _read(texts: Iterable[str]) -> tuple[Pattern, ...]:
    return tuple(Pattern.of(text.strip()) for text in texts if text.strip())
