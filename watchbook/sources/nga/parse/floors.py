"""One row of a topic to one floor: text rendered, fingerprint taken, author and times read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchbook.sources.nga.parse import hanging, values
from watchbook.sources.nga.parse.authors import Authors
from watchbook.sources.nga.parse.bbcode import Extras, Place, render
from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.parse.entities import whole_characters
from watchbook.sources.nga.parse.fingerprint import fingerprint
from watchbook.sources.nga.parse.records import AttachmentRecord, FloorRecord, PollRecord, StubRecord


@dataclass(frozen=True)
class FloorReader:
    """What all floors of an answer share."""

    tid: int
    authors: Authors
    addresses: Addresses
    poll: PollRecord | None = None

    def read(self, row: Mapping[str, Any], *, parent: int | None = None) -> FloorRecord:
        number = values.whole(row.get("lou"))
        is_opening = number == 0 and parent is None
        pid = 0 if is_opening else values.whole(row.get("pid"))
        name, uid = self.authors.of(row.get("authorid"))
        source = whole_characters(values.raw_text(row.get("content")))
        given = row.get("attachs")
        hung = tuple(hanging.attachments(given, self.addresses)) if given else ()
        # Floor 0 repeats the title there.
        subject = "" if is_opening else values.text(row.get("subject"))
        poll = self.poll or hanging.poll(row.get("vote")) if is_opening else None
        loose = tuple(file for file in hung if file.path not in source) if hung else ()
        return FloorRecord(
            floor_number=number,
            source_post_id=pid,
            author_name=name,
            author_source_user_id=uid,
            post_created_at=values.moment(row.get("postdatetimestamp")) or values.minute(row.get("postdate")),
            source_edited_at=hanging.edited_at(row.get("alterinfo")),
            content_source=source,
            content_html=render(
                source,
                Place(addresses=self.addresses, tid=self.tid, pid=pid, author_id=uid),
                Extras(subject=subject, attachments=loose, poll=poll),
            ),
            content_fingerprint_sha256=fingerprint(source, subject=subject, extra=_named(loose, poll)),
            subject=subject,
            attachments=hung,
            poll=poll,
            parent_post_id=parent,
            **_figures(row),
        )


def is_stub(row: Mapping[str, Any]) -> bool:
    """A note's own floor: the answer says that it exists, its text is under the post that it belongs to."""
    return row.get("content") is None and ("comment_to_id" in row or "type" not in row)


def stub(row: Mapping[str, Any]) -> StubRecord:
    parent = values.whole(row.get("comment_to_id"), -1)
    return StubRecord(values.whole(row.get("lou")), values.whole(row.get("pid")), parent if parent >= 0 else None)


def _named(loose: tuple[AttachmentRecord, ...], poll: PollRecord | None) -> list[str]:
    # Votes of a poll change all the time and are no part of what the post says.
    return [file.path for file in loose] + [f"? {label}" for label, _ in (poll.options if poll else ())]


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type_bits": values.whole(row.get("type")),
        "reply_to_post_id": values.whole(row.get("reply_to")) or None,
        "votes_up": max(0, values.whole(row.get("score"))),
        "votes_down": max(0, values.whole(row.get("score_2"))),
        "content_length": values.whole(row["content_length"]) if row.get("content_length") not in (None, "") else None,
        "client": values.text(row.get("from_client")),
    }
