"""Core, kit and base know no system: none of the systems' nouns is in their code, pages, styles or catalogues."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import watchbook
from watchbook.core import registry
from watchbook.kit import badges

PACKAGE = Path(watchbook.__file__).parent
SUFFIXES = {".py", ".html", ".txt", ".css", ".js", ".po", ".md"}
NOUNS = re.compile(
    r"\b(nga|sitemaps?|(?:sub)?reddits?|douyin|xiaohongshu|floors?|monitors?|topics?|communit(?:y|ies)|workspaces?|forums?)\b"
    r"|[\"'](?:notes|library)(?=[\"':])|\bsys-(?!x\b|\{|<)\w+",
    re.IGNORECASE,
)
# A line that matches one of these may name such a word; the reason stands beside it.
ALLOWED = {
    r"math\.floor\(": "rounds down",
    r"\[class\*=\"sys-\"\]|/sources\.css|sys-\{|f\"sys-|\"sys-\"\|add": "the class of any system, made from its slug",
    r"icon \"library\"": "a drawing of kit/icons.svg",
    r"ntfy|\"topic\"|gettext_lazy\(\"Topic\"\)|protected topics": "what the push service ntfy sends to",
}


def lines(package: str) -> list[tuple[str, str]]:
    found = []
    for path in sorted((PACKAGE / package).rglob("*")):
        if path.suffix in SUFFIXES and not {"tests", "migrations"} & set(path.parts):
            rows = enumerate(path.read_text("utf-8").splitlines(), start=1)
            found += [(f"{path.relative_to(PACKAGE)}:{number}", row) for number, row in rows]
    return found


@pytest.mark.parametrize("package", ["core", "kit", "base"])
def test_package_names_no_noun_of_a_system(package):
    allowed = re.compile("|".join(ALLOWED))
    named = [(place, row.strip()) for place, row in lines(package) if NOUNS.search(row) and not allowed.search(row)]
    assert not named, "\n".join(f"{place}: {row}" for place, row in named)


def test_every_system_has_a_colour_and_shared_vocabularies_are_not_redefined():
    for source in registry.sources():
        assert source.colour, source.slug
        assert not set(source.badges) & set(badges.VOCABULARY), source.slug


def test_vocabulary_of_two_systems_is_refused(monkeypatch):
    monkeypatch.setattr(registry, "sources", lambda: (first, first))
    first = registry.Source(slug="a", title="A", icon="search", badges={"state": {"on": badges.ok("On")}})
    with pytest.raises(LookupError, match="two systems declare the badges state"):
        registry.badges()
