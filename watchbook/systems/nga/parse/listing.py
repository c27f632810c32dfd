"""Topic lists in JSON: rows of a board page to records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchbook.systems.nga.parse import values
from watchbook.systems.nga.parse.errors import Damaged, LayoutChanged, Notes
from watchbook.systems.nga.parse.json_text import read_literal
from watchbook.systems.nga.parse.records import TOPICS_PER_PAGE, ListPage, TopicRecord
from watchbook.systems.nga.parse.values import author_of_row

PINNED = 10
VIEWS = ("views", "view", "hits", "viewnum", "view_count")


def list_page(data: dict[str, Any], notes: Notes, *, page: int = 1) -> ListPage:
    """`page` is what was asked: only the first page has pinned topics."""
    if "__ROWS" not in data:
        # It is the last key but a few: a body that was cut and closed again lacks it.
        raise LayoutChanged("missing_part")
    rows = list(values.rows_in_order(data.get("__T")))
    total = values.whole(data.get("__ROWS"), -1)
    page_count = values.whole(data.get("pages")) or None if total < 0 else max(1, -(-total // TOPICS_PER_PAGE))
    # A board has topics: an empty first page proves nothing. Where a list has ended, the site says so in words.
    if not rows and (page_count is None or page == 1 or (total and page <= page_count)):
        raise LayoutChanged("no_rows")
    reader = _Rows(notes, is_first=page == 1)
    topics = tuple(topic for row in rows if (topic := reader.read(row)))
    board = values.mapping(data.get("__F"))
    return ListPage(
        fid=values.whole(board.get("fid")),
        forum_name=values.text(board.get("name")),
        topics=topics,
        total_topics=None if total < 0 else total,
        page_count=page_count,
        denied_count=reader.denied,
        notes=notes.listed(),
    )


def is_denied(row: Mapping[str, Any]) -> bool:
    """A placeholder for a topic that this account may not see; its ids may be bogus and its title an error."""
    given = row.get("denied")
    # A fraction, whatever it is, is not written as 0.
    return isinstance(given, float) or (bool(given) and str(given) != "0")


class _Rows:
    def __init__(self, notes: Notes, *, is_first: bool) -> None:
        self.notes = notes
        self.in_pins = is_first
        self.denied = 0

    def read(self, row: Mapping[str, Any]) -> TopicRecord | None:
        # Pinned topics are the leading run; a block of recommended ones with the same mark stands at the end.
        self.in_pins = self.in_pins and values.whole(row.get("recommend")) == PINNED
        if is_denied(row):
            self.denied += 1
            self.notes.add("denied_rows")
            return None
        tid, stands_for = values.whole(row.get("tid")), values.whole(row.get("quote_from"))
        type_bits = values.whole(row.get("type"))
        if type_bits & values.BOARD and not stands_for:
            self.notes.add("board_rows")
            return None
        if tid <= 0 and stands_for <= 0:
            self.notes.add("broken_rows")
            return None
        return self._record(row, tid=tid, real=stands_for if stands_for > 0 else tid, type_bits=type_bits)

    def _record(self, row: Mapping[str, Any], *, tid: int, real: int, type_bits: int) -> TopicRecord:
        name, uid = author_of_row(row.get("author"), row.get("authorid"))
        return TopicRecord(
            tid=real,
            row_tid=tid,
            fid=values.whole(row.get("fid")),
            title=values.text(row.get("subject")),
            author_name=name,
            author_source_user_id=None if type_bits & values.ANONYMOUS else uid,
            thread_created_at=values.moment(row.get("postdate")),
            last_reply_at=values.moment(row.get("lastpost")),
            reply_count_display=max(0, values.whole(row.get("replies"))),
            is_pinned=self.in_pins if "recommend" in row else None,
            is_digest=bool(values.whole(row["digest"])) if "digest" in row else None,
            type_bits=type_bits,
            display_bits=values.unpack(row).get(1, 0),
            last_modified_at=values.moment(row.get("lastmodify")),
            view_count_display=_views(row),
            topic_tag=_parent_name(row.get("parent")),
        )


def _views(row: Mapping[str, Any]) -> int | None:
    """Return how often a topic was viewed, where the list says so. Boards and formats name it differently."""
    found = next((row[key] for key in VIEWS if row.get(key) not in (None, "")), None)
    return None if found is None else max(0, values.whole(found))


def _parent_name(parent: Any) -> str:
    """{0: board, 1: collection, 2: name}; empty in the board itself, and at times JSON inside a text."""
    if isinstance(parent, str) and parent.lstrip().startswith(("{", "[")):
        try:
            parent, _ = read_literal(parent)
        except Damaged:
            return ""
    return values.text(values.mapping(parent).get("2"))
