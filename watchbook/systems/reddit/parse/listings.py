"""Parses listings of posts and comments: /new, /hot, /top, /comments and /api/info.

Required fields are always present; fields that Reddit added over the years are optional; other entries ("more" stubs,
promoted posts) are skipped and counted. A response that is not a listing raises NotAListing: an error page must never
look like a community without posts.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson

from watchbook.base.text import clean_text
from watchbook.base.text import cut as cut_any


@dataclass(frozen=True, slots=True)
class PostRecord:
    """One post of a listing or recheck. `text` is None and the hash empty if Reddit shows a placeholder."""

    post_id: str
    subreddit: str
    title: str
    text: str | None
    author: str
    author_deleted: bool
    removed_by_category: str
    score: int
    num_comments: int
    created_at: datetime
    edited_at: datetime | None
    url: str
    text_norm_hash: str
    is_stickied: bool = False
    extra_data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def item_id(self) -> str:
        return self.post_id

    @property
    def fullname(self) -> str:
        return f"t3_{self.post_id}"

    @property
    def is_gone(self) -> bool:
        """Return True if the post was removed or deleted. A deleted account alone is not enough: the text may stay."""
        return bool(self.removed_by_category) or self.author_deleted


@dataclass(frozen=True, slots=True)
class CommentRecord:
    """One comment of a listing or recheck. `text` is None and the hash empty if Reddit shows a placeholder."""

    comment_id: str
    post_id: str
    # With prefix: t1_ is a comment, t3_ the post.
    parent_id: str
    subreddit: str
    thread_title: str
    text: str | None
    author: str
    author_deleted: bool
    removed_by_category: str
    score: int
    created_at: datetime
    edited_at: datetime | None
    text_norm_hash: str
    extra_data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def item_id(self) -> str:
        return self.comment_id

    @property
    def fullname(self) -> str:
        return f"t1_{self.comment_id}"

    @property
    def is_gone(self) -> bool:
        return bool(self.removed_by_category) or self.author_deleted


Item = PostRecord | CommentRecord
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\ufeff\u200c\u200d\u2060"))


def normal(text: str) -> str:
    """Return the text in NFKC, with entities unescaped once, without invisible characters, with single spaces."""
    # Most texts are plain ASCII, where only spaces can differ.
    if not text.isascii() or "&" in text:
        text = html.unescape(text).translate(_INVISIBLE)
        text = unicodedata.normalize("NFKC", text)
    elif text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def text_norm_hash(title: str, text: str, link: str) -> str:
    """Hash title, text and link together: thousands of link posts have no text, and many share a title."""
    framed = "\x1f".join((normal(title), normal(text), link))
    return sha256(framed.encode("utf-8", "replace")).hexdigest()


MAX_TEXT_LENGTH = 200_000
MAX_TITLE_LENGTH = 1000
MAX_PICTURES = 40
MAX_OPTIONS = 20
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# More children than Reddit ever sends on one page (100 and a few stickies).
MAX_CHILDREN = 1200
PLACEHOLDERS = frozenset({"[removed]", "[deleted]", "[ Removed by Reddit ]", "[deleted by user]"})
DELETED_BY_AUTHOR = frozenset({"[deleted]", "[deleted by user]"})
REMOVED_BY = {"[removed]": "moderator", "[ Removed by Reddit ]": "reddit"}
WEB = ("https://", "http://")
# Reddit's own host of pictures, and what `post_hint` calls a video.
PICTURE_HOSTS = ("https://i.redd.it/",)
VIDEO_HINTS = frozenset({"hosted:video", "rich:video"})
COMMENT_FLAGS = ("is_submitter", "stickied", "locked")
EXTRA = (
    "permalink", "domain", "is_self", "over_18", "spoiler", "locked", "stickied", "archived", "is_video", "is_gallery",
    "upvote_ratio", "num_crossposts", "link_flair_text", "distinguished", "crosspost_parent", "post_hint",
    "subreddit_subscribers", "author_fullname", "quarantine",
)  # fmt: skip


class NotAListing(ValueError):
    """Raised for a response that is not a listing. The message says what it is."""


@dataclass(frozen=True)
class Listing:
    """One page. `after` is the anchor of the next page, or None. `skipped` counts entries of other kinds."""

    posts: tuple[PostRecord, ...]
    after: str | None
    skipped: int = 0
    repeated: int = 0
    comments: tuple[CommentRecord, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self.posts, *self.comments)


def parse_listing(body: bytes) -> Listing:
    """Parse a page. A repeated ID counts once; promoted entries and other kinds are skipped and counted."""
    data = _data(body)
    children = data.get("children")
    if not isinstance(children, list) or len(children) > MAX_CHILDREN:
        raise NotAListing("a Listing without children")
    found: dict[str, Item] = {}
    skipped = repeated = 0
    for child in children:
        item = _item(child)
        if item is None:
            skipped += 1
        elif item.fullname in found:
            repeated += 1
        else:
            found[item.fullname] = item
    if children and skipped == len(children):
        raise NotAListing("a Listing of something else than posts or comments")
    after = data.get("after")
    return Listing(
        tuple(item for item in found.values() if isinstance(item, PostRecord)),
        after if isinstance(after, str) and after else None,
        skipped,
        repeated,
        tuple(item for item in found.values() if isinstance(item, CommentRecord)),
    )


def _data(body: bytes) -> Mapping[str, Any]:
    answer = _json(body)
    if not isinstance(answer, dict) or answer.get("kind") != "Listing" or not isinstance(answer.get("data"), dict):
        raise NotAListing("JSON, but not a Listing")
    data: Mapping[str, Any] = answer["data"]
    return data


def _json(body: bytes) -> Any:
    """Parse with orjson, because pages have 0.5 MB. It refuses lone surrogates, so json is the fallback."""
    try:
        return orjson.loads(body)
    except ValueError:
        pass
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise NotAListing("not JSON") from None


def _item(child: Any) -> Item | None:
    if not isinstance(child, dict) or not isinstance(child.get("data"), dict):
        return None
    raw = child["data"]
    read = READERS.get(_text(child.get("kind")))
    if read is None or raw.get("promoted") or not isinstance(raw.get("subreddit"), str):
        return None
    try:
        return read(raw)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _id(value: Any, prefix: str = "") -> str:
    found = _text(value)
    name = found.removeprefix(prefix)
    if not found.startswith(prefix) or not name.isascii() or not name.isalnum() or len(name) > 20:
        raise ValueError("an id that is none")
    return name


def read_comment(raw: Mapping[str, Any]) -> CommentRecord:
    """Read one comment. Reddit gives no reason of a removal, so the placeholder shows who did it."""
    text = _clean(_text(raw["body"])[:MAX_TEXT_LENGTH])
    parent = _text(raw["parent_id"])
    author, placeholder = cut(_text(raw.get("author")), 60), text.strip()
    hidden = placeholder in PLACEHOLDERS
    return CommentRecord(
        comment_id=_id(raw["id"]),
        post_id=_id(raw["link_id"], "t3_"),
        parent_id=f"{parent[:3]}{_id(parent, 't1_' if parent.startswith('t1_') else 't3_')}",
        subreddit=cut(_text(raw["subreddit"]), 90),
        thread_title=cut(_text(raw.get("link_title")), MAX_TITLE_LENGTH),
        text=None if hidden else text,
        author="" if author == "[deleted]" else author,
        author_deleted=placeholder in DELETED_BY_AUTHOR,
        removed_by_category=REMOVED_BY.get(placeholder, ""),
        score=_whole(raw.get("score")),
        created_at=_moment(raw["created_utc"]),
        edited_at=_edited(raw.get("edited")),
        text_norm_hash="" if hidden else text_norm_hash("", text, ""),
        extra_data={name: raw[name] for name in COMMENT_FLAGS if raw.get(name) is True}
        | ({"distinguished": cut(_text(raw["distinguished"]), 60)} if raw.get("distinguished") else {}),
    )


def read_post(raw: Mapping[str, Any]) -> PostRecord:
    post_id = _id(raw["id"])
    title, text = cut(_text(raw["title"]), MAX_TITLE_LENGTH), _clean(_text(raw.get("selftext"))[:MAX_TEXT_LENGTH])
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


READERS: dict[str, Callable[[Mapping[str, Any]], Item]] = {"t3": read_post, "t1": read_comment}


def _extra(raw: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {
        name: found
        for name, read in (("crosspost", _crosspost), ("gallery", _gallery), ("poll", _poll), ("picture", _picture))
        if (found := read(raw))
    }
    for name in EXTRA:
        value = raw.get(name)
        if not value:  # most are false, empty or not there
            continue
        if isinstance(value, str):
            kept[name] = cut(value, 500)
        elif isinstance(value, int | float) and math.isfinite(value):
            kept[name] = value
    return kept


def _crosspost(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parent of a crosspost: the text of a crosspost is there."""
    parents = raw.get("crosspost_parent_list")
    if not isinstance(parents, list) or not parents or not isinstance(parents[0], dict):
        return {}
    parent = parents[0]
    text = _clean(_text(parent.get("selftext"))[:MAX_TEXT_LENGTH])
    title = cut(_text(parent.get("title")), MAX_TITLE_LENGTH)
    if text.strip() in PLACEHOLDERS or title.strip() in PLACEHOLDERS or parent.get("removed_by_category"):
        return {}
    author = cut(_text(parent.get("author")), 60)
    return {
        "id": cut(_text(parent.get("id")), 20),
        "subreddit": cut(_text(parent.get("subreddit")), 90),
        "title": title,
        "text": text,
        "author": "" if author == "[deleted]" else author,
        "gallery": _gallery(parent),
        "poll": _poll(parent),
        "picture": _picture(parent),
    }


