"""The records that reading an answer gives. Times are Shanghai time; None means that the answer does not say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from watchbook.sources.nga.parse import bits
from watchbook.sources.nga.parse.notes import INCOMPLETE, Note
from watchbook.sources.nga.parse.titles import prefixes

TOPICS_PER_PAGE = 35
SITE = "https://bbs.nga.cn"
FLOORS_PER_PAGE = 20


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One row of a list. `tid` is the topic to read: for a mirror row the one that it stands for."""

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
    topic_tag: str = ""
    """Name of the collection or sub-board that the row carries."""

    @property
    def is_mirror(self) -> bool:
        return self.tid != self.row_tid

    @property
    def is_collection(self) -> bool:
        return bool(self.type_bits & bits.COLLECTION)

    @property
    def is_newest_first(self) -> bool:
        return bool(self.display_bits & bits.NEWEST_FIRST)

    @property
    def page_count(self) -> int:
        return self.reply_count_display // FLOORS_PER_PAGE + 1

    @property
    def title_prefixes(self) -> tuple[str, ...]:
        return prefixes(self.title)


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a board. Rows are not sorted by their last reply, and their number does not tell the last page."""

    fid: int
    forum_name: str
    topics: tuple[TopicRecord, ...]
    total_topics: int | None
    page_count: int | None
    denied_count: int = 0
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class AttachmentRecord:
    """A file that hangs on a post. `url` is absolute and leads to the original, not to a thumbnail."""

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
    """For a note: the post under which it hangs."""

    @property
    def is_note(self) -> bool:
        return self.parent_post_id is not None or bool(self.type_bits & bits.NOTE)

    @property
    def is_deleted_by_source(self) -> bool:
        return bits.is_deleted(self.type_bits)

    @property
    def is_folded_by_source(self) -> bool:
        return bits.is_folded(self.type_bits)


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
        return bool(self.display_bits & bits.NEWEST_FIRST)

    @property
    def is_recycled(self) -> bool:
        return self.fid == bits.RECYCLE_BIN

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

    def is_whole(self, asked_page: int) -> bool:
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
