"""A note card, of the API (snake case) or of a page (camel case), as a record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from watchbook.sources.notes.parse.counts import parse_count
from watchbook.sources.notes.parse.documents import read_initial_state, read_json
from watchbook.sources.notes.parse.moments import moment_of_id, parse_moment
from watchbook.sources.notes.parse.records import Count, Media, NoteRecord
from watchbook.sources.notes.parse.signals import EMPTY, NOTE_GONE, PlatformRefusal, check_envelope, reason_of

TITLE, CONTENT, NAME, URL = 300, 100_000, 100, 2048
MOST_TAGS, MOST_MEDIA = 100, 60
COUNTS = {
    "liked": ("liked_count", "likedCount"),
    "collected": ("collected_count", "collectedCount"),
    "comment": ("comment_count", "commentCount"),
    "share": ("share_count", "shared_count", "shareCount", "sharedCount"),
}
_TOPIC = re.compile(r"#([^#\[\]\s]{1,60})\[话题\]#")


def parse_feed(body: bytes, note_id: str) -> NoteRecord:
    """The answer of the detail endpoint; raises PlatformRefusal for a refusal and for another note's card."""
    items = check_envelope(read_json(body)).get("items")
    first = items[0] if isinstance(items, list) and items else None
    card = first.get("note_card") if isinstance(first, dict) else None
    if not isinstance(card, dict) or not card:
        raise PlatformRefusal(EMPTY)
    return parse_card(card, note_id)


def parse_page(html: str, note_id: str) -> NoteRecord:
    """A public page. Exactly this note's entry is taken, never the first one that happens to be there."""
    part = as_dict(read_initial_state(html).get("note"))
    asked = as_dict(part.get("serverRequestInfo"))
    entry = as_dict(as_dict(part.get("noteDetailMap")).get(note_id))
    card = as_dict(entry.get("note"))
    if not card:
        code = asked.get("errorCode")
        if code not in (None, 0, "0", ""):
            raise PlatformRefusal(reason_of(code, str(asked.get("errMsg") or "")[:200]), "state of the page")
        raise PlatformRefusal(EMPTY)
    return parse_card(card, note_id)


def parse_card(card: dict[str, Any], note_id: str) -> NoteRecord:
    named = str(first_of(card, "note_id", "noteId", "id") or note_id)
    if named != note_id:
        raise PlatformRefusal(NOTE_GONE, "another note was answered")
    user, numbers = as_dict(card.get("user")), as_dict(first_of(card, "interact_info", "interactInfo"))
    content = as_text(card.get("desc"), CONTENT)
    return NoteRecord(
        note_id=note_id,
        note_type="video" if card.get("type") == "video" else "normal",
        title=as_text(first_of(card, "title", "display_title", "displayTitle"), TITLE),
        content=content,
        author_id=as_text(first_of(user, "user_id", "userId"), 64),
        author_name=as_text(first_of(user, "nickname", "nick_name", "nickName"), NAME),
        counts=read_counts(numbers),
        tags=_tags(first_of(card, "tag_list", "tagList"), content),
        media=tuple(_media(card))[:MOST_MEDIA],
        published_at=parse_moment(card.get("time")) or moment_of_id(note_id),
        edited_at=parse_moment(first_of(card, "last_update_time", "lastUpdateTime")),
    )


def read_counts(numbers: dict[str, Any]) -> dict[str, Count]:
    return {name: parse_count(first_of(numbers, *keys)) for name, keys in COUNTS.items()}


def _tags(listed: Any, content: str) -> tuple[str, ...]:
    names = [as_text(tag.get("name"), 60) for tag in as_dicts(listed)] + _TOPIC.findall(content)
    return tuple(dict.fromkeys(name for name in names if name))[:MOST_TAGS]


def _media(card: dict[str, Any]) -> Iterator[Media]:
    for image in as_dicts(first_of(card, "image_list", "imageList")):
        shown = {str(one.get("image_scene") or one.get("imageScene")): one for one in as_dicts(_infos(image))}
        url = first_of(image, "url_default", "urlDefault", "url") or as_dict(shown.get("WB_DFT")).get("url")
        if address := _address(url):
            file_id = as_text(first_of(image, "file_id", "fileId"), 100)
            yield Media("image", address, _size(image.get("width")), _size(image.get("height")), file_id=file_id)
    yield from _video(as_dict(card.get("video")))


def _infos(image: dict[str, Any]) -> Any:
    return first_of(image, "info_list", "infoList")


def _video(video: dict[str, Any]) -> Iterator[Media]:
    streams = as_dict(as_dict(video.get("media")).get("stream"))
    for codec in ("h264", "h265", "av1", "h266"):
        for one in as_dicts(streams.get(codec))[:1]:
            if address := _address(first_of(one, "master_url", "masterUrl")):
                size = _size(one.get("width")), _size(one.get("height"))
                yield Media("video", address, *size, duration_ms=_size(one.get("duration")))
                return


def first_of(node: dict[str, Any], *names: str) -> Any:
    return next((node[name] for name in names if node.get(name) not in (None, "")), None)


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_dicts(value: Any) -> list[dict[str, Any]]:
    items: Iterable[Any] = value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict)]


def as_text(value: Any, length: int) -> str:
    return value.strip()[:length] if isinstance(value, str) else ""


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _address(value: Any) -> str:
    return value if isinstance(value, str) and value.startswith(("http://", "https://")) and len(value) <= URL else ""