def _gallery(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pictures of a gallery in their order, with captions. A picture that failed has no address."""
    data, media = raw.get("gallery_data"), raw.get("media_metadata")
    items = data.get("items") if isinstance(data, dict) else None
    if not isinstance(items, list) or not isinstance(media, dict):
        return []
    found = []
    for item in items[:MAX_PICTURES]:
        if not isinstance(item, dict):
            continue
        picture = media.get(_text(item.get("media_id")))
        url = _picture_url(picture.get("s")) if isinstance(picture, dict) else ""
        found.append({"url": url, "caption": cut(_text(item.get("caption")), 500)})
    return found


def _picture_url(source: Any) -> str:
    """Return the address of the largest form: `u` for pictures, `gif` or `mp4` for animations."""
    if not isinstance(source, dict):
        return ""
    url = next((_text(source.get(name)) for name in ("u", "gif", "mp4") if source.get(name)), "")
    url = html.unescape(url)
    return cut(url, 2000) if url.startswith(WEB) else ""


def _picture(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the picture of a picture post or the still of a video, with its preview as another address.

    Reddit has previews of linked websites, too; those are pictures of the other website, not of the post.
    """
    hint, link = _text(raw.get("post_hint")), _text(raw.get("url_overridden_by_dest") or raw.get("url"))
    is_picture = hint == "image" or link.startswith(PICTURE_HOSTS)
    is_video = bool(raw.get("is_video")) or hint in VIDEO_HINTS
    if not (is_picture or is_video) or raw.get("is_gallery"):
        return {}
    preview = _preview(raw)
    has_link = is_picture and not raw.get("is_self") and link.startswith(WEB)
    addresses = [link if has_link else "", preview.get("url", "")]
    found = [cut(each, 2000) for each in addresses if each]
    if not found:
        return {}
    sizes = {name: preview[name] for name in ("width", "height") if preview.get(name)}
    return {"url": found[0], **({"other": found[1]} if found[1:] else {}), **sizes, "is_video": not is_picture}


def _preview(raw: Mapping[str, Any]) -> dict[str, Any]:
    preview = raw.get("preview")
    images = preview.get("images") if isinstance(preview, dict) else None
    source = images[0].get("source") if isinstance(images, list) and images and isinstance(images[0], dict) else None
    if not isinstance(source, dict):
        return {}
    url = html.unescape(_text(source.get("url")))
    return {
        "url": url if url.startswith(WEB) else "",
        "width": _votes(source.get("width")),
        "height": _votes(source.get("height")),
    }


def _poll(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return options and votes of a poll. Votes per option are absent until the poll has ended."""
    poll = raw.get("poll_data")
    options = poll.get("options") if isinstance(poll, dict) else None
    if not isinstance(poll, dict) or not isinstance(options, list):
        return {}
    kept = [
        {"text": cut(_text(one.get("text")), 300), "votes": _votes(one.get("vote_count"))}
        for one in options[:MAX_OPTIONS]
        if isinstance(one, dict)
    ]
    return {"options": kept, "total": _whole(poll.get("total_vote_count"))} if kept else {}


def _votes(value: Any) -> int | None:
    return _whole(value) if isinstance(value, int) and not isinstance(value, bool) else None


def cut(value: str, length: int) -> str:
    """Cut like `base.text.cut`, with a shortcut for short printable values."""
    return value if len(value) <= length and value.isprintable() else cut_any(value, length)


def _clean(value: str) -> str:
    return value if value.isascii() and not _CONTROL.search(value) else clean_text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    """Return a count within the range of a database integer."""
    number = int(value) if isinstance(value, int | float) else 0
    return max(-(2**31), min(number, 2**31 - 1))


def _moment(value: Any) -> datetime:
    """Convert `created_utc`; `created` is not UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("no time")
    moment = datetime.fromtimestamp(value, UTC)
    if not 2005 <= moment.year <= 2200:
        raise ValueError("not a time of Reddit")
    return moment


def _edited(value: Any) -> datetime | None:
    """Convert `edited`: false, a time, or true on posts before 2012."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return _moment(value)
    except (ValueError, OverflowError, OSError):
        return None
