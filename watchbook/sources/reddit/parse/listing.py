"""A Listing of posts: /new, /hot, /top and /api/info alike.

What is always there is demanded, what Reddit added over the years is optional, what is not a post is passed over.
Anything that is not a Listing raises: an error page must never read as a quiet community.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from watchbook.base.text import clean_text
from watchbook.base.text import cut as cut_any
from watchbook.sources.reddit.parse.normal import text_norm_hash
from watchbook.sources.reddit.parse.records import PostRecord

LONGEST_TEXT = 200_000
LONGEST_TITLE = 1000
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# More children than Reddit ever sends on one page (100 and a few stickies).
MOST_CHILDREN = 1200
PLACEHOLDERS = frozenset({"[removed]", "[deleted]", "[ Removed by Reddit ]", "[deleted by user]"})
EXTRA = (
    "permalink", "domain", "is_self", "over_18", "spoiler", "locked", "stickied", "archived", "is_video", "is_gallery",
    "upvote_ratio", "num_crossposts", "link_flair_text", "distinguished", "crosspost_parent", "post_hint",
    "subreddit_subscribers", "author_fullname", "quarantine",
)  # fmt: skip


class NotAListing(ValueError):
    """The answer is no Listing. The message says what it is instead."""


@dataclass(frozen=True)
class Listing:
    """One page. `after` is where the next one begins; None is the end. `skipped` counts what was not a whole post."""

    posts: tuple[PostRecord, ...]
    after: str | None
    skipped: int = 0
    repeated: int = 0


def parse_listing(body: bytes) -> Listing:
    """Read a page. An id that is there twice counts once; promoted entries and other kinds are left out."""
    data = _data(body)
    children = data.get("children")
    if not isinstance(children, list) or len(children) > MOST_CHILDREN:
        raise NotAListing("a Listing without children")
    found: dict[str, PostRecord] = {}
    skipped = repeated = 0
    for child in children:
        post = _post(child)
        if post is None:
            skipped += 1
        elif post.post_id in found:
            repeated += 1
        else:
            found[post.post_id] = post
    if children and skipped == len(children):
        raise NotAListing("a Listing of something else than posts")
    after = data.get("after")
    return Listing(tuple(found.values()), after if isinstance(after, str) and after else None, skipped, repeated)


def _data(body: bytes) -> Mapping[str, Any]:
    answer = _json(body)
    if not isinstance(answer, dict) or answer.get("kind") != "Listing" or not isinstance(answer.get("data"), dict):
        raise NotAListing("JSON, but not a Listing")
    data: Mapping[str, Any] = answer["data"]
    return data


def _json(body: bytes) -> Any:
    """A page is half a megabyte, so by the fast reader; it refuses half a surrogate pair, which a post may hold."""
    try:
        return orjson.loads(body)
    except ValueError:
        pass
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise NotAListing("not JSON") from None


def _post(child: Any) -> PostRecord | None:
    if not isinstance(child, dict) or child.get("kind") != "t3" or not isinstance(child.get("data"), dict):
        return None
    raw = child["data"]
    if raw.get("promoted") or not isinstance(raw.get("subreddit"), str):
        return None
    try:
        return _record(raw)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _record(raw: Mapping[str, Any]) -> PostRecord:
    post_id = raw["id"]
    if not isinstance(post_id, str) or not post_id.isalnum() or len(post_id) > 20:
        raise ValueError("an id that is none")
    title, text = cut(_text(raw["title"]), LONGEST_TITLE), _clean(_text(raw.get("selftext"))[:LONGEST_TEXT])
    author = cut(_text(raw.get("author")), 60)
    removed = cut(_text(raw.get("removed_by_category")), 60)
    link = "" if raw.get("is_self") else cut(_text(raw.get("url_overridden_by_dest") or raw.get("url")), 2000)
    placeholder = text.strip()
    if placeholder == "[removed]" and not removed:
        removed = "moderator"
    is_deleted = removed in {"deleted", "author"} or (placeholder == "[deleted]" and not removed)
    hidden = placeholder in PLACEHOLDERS or title.strip() in PLACEHOLDERS
    return PostRecord(
        post_id=post_id,
        subreddit=cut(_text(raw["subreddit"]), 90),
        title=title,
        text=None if hidden else text,
        author="" if author == "[deleted]" else author,
        author_deleted=is_deleted,
        removed_by_category="" if is_deleted else removed,
        score=_whole(raw.get("score")),
        num_comments=_whole(raw.get("num_comments")),
        created_at=_moment(raw["created_utc"]),
        edited_at=_edited(raw.get("edited")),
        url=link,
        text_norm_hash="" if hidden else text_norm_hash(title, text, link),
        is_stickied=bool(raw.get("stickied")),
        extra_data=_extra(raw),
    )


def _extra(raw: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name in EXTRA:
        value = raw.get(name)
        if not value:  # most are false, empty or not there
            continue
        if isinstance(value, str):
            kept[name] = cut(value, 500)
        elif isinstance(value, int | float) and math.isfinite(value):
            kept[name] = value
    return kept


def cut(value: str, length: int) -> str:
    """As `base.text.cut`, which most short values need not go through: what prints is clean."""
    return value if len(value) <= length and value.isprintable() else cut_any(value, length)


def _clean(value: str) -> str:
    return value if value.isascii() and not _CONTROL.search(value) else clean_text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    """A count. Bounded, because a database's integer is."""
    number = int(value) if isinstance(value, int | float) else 0
    return max(-(2**31), min(number, 2**31 - 1))


def _moment(value: Any) -> datetime:
    """`created_utc`, never `created`, which is not UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("no time")
    moment = datetime.fromtimestamp(value, UTC)
    if not 2005 <= moment.year <= 2200:
        raise ValueError("not a time of Reddit")
    return moment


def _edited(value: Any) -> datetime | None:
    """false, a moment, or (on posts before 2012) a bare true."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return _moment(value)
    except (ValueError, OverflowError, OSError):
        return None
