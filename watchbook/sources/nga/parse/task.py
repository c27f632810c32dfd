"""Reading an answer in another process: JSON in, JSON out, and back to the same records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from watchbook.sources.nga.parse import errors
from watchbook.sources.nga.parse.answer import read_answer
from watchbook.sources.nga.parse.bbcode.addresses import SITE
from watchbook.sources.nga.parse.notes import Note
from watchbook.sources.nga.parse.records import (
    AttachmentRecord,
    FloorRecord,
    ListPage,
    PollRecord,
    StubRecord,
    TopicPage,
    TopicRecord,
)
from watchbook.sources.nga.parse.values import SHANGHAI

KINDS: dict[str, type[ListPage] | type[TopicPage]] = {"list": ListPage, "topic": TopicPage}
# Fields that hold other records; times are told by their names.
_NESTED: dict[str, Callable[..., Any]] = {
    "topics": TopicRecord,
    "floors": FloorRecord,
    "notes_elsewhere": FloorRecord,
    "stubs": StubRecord,
    "attachments": AttachmentRecord,
    "poll": PollRecord,
    "notes": Note,
}


def read_answer_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Takes input_path and optionally content_type, page, site.

    Answers {kind: "list" or "topic", page: {…}}, or {kind: "error", error: {type, code, message, site_code}}.
    """
    try:
        page = read_answer(
            Path(argument["input_path"]).read_bytes(),
            content_type=argument.get("content_type", ""),
            page=argument.get("page", 1),
            site=argument.get("site", SITE),
        )
    except errors.Unreadable as error:
        site_code = getattr(error, "site_code", None)
        said = {"type": type(error).__name__, "code": error.code, "message": error.message, "site_code": site_code}
        return {"kind": "error", "error": said}
    return {"kind": "list" if isinstance(page, ListPage) else "topic", "page": _packed(page)}


def page_of_task(answer: dict[str, Any]) -> ListPage | TopicPage:
    """The records behind an answer of the task; raises what the reading raised."""
    if answer["kind"] == "error":
        said = answer["error"]
        if said["type"] == "Refused":
            raise errors.Refused(said["message"], said["site_code"])
        raise {"Damaged": errors.Damaged, "LayoutChanged": errors.LayoutChanged}[said["type"]](said["code"])
    page: ListPage | TopicPage = _unpacked(KINDS[answer["kind"]], answer["page"])
    return page


def _packed(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _packed(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_packed(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _unpacked(record: Callable[..., Any], packed: dict[str, Any]) -> Any:
    return record(**{name: _value(name, value) for name, value in packed.items()})


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name.endswith("_at"):
        return datetime.fromisoformat(value).astimezone(SHANGHAI)
    if isinstance(value, list):
        nested = _NESTED.get(name)
        return tuple(_unpacked(nested, item) if nested else tuple(item) for item in value)
    return _unpacked(_NESTED[name], value) if name in _NESTED else value
