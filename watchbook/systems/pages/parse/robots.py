"""robots.txt: which paths may be read, and how far apart. Groups and longest match as in RFC 9309."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

from watchbook.systems.pages.parse.rules import glob

AGENT = "watchbook"
MOST_RULES = 2_000
LONGEST_DELAY = 30.0


@dataclass(frozen=True)
class Robots:
    """Rules for us: (path pattern, is it allowed), and the requested seconds between requests."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay_seconds: float | None = None

    def allows(self, url: str) -> bool:
        """The longest rule that fits decides; of two equal ones the one that allows."""
        parts = urlsplit(url)
        path = _spelled(parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _compiled(pattern).match(path)]
        return max(fitting, default=(0, True))[1]


def parse_robots(text: str) -> Robots:
    """Read the group that names us, or else the one for all."""
    groups: dict[str, list[tuple[str, str]]] = {}
    agents: list[str] = []
    in_rules = False
    for line in text.lstrip("\ufeff").splitlines()[:10_000]:
        name, _, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == "user-agent":
            agents = [] if in_rules else agents
            in_rules = False
            agents.append(value.lower())
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for agent in agents:
                groups[agent].append((name, value))
    return _rules(groups.get(AGENT, groups.get("*", [])))


def _rules(lines: list[tuple[str, str]]) -> Robots:
    rules = tuple((_spelled(value), name == "allow") for name, value in lines if name != "crawl-delay" and value)
    delays = [value for name, value in lines if name == "crawl-delay" and re.fullmatch(r"\d{1,6}(\.\d{1,3})?", value)]
    return Robots(rules[:MOST_RULES], min(float(delays[0]), LONGEST_DELAY) if delays else None)


def _spelled(path: str) -> str:
    """The same path is spelled with and without percent signs."""
    return quote(unquote(path), safe="/*$?&=+:;,@!'()~%")


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern[:500]
    return glob(pattern.removesuffix("$"), is_whole=pattern.endswith("$"))
