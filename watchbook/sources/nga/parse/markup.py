"""HTML pages of the forum: elements by id with their exact source, and calls inside scripts.

Posts are kept as raw BBCode between tags; only the exact source gives the same text as the JSON form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from watchbook.sources.nga.parse.errors import Damaged
from watchbook.sources.nga.parse.literal import read_arguments, read_literal

# Characters that may be searched for the ends of elements, all together: a page that never closes any ends there.
_BUDGET = 20_000_000
# Lengths are bounded so that a page full of open brackets costs no more than a page of text.
_TAG = re.compile(
    r"<!--.{0,300}?-->"
    r"|<(?P<end>/)?(?P<name>[a-zA-Z][a-zA-Z0-9]{0,20})(?P<rest>(?:[^<>\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}'){0,600}+)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([a-zA-Z-]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_PARSED = re.compile(r"\s{0,9}parse(?:Int|Float)\s{0,9}\(")
_SCRIPT_END = re.compile(r"</script", re.IGNORECASE)
_VOID = frozenset({"br", "img", "hr", "input", "meta", "link"})
# What has no end is taken to the end of its line or of the script, so that none is looked at twice.
_STRINGS_OR_NAMES = re.compile(
    r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+(?:"|\n|\\?\Z)'
    r"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+(?:'|\n|\\?\Z)"
    r"|/\*.*?(?:\*/|\Z)|//[^\n]*"
    r"|(?P<name>[A-Za-z_$][\w$.]{0,80})\s{0,9}(?P<mark>[(=])",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Element:
    name: str
    attributes: dict[str, str]
    start: int
    """Where its content begins."""


@dataclass
class Markup:
    """A page read once."""

    source: str
    by_id: dict[str, Element] = field(default_factory=dict)
    scripts: list[tuple[int, str]] = field(default_factory=list)
    title: str = ""
    is_closed: bool = False
    _budget: int = _BUDGET

    @classmethod
    def read(cls, source: str) -> Markup:
        page = cls(source)
        at = 0
        while (hit := _TAG.search(source, at)) is not None:
            at = page._take(hit)
        return page

    def _take(self, hit: re.Match[str]) -> int:
        name = (hit["name"] or "").lower()
        if hit["end"]:
            self.is_closed = self.is_closed or name == "html"
            return hit.end()
        if name == "script":
            end = _SCRIPT_END.search(self.source, hit.end())
            stop = end.start() if end else len(self.source)
            self.scripts.append((hit.end(), self.source[hit.end() : stop]))
            return stop
        if name == "title" and not self.title:
            self.title = self.source[hit.end() : hit.end() + 500].partition("<")[0]
        elif name and "id" in hit["rest"]:
            attributes = attributes_of(hit["rest"])
            if "id" in attributes:
                self.by_id.setdefault(attributes["id"], Element(name, attributes, hit.end()))
        return hit.end()

    def inner(self, name: str) -> str | None:
        """The exact source inside the element with this id; None when it is not there or has no end."""
        element = self.by_id.get(name)
        if element is None:
            return None
        depth, at = 1, element.start
        while self._budget > 0 and (hit := _TAG.search(self.source, at)) is not None:
            self._budget -= hit.end() - at
            at = hit.end()
            if (hit["name"] or "").lower() == element.name and element.name not in _VOID:
                depth += -1 if hit["end"] else 1
                if depth == 0:
                    return self.source[element.start : hit.start()]
        return None

    def calls(self, *names: str) -> Iterator[tuple[str, list[Any]]]:
        """Calls of these functions in order, with their arguments. Names inside of strings are text, not calls."""
        for _, script in self.scripts:
            for hit in _STRINGS_OR_NAMES.finditer(script):
                if hit["mark"] == "(" and hit["name"] in names:
                    yield hit["name"], _arguments(script, hit.end())

    def variable(self, name: str) -> Any:
        """The value that scripts give to a variable; None when they do not."""
        for _, script in self.scripts:
            for hit in _STRINGS_OR_NAMES.finditer(script):
                if hit["mark"] == "=" and hit["name"] == name and not script.startswith("=", hit.end()):
                    return _value(script, hit.end())
        return None


def attributes_of(rest: str) -> dict[str, str]:
    return {hit[1].lower(): hit[2] or hit[3] or hit[4] or "" for hit in _ATTRIBUTE.finditer(rest)}


def _value(script: str, start: int) -> Any:
    """A literal, or the first argument of `parseInt('5',10)`."""
    called = _PARSED.match(script, start)
    if called:
        return next(iter(_arguments(script, called.end())), None)
    try:
        return read_literal(script + ";", start)[0]
    except Damaged:
        return None


def _arguments(script: str, start: int) -> list[Any]:
    try:
        return read_arguments(script, start)
    except Damaged:
        return []
