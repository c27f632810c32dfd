"""Every address of the program, found by walking the URLconf, each with made-up values for its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern, RoutePattern

SAMPLES = {
    "int": "987654321",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "slug": "nothing",
    "str": "nothing",
    "path": "nothing",
}
_CONVERTER = re.compile(r"<(?:(?P<kind>[^>:]+):)?(?P<name>[^>]+)>")


@dataclass(frozen=True)
class Address:
    path: str
    name: str
    view: Any

    @property
    def is_api(self) -> bool:
        return self.path.startswith("/api/")

    @property
    def is_for_staff(self) -> bool:
        """Some layer of the view was made by `staff_required`."""
        view = self.view
        while view is not None:
            if getattr(view, "staff_only", False):
                return True
            view = getattr(view, "__wrapped__", None)
        return False


def every_address() -> list[Address]:
    return list(_walk(get_resolver(), "/"))


def _walk(resolver: URLResolver, prefix: str, space: str = "") -> Iterator[Address]:
    for entry in resolver.url_patterns:
        path = prefix + _filled(entry.pattern)
        if isinstance(entry, URLResolver):
            # With its namespace, so that no view becomes public by choosing the name of one that is.
            yield from _walk(entry, path, f"{space}{entry.namespace}:" if entry.namespace else space)
        elif isinstance(entry, URLPattern):
            yield Address(path, f"{space}{entry.name or ''}", entry.callback)


def _filled(pattern: Any) -> str:
    if isinstance(pattern, RoutePattern):
        return _CONVERTER.sub(lambda found: SAMPLES.get(found["kind"] or "str", "nothing"), str(pattern._route))
    if isinstance(pattern, RegexPattern):
        return _filled_regex(str(pattern._regex))
    raise AssertionError(f"a new kind of pattern: {pattern!r}")


def _filled_regex(regex: str) -> str:
    """Groups become a word that fits a name, a key or a number; what is left is literal."""
    text = regex.removeprefix("^").removesuffix("$")
    while "(" in text:
        start = text.index("(")
        depth, end = 0, start
        for end in range(start, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        text = text[:start] + "1" + text[end + 1 :]
    return text.replace(".*", "nothing").replace("\\", "")
