"""Topics: the rows of one page to posts, with comments, attachments, polls and fingerprints."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from watchbook.systems.nga.parse import values
from watchbook.systems.nga.parse.bbcode import NO_EXTRAS, Extras, Place, render_lines
from watchbook.systems.nga.parse.bbcode.addresses import Addresses, original
from watchbook.systems.nga.parse.errors import LayoutChanged, Notes
from watchbook.systems.nga.parse.records import (
    FLOORS_PER_PAGE,
    SITE,
    AttachmentRecord,
    FloorRecord,
    PollRecord,
    StubRecord,
    TopicPage,
)
from watchbook.systems.nga.parse.values import Authors, author_of_row, lines, unescape_whole, whole_characters


def fingerprint(source: str, *, subject: str = "", extra: Iterable[str] = ()) -> str:
    """Return the SHA-256 of text, heading, attachments and poll choices."""
    return fingerprint_of_lines(lines(whole_characters(source)), subject, list(extra))


def fingerprint_of_lines(source: str, subject: str, extra: Sequence[str]) -> str:
    """The same of a text that is whole and has line feeds already."""
    text, heading = _normalised(source), _of_field(subject)
    # Each part with its length, so that a text cannot pass for another one's attachment.
    whole = f"{len(text)}:{text}{len(heading)}:{heading}"
    if extra:
        whole += "".join([f"{len(part)}:{part}" for part in sorted(map(_of_field, extra))])
    return sha256(whole.encode()).hexdigest()


def _of_field(text: str) -> str:
    return _normalised(lines(whole_characters(text))) if text else ""


def _normalised(source: str) -> str:
    """One spelling for entities, no-break spaces and composed characters."""
    text = unescape_whole(source).replace("\u00a0", " ")
    if (" " in text and " \n" in text) or "\t" in text:
        text = "\n".join([line.rstrip(" \t") for line in text.split("\n")])
    return unicodedata.normalize("NFC", text).strip()


_EDIT = re.compile(r"\[E(\d{9,11})[\s\]]", re.ASCII)
_CHOICE = re.compile(r"\d{1,9}", re.ASCII)


def edited_at(alterinfo: Any) -> datetime | None:
    """`[E<seconds> …]` among the marks under a post; the site keeps only the latest edit."""
    stamps = _EDIT.findall(values.raw_text(alterinfo)) if alterinfo else ()
    return values.moment(int(stamps[0]) if len(stamps) == 1 else max(map(int, stamps))) if stamps else None


def client(value: Any) -> str:
    """`8 Android`; a code without a model, such as `0 /` of a browser, says nothing."""
    text = values.raw_text(value).strip() if value else ""
    return values.text(text)[:80] if text.partition(" ")[2].strip(" /") else ""


def attachments(value: Any, addresses: Addresses) -> Iterator[AttachmentRecord]:
    for row in values.mapping(value).values():
        row = values.mapping(row)
        path = values.text(row.get("attachurl") or row.get("url")).removeprefix("./")
        # Most are paths below the attachments' host; some are whole addresses, also without a scheme.
        is_address = path.startswith("//") or "://" in path
        url = addresses.media(path if is_address else f"./{path}") if path else None
        if url:
            yield AttachmentRecord(
                path=original(path),
                url=url,
                kind=values.text(row.get("type")) or "img",
                name=unquote(values.text(row.get("url_utf8_org_name") or row.get("name"))),
                size_kb=values.whole(row.get("size")),
            )


def read_poll(value: Any) -> PollRecord | None:
    """`id~label~id~label~…~max_select~1~end~seconds~_id~votes,…`: names and values alternate."""
    parts = values.raw_text(value).split("~")
    pairs = dict(zip(parts[::2], parts[1::2], strict=False))
    choices = tuple(
        (values.text(label), _votes(pairs.get(f"_{number}", "")))
        for number, label in pairs.items()
        if _CHOICE.fullmatch(number)
    )
    if not choices:
        return None
    most = max(1, values.whole(pairs.get("max_select"), 1))
    return PollRecord(options=choices, most_choices=most, ends_at=values.moment(pairs.get("end")))


def _votes(counted: str) -> int:
    return max(0, values.whole(counted.partition(",")[0]))


@dataclass(frozen=True)
class FloorReader:
    """Values shared by all posts of a response."""

    tid: int
    authors: Authors
    addresses: Addresses
    poll: PollRecord | None = None

    def read(self, row: Mapping[str, Any], *, parent: int | None = None) -> FloorRecord:
        get = row.get
        number = values.whole(get("lou"))
        is_opening = number == 0 and parent is None
        pid = 0 if is_opening else values.whole(get("pid"))
        name, uid = self.authors.of(get("authorid"))
        source = whole_characters(values.raw_text(get("content")))
        # Read once for both of those who need it: what is shown and what is compared.
        lined = lines(source)
        given = get("attachs")
        comments = tuple(attachments(given, self.addresses)) if given else ()
        # Floor 0 repeats the title there.
        heading = None if is_opening else get("subject")
        subject = "" if heading in (None, "") else values.text(heading)
        poll = self.poll or read_poll(get("vote")) if is_opening else None
        loose = tuple(file for file in comments if file.path not in source) if comments else ()
        extras = Extras(subject, loose, poll) if subject or loose or poll else NO_EXTRAS
        return FloorRecord(
            floor_number=number,
            source_post_id=pid,
            author_name=name,
            author_source_user_id=uid,
            post_created_at=values.moment(get("postdatetimestamp")) or values.minute(get("postdate")),
            source_edited_at=edited_at(get("alterinfo")),
            content_source=source,
            content_html=render_lines(lined, Place(self.addresses, self.tid, pid, uid), extras),
            content_fingerprint_sha256=fingerprint_of_lines(lined, subject, _named(loose, poll)),
            type_bits=values.whole(get("type")),
            subject=subject,
            attachments=comments,
            poll=poll,
            parent_post_id=parent,
            up_vote_count=values.whole(get("score")),
            client_text=client(get("from_client")),
        )


def is_stub(row: Mapping[str, Any]) -> bool:
    """A note's own floor: the answer says that it exists, its text is under the post that it belongs to."""
    return row.get("content") is None and ("comment_to_id" in row or "type" not in row)


