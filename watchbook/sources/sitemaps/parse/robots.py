"""robots.txt: the sitemaps it names and how long it asks crawlers to wait."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from watchbook.sources.sitemaps.parse.encoding import decode, find_encoding
from watchbook.sources.sitemaps.parse.notes import Notes
from watchbook.sources.sitemaps.parse.urls import TRIMMED, normalise

MAX_BYTES = 524_288
MAX_SITEMAPS = 1_000
MAX_CRAWL_DELAY_SECONDS = 30.0
_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_RULES = frozenset({"allow", "disallow", "crawl-delay"})


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    sitemaps: tuple[str, ...] = ()
    crawl_delay_seconds: float | None = None


def read_robots(body: bytes, base_url: str, *, agent: str = "watchbook") -> RobotsRecord:
    """`base_url` is the address of robots.txt itself; relative sitemaps are resolved against it."""
    text = "".join(decode([body[:MAX_BYTES]], find_encoding(body[:MAX_BYTES]), Notes()))
    if _HTML.match(text):
        return RobotsRecord()
    sitemaps: dict[str, None] = {}
    delays: dict[str, float] = {}
    group: list[str] = []
    in_rules = False
    for key, value in _lines(text):
        if key in {"sitemap", "site-map"}:
            url, _ = normalise(value, base_url)
            if url and len(sitemaps) < MAX_SITEMAPS:
                sitemaps[url] = None
        elif key == "user-agent":
            group = [*([] if in_rules else group), value.lower()]
            in_rules = False
        elif key in _RULES:
            in_rules = True
            if key == "crawl-delay" and (delay := _seconds(value)) is not None:
                delays.update(dict.fromkeys(group, delay))
    return RobotsRecord(tuple(sitemaps), _delay_for(agent.lower(), delays))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in re.split(r"\r\n|\n|\r", text):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon and value.strip(TRIMMED):
            yield key.strip(TRIMMED).lower(), value.strip(TRIMMED)


def _seconds(value: str) -> float | None:
    if not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", value, re.ASCII):
        return None
    return min(float(value), MAX_CRAWL_DELAY_SECONDS)


def _delay_for(agent: str, delays: dict[str, float]) -> float | None:
    """The most specific group that names us, else the group for all."""
    named = [name for name in delays if name != "*" and name and agent.startswith(name)]
    return delays[max(named, key=len)] if named else delays.get("*")
