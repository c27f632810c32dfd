"""What hangs on a post beside its text: attachments, a poll, the stamp of its last edit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from watchbook.sources.nga.parse import values
from watchbook.sources.nga.parse.bbcode.addresses import Addresses, original
from watchbook.sources.nga.parse.records import AttachmentRecord, PollRecord

_EDIT = re.compile(r"\[E(\d{9,11})[\s\]]", re.ASCII)
_CHOICE = re.compile(r"\d{1,9}", re.ASCII)


def edited_at(alterinfo: Any) -> datetime | None:
    """`[E<seconds> …]` among the marks under a post; the site keeps only the latest edit."""
    stamps = _EDIT.findall(values.raw_text(alterinfo)) if alterinfo else ()
    return values.moment(int(stamps[0]) if len(stamps) == 1 else max(map(int, stamps))) if stamps else None


def attachments(value: Any, addresses: Addresses) -> Iterator[AttachmentRecord]:
    for row in values.mapping(value).values():
        row = values.mapping(row)
        path = values.text(row.get("attachurl") or row.get("url")).removeprefix("./")
        url = addresses.media(f"./{path}") if path else None
        if url:
            yield AttachmentRecord(
                path=original(path),
                url=url,
                kind=values.text(row.get("type")) or "img",
                name=unquote(values.text(row.get("url_utf8_org_name") or row.get("name"))),
                size_kb=values.whole(row.get("size")),
            )


def poll(value: Any) -> PollRecord | None:
    """`id~label~id~label~…~max_select~1~end~seconds~_id~votes,…`: names and values in turn."""
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
