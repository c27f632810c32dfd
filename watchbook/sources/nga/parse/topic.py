"""Topics: the rows of one page to floors. Notes get their text from the post that they hang on; copies are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchbook.sources.nga.parse import bits, hanging, values
from watchbook.sources.nga.parse.authors import Authors, author_of_row
from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.parse.errors import LayoutChanged
from watchbook.sources.nga.parse.floors import FloorReader, is_stub, stub
from watchbook.sources.nga.parse.notes import Notes
from watchbook.sources.nga.parse.records import FLOORS_PER_PAGE, SITE, FloorRecord, StubRecord, TopicPage


def topic_page(data: dict[str, Any], notes: Notes, *, site: str = SITE) -> TopicPage:
    topic = values.mapping(data.get("__T"))
    total = values.whole(data.get("__ROWS"), -1)
    if total < 0 or not topic:
        raise LayoutChanged("missing_part")
    authors = Authors(data.get("__U"))
    reader = FloorReader(
        tid=values.whole(topic.get("tid")),
        authors=authors,
        addresses=Addresses.of_answer(site, values.mapping(data.get("__GLOBAL")).get("_ATTACH_BASE_VIEW")),
        poll=hanging.poll(values.mapping(topic.get("post_misc_var")).get("vote")),
    )
    rows = _Rows(reader, notes)
    rows.read(data.get("__R"))
    page_number = values.whole(data.get("__PAGE"), 1) or 1
    # Of a later page every floor may be gone, and then the answer says so itself. The first one always has a floor.
    says_none = values.whole(data.get("__R__ROWS"), -1) == 0 and page_number > 1
    if not rows.floors and not rows.stubs and total and not says_none:
        raise LayoutChanged("no_rows")
    opening = rows.floors.get(0)
    return TopicPage(
        tid=reader.tid,
        fid=values.whole(topic.get("fid")),
        title=values.text(topic.get("subject")),
        page_number=page_number,
        total_floors=total,
        floors=tuple(sorted(rows.floors.values(), key=lambda floor: floor.floor_number)),
        stubs=tuple(sorted(rows.stubs.values(), key=lambda floor: floor.floor_number)),
        notes_elsewhere=tuple(sorted(rows.elsewhere(), key=lambda floor: floor.floor_number)),
        declared_rows=values.whole(data["__R__ROWS"]) if data.get("__R__ROWS") not in (None, "") else None,
        thread_created_at=values.moment(topic.get("postdate")) or (opening.post_created_at if opening else None),
        **_topic_fields(topic, authors),
        notes=notes.listed(),
    )


def _topic_fields(topic: Mapping[str, Any], authors: Authors) -> dict[str, Any]:
    name, uid = author_of_row(topic.get("author"), topic.get("authorid"))
    known_name, _ = authors.of(topic.get("authorid"))
    return {
        "type_bits": values.whole(topic.get("type")) & ~bits.OPENING,
        "display_bits": bits.unpack(topic).get(1, 0),
        "author_name": name or known_name,
        "author_source_user_id": uid,
        "last_reply_at": values.moment(topic.get("lastpost")),
        "is_digest": bool(values.whole(topic["digest"])) if "digest" in topic else None,
        "is_locked": bool(values.whole(topic.get("locked"))),
        "mirror_of": values.whole(topic.get("quote_from")) or None,
    }


class _Rows:
    """Floors and stubs by post id, and notes as they are shown under their posts."""

    def __init__(self, reader: FloorReader, notes: Notes) -> None:
        self.reader = reader
        self.notes = notes
        self.floors: dict[int, FloorRecord] = {}
        self.stubs: dict[int, StubRecord] = {}
        self.hung: dict[int, FloorRecord] = {}
        self.numbers: set[int] = set()

    def read(self, rows: Any) -> None:
        for row in values.rows_in_order(rows):
            number, pid = values.whole(row.get("lou"), -1), values.whole(row.get("pid"), -1)
            if self._is_new(number, pid):
                # The opening post has no id of its own.
                self._take(row, pid if number else 0)
        for pid, waiting in list(self.stubs.items()):
            if pid in self.hung:
                self.floors[pid] = waiting.filled(self.hung[pid])
                del self.stubs[pid]

    def elsewhere(self) -> list[FloorRecord]:
        return [note for pid, note in self.hung.items() if pid not in self.floors and note.floor_number > 0]

    def _is_new(self, number: int, pid: int) -> bool:
        if number < 0 or (number and pid <= 0):
            self.notes.add("broken_rows")
            return False
        if (number and (pid in self.floors or pid in self.stubs)) or number in self.numbers:
            self.notes.add("repeated_rows")
            return False
        self.numbers.add(number)
        return True

    def _take(self, row: Mapping[str, Any], pid: int) -> None:
        if is_stub(row):
            self.stubs[pid] = stub(row)
        else:
            self.floors[pid] = self.reader.read(row, parent=_hangs_on(row) if "comment_to_id" in row else None)
        if row.get("comment") or row.get("comment_id"):
            self._take_notes(row, pid)

    def _take_notes(self, row: Mapping[str, Any], parent: int) -> None:
        shown = list(values.rows_in_order(row.get("comment")))
        for note in shown:
            if values.whole(note.get("pid")) > 0 and note.get("content") is not None:
                self.hung[values.whole(note.get("pid"))] = self.reader.read(note, parent=parent)
        named = [pid for pid in values.raw_text(row.get("comment_id")).split(",") if pid.strip()]
        self.notes.add("gone_notes", max(0, len(named) - len(shown)))


def _hangs_on(row: Mapping[str, Any]) -> int | None:
    """The post under which a note was written; None for what is none."""
    to = values.whole(row.get("comment_to_id"), -1)
    return to if to >= 0 and values.whole(row.get("type")) & bits.NOTE else None


def page_of_floor(floor_number: int) -> int:
    return floor_number // FLOORS_PER_PAGE + 1
