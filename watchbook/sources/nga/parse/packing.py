"""Records as JSON, for the way between two processes, and back to the same records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from watchbook.sources.nga.parse import errors
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


def page_of_task(answer: dict[str, Any]) -> ListPage | TopicPage:
    """The records behind an answer of the task; raises what the reading raised."""
    if answer["kind"] == "error":
        said = answer["error"]
        if said["type"] == "Refused":
            raise errors.Refused(said["message"], said["site_code"])
        raise {"Damaged": errors.Damaged, "LayoutChanged": errors.LayoutChanged}[said["type"]](said["code"])
    page: ListPage | TopicPage = _unpacked(KINDS[answer["kind"]], answer["page"])
    return page


def packed(value: Any) -> Any:
    if isinstance(value, FloorRecord):
        return {name: packed(each) for name, each in zip(FloorRecord._fields, value, strict=True)}
    if is_dataclass(value):
        return {field.name: packed(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [packed(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _unpacked(record: Callable[..., Any], given: dict[str, Any]) -> Any:
    return record(**{name: _value(name, value) for name, value in given.items()})


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name.endswith("_at"):
        return datetime.fromisoformat(value).astimezone(SHANGHAI)
    if isinstance(value, list):
        nested = _NESTED.get(name)
        return tuple(_unpacked(nested, item) if nested else tuple(item) for item in value)
    return _unpacked(_NESTED[name], value) if name in _NESTED else value
