"""Follows short links to the note behind them. The note itself is not requested."""

from __future__ import annotations

import time
from urllib.parse import urljoin

from watchbook.base.web import client
from watchbook.base.web.errors import TimedOut

SHORT_REDIRECTS = 3
LINK_SECONDS = 10.0
NOTE_PATHS = ("/explore/", "/discovery/item/", "/search_result/", "/user/profile/")


def follow_short_link(url: str, seconds: float = LINK_SECONDS) -> str:
    """Return the address behind a short link. Raises WebError; an address inside this network is refused, too."""
    ends = time.monotonic() + seconds
    for _hop in range(SHORT_REDIRECTS):
        left = ends - time.monotonic()
        if left <= 0:
            raise TimedOut("the short link led on for too long")
        answer = client.get(url, follow=0, max_bytes=100_000, deadline_seconds=min(left, LINK_SECONDS))
        target = answer.headers.get("location", "")
        if not target:
            return url
        url = urljoin(url, target)
        if any(part in url for part in NOTE_PATHS):
            break
    return url
