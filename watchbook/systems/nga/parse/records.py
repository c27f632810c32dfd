"""Records of lists and topics, and their JSON form for parsing in another process."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from watchbook.systems.nga.parse import errors, values
from watchbook.systems.nga.parse.errors import INCOMPLETE, Note
from watchbook.systems.nga.parse.values import SHANGHAI

_GROUP = re.compile(r"\[([^\[\]]+)\]")


def prefixes(title: str) -> tuple[str, ...]:
    """Every `[…]` group of a title, each once, in order; the first one is the title's prefix."""
    found = (group.strip() for group in _GROUP.findall(title))
    return tuple(dict.fromkeys(group for group in found if group))


TOPICS_PER_PAGE = 35
SITE = "https://bbs.nga.cn"
FLOORS_PER_PAGE = 20
# Bits of a post: locked and hidden together are what the site shows as deleted.
HIDDEN, LOCKED = 2, 1024


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One row of a list. `tid` is the topic to crawl: for a mirror row its target."""

    tid: int
    row_tid: int
    fid: int
    title: str
    author_name: str
    author_source_user_id: int | None
    thread_created_at: datetime | None
    last_reply_at: datetime | None
    reply_count_display: int
    is_pinned: bool | None
    is_digest: bool | None
    type_bits: int = 0
    display_bits: int = 0
    last_modified_at: datetime | None = None
    view_count_display: int | None = None
    topic_tag: str = ""
    """Name of the collection or sub-board that the row carries."""
    reply_post_id: int | None = None
    """In a list of an author's replies: the reply for which the row is there."""
    replied_at: datetime | None = None

    @property
    def is_mirror(self) -> bool:
        return self.tid != self.row_tid

    @property
    def is_collection(self) -> bool:
        return bool(self.type_bits & values.COLLECTION)

    @property
    def is_newest_first(self) -> bool:
        return bool(self.display_bits & values.NEWEST_FIRST)

    @property
    def page_count(self) -> int:
        return self.reply_count_display // FLOORS_PER_PAGE + 1

    @property
    def title_prefixes(self) -> tuple[str, ...]:
        return prefixes(self.title)


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a board. Rows are not sorted by their last reply; the last page may be as full as others."""

    fid: int
    forum_name: str
    topics: tuple[TopicRecord, ...]
    total_topics: int | None
    page_count: int | None
    denied_count: int = 0
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class AttachmentRecord:
    """An attachment. `url` is absolute and points to the original, not to a thumbnail."""

    path: str
    url: str
    kind: str = "img"
    name: str = ""
    size_kb: int = 0


@dataclass(frozen=True, slots=True)
class PollRecord:
    options: tuple[tuple[str, int], ...]
    """Label and votes of each choice."""
    most_choices: int = 1
    ends_at: datetime | None = None


class FloorRecord(NamedTuple):
    """One floor as it reads now. By far the most common record: a tuple is made in a quarter of the time."""

    floor_number: int
    source_post_id: int
    author_name: str
    author_source_user_id: int | None
    post_created_at: datetime | None
    source_edited_at: datetime | None
    content_source: str
    content_html: str
    content_fingerprint_sha256: str
    type_bits: int = 0
    subject: str = ""
    attachments: tuple[AttachmentRecord, ...] = ()
    poll: PollRecord | None = None
    parent_post_id: int | None = None
    """For a comment: its parent."""
    up_vote_count: int = 0
    client_text: str = ""
    """Code and model of the author's device, as the site gives them."""

    @property
    def is_note(self) -> bool:
        return self.parent_post_id is not None or bool(self.type_bits & values.NOTE)

    @property
    def is_deleted_by_source(self) -> bool:
        return self.type_bits & (LOCKED | HIDDEN) == LOCKED | HIDDEN

    @property
    def is_folded_by_source(self) -> bool:
        return bool(self.type_bits & HIDDEN) and not self.is_deleted_by_source


@dataclass(frozen=True, slots=True)
class StubRecord:
    """A note's own floor where the answer says that it exists but not what it says: read the HTML of its page."""

    floor_number: int
    source_post_id: int
    parent_post_id: int | None = None

    def filled(self, note: FloorRecord) -> FloorRecord:
        """The floor with the text that was found elsewhere. The stub alone knows its place for certain."""
        parent = self.parent_post_id if note.parent_post_id is None else note.parent_post_id
        return note._replace(floor_number=self.floor_number, parent_post_id=parent)


@dataclass(frozen=True)
class TopicPage:
    """One page of a topic."""

    tid: int
    fid: int
    title: str
    page_number: int
    total_floors: int
    floors: tuple[FloorRecord, ...]
    stubs: tuple[StubRecord, ...] = ()
    notes_elsewhere: tuple[FloorRecord, ...] = ()
    """Notes shown here under their posts whose own floors are on other pages."""
    declared_rows: int | None = None
    type_bits: int = 0
    display_bits: int = 0
    author_name: str = ""
    author_source_user_id: int | None = None
    thread_created_at: datetime | None = None
    last_reply_at: datetime | None = None
    is_digest: bool | None = None
    is_locked: bool = False
    mirror_of: int | None = None
    notes: tuple[Note, ...] = ()

    @property
    def title_prefixes(self) -> tuple[str, ...]:
        return prefixes(self.title)

    @property
    def is_newest_first(self) -> bool:
        return bool(self.display_bits & values.NEWEST_FIRST)

    @property
    def is_recycled(self) -> bool:
        return self.fid == values.RECYCLE_BIN

    @property
    def page_count(self) -> int:
        return max(1, -(-self.total_floors // FLOORS_PER_PAGE))

    @cached_property
    def seen_numbers(self) -> frozenset[int]:
        return frozenset([floor.floor_number for floor in self.floors] + [stub.floor_number for stub in self.stubs])

    def expected_numbers(self) -> range:
        """Floors that belong on this page: pages are cut by floor number, not by what is left of them."""
        return floors_of_page(self.page_number, self.total_floors, newest_first=self.is_newest_first)

    def missing_numbers(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.expected_numbers()) - self.seen_numbers))

    def is_complete(self, asked_page: int) -> bool:
        """Do rows, counts and page agree with what was asked? Otherwise nothing follows from what is absent."""
        # In a topic that shows its newest replies first the opening post may stand on any page.
        beyond = self.seen_numbers - set(self.expected_numbers()) - ({0} if self.is_newest_first else set())
        return (
            self.page_number == asked_page
            and not beyond
            and self.declared_rows in (None, len(self.seen_numbers))
            and not any(note.code in INCOMPLETE for note in self.notes)
        )


def floors_of_page(page: int, total: int, *, newest_first: bool = False) -> range:
    first = (page - 1) * FLOORS_PER_PAGE
    if not newest_first:
        return range(max(0, first), max(0, min(first + FLOORS_PER_PAGE, total)))
    last = total - first
    return range(max(0, last - FLOORS_PER_PAGE), max(0, last))


KINDS: dict[str, type[ListPage] | type[TopicPage]] = {"list": ListPage, "topic": TopicPage}
# Fields that hold other records; times are recognised by their names.
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


def read_answer_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Takes input_path and optionally content_type, page, site.

    Answers {kind: "list" or "topic", page: {…}}, or {kind: "error", error: {type, code, message, site_code}}.
    """
    # Loads the renderer and the HTML cleaner: only the child process needs them.
    from watchbook.systems.nga.parse.answer import read_answer

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
    return {"kind": "list" if isinstance(page, ListPage) else "topic", "page": packed(page)}
