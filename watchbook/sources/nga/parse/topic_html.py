"""Topics as pages: the same rows as the JSON form, gathered from elements and script calls, joined by floor."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from watchbook.sources.nga.parse import values
from watchbook.sources.nga.parse.errors import LayoutChanged
from watchbook.sources.nga.parse.markup import Markup
from watchbook.sources.nga.parse.notes import Notes

PROC = "commonui.postArg.proc"
DEFAULTS = "commonui.postArg.setDefault"
USERS = "commonui.userInfo.setAll"
EDITS = "commonui.loadAlertInfo"
FILES = "ubbcode.attach.load"
# A page has 20 floors, each with a few calls, and the notes under them.
MOST_CALLS = 5_000

_ROW = re.compile(r"post1strow(\d{1,9})", re.ASCII)
_TAGS = re.compile(r"<[^<>]{0,2000}>")
_NUMBER_AT_END = re.compile(r"(\d{1,9})\)?\Z", re.ASCII)


def topic_data(page: Markup, notes: Notes) -> dict[str, Any]:
    """The page in the shape of the JSON form's `data`."""
    calls: dict[str, list[list[Any]]] = {name: [] for name in (PROC, DEFAULTS, USERS, EDITS, FILES)}
    for name, arguments in islice(page.calls(*calls), MOST_CALLS):
        calls[name].append(arguments)
    defaults = calls[DEFAULTS][0] if calls[DEFAULTS] else []
    if len(defaults) < 13:
        raise LayoutChanged("missing_part")
    edits = {_place(call[1]): call[0] for call in calls[EDITS] if len(call) > 1}
    files = {_place(call[1]): call[2] for call in calls[FILES] if len(call) > 2}
    rows = _rows(page, calls[PROC], edits, files)
    promised = {hit[1] for name in page.by_id if (hit := _ROW.fullmatch(name))}
    notes.add("rows_without_data", len(promised - rows.keys()))
    notes.add("not_closed", 0 if page.is_closed else 1)
    return {
        "__R": rows,
        "__U": _users(calls[USERS]),
        "__T": _topic(page, defaults),
        "__ROWS": values.whole(defaults[11], -1) + 1,
        "__PAGE": _page_number(page),
        "__GLOBAL": {"_ATTACH_BASE_VIEW": page.variable("__ATTACH_BASE_VIEW")},
    }


def _rows(page: Markup, procs: list[list[Any]], edits: dict[str, Any], files: dict[str, Any]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for call in procs:
        # "_pid" is a note under its post, "__pid" a copy of a much-liked reply: both stand elsewhere as floors.
        number = values.whole(call[0], -1) if call else -1
        content = page.inner(f"postcontent{number}") if number >= 0 else None
        if content is None or len(call) < 15:
            continue
        rows[str(number)] = {
            "lou": number,
            "pid": call[10],
            "tid": call[9],
            "type": call[11],
            "authorid": call[13],
            "postdatetimestamp": call[14],
            "content": content.strip("\r\n"),
            "subject": _TAGS.sub("", page.inner(f"postsubject{number}") or ""),
            "alterinfo": edits.get(str(number), ""),
            "attachs": files.get(str(number), ""),
        }
    return rows


def _topic(page: Markup, defaults: list[Any]) -> dict[str, Any]:
    bits = values.whole(defaults[4])
    return {
        "fid": defaults[0],
        "tid": defaults[2] or page.variable("__CURRENT_TID"),
        "authorid": defaults[3],
        "subject": _TAGS.sub("", page.inner("currentTopicName") or page.title.rpartition(" ")[0]),
        "type": defaults[10],
        "replies": defaults[11],
        "lastpost": defaults[12],
        "topic_misc_var": {"1": bits} if bits else "",
        "post_misc_var": {"vote": defaults[8]},
    }


def _users(calls: list[list[Any]]) -> dict[str, Any]:
    return values.mapping(calls[0][0]) if calls and calls[0] else {}


def _page_number(page: Markup) -> int:
    """{0: address, 1: pages, 2: this page, 3: floors a page}; a topic of one page has none."""
    return values.whole(values.mapping(page.variable("__PAGE")).get("2"), 1)


def _place(element: Any) -> str:
    """`alertc7` or `$('postcontent7')`: the floor at the end of an element's name."""
    found = _NUMBER_AT_END.search(values.raw_text(element).rstrip("')\""))
    return str(int(found[1])) if found else ""
