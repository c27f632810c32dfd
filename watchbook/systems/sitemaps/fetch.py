"""Requests for sitemap files and robots.txt, with rate limits."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from django.core.cache import cache

from watchbook.base.web import client, rate_limit
from watchbook.base.web.errors import WebError
from watchbook.base.web.response import Answer, Validators
from watchbook.systems.sitemaps import options
from watchbook.systems.sitemaps.parse import RobotsRecord, read_robots

ACCEPT = "application/xml, text/xml, application/rss+xml, application/atom+xml, text/plain;q=0.9, */*;q=0.5"
ROBOTS_BYTES = 512 * 1024
ROBOTS_SECONDS = 24 * 3600
LONGEST_CRAWL_DELAY = 30.0
# How long a check waits for its turn at a host before it gives its worker back.
WAIT_SECONDS = 60.0
# A user waits for a preview.
PREVIEW_WAIT_SECONDS = 15.0
PAGE_BYTES = 2_000_000


def fetch_part(
    url: str,
    *,
    validators: Validators | None,
    target: Path,
    past_caches: bool = False,
    follow: int = 5,
    wait_seconds: float = WAIT_SECONDS,
) -> Answer:
    """Fetch one file of a sitemap to disk. Returns a 304 response if the site reports no change."""
    return client.get(
        url,
        headers={"Cache-Control": "no-cache"} if past_caches else None,
        validators=validators,
        accept=ACCEPT,
        max_bytes=options.PART_BYTES.value * 1_000_000,
        deadline_seconds=options.PART_DEADLINE.value,
        to_file=target,
        spacing_seconds=crawl_delay(url),
        follow=follow,
        wait_seconds=wait_seconds,
    )


def fetch_robots(url: str) -> RobotsRecord:
    """Fetch and parse the robots.txt of the host."""
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.netloc}/robots.txt"
    answer = client.get(address, max_bytes=ROBOTS_BYTES, deadline_seconds=20, wait_seconds=WAIT_SECONDS)
    found = read_robots(answer.body, answer.url)
    _remember_delay(url, found.crawl_delay_seconds)
    return found


def fetch_page(url: str) -> Answer:
    """Fetch one web page for its title."""
    return client.get(url, max_bytes=PAGE_BYTES, deadline_seconds=10, follow=1, wait_seconds=PREVIEW_WAIT_SECONDS)


def crawl_delay(url: str) -> float | None:
    """Return the Crawl-delay of the host in seconds, cached for a day; None for the default rate limit."""
    if rate_limit.is_disabled(url):
        return None
    known = cache.get(_delay_key(url))
    if known is None:
        try:
            known = _remember_delay(url, fetch_robots(url).crawl_delay_seconds)
        except WebError:
            known = _remember_delay(url, None)  # no robots.txt, or not now: the default rate limit applies
    return known or None


def _remember_delay(url: str, seconds: float | None) -> float:
    known = min(seconds or 0.0, LONGEST_CRAWL_DELAY)
    cache.set(_delay_key(url), known, ROBOTS_SECONDS)
    return known


def _delay_key(url: str) -> str:
    return f"sitemaps:crawl-delay:{urlsplit(url).netloc}"
