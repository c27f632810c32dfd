"""Addresses for feed readers: made, read, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core.accounts import tokens
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.models import Purpose
from watchbook.core.stream import kinds
from watchbook.core.stream.atom import Feed, Item, full_address, stable_id
from watchbook.core.stream.models import StreamEntry, StreamFeed

ENTRIES = 50
MOST = 50


@transaction.atomic
def make(
    user: Any, *, name: str, source: str = "", kind: str = "", request: HttpRequest | None = None
) -> tuple[StreamFeed, str]:
    """A new feed and its token, which nobody can read again."""
    name = " ".join(clean_text(name).split())[:100] or _("Stream")
    token, plain = tokens.make(user, ["read"], None, name=name, purpose=Purpose.FEED, request=request)
    feed = StreamFeed.objects.create(
        user=user, token=token, name=name, source=source, kind=kind, created_at=clock.now()
    )
    return feed, plain


@transaction.atomic
def revoke(feed: StreamFeed, *, request: HttpRequest | None = None) -> None:
    """The address stops to work at once; the token's row stays for the audit log."""
    tokens.revoke(feed.token, actor=feed.user, request=request)
    feed.delete()


def of(user: Any) -> Any:
    return StreamFeed.objects.filter(user=user, token__revoked_at=None).select_related("token").order_by("-pk")


def find(plain: str) -> StreamFeed | None:
    """The feed behind a token that is still good."""
    token = tokens.find(plain, purpose=Purpose.FEED)
    if token is None:
        return None
    return StreamFeed.objects.filter(token=token).select_related("user", "token").first()


def items(feed: StreamFeed) -> list[Item]:
    """The newest entries that the feed's owner may see now, with the filters the feed was made with."""
    rows = StreamEntry.objects.visible_to(viewer_scopes(feed.user)).newest_first()
    if feed.source:
        rows = rows.filter(source=feed.source)
    if feed.kind:
        rows = rows.filter(kind=feed.kind)
    with translation.override("zh-hans" if feed.user.language.startswith("zh") else "en"):
        return items_of(rows[:ENTRIES])


def items_of(entries: Sequence[StreamEntry] | Any) -> list[Item]:
    """What happened comes before the words: an edit and a deletion of the same floor have the same title."""
    return [
        Item(
            id=stable_id(entry.source, entry.kind, entry.object_id, entry.event_key),
            title=entry.title or kinds.title_of(entry.source, entry.kind),
            text=f"{kinds.title_of(entry.source, entry.kind)}\n{entry.summary}".rstrip(),
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
