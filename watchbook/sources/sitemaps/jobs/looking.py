"""A first look at an address before it is watched: what is it, and if it is a site, which sitemaps does it name?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from watchbook.base.store.scratch import scratch
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.sources.sitemaps.fetch import fetch_robots
from watchbook.sources.sitemaps.jobs.reading import read_first
from watchbook.sources.sitemaps.parse import NotASitemap

OFFERED = 50


@dataclass(frozen=True)
class Look:
    """What an address is. For an index `url_count` is 0 and `child_count` says how many files it leads to."""

    url: str
    kind: str
    url_count: int
    child_count: int
    is_complete: bool
    notes: list[dict[str, Any]]


class SiteInstead(Exception):
    """The address is a page; these are the sitemaps its site names."""

    def __init__(self, sitemaps: list[str]) -> None:
        super().__init__("not a sitemap")
        self.sitemaps = sitemaps


def look_at(text: str) -> Look:
    """Read the one file behind an address. Raises what reading raises, or SiteInstead with sitemaps to choose from."""
    address = check_url(text.strip())
    with scratch("look") as folder:
        try:
            part = read_first(address.url, folder)
        except (NotASitemap, WebError) as error:
            offered = _sitemaps_of(address.url) if _may_be_site(address.url, error) else []
            if offered:
                raise SiteInstead(offered) from None
            raise
    children = part.summary.get("children", [])
    return Look(address.url, str(part.summary["kind"]), part.count, len(children), part.is_read, part.notes)


def _may_be_site(url: str, error: Exception) -> bool:
    return isinstance(error, NotASitemap) or urlsplit(url).path in ("", "/")


def _sitemaps_of(url: str) -> list[str]:
    try:
        return list(fetch_robots(url).sitemaps)[:OFFERED]
    except WebError:
        return []
