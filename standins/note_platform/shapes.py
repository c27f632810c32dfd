"""Answers in the platform's own shapes: its envelope, search cards, note cards, and pages with their state."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from typing import Any

from standins.note_platform.ledger import CommentEntry, NoteEntry

AVATAR = "https://media.example.com/a.png"


def good(data: dict[str, Any]) -> dict[str, Any]:
    return {"code": 0, "success": True, "msg": "成功", "data": data}


def bad(code: int, words: str) -> dict[str, Any]:
    return {"code": code, "success": False, "msg": words, "data": {}}


def search_item(note: NoteEntry) -> dict[str, Any]:
    card = {
        "type": note.kind,
        "display_title": note.title,
        "user": {"user_id": note.author_id, "nickname": note.author_name, "nick_name": note.author_name},
        "interact_info": {"liked": False, "liked_count": note.liked},
        "cover": {"height": 1440, "width": 1080, "url_default": note.file("0.jpg")},
        "image_list": [],
    }
    return {"id": note.note_id, "model_type": "note", "xsec_token": note.token, "note_card": card}


def listed_note(note: NoteEntry, *, is_marked: bool = True) -> dict[str, Any]:
    """A note on the page of its creator: its fields stand beside its ID, without a card."""
    card: dict[str, Any] = search_item(note)["note_card"]
    marked = {"sticky": note.is_pinned} if is_marked else {}
    numbers = {**card["interact_info"], **marked}
    return {**card, "note_id": note.note_id, "xsec_token": note.token, "interact_info": numbers}


def comment(one: CommentEntry, most: int) -> dict[str, Any]:
    answers = [each for each in one.answers if not each.is_gone]
    return {
        "id": one.comment_id,
        "content": one.text,
        "create_time": one.published_ms,
        "like_count": one.liked,
        "user_info": {"user_id": one.author_id, "nickname": one.author_name, "image": AVATAR},
        "sub_comments": [comment(each, 0) for each in answers[:most]],
        "sub_comment_has_more": len(answers) > most,
    }


def suggestion(keyword: str) -> dict[str, Any]:
    """Not a note: the platform mixes such items into its hits."""
    return {"id": f"suggest#{keyword}", "model_type": "rec_query", "rec_query": {"title": "also searched"}}


def note_card(note: NoteEntry) -> dict[str, Any]:
    return {
        "note_id": note.note_id,
        "type": note.kind,
        "title": note.title,
        "desc": note.text + "".join(f" #{tag}[话题]#" for tag in note.tags),
        "user": {"user_id": note.author_id, "nickname": note.author_name, "avatar": AVATAR},
        "interact_info": {
            "liked": False,
            "liked_count": note.liked,
            "collected_count": note.collected,
            "comment_count": note.comments,
            "share_count": note.shared,
        },
        "image_list": [
            {
                "width": 1080,
                "height": 1440,
                "file_id": f"f{number}",
                "url_default": note.file(f"{number}.jpg"),
                **({"live_photo": True, "stream": _stream(note, f"{number}.mov")} if note.is_live else {}),
            }
            for number in range(note.pictures)
        ],
        "video": _video(note) if note.kind == "video" else None,
        "tag_list": [{"id": tag, "name": tag, "type": "topic"} for tag in note.tags],
        "time": note.published_ms,
        "last_update_time": note.published_ms + 60_000,
        "share_info": {"un_share": False},
    }


def _video(note: NoteEntry) -> dict[str, Any]:
    return {"media": {"video_id": 1, "stream": _stream(note, "v.mp4")}, "capa": {"duration": 12}}


def _stream(note: NoteEntry, name: str) -> dict[str, Any]:
    """Two qualities; the better one has a second address."""
    sizes = {"duration": 12000, "width": 720, "height": 1280}
    best = {"master_url": note.file(name), "backup_urls": [note.file(f"backup-{name}")], **sizes}
    return {"h264": [{"master_url": note.file(f"small-{name}"), **sizes, "height": 640}], "EF4": [best]}


def picture(name: str, width: int = 360, height: int = 450) -> bytes:
    """A small PNG whose colour follows from its name."""
    colour = hashlib.sha256(name.encode()).digest()[:3]
    rows = b"".join(b"\0" + colour * width if y % 90 < 80 else b"\0" + b"\xff\xff\xff" * width for y in range(height))
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)))
    chunks = (*parts, (b"IEND", b""))
    made = b"".join(struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks)
    return b"\x89PNG\r\n\x1a\n" + made


def video(name: str) -> bytes:
    """The beginning of an MP4 file; it cannot be played."""
    return b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + hashlib.sha256(name.encode()).digest() * 100


def feed(note: NoteEntry) -> dict[str, Any]:
    return good({"items": [{"id": note.note_id, "model_type": "note", "note_card": note_card(note)}]})


def page(note: NoteEntry | None, code: int = 0, words: str = "") -> str:
    """Return a public page; its state is JavaScript with undefined, \\u002F, a key "undefined" and `new Map`."""
    card = _camel(note_card(note)) if note else {}
    key = note.note_id if note else "undefined"
    state = {
        "AiNoteDetailStore": {"noteDetailMap": "%MAP%", "seen": "%SET%"},
        "global": {"appSettings": "%UNDEFINED%", "list": ["%UNDEFINED%", 1]},
        "note": {
            "noteDetailMap": {key: {"note": card, "comments": "%UNDEFINED%"}},
            "serverRequestInfo": {"state": "success" if note else "fail", "errorCode": code, "errMsg": words},
        },
    }
    text = json.dumps(state, ensure_ascii=False).replace('"%UNDEFINED%"', "undefined").replace("/", "\\u002F")
    text = text.replace('"%MAP%"', "new Map([])").replace('"%SET%"', "new Set([1])")
    return (
        f"<!DOCTYPE html><html><body><script>window.__INITIAL_STATE__={text};(function(){{}})()</script></body></html>"
    )


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_camel_name(name): _camel(item) for name, item in value.items()}


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
