"""Which fields of recorded bodies are kept: every value of a body is in its record, or left out for a named reason.

The bodies have the shape of what the platforms have sent since 2024, with made-up values, each of which occurs once.
`pytest -s tests/rules/test_fields_kept.py` prints the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

import pytest

from watchbook.systems.notes.parse.note import parse_card, parse_page
from watchbook.systems.reddit import parse as reddit

NOTE = "66696f98000000000000abcd"
numbers = count(1_001)


def word(name: str) -> str:
    return f"{name}-{next(numbers)}"


def number() -> int:
    return next(numbers)


def address(name: str) -> str:
    return f"https://files.example/{word(name)}"


@dataclass(frozen=True)
class Shape:
    """A body, how it is read, and the reasons for what is left out, by the end of the path of a field."""

    body: dict[str, Any]
    read: Callable[[dict[str, Any]], Any]
    left_out: dict[str, str] = field(default_factory=dict)


def note_page(card: dict[str, Any]) -> Any:
    """A page as served since August 2026: the notes are in a Map."""
    entry = f'{{"note":{json.dumps(card)},"comments":undefined}}'
    state = f'{{"seen":new Set(["a",1]),"note":{{"noteDetailMap":new Map([["{NOTE}",{entry}]])}}}}'
    page = f"<html><script>window.__INITIAL_STATE__={state};(function(){{}})()</script></html>"
    return parse_page(page, NOTE).as_json()


def note_card(card: dict[str, Any]) -> Any:
    return parse_card(card, NOTE).as_json()


def post(fields: dict[str, Any]) -> Any:
    child = {"kind": "t3", "data": {"id": "abc12", "subreddit": "webdev", "title": "A lantern", **fields}}
    child["data"].setdefault("created_utc", 1_772_424_000)
    listing = {"kind": "Listing", "data": {"after": None, "children": [child]}}
    [found] = reddit.parse_listing(json.dumps(listing).encode()).posts
    return asdict(found)


def stream(name: str = "master_url") -> dict[str, Any]:
    return {
        name: address("video"), "backup_urls": [address("backup")], "width": number(), "height": number(),
        "duration": number(), "avg_bitrate": number(), "size": number(), "fps": number(), "video_codec": word("codec"),
    }  # fmt: skip


def video(**streams: Any) -> dict[str, Any]:
    return {"note_id": NOTE, "type": "video", "video": {"media": {"stream": streams}}}


PAGE = {
    "noteId": NOTE, "type": "normal", "title": word("title"), "desc": word("text"), "time": 1_760_000_001_000,
    "lastUpdateTime": 1_760_000_555_000, "ipLocation": word("place"),
    "user": {"userId": word("user"), "nickname": word("name"), "avatar": address("avatar")},
    "interactInfo": {"likedCount": str(number()), "collectedCount": str(number()), "commentCount": str(number()),
                     "shareCount": str(number()), "followed": False},
    "tagList": [{"id": word("tag"), "name": word("tagged"), "type": "topic"}],
    "imageList": [
        {"fileId": word("file"), "width": number(), "height": number(), "urlDefault": address("full"),
         "urlPre": address("preview"), "livePhoto": True,
         "stream": {"h264": [{"masterUrl": address("live"), "backupUrls": [address("live-backup")]}]}},
        {"infoList": [{"imageScene": "WB_PRV", "url": address("only-preview")}]},
    ],
    "shareInfo": {"unShare": False},
}  # fmt: skip
PAGE_LEFT = {
    "ipLocation": "personal", "user.avatar": "personal", "tagList.id": "the name identifies it",
    "urlPre": "smaller copy", "imageScene": "kind of address", "type": "kind of tag",
    "livePhoto": "shown by its stream", "followed": "of the reader", "unShare": "of the reader",
}  # fmt: skip
STREAM_LEFT = {
    "avg_bitrate": "used to choose the best", "size": "measured when it is fetched", "fps": "in the file",
    "video_codec": "in the file",
}  # fmt: skip
PARENT = {
    "id": "parent1", "subreddit": word("community"), "title": word("title"), "selftext": word("text"),
    "author": word("author"), "score": number(), "permalink": f"/r/{word('path')}/",
}  # fmt: skip
GALLERY = {
    "is_gallery": True,
    "gallery_data": {"items": [{"media_id": "m1", "caption": word("caption"), "id": number()}, {"media_id": "m2"}]},
    "media_metadata": {
        "m1": {"status": "valid", "e": "Image", "s": {"u": address("picture"), "x": number(), "y": number()}},
        "m2": {"status": "valid", "e": "AnimatedImage", "s": {"gif": address("animation")}},
    },
}  # fmt: skip
POLL = {
    "options": [{"id": word("option"), "text": word("answer"), "vote_count": number()}],
    "total_vote_count": number(),
    "voting_end_timestamp": 1_772_999_000_000,
}

SHAPES: dict[str, Shape] = {
    "note page with new Map": Shape(PAGE, note_page, PAGE_LEFT),
    **{
        f"note video, stream {key}": Shape(video(**{key: [stream()]}), note_card, STREAM_LEFT)
        for key in ("EF4", "EF5", "H264", "h_264")
    },
    "note video, only backup_urls": Shape(video(h265=[{"backup_urls": [address("backup")]}]), note_card),
    "note video, only origin_video_key": Shape(
        {"note_id": NOTE, "type": "video", "video": {"consumer": {"origin_video_key": word("pre_post/key")}}}, note_card
    ),
    "post of a community": Shape(
        {"title": word("title"), "selftext": word("text"), "author": word("author"), "score": number(),
         "num_comments": number(), "created_utc": 1_772_424_077, "edited": 1_772_424_099, "is_self": True},
        post,
        {"is_self": "decides whether the address is a link"},
    ),
    "crosspost": Shape(
        {"crosspost_parent_list": [PARENT]}, post,
        {"parent_list.score": "of another post, changes", "permalink": "made of community and ID"},
    ),
    "gallery": Shape(
        GALLERY, post,
        {"is_gallery": "shown by its pictures", "media_id": "key inside the body", "items.id": "key inside the body",
         "status": "a picture that failed has no address", "e": "kind of picture", "s.x": "in the file",
         "s.y": "in the file"},
    ),
    "poll": Shape(
        {"poll_data": POLL}, post,
        {"options.id": "the text identifies it", "voting_end_timestamp": "votes per option show that it ended"},
    ),
}  # fmt: skip


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from leaves(value, f"{path}.{name}")
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value, path)
    else:
        yield path.lstrip("."), node


def in_words(record: Any) -> str:
    """Everything that the record holds, with moments also as the platforms write them."""
    held = []
    for _path, value in leaves(record):
        moment = value if isinstance(value, datetime) else None
        if isinstance(value, str) and value[:2] == "20" and "T" in value:
            moment = datetime.fromisoformat(value)
        held += [str(value)] if moment is None else [str(int(moment.timestamp())), f"{int(moment.timestamp())}000"]
    return "\n".join(held)


@pytest.mark.parametrize("name", SHAPES)
def test_every_field_of_a_body_is_kept_or_excluded_with_a_reason(name: str, capsys: Any) -> None:
    shape = SHAPES[name]
    held = in_words(shape.read(shape.body))
    kept, out, lost = [], {}, []
    for path, value in leaves(shape.body):
        reason = next((why for end, why in shape.left_out.items() if f".{path}".endswith(end)), "")
        if not isinstance(value, bool) and str(value) in held:
            kept.append(path)
        elif reason:
            out[path] = reason
        else:
            lost.append(f"{path} = {value!r}")
    with capsys.disabled():
        print(f"\n{name}: {len(kept)} fields kept ({', '.join(dict.fromkeys(kept))})", end="")
        print("".join(f"\n    left out: {path}, {why}" for path, why in out.items()), end="")
    assert lost == []


def test_every_key_of_a_gallery_and_stream_is_in_the_table() -> None:
    paths = {path for shape in SHAPES.values() for path, _value in leaves(shape.body)}
    print(f"{len(SHAPES)} bodies, {len(paths)} fields")
    assert {"video.media.stream.EF4.master_url", "poll_data.options.text", "gallery_data.items.caption"} <= paths
