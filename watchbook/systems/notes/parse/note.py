"""Parse note cards (API: snake case, pages: camel case) and search results into records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from watchbook.systems.notes.parse.documents import (
    EMPTY,
    LOGIN_REQUIRED,
    NOT_READABLE,
    NOTE_GONE,
    PlatformRefusal,
    check_envelope,
    read_initial_state,
    read_json,
    reason_of,
)
from watchbook.systems.notes.parse.records import (
    NOTE_ID,
    TOKEN,
    CardRecord,
    CommentPage,
    CommentRecord,
    Count,
    CreatorPage,
    Media,
    NoteRecord,
    SearchPage,
    moment_of_id,
    parse_count,
    parse_moment,
)

TITLE, CONTENT, NAME, URL = 300, 100_000, 100, 2048
MOST_TAGS, MOST_MEDIA, MOST_CARDS, MOST_SKIPPED, MOST_OTHERS = 100, 60, 100, 50, 5
VIDEO_HOST = "https://sns-video-bd.xhscdn.com"
_VIDEO_KEY = re.compile(r"[\w./-]{1,500}\Z", re.ASCII)
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
    """Parse a public note page in its desktop or phone form. Only the entry of this note is read."""
    state = read_initial_state(html)
    part = as_dict(state.document.get("note"))
    entry = as_dict(as_dict(part.get("noteDetailMap")).get(note_id))
    card = as_dict(entry.get("note")) or _phone_card(state.document, note_id)
    if not card:
        asked = as_dict(part.get("serverRequestInfo"))
        code = asked.get("errorCode")
        if code not in (None, 0, "0", ""):
            raise PlatformRefusal(reason_of(code, str(asked.get("errMsg") or "")[:200]), "state of the page")
        others = [one for one in as_dict(part.get("noteDetailMap")).values() if as_dict(as_dict(one).get("note"))]
        # A restricted note has a page without data and without an error.
        raise PlatformRefusal(EMPTY if others else LOGIN_REQUIRED)
    skipped = (f"state: {state.unknown}",) if state.unknown else ()
    return replace(record := parse_card(card, note_id), skipped=skipped + record.skipped)


def _phone_card(document: dict[str, Any], note_id: str) -> dict[str, Any]:
    """Return the card of the phone form of a page, if it belongs to this note."""
    card = as_dict(as_dict(as_dict(document.get("noteData")).get("data")).get("noteData"))
    return card if str(first_of(card, "noteId", "note_id", "id") or "") == note_id else {}


def parse_card(card: dict[str, Any], note_id: str) -> NoteRecord:
    named = str(first_of(card, "note_id", "noteId", "id") or note_id)
    if named != note_id:
        raise PlatformRefusal(NOTE_GONE, "another note was answered")
    user, numbers = as_dict(card.get("user")), as_dict(first_of(card, "interact_info", "interactInfo"))
    content = as_text(card.get("desc"), CONTENT)
    skipped: list[str] = []
    media = list(_media(card, skipped))
    skipped += ["media"] * (len(media) - MOST_MEDIA)
    return NoteRecord(
        note_id=note_id,
        note_type="video" if card.get("type") == "video" else "normal",
        title=as_text(first_of(card, "title", "display_title", "displayTitle"), TITLE),
        content=content,
        author_id=as_text(first_of(user, "user_id", "userId"), 64),
        author_name=as_text(first_of(user, "nickname", "nick_name", "nickName"), NAME),
        counts=read_counts(numbers),
        tags=_tags(first_of(card, "tag_list", "tagList"), content),
        media=tuple(media[:MOST_MEDIA]),
        published_at=parse_moment(card.get("time")) or moment_of_id(note_id),
        edited_at=parse_moment(first_of(card, "last_update_time", "lastUpdateTime")),
        skipped=tuple(dict.fromkeys(skipped))[:MOST_SKIPPED],
    )


def read_counts(numbers: dict[str, Any]) -> dict[str, Count]:
    return {name: parse_count(first_of(numbers, *keys)) for name, keys in COUNTS.items()}


def _tags(listed: Any, content: str) -> tuple[str, ...]:
    names = [as_text(tag.get("name"), 60) for tag in as_dicts(listed)] + _TOPIC.findall(content)
    return tuple(dict.fromkeys(name for name in names if name))[:MOST_TAGS]


def _media(card: dict[str, Any], skipped: list[str]) -> Iterator[Media]:
    """Yield pictures, the videos of live photos, and the video; what has no usable address is named in `skipped`."""
    for number, image in enumerate(as_dicts(first_of(card, "image_list", "imageList")), 1):
        file_id = as_text(first_of(image, "file_id", "fileId"), 100)
        if address := _image_address(image):
            yield Media("image", address, _size(image.get("width")), _size(image.get("height")), file_id=file_id)
        else:
            skipped.append(f"picture {number}")
        live = best_stream(as_dict(image.get("stream")), skipped, f"live photo {number}")
        if live is not None:
            yield replace(live, kind="live_photo", file_id=file_id)
    yield from _video(as_dict(card.get("video")), skipped)


def _image_address(image: dict[str, Any]) -> str:
    """The full picture if there is one, else the preview: some pictures have only the scene WB_PRV."""
    infos = as_dicts(first_of(image, "info_list", "infoList"))
    scenes = {str(first_of(one, "image_scene", "imageScene")): one.get("url") for one in infos}
    offered = [
        first_of(image, "url_default", "urlDefault"), image.get("url"), scenes.get("WB_DFT"), scenes.get("WB_PRV"),
        first_of(image, "url_pre", "urlPre"), *scenes.values(),
    ]  # fmt: skip
    return next((address for url in offered if (address := as_address(url))), "")


def _video(video: dict[str, Any], skipped: list[str]) -> Iterator[Media]:
    if not video:
        return
    duration = _size(as_dict(video.get("capa")).get("duration"))
    best = best_stream(as_dict(as_dict(video.get("media")).get("stream")), skipped, "video stream")
    if best is None and (address := _origin_address(as_dict(video.get("consumer")))):
        best = Media("video", address)
    if best is None:
        skipped.append("video")
        return
    yield best if best.duration_ms is not None or duration is None else replace(best, duration_ms=duration * 1000)


def _origin_address(consumer: dict[str, Any]) -> str:
    key = first_of(consumer, "origin_video_key", "originVideoKey")
    return f"{VIDEO_HOST}/{key}" if isinstance(key, str) and _VIDEO_KEY.match(key) else ""


def best_stream(streams: dict[str, Any], skipped: list[str], name: str) -> Media | None:
    """Return the stream with the greatest height, then bitrate. Streams are known by shape, whatever their key is."""
    found: list[tuple[int, int, Media]] = []
    for codec, offered in streams.items():
        for one in as_dicts(offered):
            if media := _stream(one):
                rate = _size(first_of(one, "avg_bitrate", "avgBitrate", "video_bitrate", "videoBitrate")) or 0
                found.append((media.height or 0, rate, media))
            else:
                skipped.append(f"{name} {codec[:20]}")
    return max(found, key=lambda one: one[:2])[2] if found else None


def _stream(one: dict[str, Any]) -> Media | None:
    backups = first_of(one, "backup_urls", "backupUrls")
    offered = [first_of(one, "master_url", "masterUrl"), *(backups[:MOST_OTHERS] if isinstance(backups, list) else ())]
    addresses = [address for url in offered if (address := as_address(url))]
    if not addresses:
        return None
    return Media(
        "video",
        addresses[0],
        _size(one.get("width")),
        _size(one.get("height")),
        duration_ms=_size(first_of(one, "duration", "videoDuration")),
        others=tuple(addresses[1:]),
    )


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


def as_address(value: Any) -> str:
    """Return an http(s) address, or an empty string. Addresses without a scheme (`//host/…`) get https."""
    if not isinstance(value, str):
        return ""
    address = f"https:{value}" if value.startswith("//") else value
    return address if address.startswith(("http://", "https://")) and len(address) <= URL else ""


def parse_search(body: bytes) -> SearchPage:
    """Parse one page of search results; items that are not notes are skipped. The last page can carry results, too."""
    data = check_envelope(read_json(body))
    items = data.get("items", [])
    if not isinstance(items, list):
        raise PlatformRefusal(NOT_READABLE, "items is not a list")
    cards = [card for item in as_dicts(items)[:MOST_CARDS] if (card := _search_card(item)) is not None]
    return SearchPage(tuple(cards), bool(data.get("has_more")))


def _search_card(item: dict[str, Any]) -> CardRecord | None:
    card, note_id = as_dict(item.get("note_card")), item.get("id")
    if item.get("model_type") != "note" or not card or not isinstance(note_id, str) or not NOTE_ID.match(note_id):
        return None
    user, token = as_dict(card.get("user")), item.get("xsec_token")
    return CardRecord(
        note_id=note_id,
        xsec_token=token if isinstance(token, str) and TOKEN.match(token) else "",
        note_type="video" if card.get("type") == "video" else "normal",
        title=as_text(first_of(card, "display_title", "title"), TITLE),
        author_id=as_text(first_of(user, "user_id", "userId"), 64),
        author_name=as_text(first_of(user, "nickname", "nick_name"), NAME),
        liked=parse_count(as_dict(card.get("interact_info")).get("liked_count")),
        published_at=moment_of_id(note_id),
    )


def parse_creator(body: bytes) -> CreatorPage:
    """Parse one page of the notes of a creator. A listing that is missing is a refusal, an empty one is not."""
    data = check_envelope(read_json(body))
    notes, cursor = data.get("notes"), data.get("cursor")
    if notes is None:
        raise PlatformRefusal(EMPTY)
    if not isinstance(notes, list):
        raise PlatformRefusal(NOT_READABLE, "notes is not a list")
    listed = [(one, card) for one in as_dicts(notes)[:MOST_CARDS] if (card := _listed_card(one)) is not None]
    return CreatorPage(
        cards=tuple(card for _one, card in listed),
        has_more=bool(data.get("has_more")),
        cursor=cursor if isinstance(cursor, str) and TOKEN.match(cursor) else "",
        name=next((card.author_name for _one, card in listed if card.author_name), ""),
        pinned=frozenset(card.note_id for one, card in listed if as_dict(one.get("interact_info")).get("sticky")),
    )


def _listed_card(one: dict[str, Any]) -> CardRecord | None:
    """A note of a listing has no card of its own: its fields stand beside its ID."""
    note_id = first_of(one, "note_id", "noteId", "id")
    return _search_card({"id": note_id, "model_type": "note", "xsec_token": one.get("xsec_token"), "note_card": one})


def parse_capabilities(body: bytes) -> frozenset[str]:
    """What a crawler service says that it can do."""
    named = check_envelope(read_json(body)).get("capabilities")
    return (
        frozenset(one[:40] for one in named[:100] if isinstance(one, str)) if isinstance(named, list) else frozenset()
    )


COMMENT, MOST_COMMENTS, MOST_ANSWERS = 10_000, 100, 50


def parse_comments(body: bytes) -> CommentPage:
    """Parse one page of comments with the answers listed below them. A missing list is a refusal."""
    data = check_envelope(read_json(body))
    listed, cursor = data.get("comments"), data.get("cursor")
    if not isinstance(listed, list):
        raise PlatformRefusal(EMPTY if listed is None else NOT_READABLE)
    found: list[CommentRecord] = []
    opened: set[str] = set()
    for one in as_dicts(listed)[:MOST_COMMENTS]:
        if (root := _comment(one)) is None:
            continue
        answers = as_dicts(one.get("sub_comments"))
        found += [root, *(answer for each in answers[:MOST_ANSWERS] if (answer := _comment(each, root.comment_id)))]
        if one.get("sub_comment_has_more") or len(answers) > MOST_ANSWERS:
            opened.add(root.comment_id)
    mark = cursor if isinstance(cursor, str) and TOKEN.match(cursor) else ""
    return CommentPage(tuple(found), bool(data.get("has_more")), mark, frozenset(opened))


def _comment(one: dict[str, Any], parent_id: str = "") -> CommentRecord | None:
    comment_id, user = one.get("id"), as_dict(one.get("user_info"))
    if not isinstance(comment_id, str) or not NOTE_ID.match(comment_id):
        return None
    return CommentRecord(
        comment_id=comment_id,
        parent_id=parent_id,
        content=as_text(one.get("content"), COMMENT),
        author_id=as_text(user.get("user_id"), 64),
        author_name=as_text(user.get("nickname"), NAME),
        liked=parse_count(one.get("like_count")),
        published_at=parse_moment(one.get("create_time")),
    )
