"""Feeds from entries: valid Atom, JSON Feed, stable ids, and answers that cost nothing when nothing changed.

A system that has a feed of its own makes Items and calls `atom(...)` or `json_feed(...)`, then `answer(...)`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape, linebreaks
from django.utils.http import quote_etag

from watchbook.base.text import clean_text
from watchbook.core.search.links import safe_link

ATOM = "application/atom+xml; charset=utf-8"
JSON = "application/feed+json; charset=utf-8"
# Of a feed in which nothing has happened yet: the same at every request.
NEVER = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Item:
    """One entry of a feed. Title and text are plain; whatever a source wrote in them is shown, never run."""

    id: str
    title: str
    text: str
    link: str
    updated_at: datetime
    published_at: datetime | None = None
    categories: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Feed:
    """The head of a feed. `link` is its page for people, `self_link` the address it is read from."""

    id: str
    title: str
    link: str
    self_link: str
    language: str = "en"


def stable_id(*parts: object) -> str:
    """An id that is the same for the same thing, also after a restore or a move to another host."""
    return uuid5(NAMESPACE_URL, "watchbook:" + json.dumps([str(part) for part in parts])).urn


def full_address(link: str) -> str:
    """A path of ours as a whole address; an http(s) address as it is; anything else leads home."""
    link = safe_link(link) or "/"
    return f"{settings.PUBLIC_URL}{link}" if link.startswith("/") else link


def atom(feed: Feed, items: Sequence[Item]) -> bytes:
    writer = _Atom(
        title=clean_text(feed.title),
        link=full_address(feed.link),
        description=None,
        feed_url=full_address(feed.self_link),
        feed_guid=feed.id,
        language=feed.language,
        author_name="Watchbook",
    )
    writer.changed_at = last_change(items)
    for item in items:
        writer.add_item(
            title=clean_text(item.title) or "–",
            link=full_address(item.link),
            # Atom1Feed declares it as HTML, so that plain text must be spelt as HTML.
            description=linebreaks(escape(clean_text(item.text))) if item.text else "",
            unique_id=item.id,
            updateddate=item.updated_at,
            pubdate=item.published_at or item.updated_at,
            categories=[clean_text(category) for category in item.categories],
        )
    return writer.writeString("utf-8").encode()


def json_feed(feed: Feed, items: Sequence[Item]) -> bytes:
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        "home_page_url": full_address(feed.link),
        "feed_url": full_address(feed.self_link),
        "language": feed.language,
        "items": [_json_item(item) for item in items],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def answer(request: HttpRequest, body: bytes, content_type: str) -> HttpResponse:
    """The feed, or 304 when the reader has it. Kept by nobody in between: the address is a secret."""
    etag = quote_etag(hashlib.sha256(body).hexdigest()[:32])
    response = HttpResponse(body, content_type=content_type)
    changed = get_conditional_response(request, etag=etag, last_modified=None, response=response)
    response = changed if isinstance(changed, HttpResponse) else response
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response


def last_change(items: Sequence[Item]) -> datetime:
    return max((item.updated_at for item in items), default=NEVER)


class _Atom(Atom1Feed):
    """Django's own writer says `now` for an empty feed, which would change its tag at every request."""

    changed_at: datetime = NEVER

    def latest_post_date(self) -> datetime:
        return self.changed_at


def _json_item(item: Item) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": item.id,
        "url": full_address(item.link),
        "title": item.title,
        "content_text": item.text,
        "date_published": (item.published_at or item.updated_at).isoformat(),
        "date_modified": item.updated_at.isoformat(),
        "tags": list(item.categories),
    }
    return found | ({"_watchbook": dict(item.facts)} if item.facts else {})
