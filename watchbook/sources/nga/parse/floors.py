"""One row of a topic to one floor: text rendered, fingerprint taken, author and times read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchbook.sources.nga.parse import hanging, values
from watchbook.sources.nga.parse.authors import Authors
from watchbook.sources.nga.parse.bbcode import NO_EXTRAS, Extras, Place, render_lines
from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.parse.entities import lines, whole_characters
from watchbook.sources.nga.parse.fingerprint import fingerprint_of_lines
from watchbook.sources.nga.parse.records import AttachmentRecord, FloorRecord, PollRecord, StubRecord


@dataclass(frozen=True)
class FloorReader:
    """What all floors of an answer share."""

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
        hung = tuple(hanging.attachments(given, self.addresses)) if given else ()
        # Floor 0 repeats the title there.
        heading = None if is_opening else get("subject")
        subject = "" if heading in (None, "") else values.text(heading)
        poll = self.poll or hanging.poll(get("vote")) if is_opening else None
        loose = tuple(file for file in hung if file.path not in source) if hung else ()
        extras = Extras(subject, loose, poll) if subject or loose or poll else NO_EXTRAS
        return FloorRecord(
            floor_number=number,
            source_post_id=pid,
            author_name=name,
            author_source_user_id=uid,
            post_created_at=values.moment(get("postdatetimestamp")) or values.minute(get("postdate")),
            source_edited_at=hanging.edited_at(get("alterinfo")),
            content_source=source,
            content_html=render_lines(lined, Place(self.addresses, self.tid, pid, uid), extras),
            content_fingerprint_sha256=fingerprint_of_lines(lined, subject, _named(loose, poll)),
            type_bits=values.whole(get("type")),
            subject=subject,
            attachments=hung,
            poll=poll,
            parent_post_id=parent,
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
