"""Answers in the platform's own shapes: its envelope, search cards, note cards, and pages with their state."""

from __future__ import annotations

import json
from typing import Any

from standins.note_platform.ledger import NoteEntry

MEDIA = "https://media.example.com"


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
        "cover": {"height": 1440, "width": 1080, "url_default": f"{MEDIA}/{note.note_id}/0.jpg"},
        "image_list": [],
    }
    return {"id": note.note_id, "model_type": "note", "xsec_token": note.token, "note_card": card}


def suggestion(keyword: str) -> dict[str, Any]:
    """Not a note: the platform mixes such items into its hits."""
    return {"id": f"suggest#{keyword}", "model_type": "rec_query", "rec_query": {"title": "also searched"}}


def note_card(note: NoteEntry) -> dict[str, Any]:
    return {
        "note_id": note.note_id,
        "type": note.kind,
        "title": note.title,
        "desc": note.text + "".join(f" #{tag}[话题]#" for tag in note.tags),
        "user": {"user_id": note.author_id, "nickname": note.author_name, "avatar": f"{MEDIA}/a.png"},
        "interact_info": {
            "liked": False,
            "liked_count": note.liked,
            "collected_count": note.collected,
            "comment_count": note.comments,
            "share_count": note.shared,
        },
        "image_list": [
            {"width": 1080, "height": 1440, "file_id": "f0", "url_default": f"{MEDIA}/{note.note_id}/0.jpg"}
        ],
        "video": _video(note) if note.kind == "video" else None,
        "tag_list": [{"id": tag, "name": tag, "type": "topic"} for tag in note.tags],
        "time": note.published_ms,
        "last_update_time": note.published_ms + 60_000,
        "share_info": {"un_share": False},
    }


def _video(note: NoteEntry) -> dict[str, Any]:
    stream = {"master_url": f"{MEDIA}/{note.note_id}/v.mp4", "duration": 12000, "width": 720, "height": 1280}
    return {"media": {"video_id": 1, "stream": {"h264": [stream]}}, "capa": {"duration": 12}}


def feed(note: NoteEntry) -> dict[str, Any]:
    return good({"items": [{"id": note.note_id, "model_type": "note", "note_card": note_card(note)}]})


def page(note: NoteEntry | None, code: int = 0, words: str = "") -> str:
    """A public page. Its state is JavaScript: bare undefined, slashes as \\u002F, and a key that reads "undefined"."""
    card = _camel(note_card(note)) if note else {}
    key = note.note_id if note else "undefined"
    state = {
        "global": {"appSettings": "%UNDEFINED%", "list": ["%UNDEFINED%", 1]},
        "note": {
            "noteDetailMap": {key: {"note": card, "comments": "%UNDEFINED%"}},
            "serverRequestInfo": {"state": "success" if note else "fail", "errorCode": code, "errMsg": words},
        },
    }
    text = json.dumps(state, ensure_ascii=False).replace('"%UNDEFINED%"', "undefined").replace("/", "\\u002F")
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
