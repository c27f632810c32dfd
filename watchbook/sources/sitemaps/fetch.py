"""Which addresses a sitemap is read from, and how they are asked for."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from django.core.cache import cache

from watchbook.base.web import client, pace
from watchbook.base.web.answer import Answer, Validators
from watchbook.base.web.errors import WebError
from watchbook.sources.sitemaps import options
from watchbook.sources.sitemaps.parse import RobotsRecord, read_robots

ACCEPT = "application/xml, text/xml, application/rss+xml, application/atom+xml, text/plain;q=0.9, */*;q=0.5"
ROBOTS_BYTES = 512 * 1024
ROBOTS_SECONDS = 24 * 3600
LONGEST_CRAWL_DELAY = 30.0
# How long a check waits for its turn at a host before it gives its worker back.
TURN_SECONDS = 60.0


def fetch_part(url: str, *, validators: Validators | None, target: Path, past_caches: bool = False) -> Answer:
    """One file of a sitemap, into a file. Answers 304 when the site says that nothing changed."""
    return client.get(
        url,
        headers={"Cache-Control": "no-cache"} if past_caches else None,
        validators=validators,
        accept=ACCEPT,
        max_bytes=options.PART_BYTES.value * 1_000_000,
        deadline_seconds=options.PART_DEADLINE.value,
        to_file=target,
        spacing_seconds=crawl_delay(url),
        wait_seconds=TURN_SECONDS,
    )


def fetch_robots(url: str) -> RobotsRecord:
    """What the robots.txt of this address's host says."""
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.netloc}/robots.txt"
    answer = client.get(address, max_bytes=ROBOTS_BYTES, deadline_seconds=20, wait_seconds=TURN_SECONDS)
    return read_robots(answer.body, answer.url)


def crawl_delay(url: str) -> float | None:
    """Seconds between two requests that the host asks for; looked up once a day. None: our own pace."""
    if pace.is_off(url):
        return None
    key = f"sitemaps:crawl-delay:{urlsplit(url).netloc}"
    known = cache.get(key)
    if known is None:
        try:
            known = min(fetch_robots(url).crawl_delay_seconds or 0.0, LONGEST_CRAWL_DELAY)
        except WebError:
            known = 0.0  # no robots.txt, or not now: our own pace is polite already
        cache.set(key, known, ROBOTS_SECONDS)
    return known or None
