"""Topic lists as pages: the same rows as the JSON form, from elements with stable ids and one script call a row."""

from __future__ import annotations

import re
from typing import Any

from watchbook.sources.nga.parse import values
from watchbook.sources.nga.parse.markup import Markup
from watchbook.sources.nga.parse.notes import Notes

ADD = "commonui.topicArg.add"
_ROW = re.compile(r"t_[a-z]{2}1_(\d{1,5})", re.ASCII)
_UID = re.compile(r"[?&;]uid=(-?\d{1,15})", re.ASCII)
_TAGS = re.compile(r"<[^<>]{0,2000}>")
# Name of the collection or sub-board behind a title.
_ADDED = re.compile(
    r"titleadd2[\"']?[^<>]{0,200}>\s{0,20}(?:<a\b[^<>]{0,2000}>)?\s{0,20}\[?([^<>\[\]]{1,100})", re.IGNORECASE
)


def list_data(page: Markup, notes: Notes) -> dict[str, Any]:
    """The page in the shape of the JSON form's `data`; pages do not say how many topics there are in all."""
    rows: dict[str, Any] = {}
    for _, call in page.calls(ADD):
        number = next((hit[1] for part in call[:7] if (hit := _ROW.search(values.raw_text(part)))), None)
        if number is None or len(call) < 16:
            notes.add("broken_rows")
            continue
        rows[number] = _row(page, number, call)
    notes.add("not_closed", 0 if page.is_closed else 1)
    pager = values.mapping(page.variable("__PAGE"))
    name = page.inner("currentForumName") or page.title.rpartition(" ")[0]
    return {
        "__T": rows,
        "__ROWS": None,
        "__F": {"fid": page.variable("__CURRENT_FID"), "name": _TAGS.sub("", name)},
        "pages": values.whole(pager.get("1")),
    }


def _row(page: Markup, number: str, call: list[Any]) -> dict[str, Any]:
    author = page.by_id.get(f"t_ta1_{number}")
    uid = _UID.search(author.attributes.get("href", "")) if author else None
    name = _TAGS.sub("", page.inner(f"t_ta1_{number}") or "")
    posted, written = call[12], values.whole(page.inner(f"t_pt1_{number}") or "")
    return {
        "tid": call[8],
        "fid": call[7],
        "quote_from": call[11],
        "subject": _TAGS.sub("", page.inner(f"t_tt1_{number}") or ""),
        "author": name,
        "authorid": uid[1] if uid else 0,
        "postdate": posted or written,
        "lastpost": call[13],
        "replies": call[14],
        "type": call[15],
        "topic_misc": call[16] if len(call) > 16 else "",
        "parent": {"2": _added(page, number)},
        # A placeholder for a topic that may not be seen has neither an author nor a time.
        "denied": not name.strip() and not values.whole(posted or written),
    }


def _added(page: Markup, number: str) -> str:
    """Between this row's title and its author."""
    title, author = page.by_id.get(f"t_tt1_{number}"), page.by_id.get(f"t_ta1_{number}")
    if not title:
        return ""
    end = author.start if author and author.start > title.start else title.start + 4000
    found = _ADDED.search(page.source, title.start, min(end, title.start + 8000))
    return found[1] if found else ""
