"""What the head of a response says about a page: X-Robots-Tag, Link and Refresh, as search engines read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

MOST_LINKS = 100
# Directives with a value; any other word before a colon names a crawler.
VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
CRAWLERS = ("", "googlebot")
_NAMED = re.compile(r"\s*([A-Za-z][\w-]{0,60})\s*:(?!//)(.*)", re.DOTALL)
_LINK = re.compile(r"<([^<>]{1,2048})>((?:\s*;\s*[\w*-]+\s*=\s*(?:\"[^\"]{0,200}\"|[^\s\",;]{1,200}))*)")
_PARAMETER = re.compile(r";\s*([\w*-]+)\s*=\s*(?:\"([^\"]*)\"|([^\s\",;]+))")
_REFRESH = re.compile(r"\s*(\d{0,4})(?:\.\d{0,9})?\s*[;,]\s*(?:url\s*=\s*)?[\"']?\s*([^\"'\s]{1,2048})", re.IGNORECASE)
# A page that sends its readers on within this time is a redirect; later it reloads a ticker.
SOON_SECONDS = 10


def header_fields(robots: Sequence[str], links: Sequence[str], refresh: str) -> dict[str, str]:
    """Fields of a page that its response states; each may be missing."""
    found = {"robots": ", ".join(_directives(robots)), "refresh": refresh_target(refresh)}
    alternates = set()
    for target, parameters in _links(links):
        relations = parameters.get("rel", "").lower().split()
        if "canonical" in relations:
            found.setdefault("canonical", target)
        elif "alternate" in relations and parameters.get("hreflang"):
            alternates.add(f"{parameters['hreflang']} {target}")
    found["hreflang"] = "\n".join(sorted(alternates))
    return {name: value for name, value in found.items() if value}


def joined(page: Mapping[str, str], header: Mapping[str, str]) -> dict[str, str]:
    """Fields of page and response together. Both limit robots and add language versions; else the page decides."""
    found = {**header, **page}
    if "robots" in page and "robots" in header:
        found["robots"] = ", ".join(dict.fromkeys([*_words(page["robots"]), *_words(header["robots"])]))
    if "hreflang" in page and "hreflang" in header:
        lines = {*page["hreflang"].split("\n"), *header["hreflang"].split("\n")}
        found["hreflang"] = "\n".join(sorted(lines))
    return found


def is_noindex(robots: str) -> bool:
    """Whether the directives ask search engines to leave the page out; `none` means noindex and nofollow."""
    return any(word.lower() in ("noindex", "none") for word in _words(robots))


def refresh_target(said: str) -> str:
    """The address that a refresh leads to soon; empty for a page that only reloads itself."""
    found = _REFRESH.match(said[:2200])
    return found.group(2) if found and int(found.group(1) or 0) <= SOON_SECONDS else ""


def _words(robots: str) -> list[str]:
    return [word for part in robots.split(",") if (word := part.strip())]


def _directives(values: Iterable[str]) -> list[str]:
    """Directives for all crawlers and for Google's, each once."""
    found: dict[str, None] = {}
    for value in values:
        crawler = ""
        for word in _words(value[:2000]):
            named = _NAMED.fullmatch(word)
            if named and named.group(1).lower() not in VALUED:
                crawler, word = named.group(1).lower(), named.group(2).strip()
            if word and crawler in CRAWLERS:
                found[word] = None
    return list(found)


def _links(values: Iterable[str]) -> list[tuple[str, dict[str, str]]]:
    found = [
        (target.strip(), {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(parameters)})
        for value in values
        for target, parameters in _LINK.findall(value[:20_000])
    ]
    return found[:MOST_LINKS]