def stub(row: Mapping[str, Any]) -> StubRecord:
    parent = values.whole(row.get("comment_to_id"), -1)
    return StubRecord(values.whole(row.get("lou")), values.whole(row.get("pid")), parent if parent >= 0 else None)


def _named(loose: tuple[AttachmentRecord, ...], poll: PollRecord | None) -> list[str]:
    if not loose and not poll:
        return []
    # Votes of a poll change all the time and are no part of what the post says.
    return [file.path for file in loose] + [f"? {label}" for label, _ in (poll.options if poll else ())]


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
        poll=read_poll(values.mapping(topic.get("post_misc_var")).get("vote")),
    )
    rows = _Rows(reader, notes)
    rows.read(data.get("__R"))
    page_number = values.whole(data.get("__PAGE"), 1) or 1
    # All posts of a later page may be deleted; then the response says so and still counts the posts of the topic.
    # A topic without any post does not exist: such a response proves nothing.
    says_none = values.whole(data.get("__R__ROWS"), -1) == 0 and page_number > 1
    if not rows.floors and not rows.stubs and not (total and says_none):
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
        "type_bits": values.whole(topic.get("type")) & ~values.OPENING,
        "display_bits": values.unpack(topic).get(1, 0),
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
        self.comments: dict[int, FloorRecord] = {}
        self.numbers: set[int] = set()

    def read(self, rows: Any) -> None:
        for row in values.rows_in_order(rows):
            number, pid = values.whole(row.get("lou"), -1), values.whole(row.get("pid"), -1)
            if self._is_new(number, pid):
                # The opening post has no id of its own.
                self._take(row, pid if number else 0)
        for pid, waiting in list(self.stubs.items()):
            if pid in self.comments:
                self.floors[pid] = waiting.filled(self.comments[pid])
                del self.stubs[pid]

    def elsewhere(self) -> list[FloorRecord]:
        return [note for pid, note in self.comments.items() if pid not in self.floors and note.floor_number > 0]

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
            self.floors[pid] = self.reader.read(row, parent=_parent_of(row) if "comment_to_id" in row else None)
        if row.get("comment") or row.get("comment_id"):
            self._take_notes(row, pid)

    def _take_notes(self, row: Mapping[str, Any], parent: int) -> None:
        shown = list(values.rows_in_order(row.get("comment")))
        for note in shown:
            if values.whole(note.get("pid")) > 0 and note.get("content") is not None:
                self.comments[values.whole(note.get("pid"))] = self.reader.read(note, parent=parent)
        named = [pid for pid in values.raw_text(row.get("comment_id")).split(",") if pid.strip()]
        self.notes.add("gone_notes", max(0, len(named) - len(shown)))


def _parent_of(row: Mapping[str, Any]) -> int | None:
    """The post under which a note was written; None for what is none."""
    to = values.whole(row.get("comment_to_id"), -1)
    return to if to >= 0 and values.whole(row.get("type")) & values.NOTE else None


def page_of_floor(floor_number: int) -> int:
    return floor_number // FLOORS_PER_PAGE + 1
