"""Feeds: addresses for feed readers, and valid Atom and JSON Feed with stable ids.

A system that has a feed of its own creates Items and calls `atom(...)` or `json_feed(...)`, then `answer(...)`.

Private activity and feeds of a user, for the removal of an account.
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
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import translation
from django.utils.cache import get_conditional_response
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape, linebreaks
from django.utils.http import quote_etag
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.text import clean_text, safe_link
from watchbook.core import registry
from watchbook.core.accounts import tokens
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.models import Purpose, User
from watchbook.core.registry import Owned
from watchbook.core.stream.models import StreamEntry, StreamFeed

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
    """Return the feed, or 304 if the reader has it. No proxy may store it: the address is a secret."""
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


ENTRIES = 50
MOST = 50


@transaction.atomic
def make(
    user: User,
    *,
    name: str,
    source: str = "",
    kind: str = "",
    query: str = "",
    request: HttpRequest | None = None,
) -> tuple[StreamFeed, str]:
    """Create a feed. Returns it with its token, which is not stored."""
    name = " ".join(clean_text(name).split())[:100] or _("Activity")
    token, plain = tokens.make(user, ["read"], None, name=name, purpose=Purpose.FEED, request=request)
    feed = StreamFeed.objects.create(
        user=user, token=token, name=name, source=source, kind=kind, query=query, created_at=clock.now()
    )
    return feed, plain


@transaction.atomic
def revoke(feed: StreamFeed, *, request: HttpRequest | None = None) -> None:
    """The address stops working; the token's row stays for the audit log."""
    tokens.revoke(feed.token, actor=feed.user, request=request)
    feed.delete()


def of(user: User) -> Any:
    return StreamFeed.objects.filter(user=user, token__revoked_at=None).select_related("token").order_by("-pk")


def find(plain: str) -> StreamFeed | None:
    """The feed behind a token that is still good."""
    token = tokens.find(plain, purpose=Purpose.FEED)
    if token is None:
        return None
    return StreamFeed.objects.filter(token=token).select_related("user", "token").first()


def items(feed: StreamFeed) -> list[Item]:
    """The newest entries that the feed's owner may see now, with the filters the feed was made with."""
    if feed.query:
        return [_found_item(hit) for hit in registry.load(registry.BUILTIN_SEARCH)(feed.query, feed.user, ENTRIES)]
    rows = StreamEntry.objects.visible_to(viewer_scopes(feed.user)).newest_first()
    if feed.source:
        rows = rows.filter(source=feed.source)
    if feed.kind:
        rows = rows.filter(kind=feed.kind)
    with translation.override("zh-hans" if feed.user.language.startswith("zh") else "en"):
        return items_of(rows[:ENTRIES])


def _found_item(hit: Any) -> Item:
    return Item(
        id=stable_id("search", hit.kind, hit.object_id),
        title=hit.title or hit.object_id,
        text="".join(part.text for part in hit.body_parts),
        link=hit.url_path or "/search/",
        updated_at=hit.occurred_at,
        categories=(hit.source, hit.kind),
        facts={"source": hit.source, "object_kind": hit.kind, "object_id": hit.object_id},
    )


def items_of(entries: Sequence[StreamEntry] | Any) -> list[Item]:
    """Put what happened before the title: an edit and a deletion of one item have the same title."""
    return [
        Item(
            id=stable_id(entry.source, entry.kind, entry.object_id, entry.event_key),
            title=entry.title or registry.stream_kind_title(entry.source, entry.kind),
            text=f"{registry.stream_kind_title(entry.source, entry.kind)}\n{entry.summary}".rstrip(),
            link=entry.url_path or "/stream/",
            updated_at=entry.occurred_at,
            categories=(entry.source, f"{entry.source}.{entry.kind}"),
            facts={
                "source": entry.source,
                "kind": entry.kind,
                "object_kind": entry.object_kind,
                "object_id": entry.object_id,
                "data": entry.data,
            },
        )
        for entry in entries
    ]


def address(plain: str, ending: str) -> str:
    return full_address(reverse(f"feed_{ending}", args=[plain]))


def head(feed: StreamFeed, plain: str, ending: str) -> Feed:
    return Feed(
        id=stable_id("feed", feed.token.prefix),
        title=f"Watchbook: {feed.name}",
        link="/stream/",
        self_link=reverse(f"feed_{ending}", args=[plain]),
        language="zh-Hans" if feed.user.language.startswith("zh") else "en",
    )


MODULE = "watchbook.core.stream.feeds"
OWNED = (
    Owned("feeds", gettext_lazy("Feeds"), f"{MODULE}:feed_titles"),
    Owned(
        "activity", gettext_lazy("Private activity"), f"{MODULE}:entry_ids",
        transfer=f"{MODULE}:transfer", delete=f"{MODULE}:delete", is_hidden=True,
    ),
)  # fmt: skip


def feed_titles(user: User) -> list[str]:
    return list(StreamFeed.objects.filter(user=user).order_by("name", "pk").values_list("name", flat=True))


def entry_ids(user: User) -> list[int]:
    return list(StreamEntry.objects.filter(scope=f"user:{user.pk}").values_list("pk", flat=True))


def transfer(user: User, successor: User) -> None:
    StreamEntry.objects.filter(scope=f"user:{user.pk}").update(scope=f"user:{successor.pk}")


def delete(user: User) -> None:
    StreamEntry.objects.filter(scope=f"user:{user.pk}").delete()
